import { generateKeyPair } from 'jose';
import { AuthError } from '../../../lib/errors.ts';
import {
  backendAuth,
  endSession,
  getSession,
  renewSession,
  requireSession,
  storeSession,
} from '../../../lib/backend/index.ts';
import type { BackendAuthOptions, SharedCoordinator } from '../../../lib/backend/index.ts';
import type { SessionOptions } from '../../../stand-ins/supabase/stand-in.ts';
import { ada, startBackendApp } from '../../support/backend-app.ts';
import type { BackendApp, BackendAppSetup } from '../../support/backend-app.ts';
import type { Handler } from '../../support/handler-list.ts';
import { expectUntouched, ownRoutes, refused, storeBy, verdictOf, whoIs } from '../../support/own-sign-in.ts';
import type { OwnSignIn } from '../../support/own-sign-in.ts';
import { itAtRoot } from '../../support/only.ts';
import { createShared } from '../../support/shared-memory.ts';
import { until } from '../../support/until.ts';
import type { Answer, Visitor } from '../../support/visitor.ts';

let app: BackendApp;
let own: OwnSignIn;
const grace = { email: 'grace@example.com', password: 'another horse battery' };

async function start(options: BackendAuthOptions = {}, setup: BackendAppSetup = {}): Promise<BackendApp> {
  own = { tokens: undefined };
  app = await startBackendApp({ ...setup, options, after: (host) => ownRoutes(host, () => app.auth, own) });
  app.supabase.addUser(grace);
  return app;
}

afterEach(() => app.close());

async function tokensOf(email: string = ada.email, session?: SessionOptions) {
  const { access_token, refresh_token } = await app.supabase.issueSession(email, session);
  return { access_token, refresh_token };
}

const store = (visitor: Visitor, tokens: unknown, returnTo?: unknown): Promise<Answer> =>
  storeBy(own, visitor, tokens, returnTo);

