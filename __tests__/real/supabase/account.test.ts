import { randomInt, randomUUID } from 'node:crypto';
import { totp } from '../../../stand-ins/supabase/totp.ts';
import { postForm } from '../../support/backend-app.ts';
import type { Answer, Visitor } from '../../support/visitor.ts';
import { enrollApp, followTo, setSession, useRealApp } from '../support/application.ts';
import type { RealApp } from '../support/application.ts';
import { describeGoTrue, describeOwnGoTrue } from '../support/describe-with.ts';
import { phoneProvider } from '../support/gotrue.ts';
import { press } from '../support/mail-links.ts';
import { newUser } from '../support/project.ts';
import { thirdPartyTokens } from '../support/third-party.ts';

const path = '/auth/account';
const options = {
  providers: ['keycloak'],
  signInMethods: ['password' as const],
  oauthConsent: true,
};
const code = ({ json }: Answer): string => json.error.code;

async function link(app: RealApp, visitor: Visitor, provider = 'keycloak'): Promise<Answer> {
  const { json } = await visitor.postJson(path, { link: provider });
  return visitor.get(await followTo(app, json.redirectTo));
}

/** A browser that the provider's person signs in to. */
async function signedInBy(app: RealApp, provider: string): Promise<Visitor> {
  const visitor = app.visitor();
  const { location } = await visitor.get(`/auth/login?provider=${provider}`);
  await visitor.get(await followTo(app, location));
  return visitor;
}

