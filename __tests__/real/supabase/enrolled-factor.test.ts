import { postForm } from '../../support/backend-app.ts';
import { totp } from '../../../stand-ins/supabase/totp.ts';
import type { Answer, Visitor } from '../../support/visitor.ts';
import { sessionOf, startRealApp, useRealApp } from '../support/application.ts';
import { describeGoTrue, describeOwnGoTrue } from '../support/describe-with.ts';
import { createSigningKey } from '../support/gotrue.ts';
import type { User } from '../support/project.ts';
import { startTextMessages } from '../support/text-messages.ts';

const anHourAgo = (): number => Date.now() - 3_600_000;

describeGoTrue('a second factor through the pages', () => {
  const real = useRealApp();

  const isSignedIn = async (visitor: Visitor): Promise<boolean> =>
    (await visitor.getJson('/auth/session')).status === 200;

  /** A user who has set up an authenticator app. */
  async function enrolled() {
    const user = await real.project.addUser();
    const visitor = await real.app.signedIn(user);
    const started = await visitor.postJson('/auth/enroll', {});
    const { factorId, secret, uri } = started.json;
    const answer = await visitor.postJson('/auth/enroll', { factorId, code: totp(secret) });
    return { user, visitor, factorId, secret, uri, answer };
  }

  /** A user who has given the password and no more. */
  async function pending(user: User) {
    const visitor = real.app.visitor();
    const answer = await visitor.postJson('/auth/login', { ...user, returnTo: '/account' });
    return { visitor, answer };
  }

  it('is set up on the page to which a guard redirects, and then passes the guard', async () => {
    const user = await real.project.addUser();
    const visitor = await real.app.signedIn(user);
    const sent = await visitor.get('/secure');
    expect(new URL(sent.location).pathname).toBe('/auth/enroll');
    const started = await visitor.postJson('/auth/enroll', {});
    expect(started.json).toEqual({
      factorId: expect.any(String),
      secret: expect.stringMatching(/^[A-Z2-7]+$/),
      uri: expect.stringMatching(/^otpauth:/),
    });
    const { factorId, secret } = started.json;
    const wrong = await visitor.postJson('/auth/enroll', { factorId, code: totp(secret, anHourAgo()) });
    // GoTrue: 422 {"code":"mfa_verification_failed","message":"Invalid TOTP code entered"}
    expect([wrong.status, wrong.json.error.code]).toEqual([422, 'code_wrong']);
    expect((await visitor.postJson('/auth/enroll', { factorId, code: totp(secret) })).status).toBe(200);
    expect((await visitor.getJson('/secure')).status).toBe(200);
  });

  it('ends the user’s other sessions that lack it, here and at GoTrue', async () => {
    const user = await real.project.addUser();
    const [visitor, other] = [await real.app.signedIn(user), await real.app.signedIn(user)];
    const { json } = await visitor.postJson('/auth/enroll', {});
    expect(await isSignedIn(other)).toBe(true);
    const token = sessionOf(other).refresh_token;
    await visitor.postJson('/auth/enroll', { factorId: json.factorId, code: totp(json.secret) });
    expect([await isSignedIn(other), await isSignedIn(visitor)]).toEqual([false, true]);
    expect((await real.project.refresh(token)).body.code).toBe('refresh_token_not_found');
  });

  it('is required after the password, and the session starts only then', async () => {
    const { user, secret } = await enrolled();
    const { visitor, answer } = await pending(user);
    expect([answer.status, new URL(answer.json.redirectTo, real.app.origin).pathname]).toEqual([200, '/auth/verify']);
    expect(await isSignedIn(visitor)).toBe(false);
    expect((await visitor.get('/account')).status).toBe(307);
    const wrong = await visitor.postJson('/auth/verify', { code: totp(secret, anHourAgo()) });
    expect([wrong.status, wrong.json.error.code]).toEqual([422, 'code_wrong']);
    const done = await visitor.postJson('/auth/verify', { code: totp(secret), returnTo: '/account' });
    expect([done.status, done.json]).toEqual([200, { redirectTo: '/account' }]);
    expect((await visitor.getJson('/secure')).status).toBe(200);
    expect((await visitor.get('/account')).status).toBe(200);
  });

  it('can be entered in a form without a script', async () => {
    const { user, secret } = await enrolled();
    const visitor = real.app.visitor();
    const signIn = await postForm(visitor, '/auth/login', {
      email: user.email,
      password: user.password,
      returnTo: '/account',
    });
    expect(new URL(signIn.location).pathname).toBe('/auth/verify');
    const page = await visitor.get(signIn.location);
    expect([page.status, page.text.includes('autocomplete="one-time-code"')]).toEqual([200, true]);
    const done = await postForm(visitor, '/auth/verify', { code: totp(secret), returnTo: '/account' });
    expect([done.status, done.headers.location]).toEqual([303, '/account']);
  });

  it('is not completed by a sign-out in between, which ends the first factor at GoTrue, too', async () => {
    const { user, secret } = await enrolled();
    const { visitor } = await pending(user);
    const issued = JSON.parse(real.project.proxy.to('/token?grant_type=password').at(-1)?.answer ?? '{}') as {
      refresh_token: string;
    };
    await visitor.postJson('/auth/logout');
    expect((await real.project.refresh(issued.refresh_token)).status).toBe(400);
    expect((await visitor.postJson('/auth/verify', { code: totp(secret) })).status).toBeGreaterThanOrEqual(400);
    expect(await isSignedIn(visitor)).toBe(false);
  });

  it('is throttled per factor, which GoTrue itself does not', async () => {
    const { user, secret } = await enrolled();
    const app = await startRealApp(real.project, { throttle: {} });
    const visitor = app.visitor();
    await visitor.postJson('/auth/login', { ...user });
    for (let tries = 0; tries < 5; tries += 1) {
      expect((await visitor.postJson('/auth/verify', { code: totp(secret, anHourAgo()) })).status).toBe(422);
    }
    const refused = await visitor.postJson('/auth/verify', { code: totp(secret) });
    expect([refused.status, Number(refused.headers['retry-after']) > 0]).toEqual([429, true]);
    await app.close();
  });

  it('is removed after it was entered once more, and is not requested afterwards', async () => {
    const { user, visitor, factorId, secret } = await enrolled();
    const { visitor: other } = await pending(user);
    await other.postJson('/auth/verify', { code: totp(secret) });
    expect((await visitor.postJson('/auth/enroll', { remove: factorId })).status).toBe(200);
    expect((await real.project.admin(`/admin/users/${user.id}/factors`)).length).toBe(0);
    const { answer } = await pending(user);
    expect([answer.status, answer.json.redirectTo]).toEqual([200, '/account']);
  });

  it('can be set up again after a reload, despite unfinished attempts', async () => {
    const visitor = await real.app.signedIn(await real.project.addUser());
    // GoTrue: 422 mfa_factor_name_conflict for two factors of one name, also for two without any
    const tries = [await visitor.postJson('/auth/enroll', {}), await visitor.postJson('/auth/enroll', {})];
    expect(tries.map(({ status }) => status)).toEqual([200, 200]);
    const { factorId, secret } = tries[1]!.json;
    expect((await visitor.postJson('/auth/enroll', { factorId, code: totp(secret) })).status).toBe(200);
  });

  it('is not requested at the next sign-in after an administrator has removed it', async () => {
    const { user, factorId } = await enrolled();
    const { visitor } = await pending(user);
    await real.project.admin(`/admin/users/${user.id}/factors/${factorId}`, 'DELETE');
    // GoTrue: 404 {"code":"mfa_factor_not_found","message":"Factor not found"}
    const gone = await visitor.postJson('/auth/verify', { code: '000000' });
    expect(gone.status).toBeLessThan(500);
    const again = await pending(user);
    expect([again.answer.status, again.answer.json.redirectTo]).toEqual([200, '/account']);
  });
});