describe('a sign-in of one’s own', () => {
  it('has tokens, and the browser gets the session', async () => {
    await start();
    const visitor = app.visitor();
    const done = await store(visitor, await tokensOf(), '/account?a=b#c');
    expect([done.status, done.json]).toEqual([200, { redirectTo: '/account?a=b#c' }]);
    expect(await whoIs(visitor)).toBe(ada.email);
    expect((await visitor.get('/account')).text).toBe('account');
    expect(app.events).toEqual([
      {
        adapter: 'backend',
        type: 'signed_in',
        userId: expect.any(String),
        sessionId: expect.any(String),
      },
    ]);
  });

  it('is renewed like every session', async () => {
    await start();
    const visitor = app.visitor();
    await store(visitor, await tokensOf());
    app.clock.advance(2 * 3_600_000);
    expect(await whoIs(visitor)).toBe(ada.email);
    expect(app.eventTypes()).toEqual(['signed_in', 'session_refreshed']);
  });

  it('writes the cookie with its attributes, and lets no cache keep the answer', async () => {
    await start();
    const visitor = app.visitor();
    const done = await store(visitor, await tokensOf());
    const plain = await app.visitor().postJson('/auth/login', ada);
    const attributes = ([line = '']: readonly string[]): string => line.replace(/^[^;]*/, '');
    expect(attributes(done.setCookies)).toBe(attributes(plain.setCookies));
    expect(done.headers['cache-control']).toBe('private, no-store');
  });

  it.each([
    [undefined, '/'],
    ['https://evil.example', '/'],
    ['//evil.example', '/'],
    ['/.//evil.example', '/'],
    ['/auth/logout', '/'],
    [`/${'x'.repeat(3_000)}`, '/'],
    [{ toString: () => '/account' }, '/'],
    [['/account'], '/'],
    [7, '/'],
    ['/account', '/account'],
  ])('leads for returnTo %p to %s', async (returnTo, expected) => {
    await start();
    expect((await store(app.visitor(), await tokensOf(), returnTo)).json).toEqual({ redirectTo: expected });
  });

  itAtRoot('asks accept and then onSignIn once, before anything is stored, and goes where the hook says', async () => {
    const asked: unknown[] = [];
    await start({
      accept: ({ user }) => {
        asked.push(['accept', user.email]);
        return true;
      },
      onSignIn: ({ session, returnTo, ...others }) => {
        asked.push(['onSignIn', session.user.email, session.credential, returnTo, Object.keys(others)]);
        return { redirectTo: '/welcome' };
      },
    });
    const done = await store(app.visitor(), await tokensOf(), '/account');
    expect(done.json).toEqual({ redirectTo: '/welcome' });
    expect(asked).toEqual([
      ['accept', ada.email],
      ['onSignIn', ada.email, 'cookie', '/account', ['req', 'identities']],
    ]);
  });

  it('runs onSignIn once for tokens that come twice at once, and stores them in both browsers’ answers', async () => {
    let calls = 0;
    await start({ onSignIn: () => void (calls += 1) });
    own.tokens = await tokensOf();
    const visitors = [app.visitor(), app.visitor()];
    const answers = await Promise.all(visitors.map((visitor) => visitor.postJson('/own')));
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    expect(await Promise.all(visitors.map(whoIs))).toEqual([ada.email, ada.email]);
    expect(calls).toBe(1);
  });

  it('runs onSignIn once for tokens that come again within two seconds, and again for later ones', async () => {
    let calls = 0;
    await start({ onSignIn: () => void (calls += 1) });
    const tokens = await tokensOf();
    await store(app.visitor(), tokens);
    app.clock.advance(1_900);
    expect((await store(app.visitor(), tokens)).status).toBe(200);
    expect(calls).toBe(1);
    await store(app.visitor(), tokens, '/account');
    expect(calls).toBe(2);
    app.clock.advance(2_100);
    await store(app.visitor(), tokens);
    expect(calls).toBe(3);
  });

  it('replaces the former session, which ends here and at Supabase', async () => {
    await start();
    const visitor = await app.signedIn();
    const former = visitor.cookieHeader();
    await store(visitor, await tokensOf(grace.email));
    expect(await whoIs(visitor)).toBe(grace.email);
    expect((await app.visitor().get('/whoami', { headers: { cookie: former } })).json.user).toBeNull();
    // No response waits for it.
    await until(() => app.supabase.sessionsOf(ada.email).length === 0);
  });

  it('takes newer tokens of the same session', async () => {
    await start();
    const visitor = app.visitor();
    const first = await app.supabase.issueSession(ada.email);
    await store(visitor, first);
    expect((await store(visitor, first)).status).toBe(200);
    expect(await whoIs(visitor)).toBe(ada.email);
    expect(app.supabase.sessionsOf(ada.email)).toHaveLength(1);
  });

  it('ends at sign-out, and its tokens do not bring it back', async () => {
    await start();
    const visitor = app.visitor();
    const tokens = await tokensOf();
    await store(visitor, tokens);
    await visitor.postJson('/auth/logout');
    expect(await whoIs(visitor)).toBeUndefined();
    expect(verdictOf(await store(visitor, tokens))).toEqual(refused);
    expect(await whoIs(visitor)).toBeUndefined();
  });

  it('works behind a guard that takes the same token as a bearer token', async () => {
    own = { tokens: undefined };
    app = await startBackendApp({
      after(host) {
        host.use('/own', requireSession({ credentials: ['bearer'] }) as Handler);
        ownRoutes(host, () => app.auth, own);
      },
    });
    const tokens = await tokensOf();
    own.tokens = tokens;
    const visitor = app.visitor();
    const headers = { authorization: `Bearer ${tokens.access_token}`, accept: 'application/json' };
    expect((await visitor.post('/own', { headers })).status).toBe(200);
    expect(await whoIs(visitor)).toBe(ada.email);
  });

  it('reads the two tokens only: another field may come from the client', async () => {
    await start();
    const visitor = app.visitor();
    const user = { id: '1', email: 'eve@example.com', factors: [] };
    await store(visitor, { ...(await tokensOf()), user, expires_at: 1, provider_token: 'p', token_type: 'x' });
    expect(await whoIs(visitor)).toBe(ada.email);
    const stored = Buffer.from(
      decodeURIComponent(String(visitor.cookies.get(app.cookieName))).replace('base64-', ''),
      'base64url',
    ).toString();
    expect(JSON.parse(stored)).toMatchObject({ token_type: 'bearer', user: { email: ada.email } });
    expect(stored).not.toContain('provider_token');
    expect(stored).not.toContain('eve@');
  });
});

