import { endSession, renewSession } from '../../../lib/b2b/index.ts';
import type { B2bAuthOptions, B2bSignIn } from '../../../lib/b2b/index.ts';
import { AuthError } from '../../../lib/errors.ts';
import { demoUsers, startB2bApp } from '../../support/b2b-app.ts';
import type { B2bApp } from '../../support/b2b-app.ts';
import { itAtRoot } from '../../support/only.ts';
import { expectUntouched, ownRoutes, refused, storeBy, verdictOf, whoIs } from '../../support/own-sign-in.ts';
import type { OwnSignIn } from '../../support/own-sign-in.ts';
import { until } from '../../support/until.ts';
import type { Answer, Visitor } from '../../support/visitor.ts';

const ada = demoUsers.personal;
const grace = { ...demoUsers.personal, id: 'user_grace', email: 'grace@example.com' };

let app: B2bApp;
let own: OwnSignIn;

async function start(options: B2bAuthOptions = {}): Promise<B2bApp> {
  own = { tokens: undefined };
  app = await startB2bApp({ options, after: (host) => ownRoutes(host, () => app.auth, own) });
  return app;
}

afterEach(() => app.close());

type Issue = Partial<Parameters<B2bApp['workos']['issueSession']>[0]>;

const tokensOf = (issue: Issue = {}) => app.workos.issueSession({ user: ada, ...issue });

const store = (visitor: Visitor, tokens: unknown, returnTo?: unknown): Promise<Answer> =>
  storeBy(own, visitor, tokens, returnTo);

describe('a headless sign-in', () => {
  it('has WorkOS’ answer, and the browser gets the sealed session', async () => {
    await start();
    const visitor = app.visitor();
    const done = await store(visitor, await tokensOf(), '/dashboard?a=b');
    expect([done.status, done.json]).toEqual([200, { redirectTo: '/dashboard?a=b' }]);
    expect(await whoIs(visitor)).toBe(ada.email);
    expect((await visitor.get('/dashboard')).text).toBe('dashboard');
    expect(app.events).toEqual([
      { adapter: 'b2b', type: 'signed_in', userId: ada.id, sessionId: expect.stringMatching(/^session_/) },
    ]);
  });

  it('carries the organization of the signed token, whatever the answer says', async () => {
    const hooks: B2bSignIn[] = [];
    await start({ onSignIn: (signIn) => void hooks.push(signIn) });
    const visitor = app.visitor();
    const tokens = await tokensOf({ organizationId: 'org_1' });
    await store(visitor, { ...tokens, organizationId: 'org_2' });
    expect((await visitor.getJson('/auth/session')).json.organizationId).toBe('org_1');
    expect(hooks).toMatchObject([{ organizationId: 'org_1', authenticationMethod: 'Password', returnTo: '/' }]);
    expect(hooks[0]).not.toHaveProperty('requestedOrganizationId');
  });

  it('is renewed like every session', async () => {
    await start();
    const visitor = app.visitor();
    await store(visitor, await tokensOf());
    app.clock.advance(3_600_000);
    expect(await whoIs(visitor)).toBe(ada.email);
    expect(app.events.map(({ type }) => type)).toEqual(['signed_in', 'session_refreshed']);
  });

  it('hands the social provider’s tokens to onSignIn, and to no cookie', async () => {
    const hooks: B2bSignIn[] = [];
    await start({ onSignIn: (signIn) => void hooks.push(signIn) });
    const oauthTokens = { accessToken: 'ya29', refreshToken: '1//', expiresAt: 0, scopes: ['calendar'] };
    await store(app.visitor(), { ...(await tokensOf()), oauthTokens });
    await store(app.visitor(), { ...(await tokensOf()), oauthTokens: 'ya29' });
    expect(hooks.map((hook) => hook.oauthTokens)).toEqual([oauthTokens, undefined]);
  });

  itAtRoot('asks accept and onSignIn once for tokens that come twice at once', async () => {
    const asked: string[] = [];
    await start({
      accept: ({ user }) => asked.push(`accept ${user.email}`) > 0,
      onSignIn: ({ session }) => {
        asked.push(`onSignIn ${session.user.email}`);
        return { redirectTo: '/welcome' };
      },
    });
    own.tokens = await tokensOf();
    const answers = await Promise.all([1, 2].map(() => app.visitor().postJson('/own')));
    expect(answers.map(({ json }) => json)).toEqual([{ redirectTo: '/welcome' }, { redirectTo: '/welcome' }]);
    expect(asked).toEqual([`accept ${ada.email}`, `onSignIn ${ada.email}`]);
  });

  it('replaces the former session, which ends here and at WorkOS', async () => {
    await start();
    const visitor = await app.signedIn();
    const former = visitor.cookieHeader();
    const { sessionId } = (await visitor.getJson('/auth/session')).json;
    await store(visitor, await tokensOf({ user: grace }));
    expect(await whoIs(visitor)).toBe(grace.email);
    expect((await app.visitor().get('/whoami', { headers: { cookie: former } })).json.user).toBeNull();
    await until(() => !app.workos.isSessionActive(String(sessionId)));
  });

  it('ends at sign-out, and its tokens do not bring it back', async () => {
    await start();
    const visitor = app.visitor();
    const tokens = await tokensOf();
    await store(visitor, tokens);
    await visitor.post('/logout', { headers: { accept: 'application/json' } });
    expect(await whoIs(visitor)).toBeUndefined();
    app.clock.advance(3_000);
    expect(verdictOf(await store(visitor, tokens))).toEqual(refused);
    expect(await whoIs(visitor)).toBeUndefined();
  });

  it('counts its age from the sign-in at WorkOS', async () => {
    await start({ sessionMaxAge: 3_600 });
    const auth_time = Math.floor(app.clock.now() / 1000) - 3_500;
    const visitor = app.visitor();
    expect((await store(visitor, await tokensOf({ claims: { auth_time } }))).status).toBe(200);
    app.clock.advance(50_000);
    expect(await whoIs(visitor)).toBe(ada.email);
    app.clock.advance(60_000);
    expect(await whoIs(visitor)).toBeUndefined();
    const late = { claims: { auth_time: auth_time - 200 } };
    expect(verdictOf(await store(app.visitor(), await tokensOf(late)))).toEqual(refused);
  });
});