const userIdOf = async (visitor: Visitor): Promise<string> =>
  (await visitor.getJson('/auth/session')).json.user.id as string;

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

  it('tells the user’s other sessions, where a link was opened in a browser of the user', async () => {
    const user = await real.project.addUser();
    const [visitor, other] = [await real.app.signedIn(user), await real.app.signedIn(user)];
    const { email } = newUser();
    await visitor.postJson(path, { email });
    for (const to of [user.email, email]) await press(visitor, await real.project.mails.take(to));
    for (const browser of [visitor, other])
      expect((await browser.getJson('/auth/session')).json.user.email).toBe(email);
  });

  it('shows the new address also where both mails were opened in a browser without the user', async () => {
    const user = await real.project.addUser();
    const visitor = await real.app.signedIn(user);
    const { email } = newUser();
    await visitor.postJson(path, { email });
    const elsewhere = real.app.visitor();
    for (const to of [user.email, email]) await press(elsewhere, await real.project.mails.take(to));
    expect((await elsewhere.getJson('/auth/session')).status).toBe(401);
    expect((await visitor.getJson(path)).json.email).toBe(email);
    // The very same form would get the answer that it got before.
    const same = await visitor.postJson(path, { email: email.toUpperCase() });
    expect(same.json.error.message).toBe('This is your email already.');
  });

  it('counts connected apps, and leads to their page', async () => {
    const user = await real.project.addUser();
    const visitor = await real.app.signedIn(user);
    await thirdPartyTokens(real.project, user);
    expect((await visitor.getJson(path)).json.apps).toBe(1);
    expect((await visitor.get(path)).text).toContain('href="/oauth/apps?');
    const [{ client }] = (await visitor.getJson('/oauth/apps')).json.apps;
    await visitor.postJson('/oauth/apps', { revoke: client.id });
    expect((await visitor.getJson(path)).json.apps).toBe(0);
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

  it('comes back from a link that was canceled at the provider', async () => {
    const visitor = await real.app.signedIn(await real.project.addUser());
    real.project.oauth.refuse('access_denied');
    const back = await link(real.app, visitor);
    expect([back.status, back.headers.location]).toEqual([303, path]);
    expect((await visitor.getJson(path)).json.identities).toHaveLength(1);
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
    const secret = await enrollApp(visitor);
    expect((await visitor.getJson(path)).json.factors).toBe(1);
    const { email } = newUser();
    expect((await visitor.postJson(path, { email })).status).toBe(200);
    const elsewhere = real.app.visitor();
    await elsewhere.postJson('/auth/login', { email: user.email, password: user.password });
    // Its sign-in waits for the factor, so there is no session yet.
    expect((await elsewhere.getJson(path)).status).toBe(401);
    await elsewhere.postJson('/auth/verify', { code: totp(secret) });
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

  it.each(['others', 'global'])(
    'finds out that a sign-out of %s has worked, whose answer was lost',
    async (signOut) => {
      const user = await real.project.addUser();
      const [visitor, other] = [await real.app.signedIn(user), await real.app.signedIn(user)];
      real.project.proxy.break(/\/logout/, 'lost', 1);
      expect((await visitor.postJson(path, { signOut })).status).toBe(503);
      expect((await other.getJson('/auth/session')).status).toBe(401);
      expect((await visitor.getJson('/auth/session')).status).toBe(signOut === 'others' ? 200 : 401);
    },
  );

  it('leads a guest to sign-up', async () => {
    const visitor = real.app.visitor();
    await real.app.asVisitor(visitor, (client) => client.auth.signInAnonymously());
    const page = await visitor.get(path);
    expect(page.headers.location).toMatch(/^\/auth\/(?:signup|login)\?returnTo=%2Fauth%2Faccount/);
    for (const body of [{ email: newUser().email }, { link: 'keycloak' }, { signOut: 'others' }])
      expect(code(await visitor.postJson(path, body))).toBe('forbidden');
  });

  it('is that of a guest whom the site’s own client has linked with a provider, with its address', async () => {
    const visitor = real.app.visitor();
    await real.app.asVisitor(visitor, (client) => client.auth.signInAnonymously());
    const guest = await userIdOf(visitor);
    const { email } = newUser();
    real.project.oauth.signIn({ sub: randomUUID(), email });
    const options = { redirectTo: `${real.app.origin}/auth/callback`, skipBrowserRedirect: true };
    const { data } = await real.app.asVisitor(visitor, (client) =>
      client.auth.linkIdentity({ provider: 'keycloak', options }),
    );
    await visitor.get(await followTo(real.app, data.url));
    expect(await userIdOf(visitor)).toBe(guest);
    expect((await visitor.getJson(path)).json).toMatchObject({ email, identities: [{ provider: 'keycloak' }] });
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

describeOwnGoTrue('the account home of a project with one mail, and without manual linking', () => {
  const settings = {
    GOTRUE_MAILER_SECURE_EMAIL_CHANGE_ENABLED: 'false',
    GOTRUE_SECURITY_MANUAL_LINKING_ENABLED: 'false',
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

describeOwnGoTrue('the account home of a project with a second provider, and with accounts without an address', () => {
  const settings = {
    ...phoneProvider('15550001118'),
    GOTRUE_EXTERNAL_KEYCLOAK_EMAIL_OPTIONAL: 'true',
    GOTRUE_EXTERNAL_GITLAB_ENABLED: 'true',
    GOTRUE_EXTERNAL_GITLAB_CLIENT_ID: 'client',
    GOTRUE_EXTERNAL_GITLAB_SECRET: 'secret',
    GOTRUE_EXTERNAL_GITLAB_URL: 'http://127.0.0.1:54330',
    GOTRUE_EXTERNAL_GITLAB_REDIRECT_URI: 'http://127.0.0.1:54321/auth/v1/callback',
  };
  const real = useRealApp({ options: { ...options, providers: ['keycloak', 'gitlab'] }, gotrue: { settings } });

  /** A browser of an account that has a phone number alone. */
  async function signedInByPhone(): Promise<Visitor> {
    const user = { phone: `49${randomInt(1e9, 1e10)}`, password: newUser().password };
    await real.project.admin('/admin/users', 'POST', { ...user, phone_confirm: true });
    const { body } = await real.project.ask('/token?grant_type=password', 'POST', user);
    const visitor = real.app.visitor();
    setSession(visitor, body);
    return visitor;
  }

  it('adds an address to a phone’s account after one mail', async () => {
    const visitor = await signedInByPhone();
    expect((await visitor.getJson(path)).json).toMatchObject({ email: null, identities: [{ provider: 'phone' }] });
    expect((await visitor.get(path)).text).toContain('change=email');
    const { email } = newUser();
    const { json } = await visitor.postJson(path, { email });
    expect(json.message).toBe(`If ${email} can be used, we’ve sent a link to it. Open it to change your email.`);
    await press(visitor, await real.project.mails.take(email));
    expect((await visitor.getJson(path)).json).toMatchObject({ email });
    expect((await visitor.getJson('/auth/session')).json.user.email).toBe(email);
  });

  it('links a provider to a phone’s account, which gets no address by it, and keeps this way in', async () => {
    const visitor = await signedInByPhone();
    const { email } = newUser();
    real.project.oauth.signIn({ sub: randomUUID(), email });
    expect((await link(real.app, visitor)).status).toBe(303);
    const { json } = await visitor.getJson(path);
    expect(json).toMatchObject({ email: null, identities: [{ provider: 'phone' }, { provider: 'keycloak', email }] });
    const [{ id }] = json.identities.filter(({ provider }: { provider: string }) => provider === 'keycloak');
    expect(code(await visitor.postJson(path, { unlink: id }))).toBe('last_sign_in_method');
  });

  it('links a second provider to an account without an address, and unlinks the first', async () => {
    real.project.oauth.signIn({ sub: randomUUID() });
    const visitor = await signedInBy(real.app, 'keycloak');
    const { json } = await visitor.getJson(path);
    expect(json).toMatchObject({ email: null, password: false, identities: [{ provider: 'keycloak' }] });
    const [{ id }] = json.identities;
    expect(code(await visitor.postJson(path, { unlink: id }))).toBe('last_sign_in_method');
    const page = await visitor.get(path);
    expect([page.status, page.text.includes('Link GitLab'), page.text.includes('unlink=')]).toEqual([200, true, false]);
    real.project.oauth.signIn({ sub: randomUUID(), email: newUser().email });
    expect((await link(real.app, visitor, 'gitlab')).status).toBe(303);
    expect((await visitor.get(path)).text).toContain(`unlink=${id}`);
    expect((await visitor.postJson(path, { unlink: id })).status).toBe(200);
    expect((await visitor.getJson(path)).json.identities).toMatchObject([{ provider: 'gitlab' }]);
    expect(await userIdOf(await signedInBy(real.app, 'gitlab'))).toBe(await userIdOf(visitor));
  });

  it('takes the address of the other one where the unlinked one’s is that of the account', async () => {
    real.project.oauth.signIn({ sub: randomUUID(), email: newUser().email });
    const visitor = await signedInBy(real.app, 'keycloak');
    const { email } = newUser();
    real.project.oauth.signIn({ sub: randomUUID(), email });
    await link(real.app, visitor, 'gitlab');
    const { identities } = (await visitor.getJson(path)).json;
    const [{ id }] = identities.filter(({ provider }: { provider: string }) => provider === 'keycloak');
    expect((await visitor.postJson(path, { unlink: id })).status).toBe(200);
    expect((await visitor.getJson(path)).json.email).toBe(email);
    expect((await visitor.getJson('/auth/session')).json.user.email).toBe(email);
  });

  it('has to keep the other one where another account uses its address', async () => {
    real.project.oauth.signIn({ sub: randomUUID(), email: newUser().email });
    const visitor = await signedInBy(real.app, 'keycloak');
    real.project.oauth.signIn({ sub: randomUUID(), email: (await real.project.addUser()).email });
    await link(real.app, visitor, 'gitlab');
    const { identities } = (await visitor.getJson(path)).json;
    const [{ id }] = identities.filter(({ provider }: { provider: string }) => provider === 'keycloak');
    const page = await postForm(visitor, path, { unlink: id, sure: 'yes' });
    expect([page.status, page.text.includes('This one has to stay')]).toEqual([422, true]);
    expect((await visitor.getJson(path)).json.identities).toHaveLength(2);
  });

  it('unlinks one of two at once, where no other one signs in', async () => {
    real.project.oauth.signIn({ sub: randomUUID(), email: newUser().email });
    const visitor = await signedInBy(real.app, 'keycloak');
    await link(real.app, visitor, 'gitlab');
    const ids: string[] = (await visitor.getJson(path)).json.identities.map(({ id }: { id: string }) => id);
    const answers = await Promise.all(ids.map((unlink) => visitor.postJson(path, { unlink })));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 422]);
    expect((await visitor.getJson(path)).json.identities).toHaveLength(1);
  });
});
