import { randomBytes } from 'node:crypto';
import { WorkOS } from '@workos-inc/node';
import { sealData, unsealData } from 'iron-session';
import { demoUsers, startB2bApp, startProvider } from '../support/b2b-app.ts';
import type { B2bApp, SharedProvider } from '../support/b2b-app.ts';

let provider: SharedProvider;
let app: B2bApp;
let sdk: WorkOS;
beforeAll(async () => {
  provider = await startProvider();
  const { workos } = provider;
  app = await startB2bApp({ provider });
  const { apiKey, clientId, hostname: apiHostname, port } = workos;
  sdk = new WorkOS({ apiKey, clientId, apiHostname, port, https: false });
});
afterAll(async () => {
  await app.close();
  await provider.close();
});

const { oneOrganization } = demoUsers;
const [{ id: organizationId }] = oneOrganization.organizations;
const newPassword = (): string => randomBytes(32).toString('base64');

/** The answer of our app to a cookie. */
async function read(
  sealed: string,
  on = app,
): Promise<{ status: number; email?: string; sessionId?: string; organizationId?: string }> {
  const answer = await on.visitor().get('/auth/session', { headers: { cookie: `b2b-session=${sealed}` } });
  const { user, sessionId, organizationId } = answer.json;
  return { status: answer.status, email: user?.email, sessionId, organizationId };
}

describe('our cookie in an app on WorkOS’ own SDK', () => {
  it('is one Fe26.2 seal under password id 1, with the payload that the SDKs know', async () => {
    const sealed = (await app.signedIn(oneOrganization)).cookies.get('b2b-session') ?? '';
    expect(sealed).toMatch(/^Fe26\.2\*1\*[^*]+\*[^*]+\*[^*]+\*\*[^*]+\*[^*]+~2$/);
    const payload = await unsealData<Record<string, unknown>>(sealed, { password: app.cookiePassword, ttl: 0 });
    expect(payload).toMatchObject({
      accessToken: expect.stringMatching(/^eyJ/),
      refreshToken: expect.any(String),
      user: { object: 'user', id: oneOrganization.id, email: oneOrganization.email, emailVerified: true },
      authenticationMethod: 'Password',
      organizationId,
    });
    expect(payload).not.toHaveProperty('impersonator');
    // Readers ignore unknown fields; this is our only extra one.
    const known = ['accessToken', 'refreshToken', 'user', 'authenticationMethod', 'organizationId', 'signedInAt'];
    expect(Object.keys(payload).filter((key) => !known.includes(key))).toEqual([]);
  });

  it('opens with loadSealedSession().authenticate()', async () => {
    const visitor = await app.signedIn(oneOrganization);
    const { sessionId } = (await visitor.getJson('/auth/session')).json;
    const sessionData = visitor.cookies.get('b2b-session') ?? '';
    const session = sdk.userManagement.loadSealedSession({ sessionData, cookiePassword: app.cookiePassword });
    expect(await session.authenticate()).toMatchObject({
      authenticated: true,
      sessionId,
      organizationId,
      role: 'member',
      user: { email: oneOrganization.email },
    });
  });

  it('refreshes with loadSealedSession().refresh(), and what the SDK seals opens here', async () => {
    const visitor = await app.signedIn(oneOrganization);
    const { sessionId } = (await visitor.getJson('/auth/session')).json;
    const { cookiePassword } = app;
    const sessionData = visitor.cookies.get('b2b-session') ?? '';
    const refreshed = await sdk.userManagement.loadSealedSession({ sessionData, cookiePassword }).refresh();
    if (!refreshed.authenticated) throw new Error(refreshed.reason);
    expect(refreshed.sealedSession).not.toBe(sessionData);
    expect(await read(refreshed.sealedSession ?? '')).toEqual({
      status: 200,
      email: oneOrganization.email,
      sessionId,
      organizationId,
    });
  });

  it('opens after our own refresh, too', async () => {
    const visitor = await app.signedIn(oneOrganization);
    const before = visitor.cookies.get('b2b-session');
    provider.clock.advance(310_000);
    expect((await visitor.getJson('/auth/session')).status).toBe(200);
    const sessionData = visitor.cookies.get('b2b-session') ?? '';
    expect(sessionData).not.toBe(before);
    const { cookiePassword } = app;
    const session = sdk.userManagement.loadSealedSession({ sessionData, cookiePassword });
    expect(await session.authenticate()).toMatchObject({ authenticated: true, authenticationMethod: 'Password' });
  });
});