describe('tokens that are refused store nothing, and leave the former session', () => {
  const untouched = async (tokens: unknown, expected?: unknown[]): Promise<Answer> =>
    expectUntouched(own, await app.signedIn(), tokens, expected);

  it.each([
    ['undefined', undefined],
    ['null', null],
    ['text', 'accessToken'],
    ['a list', []],
    ['nothing', {}],
    ['no user', { accessToken: 'a.b.c', refreshToken: 'd' }],
    ['no refresh token', { accessToken: 'a.b.c', user: ada }],
    ['made-up tokens', { accessToken: 'a.b.c', refreshToken: 'd', user: ada }],
    ['megabytes', { accessToken: 'a'.repeat(2_000_000), refreshToken: 'b', user: ada }],
    ['Supabase’s form', { access_token: 'a.b.c', refresh_token: 'd', user: ada }],
  ])('%s', async (_, tokens) => {
    await start();
    await untouched(tokens);
    expect(app.events.at(-1)).toMatchObject({ type: 'sign_in_failed', code: 'tokens_refused' });
  });

  it.each([
    ['a widget’s', { aud: 'widgets', sid: undefined, client_id: undefined }],
    ['a widget’s with a session', { aud: 'widgets' }],
    ['another client’s', { client_id: 'client_other' }],
    ['a Connect application’s', { sid: 'app_consent_1', client_id: undefined }],
    ['a machine’s', { sub: 'client_machine', sid: undefined }],
    ['an agent’s', { sub: 'agent_registration_1', act: { sub: 'agent' } }],
    ['without a session', { sid: undefined }],
    ['another user’s', { sub: 'user_other' }],
    ['expired', { exp: 1 }],
    ['not valid yet', { nbf: 4_000_000_000 }],
  ])('%s', async (_, claims) => {
    await start();
    await untouched(await tokensOf({ user: grace, claims }));
  });

  it('of an issuer that is not listed', async () => {
    await start({ issuer: 'https://auth.example.com' });
    const visitor = app.visitor();
    expect(verdictOf(await store(visitor, await tokensOf()))).toEqual(refused);
  });

  it('signed with another key', async () => {
    await start();
    const tokens = await tokensOf({ user: grace });
    await untouched({ ...tokens, accessToken: `${tokens.accessToken.slice(0, -8)}AAAAAAAA` });
    const [head, , signature] = tokens.accessToken.split('.');
    const claims = Buffer.from(JSON.stringify({ sub: grace.id, sid: 'session_1', exp: 4_000_000_000 }));
    await untouched({ ...tokens, accessToken: [head, claims.toString('base64url'), signature].join('.') });
  });

  it('of another person than the answer’s user', async () => {
    await start();
    await untouched({ ...(await tokensOf({ user: grace })), user: ada });
  });

  it('of a session that endSession ended, and a later sign-in works', async () => {
    await start();
    const tokens = await tokensOf({ user: grace });
    app.clock.advance(5_000);
    await endSession(app.auth, { userId: grace.id });
    await untouched(tokens);
    await untouched(tokens);
    app.clock.advance(1_000);
    const visitor = app.visitor();
    expect((await store(visitor, await tokensOf({ user: grace }))).status).toBe(200);
    expect(await whoIs(visitor)).toBe(grace.email);
  });

  it('of a session that endSession ends while onSignIn runs: the cookie is worth nothing', async () => {
    await start({
      onSignIn: async ({ session }) => {
        app.clock.advance(1_000);
        await endSession(app.auth, { userId: session.user.id });
      },
    });
    const visitor = app.visitor();
    await store(visitor, await tokensOf());
    expect(await whoIs(visitor)).toBeUndefined();
  });

  it('of a session that is signed out while onSignIn runs', async () => {
    let signOut: () => Promise<unknown> = async () => undefined;
    await start({ onSignIn: () => signOut().then(() => undefined) });
    const visitor = app.visitor();
    const tokens = await tokensOf();
    await store(visitor, tokens);
    app.clock.advance(3_000);
    signOut = () => visitor.post('/logout', { headers: { accept: 'application/json' } });
    const other = app.visitor();
    const answer = await store(other, tokens);
    expect([verdictOf(answer), answer.setCookies]).toEqual([refused, []]);
    expect(await whoIs(other)).toBeUndefined();
  });

  it('of somewhat earlier than renewSession are taken, and renewed before use', async () => {
    await start();
    const tokens = await tokensOf();
    app.clock.advance(2_000);
    await renewSession(app.auth, { userId: ada.id });
    const visitor = app.visitor();
    expect((await store(visitor, tokens)).status).toBe(200);
    expect(await whoIs(visitor)).toBe(ada.email);
    expect(app.events.map(({ type }) => type)).toContain('session_refreshed');
  });

  it('while their new signing key is not fetched yet: 503, and the same tokens work later', async () => {
    await start();
    const visitor = await app.signedIn();
    await app.workos.rotateKeys();
    const tokens = await tokensOf({ user: grace });
    const answer = await store(visitor, tokens);
    expect([verdictOf(answer), answer.setCookies]).toEqual([[503, 'provider_unavailable'], []]);
    expect(await whoIs(visitor)).toBe(ada.email);
    app.clock.advance(31_000);
    expect((await store(visitor, tokens)).status).toBe(200);
    expect(await whoIs(visitor)).toBe(grace.email);
  });

  it('by accept: 403, and the session stays at WorkOS', async () => {
    let hooks = 0;
    await start({ accept: ({ user }) => user.email !== grace.email, onSignIn: () => void (hooks += 1) });
    const tokens = await tokensOf({ user: grace });
    await untouched(tokens, [403, 'not_accepted']);
    expect([hooks, app.workos.isSessionActive(tokens.sessionId)]).toEqual([1, true]);
  });

  it('of another organization than the option’s: 403', async () => {
    await start({ organizationId: 'org_1' });
    const visitor = app.visitor();
    expect(verdictOf(await store(visitor, await tokensOf({ organizationId: 'org_2' })))).toEqual([
      403,
      'organization_required',
    ]);
    expect((await store(visitor, await tokensOf({ organizationId: 'org_1' }))).status).toBe(200);
  });

  it.each(['forbidden', 'invalid_state', 'token_rejected'] as const)(
    'by onSignIn, with its own error %s',
    async (code) => {
      const error = new AuthError(code, { message: 'Suspended.' });
      await start({
        onSignIn: ({ session }) => {
          if (session.user.email === grace.email) throw error;
        },
      });
      await untouched(await tokensOf({ user: grace }), [error.status, code]);
    },
  );

  it('for their size', async () => {
    await start();
    const tokens = await tokensOf({ user: grace });
    const user = { ...tokens.user, metadata: { more: 'x'.repeat(12_000) } };
    await untouched({ ...tokens, user }, [422, 'session_too_large']);
  });

  it('that a response which is sent cannot carry', async () => {
    let answer: () => void = () => undefined;
    await start({ onSignIn: ({ session }) => (session.user.email === grace.email ? answer() : undefined) });
    const visitor = await app.signedIn();
    const late: unknown[] = [];
    own.before = (_req, res) => {
      answer = () => void res.end('sent');
    };
    own.late = (error) => late.push(error);
    expect((await store(visitor, await tokensOf({ user: grace }))).setCookies).toEqual([]);
    await until(() => late.length > 0);
    expect(String(late[0])).toMatch(/^ConfigurationError: storeSession: the headers of the response are already/);
    expect(await whoIs(visitor)).toBe(ada.email);
  });
});

describe('tokens without JSON', () => {
  it.each(['cycle', 'bigint', 'deep'])('are refused with a user that has no JSON: %s', async (kind) => {
    await start();
    const tokens = await tokensOf();
    const odd: Record<string, unknown> = { ...tokens.user, more: kind === 'bigint' ? 1n : undefined };
    if (kind === 'cycle') odd['more'] = odd;
    if (kind === 'deep') for (let depth = 0; depth < 50_000; depth++) odd['more'] = { more: odd['more'] };
    expect(verdictOf(await store(app.visitor(), { ...tokens, user: odd }))).toEqual(refused);
  });
});