describe('tokens that are refused store nothing, and leave the former session', () => {
  const untouched = async (tokens: unknown, expected?: unknown[]): Promise<Answer> =>
    expectUntouched(own, await app.signedIn(), tokens, expected);

  it.each([
    ['undefined', undefined],
    ['null', null],
    ['text', 'access_token'],
    ['a list', [{ access_token: 'a', refresh_token: 'b' }]],
    ['nothing', {}],
    ['no refresh token', { access_token: 'a.b.c' }],
    ['empty tokens', { access_token: '', refresh_token: '' }],
    ['numbers', { access_token: 1, refresh_token: 2 }],
    ['made-up tokens', { access_token: 'a.b.c', refresh_token: 'd' }],
    ['megabytes', { access_token: 'a'.repeat(2_000_000), refresh_token: 'b'.repeat(2_000_000) }],
    ['WorkOS’ form', { accessToken: 'a.b.c', refreshToken: 'd', user: { id: '1', email: 'a@example.com' } }],
  ])('%s', async (what, tokens) => {
    await start();
    const calls = app.supabase.requests.length;
    const answer = await untouched(tokens);
    expect(answer.json.message).toBe('We couldn’t verify your sign-in. Please sign in again.');
    expect(answer.json.reason).toBe(['made-up tokens', 'megabytes'].includes(what) ? 'not_valid' : 'malformed');
    const further = app.supabase.requests.slice(calls).map(({ endpoint }) => endpoint);
    expect(further.filter((endpoint) => !['password', 'jwks'].includes(endpoint))).toEqual([]);
    expect(app.events.at(-1)).toMatchObject({ type: 'sign_in_failed', code: 'tokens_refused' });
  });

  it.each<[string, SessionOptions, string]>([
    ['an OAuth client’s', { claims: { client_id: '9f2c' } }, 'client'],
    ['an OAuth client’s with an empty id', { claims: { client_id: '' } }, 'client'],
    ['another audience’s', { claims: { aud: 'widgets' } }, 'not_valid'],
    ['a service role’s', { claims: { role: 'service_role' } }, 'not_valid'],
    ['another issuer’s', { claims: { iss: 'https://other.supabase.co/auth/v1' } }, 'not_valid'],
    ['expired', { ttl: -60 }, 'not_valid'],
    ['not valid yet', { claims: { nbf: 4_000_000_000 } }, 'not_valid'],
    ['without a user', { claims: { sub: '' } }, 'not_valid'],
    [
      'of a user that the backend does not know',
      { claims: { sub: '00000000-0000-4000-8000-000000000001' } },
      'user_not_found',
    ],
  ])('%s', async (_, session, reason) => {
    await start();
    const tokens = await tokensOf(grace.email, session);
    expect((await untouched(tokens)).json.reason).toBe(reason);
    // Only a user that no claim rules out is worth a question.
    expect(app.supabase.calls('user')).toBe(session.claims?.sub?.startsWith('0000') === true ? 1 : 0);
  });

  it('of which the backend says that they are another user’s', async () => {
    const answering: typeof globalThis.fetch = async (input, init) => {
      const answer = await fetch(input, init);
      if (!new Request(input).url.endsWith('/auth/v1/user')) return answer;
      return Response.json({ ...((await answer.json()) as object), id: '00000000-0000-4000-8000-000000000001' });
    };
    await start({ fetch: answering });
    expect((await untouched(await tokensOf(grace.email))).json.reason).toBe('subject');
  });

  it('signed with another key, or not at all', async () => {
    await start();
    const tokens = await tokensOf(grace.email);
    const [, body = ''] = tokens.access_token.split('.');
    const claims = JSON.parse(Buffer.from(body, 'base64url').toString());
    const { privateKey } = await generateKeyPair('ES256');
    for (const forgery of [{ key: privateKey }, { alg: 'none' }]) {
      await untouched({ ...tokens, access_token: await app.supabase.signToken(claims, forgery) });
    }
    // It may be a key of a moment ago; old tokens cannot name one.
    const unknown = { kid: 'another', key: privateKey };
    const fresh = await app.supabase.signToken(claims, unknown);
    await untouched({ ...tokens, access_token: fresh }, [503, 'provider_unavailable']);
    const old = await app.supabase.signToken({ ...claims, iat: claims.iat - 3_000 }, unknown);
    await untouched({ ...tokens, access_token: old });
    await untouched({ ...tokens, access_token: `${tokens.access_token.slice(0, -8)}AAAAAAAA` });
  });

  it('of a session that the backend has ended', async () => {
    await start();
    const tokens = await tokensOf(grace.email);
    app.supabase.removeUser(grace.email);
    await untouched(tokens);
  });

  it('of a session that endSession ended, however often they come', async () => {
    await start();
    const tokens = await tokensOf(grace.email);
    app.clock.advance(5_000);
    const [{ id } = { id: '' }] = app.supabase.users().filter(({ email }) => email === grace.email);
    await endSession(app.auth, { userId: id });
    await untouched(tokens);
    await untouched(tokens);
    app.clock.advance(1_000);
    const visitor = app.visitor();
    expect((await store(visitor, await tokensOf(grace.email))).status).toBe(200);
    expect(await whoIs(visitor)).toBe(grace.email);
  });

  it('of a session that endSession ends while onSignIn runs: the cookie is worth nothing', async () => {
    const ended: Promise<void>[] = [];
    await start({
      onSignIn: async ({ session }) => {
        app.clock.advance(1_000);
        ended.push(endSession(app.auth, { userId: session.user.id }));
        await ended[0];
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
    signOut = () => visitor.postJson('/auth/logout');
    const other = app.visitor();
    const answer = await store(other, tokens);
    expect([verdictOf(answer), answer.setCookies]).toEqual([refused, []]);
    expect(await whoIs(other)).toBeUndefined();
  });

  it('of a session that is signed out while they take the place of another one', async () => {
    const shared = createShared();
    let signOut: (() => Promise<unknown>) | undefined;
    const merge: SharedCoordinator['merge'] = async (...change) => {
      const waited = signOut;
      signOut = undefined;
      await waited?.();
      return shared.merge(...change);
    };
    await start({ coordinator: { ...shared, merge } });
    const [visitor, other] = [await app.signedIn(), app.visitor()];
    const tokens = await tokensOf(grace.email);
    await store(other, tokens);
    app.clock.advance(3_000);
    signOut = () => other.postJson('/auth/logout');
    const answer = await store(visitor, tokens);
    expect([verdictOf(answer), answer.json.reason, answer.setCookies]).toEqual([refused, 'signed_out', []]);
  });

  it('of somewhat earlier than renewSession are taken, and renewed before use', async () => {
    await start();
    const tokens = await tokensOf();
    app.clock.advance(2_000);
    const [{ id } = { id: '' }] = app.supabase.users().filter(({ email }) => email === ada.email);
    await renewSession(app.auth, { userId: id });
    const visitor = app.visitor();
    expect((await store(visitor, tokens)).status).toBe(200);
    expect(await whoIs(visitor)).toBe(ada.email);
    expect(app.eventTypes()).toContain('session_refreshed');
  });

  it('by accept: 403, and the tokens stay the application’s', async () => {
    let hooks = 0;
    await start({ accept: ({ user }) => user.email !== grace.email, onSignIn: () => void (hooks += 1) });
    await untouched(await tokensOf(grace.email), [403, 'not_accepted']);
    expect(hooks).toBe(1);
    expect(app.supabase.calls('logout')).toBe(0);
    expect(app.supabase.sessionsOf(grace.email)).toHaveLength(1);
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
      const answer = await untouched(await tokensOf(grace.email), [error.status, code]);
      expect(answer.json.message).toBe('Suspended.');
      expect(app.supabase.sessionsOf(grace.email)).toHaveLength(1);
    },
  );

  it('for their size', async () => {
    await start();
    const claims = { app_metadata: { more: 'x'.repeat(12_000) } };
    await untouched(await tokensOf(grace.email, { claims }), [422, 'session_too_large']);
  });

  it('for the size of the cookie that waits for a second factor', async () => {
    await start();
    app.supabase.addFactor(grace.email);
    const claims = { app_metadata: { more: 'x'.repeat(6_000) } };
    await untouched(await tokensOf(grace.email, { claims }), [422, 'session_too_large']);
  });

  it('while their new signing key is not fetched yet: 503, and the same tokens work later', async () => {
    await start();
    const visitor = await app.signedIn();
    await app.supabase.rotateKeys({ keepOld: true });
    const tokens = await tokensOf(grace.email);
    const answer = await store(visitor, tokens);
    expect([verdictOf(answer), answer.setCookies]).toEqual([[503, 'provider_unavailable'], []]);
    expect(await whoIs(visitor)).toBe(ada.email);
    app.clock.advance(31_000);
    expect((await store(visitor, tokens)).status).toBe(200);
    expect(await whoIs(visitor)).toBe(grace.email);
  });

  it('while the backend is out of reach: 503', async () => {
    await start();
    const tokens = await tokensOf(grace.email);
    const visitor = await app.signedIn();
    app.supabase.fail('user', 503);
    const answer = await store(visitor, tokens);
    expect([verdictOf(answer), answer.setCookies]).toEqual([[503, 'provider_unavailable'], []]);
    app.supabase.heal();
    expect(await whoIs(visitor)).toBe(ada.email);
    expect((await store(visitor, tokens)).status).toBe(200);
  });
});

describe('a second factor', () => {
  it('is asked for, and the session comes with it; onSignIn runs then', async () => {
    const hooks: unknown[] = [];
    await start({ onSignIn: ({ session }) => void hooks.push(session.claims['aal']) });
    const factor = app.supabase.addFactor(ada.email);
    const visitor = app.visitor();
    const first = await store(visitor, await tokensOf(), '/account');
    expect(first.json).toEqual({ redirectTo: '/auth/verify?returnTo=%2Faccount' });
    expect([await whoIs(visitor), hooks]).toEqual([undefined, []]);
    const done = await visitor.postJson('/auth/verify', { code: app.supabase.codeOf(factor) });
    expect(done.json).toEqual({ redirectTo: '/account' });
    expect([await whoIs(visitor), hooks]).toEqual([ada.email, ['aal2']]);
  });

  it('that was given leaves its tokens no further sign-in', async () => {
    await start();
    const factor = app.supabase.addFactor(ada.email);
    const [visitor, other] = [app.visitor(), app.visitor()];
    const tokens = await tokensOf();
    await store(visitor, tokens);
    await visitor.postJson('/auth/verify', { code: app.supabase.codeOf(factor) });
    const answer = await store(other, tokens);
    expect([verdictOf(answer), answer.json.reason, answer.setCookies]).toEqual([refused, 'superseded', []]);
    expect(await whoIs(visitor)).toBe(ada.email);
  });

  it('is asked for also of tokens whose user says there is none', async () => {
    await start();
    app.supabase.addFactor(ada.email);
    const visitor = app.visitor();
    const answer = await store(visitor, { ...(await tokensOf()), user: { factors: [] } });
    expect(answer.json.redirectTo).toBe('/auth/verify');
    expect(await whoIs(visitor)).toBeUndefined();
  });

  it('that the tokens have is enough', async () => {
    await start();
    app.supabase.addFactor(ada.email);
    const visitor = app.visitor();
    const answer = await store(visitor, await tokensOf(ada.email, { claims: { aal: 'aal2' } }), '/account');
    expect(answer.json).toEqual({ redirectTo: '/account' });
    expect(await whoIs(visitor)).toBe(ada.email);
  });

  it('is not asked for after ten minutes, as no page would: the tokens are refused', async () => {
    await start();
    app.supabase.addFactor(ada.email);
    const tokens = await tokensOf();
    app.clock.advance(11 * 60_000);
    const visitor = app.visitor();
    const answer = await store(visitor, tokens);
    expect([verdictOf(answer), answer.setCookies]).toEqual([refused, []]);
  });

  it('is worth nothing where endSession ended the sign-in meanwhile', async () => {
    let ended = false;
    await start({
      accept: async ({ user }) => {
        if (ended) return true;
        ended = true;
        app.clock.advance(1_000);
        await endSession(app.auth, { userId: user.id });
        return true;
      },
    });
    const factor = app.supabase.addFactor(ada.email);
    const visitor = app.visitor();
    await store(visitor, await tokensOf());
    expect(ended).toBe(true);
    const answer = await visitor.postJson('/auth/verify', { code: app.supabase.codeOf(factor) });
    expect([answer.status, await whoIs(visitor)]).toEqual([401, undefined]);
  });

  it('leaves the former session until it is given', async () => {
    await start();
    const visitor = await app.signedIn();
    app.supabase.addFactor(grace.email);
    await store(visitor, await tokensOf(grace.email));
    expect(await whoIs(visitor)).toBe(ada.email);
  });
});

describe('the response', () => {
  it('that is already sent is an error at once: nothing is verified, nothing ends', async () => {
    let hooks = 0;
    await start({ onSignIn: () => void (hooks += 1) });
    const visitor = await app.signedIn();
    hooks = 0;
    const calls = app.supabase.requests.length;
    const failures: unknown[] = [];
    own.before = async (req, res) => {
      res.end('sent');
      await storeSession(app.auth, req, res, own.tokens as never).catch((error: unknown) => failures.push(error));
    };
    await store(visitor, await tokensOf(grace.email));
    expect(String(failures[0])).toMatch(/^ConfigurationError: storeSession: the headers of the response are already/);
    expect([hooks, app.supabase.requests.length - calls]).toEqual([0, 0]);
    expect(await whoIs(visitor)).toBe(ada.email);
  });

  it('that is sent meanwhile leaves the former session', async () => {
    let answer: () => void = () => undefined;
    await start({ onSignIn: ({ session }) => (session.user.email === grace.email ? answer() : undefined) });
    const visitor = await app.signedIn();
    const late: unknown[] = [];
    own.before = (_req, res) => {
      answer = () => void res.end('sent');
    };
    own.late = (error) => late.push(error);
    expect((await store(visitor, await tokensOf(grace.email))).setCookies).toEqual([]);
    await until(() => late.length > 0);
    expect(String(late[0])).toMatch(/^ConfigurationError: storeSession: the headers of the response are already/);
    expect(await whoIs(visitor)).toBe(ada.email);
  });

  it('of another request is an error', async () => {
    await start();
    own.before = (req) => storeSession(app.auth, req, { headersSent: false } as never, own.tokens as never);
    const answer = await store(app.visitor(), await tokensOf());
    expect([answer.status, answer.json.message]).toEqual([
      500,
      'ConfigurationError: storeSession: res must be the response to req',
    ]);
  });
});

describe('who may call it', () => {
  it.each([undefined, null, {}, () => undefined])('refuses %p in place of the adapter', async (auth) => {
    await start();
    own.before = (req, res) => storeSession(auth as never, req, res, own.tokens as never);
    const { json } = await store(app.visitor(), await tokensOf());
    expect(json.message).toContain('must be what b2bAuth() or backendAuth() returned');
  });

  itAtRoot('refuses an adapter that the request has not passed', async () => {
    await start();
    const { url, publishableKey } = app.supabase;
    const other = backendAuth({ url, anonKey: publishableKey });
    own.before = (req, res) => storeSession(other, req, res, own.tokens as never);
    const { json } = await store(app.visitor(), await tokensOf());
    expect(json.message).toContain('mount backendAuth() with app.use() before it');
  });
});

describe('a session that is renewed in the background meanwhile', () => {
  it('does not take the place of the new one', async () => {
    await start();
    const visitor = await app.signedIn();
    // Due for a refresh ahead of time, and still valid.
    app.clock.advance((3_600 - 50) * 1000);
    const gate = app.supabase.gate('refresh');
    own.before = (req) => getSession(req);
    own.after = async () => {
      await gate.waitFor(1);
      gate.open();
      // Its answer is discarded, or its cookies are delivered, before this one: both need one process alone.
      for (let turn = 0; turn < 50; turn += 1) await fetch(`${app.supabase.url}/auth/v1/health`);
    };
    const answer = await store(visitor, await tokensOf(grace.email));
    expect([answer.status, app.supabase.calls('refresh')]).toEqual([200, 1]);
    expect(await whoIs(visitor)).toBe(grace.email);
  });
});