describeOwnGoTrue('a phone as second factor', () => {
  const setup = {
    gotrue: {
      keys: [createSigningKey('only')],
      settings: {
        GOTRUE_MFA_PHONE_ENROLL_ENABLED: 'true',
        GOTRUE_MFA_PHONE_VERIFY_ENABLED: 'true',
        GOTRUE_MFA_PHONE_MAX_FREQUENCY: '1s',
        GOTRUE_HOOK_SEND_SMS_ENABLED: 'true',
        GOTRUE_HOOK_SEND_SMS_URI: 'http://127.0.0.1:2590/',
      },
    },
  };
  const real = useRealApp(setup);
  let messages: Awaited<ReturnType<typeof startTextMessages>>;
  beforeAll(async () => {
    messages = await startTextMessages(2590);
  });
  afterAll(() => messages.close());

  it('gets its code by a POST, and completes the sign-in', async () => {
    const user = await real.project.addUser();
    const number = '15550001111';
    const owner = await real.app.signedIn(user);
    const { data } = await real.app.asVisitor(owner, (client) =>
      client.auth.mfa.enroll({ factorType: 'phone', phone: `+${number}` }),
    );
    const challenge = await real.app.asVisitor(owner, (client) => client.auth.mfa.challenge({ factorId: data.id }));
    await real.app.asVisitor(owner, (client) =>
      client.auth.mfa.verify({
        factorId: data.id,
        challengeId: challenge.data.id,
        code: messages.code(number) ?? '',
      }),
    );
    await new Promise((resolve) => setTimeout(resolve, 1_100));

    const visitor = real.app.visitor();
    await visitor.postJson('/auth/login', { ...user, returnTo: '/account' });
    const before = messages.sent(number);
    expect((await visitor.get('/auth/verify')).status).toBe(200);
    expect(messages.sent(number)).toBe(before);
    const sent: Answer = await visitor.postJson('/auth/verify', { send: data.id });
    expect([sent.status, messages.sent(number)]).toEqual([200, before + 1]);
    const fields = { factorId: data.id, returnTo: '/account' };
    const code = messages.code(number) ?? '';
    const wrong = await visitor.postJson('/auth/verify', { ...fields, code: code === '000000' ? '111111' : '000000' });
    expect([wrong.status, wrong.json.error.code]).toEqual([422, 'code_wrong']);
    const done = await visitor.postJson('/auth/verify', { ...fields, code });
    expect([done.status, done.json]).toEqual([200, { redirectTo: '/account' }]);
    expect((await visitor.getJson('/secure')).status).toBe(200);
  });
});
