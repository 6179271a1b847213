import { randomUUID } from 'node:crypto';
import { totp } from '../../../stand-ins/supabase/totp.ts';
import { postForm } from '../../support/backend-app.ts';
import type { Answer, Visitor } from '../../support/visitor.ts';
import { followTo, useRealApp } from '../support/application.ts';
import type { RealApp } from '../support/application.ts';
import { describeGoTrue, describeOwnGoTrue } from '../support/describe-with.ts';
import { phoneProvider } from '../support/gotrue.ts';
import { press } from '../support/mail-links.ts';
import { newUser } from '../support/project.ts';

const path = '/auth/account';
const options = {
  providers: ['keycloak'],
  signInMethods: ['password' as const],
  oauthConsent: true,
};
const code = ({ json }: Answer): string => json.error.code;

async function link(app: RealApp, visitor: Visitor): Promise<Answer> {
  const { json } = await visitor.postJson(path, { link: 'keycloak' });
  return visitor.get(await followTo(app, json.redirectTo));
}

describeGoTrue('the account home', () => {
  const real = useRealApp({ options });

  it('changes the address after both mails, and says what waits', async () => {
    const user = await real.project.addUser();
    const visitor = await real.app.signedIn(user);
    const { email } = newUser();
    const sent = await postForm(visitor, path, { email });
    expect([sent.status, sent.text.includes(user.email), sent.text.includes(email)]).toEqual([200, true, true]);
    expect((await visitor.getJson(path)).json).toMatchObject({ email: user.email, newEmail: email });
    await press(visitor, await real.project.mails.take(user.email));
    expect((await visitor.getJson(path)).json).toMatchObject({ email: user.email, newEmail: email });
    const done = await press(visitor, await real.project.mails.take(email));
    expect(done.status).toBe(303);
    const { json } = await visitor.getJson(path);
    expect([json.email, json.newEmail]).toEqual([email, undefined]);
  });

  it('says the same of an address that is in use, and sends nothing', async () => {
    const [user, other] = [await real.project.addUser(), await real.project.addUser()];
    const visitor = await real.app.signedIn(user);
    const answer = await visitor.postJson(path, { email: other.email });
    expect([answer.status, answer.json.email]).toEqual([200, other.email]);
    expect([real.project.mails.count(other.email), real.project.mails.count(user.email)]).toEqual([0, 0]);
    expect(real.app.events).toContainEqual(expect.objectContaining({ type: 'mail_failed', reason: 'email_exists' }));
  });

  it('links an account of a provider to the session’s user, and unlinks it', async () => {
    const user = await real.project.addUser();
    const visitor = await real.app.signedIn(user);
    const linked = { sub: randomUUID(), email: newUser().email };
    real.project.oauth.signIn(linked);
    const back = await link(real.app, visitor);
    expect([back.status, back.headers.location]).toEqual([303, path]);
    expect((await visitor.getJson('/auth/session')).json.user.id).toBe(user.id);
    const { identities, email } = (await visitor.getJson(path)).json;
    expect([email, identities.map(({ provider }: { provider: string }) => provider).sort()]).toEqual([
      user.email,
      ['email', 'keycloak'],
    ]);
    // It signs in from then on.
    const elsewhere = real.app.visitor();
    const start = await elsewhere.get('/auth/login?provider=keycloak');
    await elsewhere.get(await followTo(real.app, start.location));
    expect((await elsewhere.getJson('/auth/session')).json.user.id).toBe(user.id);
    const [{ id }] = identities.filter(({ provider }: { provider: string }) => provider === 'keycloak');
    expect((await visitor.get(path)).text).toContain(`unlink=${id}`);
    expect((await visitor.get(`${path}?unlink=${id}`)).text).toContain('Unlink <bdi>Keycloak</bdi>?');
    const gone = await postForm(visitor, path, { unlink: id, sure: 'yes' });
    expect([gone.status, gone.headers.location]).toEqual([303, path]);
    expect((await visitor.getJson(path)).json.identities).toMatchObject([{ provider: 'email' }]);
    expect((await visitor.getJson('/auth/session')).json.user.appMetadata.providers).toEqual(['email']);
  });

  it('keeps the session where the provider’s account is another user’s', async () => {
    const taken = { sub: randomUUID(), email: newUser().email };
    real.project.oauth.signIn(taken);
    const other = real.app.visitor();
    await other.get(await followTo(real.app, (await other.get('/auth/login?provider=keycloak')).location));
    const user = await real.project.addUser();
    const visitor = await real.app.signedIn(user);
    const back = await link(real.app, visitor);
    expect([back.status, back.text.includes('identity_in_use')]).toEqual([409, true]);
    expect((await visitor.getJson('/auth/session')).json.user.id).toBe(user.id);
  });

  it('never unlinks the last way in', async () => {
    real.project.oauth.signIn({ sub: randomUUID(), email: newUser().email });
    const visitor = real.app.visitor();
    await visitor.get(await followTo(real.app, (await visitor.get('/auth/login?provider=keycloak')).location));
    const { json } = await visitor.getJson(path);
    expect(json).toMatchObject({ password: false, identities: [{ provider: 'keycloak' }] });
    const answer = await visitor.postJson(path, { unlink: json.identities[0].id });
    expect([answer.status, code(answer)]).toEqual([422, 'last_sign_in_method']);
    expect((await visitor.get(path)).text).not.toContain('unlink=');
  });

  it('asks for the second factor before a change, and counts it', async () => {
    const user = await real.project.addUser();
    const visitor = await real.app.signedIn(user);
    const { json } = await visitor.postJson('/auth/enroll', {});
    await visitor.postJson('/auth/enroll', { factorId: json.factorId, code: totp(json.secret, Date.now() - 30_000) });
    expect((await visitor.getJson(path)).json.factors).toBe(1);
    const { email } = newUser();
    expect((await visitor.postJson(path, { email })).status).toBe(200);
    const elsewhere = real.app.visitor();
    await elsewhere.postJson('/auth/login', { email: user.email, password: user.password });
    // Its sign-in waits for the factor, so there is no session yet.
    expect((await elsewhere.getJson(path)).status).toBe(401);
    await elsewhere.postJson('/auth/verify', { code: totp(json.secret) });
    expect((await elsewhere.getJson(path)).json).toMatchObject({ newEmail: email, factors: 1 });
    // A link of an account with a factor asks for the factor again.
    real.project.oauth.signIn({ sub: randomUUID(), email: newUser().email });
    const back = await link(real.app, elsewhere);
    expect([back.status, back.headers.location]).toEqual([303, expect.stringContaining('/auth/verify')]);
    expect((await elsewhere.getJson(path)).json.identities).toHaveLength(2);
  });

  it('signs out the others, then everywhere, at GoTrue, too', async () => {
    const user = await real.project.addUser();
    const [visitor, other] = [await real.app.signedIn(user), await real.app.signedIn(user)];
    expect((await visitor.postJson(path, { signOut: 'others' })).json).toEqual({ redirectTo: path });
    expect([(await visitor.getJson(path)).status, (await other.getJson(path)).status]).toEqual([200, 401]);
    const third = await real.app.signedIn(user);
    expect((await visitor.postJson(path, { signOut: 'global' })).json).toEqual({ redirectTo: '/' });
    expect([(await visitor.getJson(path)).status, (await third.getJson(path)).status]).toEqual([401, 401]);
  });

  it('leads a guest to sign-up', async () => {
    const visitor = real.app.visitor();
    await real.app.asVisitor(visitor, (client) => client.auth.signInAnonymously());
    const page = await visitor.get(path);
    expect(page.headers.location).toMatch(/^\/auth\/(?:signup|login)\?returnTo=%2Fauth%2Faccount/);
  });

  it('costs no session in an outage', async () => {
    const visitor = await real.app.signedIn(await real.project.addUser());
    real.project.proxy.break(/\/user|\/logout|\/oauth/, { status: 503 });
    const posts = [{ email: newUser().email }, { link: 'keycloak' }, { signOut: 'others' }, { signOut: 'global' }];
    const answers = [await visitor.getJson(path)];
    for (const body of posts) answers.push(await visitor.postJson(path, body));
    expect(answers.map(({ status }) => status)).toEqual([503, 503, 503, 503, 503]);
    real.project.proxy.heal();
    expect((await visitor.getJson(path)).json).toMatchObject({ apps: 0, factors: 0 });
  });
});