describe('a session that the WorkOS SDK sealed', () => {
  it('by authenticateWithCode opens here', async () => {
    const { codeVerifier, codeChallenge } = await sdk.pkce.generate();
    const redirectUri = `${app.origin}/callback`;
    const url = sdk.userManagement.getAuthorizationUrl({
      provider: 'authkit',
      clientId: app.workos.clientId,
      redirectUri,
      codeChallenge,
      codeChallengeMethod: 'S256',
    });
    const callback = await app.workos.authorize(url, { user: oneOrganization });
    const { sealedSession } = await sdk.userManagement.authenticateWithCode({
      clientId: app.workos.clientId,
      code: callback.searchParams.get('code') ?? '',
      codeVerifier,
      session: { sealSession: true, cookiePassword: app.cookiePassword },
    });
    expect(await read(sealedSession ?? '')).toMatchObject({ status: 200, email: oneOrganization.email });
  });

  it('with the extra fields of some SDKs opens here, and is rewritten without them', async () => {
    const session = await app.workos.issueSession({ user: oneOrganization, organizationId });
    const extra = { oauthTokens: { accessToken: 'x' }, sealedSession: 'x', anything: [1] };
    const visitor = app.visitor();
    const sealed = await sealData({ ...session, ...extra }, { password: app.cookiePassword, ttl: 0 });
    visitor.cookies.set('b2b-session', sealed);
    expect((await visitor.getJson('/auth/session')).status).toBe(200);
    provider.clock.advance(310_000);
    expect((await visitor.getJson('/auth/session')).status).toBe(200);
    const written = visitor.cookies.get('b2b-session') ?? '';
    const payload = await unsealData<object>(written, { password: app.cookiePassword, ttl: 0 });
    expect(Object.keys(payload).sort()).toEqual([
      'accessToken',
      'authenticationMethod',
      'organizationId',
      'refreshToken',
      'user',
    ]);
  });

  it('keeps the impersonator through a refresh, and shows it to the application', async () => {
    const impersonator = { email: 'staff@example.com', reason: 'support' };
    const user = { ...demoUsers.personal, id: 'user_01IMPERSONATED', impersonator };
    app.workos.users.set(user.id, user);
    const seen: unknown[] = [];
    const other = await startB2bApp({
      provider,
      options: { onSignIn: ({ session }) => void seen.push(session.impersonator) },
    });
    const visitor = await other.signedIn(user);
    expect(seen).toEqual([impersonator]);
    provider.clock.advance(310_000);
    expect((await visitor.getJson('/auth/session')).json).toMatchObject({ authenticated: true, impersonator });
    const written = visitor.cookies.get('b2b-session') ?? '';
    expect(await unsealData(written, { password: other.cookiePassword, ttl: 0 })).toMatchObject({ impersonator });
    await other.close();
  });

  it.each([
    ['no access token', { accessToken: undefined }],
    ['no refresh token', { refreshToken: undefined }],
    ['no user', { user: undefined }],
    ['a user without id', { user: { email: 'a@example.com' } }],
    ['nothing but garbage', { accessToken: 1, refreshToken: {}, user: [] }],
  ])('with %s is no session, and its cookie is kept for the application that sealed it', async (_name, change) => {
    const session = await app.workos.issueSession({ user: oneOrganization });
    const sealed = await sealData({ ...session, ...change }, { password: app.cookiePassword, ttl: 0 });
    const visitor = app.visitor();
    visitor.cookies.set('b2b-session', sealed);
    expect((await visitor.getJson('/auth/session')).status).toBe(401);
    expect(visitor.cookies.get('b2b-session')).toBe(sealed);
    expect(app.events.at(-1)).toEqual({ adapter: 'b2b', type: 'session_rejected', reason: 'not_a_session' });
  });

  it('with null for every optional field is treated like one without them, also after a refresh', async () => {
    // authkit-nextjs' `saveSession` seals WorkOS' answer as it is.
    const nulls = { impersonator: null, authenticationMethod: null, organizationId: null, oauthTokens: null };
    const names = { firstName: null, lastName: null, profilePictureUrl: null, locale: null, externalId: null };
    const session = await app.workos.issueSession({ user: demoUsers.personal });
    const user = { ...session.user, ...names, metadata: null, emailVerified: null };
    const visitor = app.visitor();
    const sealed = await sealData({ ...session, ...nulls, user }, { password: app.cookiePassword, ttl: 0 });
    visitor.cookies.set('b2b-session', sealed);
    expect((await visitor.get('/whoami')).json.user).toMatchObject({ emailVerified: false, metadata: {}, ...names });
    provider.clock.advance(310_000);
    expect((await visitor.getJson('/auth/session')).json.user.email).toBe(demoUsers.personal.email);
    expect(visitor.cookies.get('b2b-session')).not.toBe(sealed);
  });

  it('with null fields beside the impersonator keeps the impersonator, also after a refresh', async () => {
    const impersonator = { email: 'staff@example.com', reason: null };
    const session = await app.workos.issueSession({ user: demoUsers.personal });
    const content = { ...session, impersonator, authenticationMethod: null };
    const { cookiePassword } = app;
    const sealed = await sealData(content, { password: cookiePassword, ttl: 0 });
    expect((await read(sealed)).status).toBe(200);
    const visitor = app.visitor();
    visitor.cookies.set('b2b-session', sealed);
    provider.clock.advance(310_000);
    expect((await visitor.getJson('/auth/session')).status).toBe(200);
    const sessionData = visitor.cookies.get('b2b-session') ?? '';
    expect(sessionData).not.toBe(sealed);
    const renewed = await sdk.userManagement.loadSealedSession({ sessionData, cookiePassword }).authenticate();
    expect(renewed).toMatchObject({ authenticated: true, impersonator: { email: 'staff@example.com' } });
  });

  it('for a user other than its token’s is no session', async () => {
    const session = await app.workos.issueSession({ user: oneOrganization });
    const user = { ...session.user, id: demoUsers.personal.id, email: demoUsers.personal.email };
    const sealed = await sealData({ ...session, user }, { password: app.cookiePassword, ttl: 0 });
    expect((await read(sealed)).status).toBe(401);
    expect(app.events.at(-1)).toEqual({ adapter: 'b2b', type: 'session_rejected', reason: 'subject' });
  });

  it('for another client is no session', async () => {
    const session = await app.workos.issueSession({ user: oneOrganization, claims: { client_id: 'client_other' } });
    expect((await read(await sealData(session, { password: app.cookiePassword, ttl: 0 }))).status).toBe(401);
    expect(app.events.at(-1)).toEqual({ adapter: 'b2b', type: 'session_rejected', reason: 'client_id' });
    const without = await app.workos.issueSession({ user: oneOrganization, claims: { client_id: undefined } });
    expect((await read(await sealData(without, { password: app.cookiePassword, ttl: 0 }))).status).toBe(200);
  });

  it.each(['https://elsewhere.example', undefined])(
    'from the issuer %s is no session where issuers are listed',
    async (iss) => {
      const strict = await startB2bApp({ provider, options: { issuer: 'https://auth.example.com' } });
      const session = await strict.workos.issueSession({ user: oneOrganization, claims: { iss } });
      const sealed = await sealData(session, { password: strict.cookiePassword, ttl: 0 });
      expect((await read(sealed, strict)).status).toBe(401);
      expect(strict.events.at(-1)).toEqual({ adapter: 'b2b', type: 'session_rejected', reason: 'issuer' });
      await strict.close();
    },
  );

  it('whose organization is not a string is a personal one', async () => {
    for (const organization of ['', 7, null]) {
      const session = await app.workos.issueSession({ user: oneOrganization, claims: { org_id: organization } });
      const answer = await read(await sealData(session, { password: app.cookiePassword, ttl: 0 }));
      expect([answer.status, answer.organizationId]).toEqual([200, undefined]);
    }
  });

  it.each(['none', 'HS256'])('with a token signed by %s is no session', async (alg) => {
    const session = await app.workos.issueSession({ user: oneOrganization });
    const claims = JSON.parse(Buffer.from(session.accessToken.split('.')[1] ?? '', 'base64url').toString());
    const accessToken = await app.workos.signToken(claims, { alg });
    const sealed = await sealData({ ...session, accessToken }, { password: app.cookiePassword, ttl: 0 });
    expect((await read(sealed)).status).toBe(401);
  });
});

