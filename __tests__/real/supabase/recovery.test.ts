import { continueAsOther, postForm } from '../../support/backend-app.ts';
import { totp } from '../../../stand-ins/supabase/totp.ts';
import type { Answer, Visitor } from '../../support/visitor.ts';
import { followTo, pathOf, sessionOf, startRealApp, useRealApp } from '../support/application.ts';
import { describeGoTrue, describeOwnGoTrue } from '../support/describe-with.ts';
import { createSigningKey } from '../support/gotrue.ts';
import { anotherMailIsAllowed, press } from '../support/mail-links.ts';
import { newUser } from '../support/project.ts';
import type { User } from '../support/project.ts';

const password = 'an entirely new password';

describeGoTrue('a forgotten password', () => {
  const real = useRealApp();

  const isSignedIn = async (visitor: Visitor): Promise<boolean> =>
    (await visitor.getJson('/auth/session')).status === 200;

  /** Asks for the mail, as a page's script or the form does. */
  async function forgot(email: string) {
    const visitor = real.app.visitor();
    const answer = await visitor.postJson('/auth/forgot', { email, returnTo: '/account' });
    return { visitor, answer, mail: await real.project.mails.take(email) };
  }

  /** A person who has pressed the button behind the mail's link, in another browser than the one that asked. */
  async function recovering(user: User) {
    const { mail } = await forgot(user.email);
    const visitor = real.app.visitor();
    const pressed = await press(visitor, mail);
    return { visitor, pressed, mail };
  }

  it('is replaced through the link in the mail, in any browser', async () => {
    const user = await real.project.addUser();
    const { answer, mail } = await forgot(user.email);
    expect([answer.status, answer.json]).toEqual([
      200,
      { email: user.email, message: expect.any(String), redirectTo: '/auth/login?returnTo=%2Faccount' },
    ]);
    const visitor = real.app.visitor();
    const scanned = await visitor.get(pathOf(mail.links[0]!));
    expect([scanned.status, real.project.proxy.to('/verify').length]).toEqual([200, 0]);

    const pressed = await press(visitor, mail);
    expect([pressed.status, pressed.headers.location]).toEqual([303, '/auth/password?returnTo=%2Faccount']);
    expect(await isSignedIn(visitor)).toBe(false);
    expect((await visitor.getJson('/api/me')).status).toBe(401);
    expect((await visitor.get(pressed.location)).status).toBe(200);

    const done = await postForm(visitor, '/auth/password', { password, returnTo: '/account' });
    expect([done.status, done.headers.location]).toEqual([303, '/account']);
    expect((await visitor.getJson('/auth/session')).json.user.email).toBe(user.email);
    const login = (secret: string): Promise<Answer> =>
      real.app.visitor().postJson('/auth/login', { email: user.email, password: secret });
    expect((await login(user.password)).status).toBe(401);
    expect((await login(password)).status).toBe(200);
  });

  it('ends every other session of the account, both here and at GoTrue', async () => {
    const user = await real.project.addUser();
    const [one, other] = [await real.app.signedIn(user), await real.app.signedIn(user)];
    const { visitor } = await recovering(user);
    expect([await isSignedIn(one), await isSignedIn(other)]).toEqual([true, true]);
    expect((await visitor.postJson('/auth/password', { password })).status).toBe(200);
    const tokens = [sessionOf(one), sessionOf(other)].map(({ refresh_token: token }) => token as string);
    expect([await isSignedIn(one), await isSignedIn(other), await isSignedIn(visitor)]).toEqual([false, false, true]);
    for (const token of tokens) {
      // GoTrue: 400 {"code":"refresh_token_not_found","message":"Invalid Refresh Token: Refresh Token Not Found"}
      expect((await real.project.refresh(token)).body.code).toBe('refresh_token_not_found');
    }
    expect((await real.project.refresh(sessionOf(visitor).refresh_token)).status).toBe(200);
  });

  it('is replaced through GoTrue’s own link in the browser that asked', async () => {
    const user = await real.project.addUser();
    const { visitor, mail } = await forgot(user.email);
    const back = await visitor.get(await followTo(real.app, mail.links[1]!));
    expect([back.status, back.headers.location]).toEqual([303, '/auth/password?returnTo=%2Faccount']);
    expect(await isSignedIn(visitor)).toBe(false);
    const done = await visitor.postJson('/auth/password', { password, returnTo: '/account' });
    expect([done.status, done.json]).toEqual([200, { redirectTo: '/account' }]);
    expect(await isSignedIn(visitor)).toBe(true);
  });

  it('is not replaced through GoTrue’s own link elsewhere, which shows how to request another email', async () => {
    const { email } = await real.project.addUser();
    const { mail } = await forgot(email);
    const elsewhere = real.app.visitor();
    const page = await elsewhere.get(await followTo(real.app, mail.links[1]!));
    expect([page.status, page.text.includes('href="/auth/forgot')]).toEqual([200, true]);
    expect([...elsewhere.cookies.keys()]).toEqual([]);
  });

  it('accepts another try after GoTrue refuses a password', async () => {
    const user = await real.project.addUser();
    const { visitor } = await recovering(user);
    const set = (secret: string): Promise<Answer> => visitor.postJson('/auth/password', { password: secret });
    // GoTrue: 422 weak_password, 422 same_password, 400 validation_failed "Password cannot be longer than 72 characters"
    for (const refused of ['short', user.password, 'ä'.repeat(37)]) expect((await set(refused)).status).toBe(422);
    expect(await isSignedIn(visitor)).toBe(false);
    expect((await set('ä'.repeat(36))).status).toBe(200);
    expect(await isSignedIn(visitor)).toBe(true);
  });

  it('is replaced although the answer to the first try was lost, and signs in', async () => {
    const user = await real.project.addUser();
    const { visitor } = await recovering(user);
    real.project.proxy.break(/^\/user/, 'lost', 1);
    const lost = await visitor.postJson('/auth/password', { password });
    expect(lost.status).toBe(503);
    // GoTrue: 422 {"code":"same_password","message":"New password should be different from the old password."}
    const again = await visitor.postJson('/auth/password', { password });
    expect([again.status, again.json.error.code]).toEqual([422, 'same_password']);
    expect((await real.app.visitor().postJson('/auth/login', { email: user.email, password })).status).toBe(200);
  });

  it('is replaced once by a form that is sent twice in parallel', async () => {
    const user = await real.project.addUser();
    const { visitor } = await recovering(user);
    const answers = await Promise.all([1, 2].map(() => visitor.postJson('/auth/password', { password })));
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    expect(await isSignedIn(visitor)).toBe(true);
  });

  it('lets no session begin once the user has signed out instead', async () => {
    const { visitor } = await recovering(await real.project.addUser());
    await visitor.postJson('/auth/logout');
    expect((await visitor.postJson('/auth/password', { password })).status).toBeGreaterThanOrEqual(400);
    expect(await isSignedIn(visitor)).toBe(false);
    expect(real.project.proxy.to('/user').filter(({ method }) => method === 'PUT')).toEqual([]);
  });

  it('keeps a live session until the new password is set', async () => {
    const [here, forgetful] = [await real.project.addUser(), await real.project.addUser()];
    const visitor = await real.app.signedIn(here);
    const { mail } = await forgot(forgetful.email);
    await press(visitor, mail);
    expect((await continueAsOther(visitor)).headers.location).toMatch(/^\/auth\/password/);
    expect((await visitor.getJson('/auth/session')).json.user.email).toBe(here.email);
    expect((await visitor.postJson('/auth/password', { password })).status).toBe(200);
    expect((await visitor.getJson('/auth/session')).json.user.email).toBe(forgetful.email);
  });

  it('shows for a used link how to request another email', async () => {
    const { mail } = await recovering(await real.project.addUser());
    // The process that was asked first answers a second press like the first for ten seconds.
    const other = await startRealApp(real.project);
    const visitor = other.visitor();
    const page = await press(visitor, mail);
    // GoTrue: 403 {"code":"otp_expired","message":"Email link is invalid or has expired"}
    expect([page.status, page.text.includes('href="/auth/forgot')]).toEqual([400, true]);
    expect(visitor.cookies.size).toBe(0);
    await other.close();
  });

  it('answers alike for every address, even if GoTrue counts the emails to it', async () => {
    const unconfirmed = newUser();
    await real.project.ask('/signup', 'POST', unconfirmed);
    const { email } = await real.project.addUser();
    const answers = [];
    for (const address of [newUser().email, email, email, unconfirmed.email, unconfirmed.email]) {
      const { status, text, headers, setCookies } = await real.app
        .visitor()
        .postJson('/auth/forgot', { email: address });
      const names = Object.keys(headers).filter((name) => name !== 'set-cookie');
      answers.push(JSON.stringify([status, text.replaceAll(address, 'x'), names, setCookies.length]));
    }
    expect(new Set(answers).size).toBe(1);
    // GoTrue: 429 over_email_send_rate_limit, for known addresses only
    expect(real.project.proxy.to('/recover').map(({ status }) => status)).toEqual([200, 200, 429, 200, 429]);
  });

  it('can be requested again, and only the newest link works', async () => {
    const { email } = await real.project.addUser();
    const first = await forgot(email);
    await anotherMailIsAllowed();
    const second = await forgot(email);
    expect((await press(real.app.visitor(), first.mail)).status).toBe(400);
    expect((await press(real.app.visitor(), second.mail)).status).toBe(303);
  });

  it('confirms an unconfirmed address', async () => {
    const person = newUser();
    await real.project.ask('/signup', 'POST', person);
    await real.project.mails.take(person.email);
    await anotherMailIsAllowed();
    const { visitor } = await recovering({ ...person, id: '' });
    expect((await visitor.postJson('/auth/password', { password })).status).toBe(200);
    expect((await visitor.getJson('/auth/session')).json.user.email).toBe(person.email);
  });

  it('is chosen by an invited user', async () => {
    const { email } = newUser();
    await real.project.admin('/invite', 'POST', { email });
    const visitor = real.app.visitor();
    const pressed = await press(visitor, await real.project.mails.take(email));
    expect([pressed.status, pressed.headers.location]).toEqual([303, '/auth/password?returnTo=%2Faccount']);
    expect(await isSignedIn(visitor)).toBe(false);
    expect((await visitor.postJson('/auth/password', { password })).status).toBe(200);
    expect((await real.app.visitor().postJson('/auth/login', { email, password })).status).toBe(200);
  });

  it('requires the second factor of an account that has one first', async () => {
    const user = await real.project.addUser();
    const signedIn = await real.app.signedIn(user);
    const { data } = await real.app.asVisitor(signedIn, (client) => client.auth.mfa.enroll({ factorType: 'totp' }));
    const code = (): string => totp(data.totp.secret);
    await real.app.asVisitor(signedIn, (client) =>
      client.auth.mfa.challengeAndVerify({ factorId: data.id, code: code() }),
    );

    const { visitor, pressed } = await recovering(user);
    expect(pressed.location).toMatch(/\/auth\/verify\?returnTo=%2Faccount$/);
    // GoTrue: 401 {"code":"insufficient_aal",…}
    const early = await visitor.postJson('/auth/password', { password });
    expect([early.status, early.json]).toEqual([200, { redirectTo: '/auth/verify?returnTo=%2Faccount' }]);
    expect((await real.app.visitor().postJson('/auth/login', { email: user.email, password })).status).toBe(401);
    expect(await isSignedIn(visitor)).toBe(false);
    const verified = await visitor.postJson('/auth/verify', { code: code(), returnTo: '/account' });
    expect([verified.status, verified.json.redirectTo]).toEqual([200, '/auth/password?returnTo=%2Faccount']);
    expect(await isSignedIn(visitor)).toBe(false);
    expect((await visitor.postJson('/auth/password', { password })).status).toBe(200);
    expect((await visitor.getJson('/secure')).status).toBe(200);
  });
});