const phone = '491701234567';

describeOwnGoTrue('the account home of a project with one mail, and without manual linking', () => {
  const settings = {
    GOTRUE_MAILER_SECURE_EMAIL_CHANGE_ENABLED: 'false',
    GOTRUE_SECURITY_MANUAL_LINKING_ENABLED: 'false',
    ...phoneProvider(phone),
  };
  const real = useRealApp({ options, gotrue: { settings } });

  it('changes the address after one mail', async () => {
    const user = await real.project.addUser();
    const visitor = await real.app.signedIn(user);
    const { email } = newUser();
    expect((await postForm(visitor, path, { email })).status).toBe(200);
    const mail = await real.project.mails.take(email);
    expect(real.project.mails.count(user.email)).toBe(0);
    await press(visitor, mail);
    const { json } = await visitor.getJson(path);
    expect([json.email, json.newEmail]).toEqual([email, undefined]);
  });

  it('only lists linked sign-ins', async () => {
    const user = await real.project.addUser();
    real.project.oauth.signIn({ sub: randomUUID(), email: user.email });
    const visitor = real.app.visitor();
    await visitor.get(await followTo(real.app, (await visitor.get('/auth/login?provider=keycloak')).location));
    const page = await visitor.get(path);
    expect(page.text).toContain('Keycloak');
    expect(page.text).not.toMatch(/unlink=|Link Keycloak/);
    const { identities } = (await visitor.getJson(path)).json;
    const [{ id }] = identities.filter(({ provider }: { provider: string }) => provider === 'keycloak');
    expect(code(await visitor.postJson(path, { unlink: id }))).toBe('unknown_provider');
    const other = await real.app.signedIn(await real.project.addUser());
    expect(code(await other.postJson(path, { link: 'keycloak' }))).toBe('unknown_provider');
  });
});