describe('a list of passwords', () => {
  const [oldest, older, newest] = [newPassword(), newPassword(), newPassword()];
  const sealedWith = async (password: string | Record<string, string>): Promise<string> =>
    sealData(await app.workos.issueSession({ user: oneOrganization }), { password, ttl: 0 });

  it('seals with the first, always under id 1, and opens with any of them', async () => {
    const rotating = await startB2bApp({ provider, options: { cookiePassword: [newest, older, oldest] } });
    for (const password of [newest, older, oldest]) {
      expect((await read(await sealedWith(password), rotating)).status).toBe(200);
    }
    expect((await read(await sealedWith(newPassword()), rotating)).status).toBe(401);

    const visitor = await rotating.signedIn();
    const sealed = visitor.cookies.get('b2b-session') ?? '';
    expect(sealed).toMatch(/^Fe26\.2\*1\*/);
    expect(await unsealData(sealed, { password: newest, ttl: 0 })).toHaveProperty('refreshToken');
    await rotating.close();
  });

  it('reseals an old session on the next write', async () => {
    const rotating = await startB2bApp({ provider, options: { cookiePassword: [newest, older] } });
    const visitor = rotating.visitor();
    visitor.cookies.set('b2b-session', await sealedWith(older));
    expect((await visitor.getJson('/auth/session')).status).toBe(200);
    provider.clock.advance(310_000);
    expect((await visitor.getJson('/auth/session')).status).toBe(200);
    const sealed = visitor.cookies.get('b2b-session') ?? '';
    expect(await unsealData(sealed, { password: newest, ttl: 0 })).toHaveProperty('refreshToken');
    await rotating.close();
  });

  it('opens what an app with iron-session’s password map sealed under another id', async () => {
    const rotating = await startB2bApp({ provider, options: { cookiePassword: [newest, older] } });
    const sealed = await sealedWith({ 1: older, 2: newest });
    expect(sealed).toMatch(/^Fe26\.2\*2\*/);
    expect((await read(sealed, rotating)).status).toBe(200);
    await rotating.close();
  });

  it('keeps sign-ins in progress working', async () => {
    const before = await startB2bApp({ provider, options: { cookiePassword: older } });
    const after = await startB2bApp({ provider, options: { cookiePassword: [newest, older] } });
    const start = await before.visitor().get('/login?returnTo=/x');
    const callback = await app.workos.authorize(start.location, { user: oneOrganization });
    const cookie = (start.setCookies[0] ?? '').split(';', 1)[0] ?? '';
    const done = await after.visitor().get(callback.pathname + callback.search, { headers: { cookie } });
    expect([done.status, done.headers.location]).toEqual([303, '/x']);
    await Promise.all([before.close(), after.close()]);
  });
});

describe('a seal that was tampered with', () => {
  it('does not open, whatever position was changed', async () => {
    const sealed = (await app.signedIn()).cookies.get('b2b-session') ?? '';
    expect((await read(sealed)).status).toBe(200);
    for (let at = 0; at < sealed.length - 2; at += 61) {
      const touched = sealed.slice(0, at) + (sealed[at] === 'A' ? 'B' : 'A') + sealed.slice(at + 1);
      expect([at, (await read(touched)).status]).toEqual([at, 401]);
    }
  });

  it('is not accepted because its parts come from valid seals', async () => {
    const [one, other] = [await app.signedIn(), await app.signedIn(oneOrganization)].map(
      (visitor) => visitor.cookies.get('b2b-session') ?? '',
    ) as [string, string];
    expect((await read(one)).status).toBe(200);
    const [a, b] = [one.split('*'), other.split('*')];
    const mixed = [...a.slice(0, 4), ...b.slice(4)].join('*');
    expect((await read(mixed)).status).toBe(401);
    expect((await read(one.slice(0, 200) + other.slice(200))).status).toBe(401);
  });
});