describeGoTrue('a password that a signed-in user changes', () => {
  const real = useRealApp();

  it('requires the current one, and ends the other sessions', async () => {
    const user = await real.project.addUser();
    const [visitor, other] = [await real.app.signedIn(user), await real.app.signedIn(user)];
    const change = (fields: object): Promise<Answer> => visitor.postJson('/auth/password', { password, ...fields });
    for (const wrong of [{}, { currentPassword: '' }, { currentPassword: 'not this one' }]) {
      const refused = await change(wrong);
      expect([refused.status, refused.json.error.code]).toEqual([422, 'current_password_wrong']);
    }
    // GoTrue itself would have changed it: 200, without a look at the current one.
    expect((await change({ currentPassword: user.password })).status).toBe(200);
    expect((await visitor.getJson('/auth/session')).status).toBe(200);
    expect((await other.getJson('/auth/session')).status).toBe(401);
    expect((await real.project.refresh(sessionOf(visitor).refresh_token)).status).toBe(200);
  });

  it('leaves one session at GoTrue, the one of the cookie', async () => {
    const user = await real.project.addUser();
    const visitor = await real.app.signedIn(user);
    await visitor.postJson('/auth/password', { currentPassword: user.password, password });
    const issued = real.project.proxy
      .to('/token?grant_type=password')
      .map(({ answer }) => (JSON.parse(answer) as { refresh_token: string }).refresh_token);
    expect(issued).toHaveLength(2);
    const alive = [];
    for (const token of issued) if ((await real.project.refresh(token)).status === 200) alive.push(token);
    expect(alive).toEqual([sessionOf(visitor).refresh_token]);
  });
});

describeOwnGoTrue('a project that requires the current password itself', () => {
  const settings = { GOTRUE_SECURITY_UPDATE_PASSWORD_REQUIRE_CURRENT_PASSWORD: 'true' };
  const real = useRealApp({ gotrue: { keys: [createSigningKey('only')], settings } });

  it('receives it', async () => {
    const user = await real.project.addUser();
    const visitor = await real.app.signedIn(user);
    // GoTrue: 400 current_password_required without it, 400 current_password_invalid where it is wrong
    const done = await visitor.postJson('/auth/password', { currentPassword: user.password, password });
    expect(done.status).toBe(200);
  });

  it('lets a forgotten password be replaced without it', async () => {
    const { email } = await real.project.addUser();
    await real.app.visitor().postJson('/auth/forgot', { email });
    const visitor = real.app.visitor();
    await press(visitor, await real.project.mails.take(email));
    expect((await visitor.postJson('/auth/password', { password })).status).toBe(200);
  });
});
