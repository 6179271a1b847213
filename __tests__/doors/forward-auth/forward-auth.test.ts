import express from 'express';
import type { Router } from 'express';
import { AuthError, b2bAuth, ConfigurationError, forwardAuth, getSession, requireSession } from '../../../lib/index.ts';
import type { ForwardAuthOptions } from '../../../lib/index.ts';
import { adapters } from '../../support/apps-under-test.ts';
import type { AppUnderTest, AppUnderTestSetup } from '../../support/apps-under-test.ts';
import { startBackendApp } from '../../support/backend-app.ts';
import { startB2bApp } from '../../support/b2b-app.ts';
import { closeAfterEach } from '../../support/close-after-each.ts';
import type { Handler } from '../../support/handler-list.ts';
import { createB2bTestKit } from '../../../lib/testing/index.ts';
import { serve } from '../../support/servers.ts';
import { createShared } from '../../support/shared-memory.ts';
import { itOnExpress } from '../../support/only.ts';
import { until } from '../../support/until.ts';
import { variant } from '../../support/variant.ts';
import { createVisitor } from '../../support/visitor.ts';
import type { Answer, Ask, Visitor } from '../../support/visitor.ts';

const day = 24 * 60 * 60_000;
/** Too large for one cookie, small enough for several. */
const chunked = 2_600;
/** Whether no express-session in front sets a cookie of its own with each response, which leaves none for ours. */
const isAlone = ['nothing', 'parsers'].includes(variant.front);

const forward = (auth: Router, options?: ForwardAuthOptions): Handler => forwardAuth(auth, options) as Handler;

/** As a gateway names its client's path, without which no `check` is asked. */
const asksFor = (path: string): Ask => ({ headers: { 'x-original-uri': path } });

/** The `X-Auth-*` headers and the bearer token of an answer. */
function passedOn({ headers }: Answer): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => name.startsWith('x-auth-') || name === 'authorization'),
  );
}

describe.each(adapters)('forwardAuth with $name', ({ name, start }) => {
  let app: AppUnderTest;
  const startWith = async (
    options?: ForwardAuthOptions,
    extra: AppUnderTestSetup['options'] & { readonly accept?: () => boolean } = {},
  ): Promise<AppUnderTest> => {
    app = await start({ options: extra, after: (host, auth) => host.use('/forward', forward(auth, options)) });
    return app;
  };
  afterEach(() => app.close());

  const signInPath = name === 'b2bAuth' ? '/login' : '/auth/login';
  const signInUrl = (returnTo?: string): string =>
    `${app.origin}${variant.prefix}${signInPath}${returnTo === undefined ? '' : `?returnTo=${encodeURIComponent(returnTo)}`}`;
  const redirectFor = async (headers: Record<string, string | readonly string[]>): Promise<unknown> =>
    (await createVisitor(app.origin).get('/forward', { headers })).headers['x-auth-redirect'];

  it('answers 200, the only yes that Envoy takes, with who is signed in and no body', async () => {
    await startWith();
    const visitor = await app.signedIn();
    const answer = await visitor.get('/forward');
    expect([answer.status, answer.text]).toEqual([200, '']);
    const { user } = (await visitor.getJson('/auth/session')).json;
    expect(passedOn(answer)).toEqual({ 'x-auth-request-user': user.id, 'x-auth-request-email': user.email });
    expect(answer.headers['cache-control']).toBe('private, no-store');
  });

  it.each(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])('answers %s alike', async (method) => {
    await startWith();
    const visitor = await app.signedIn();
    const stranger = createVisitor(app.origin);
    expect((await visitor.ask('/forward', { method })).status).toBe(200);
    const refused = await stranger.ask('/forward', { method, headers: { 'x-original-uri': '/wiki/page?x=1' } });
    expect([refused.status, refused.headers.location]).toEqual([401, undefined]);
    expect(refused.headers['x-auth-redirect']).toBe(signInUrl('/wiki/page?x=1'));
  });

  it('adds the access token only where it is asked for', async () => {
    await startWith({ token: true });
    const answer = await (await app.signedIn()).get('/forward');
    expect(answer.headers.authorization).toMatch(/^Bearer [\w-]+\.[\w-]+\.[\w-]+$/);
    expect((await createVisitor(app.origin).get('/forward')).headers.authorization).toBeUndefined();
  });

  it("names the page of a form that posts, by the gateway's method or by its own", async () => {
    await startWith();
    const stranger = createVisitor(app.origin);
    const referer = `${app.origin}/wiki/edit`;
    const asked = { accept: 'text/html', 'x-original-uri': '/wiki/save', referer };
    for (const [method, header] of [['GET', 'POST'], ['POST']] as const) {
      const headers = { ...asked, ...(header && { 'x-original-method': header }) };
      const answer = await stranger.ask('/forward', { method, headers });
      expect(answer.headers['x-auth-redirect']).toBe(signInUrl('/wiki/edit'));
    }
  });

  it('answers documents and scripts that are signed out with 401, and never redirects', async () => {
    await startWith();
    const stranger = createVisitor(app.origin);
    const document = await stranger.get('/forward', { headers: { accept: 'text/html', 'x-original-uri': '/wiki' } });
    const script = await stranger.get('/forward', {
      headers: { accept: 'application/json', 'x-original-uri': '/wiki/api', referer: `${app.origin}/wiki` },
    });
    expect([document.status, script.status, document.headers.location, script.headers.location]).toEqual([
      401,
      401,
      undefined,
      undefined,
    ]);
    const url = signInUrl('/wiki');
    expect([document, script].map(({ headers }) => headers['x-auth-redirect'])).toEqual([url, url]);
    expect([document.text, script.json.error.code]).toEqual([expect.stringContaining('<h1'), 'unauthenticated']);
    // Below a prefix the visitor reads bodies without it.
    if (variant.prefix !== '') return;
    expect([document.text, script.json.redirectTo]).toEqual([
      expect.stringContaining('returnTo=%2Fwiki'),
      url.replace(app.origin, ''),
    ]);
  });

  it('leads back to the path that the gateway names', async () => {
    await startWith();
    expect(await redirectFor({ 'x-original-uri': '/wiki/page?a=1&b=%20#top' })).toBe(
      signInUrl('/wiki/page?a=1&b=%20#top'),
    );
    expect(await redirectFor({ 'x-forwarded-uri': '/wiki' })).toBe(signInUrl('/wiki'));
    expect(await redirectFor({ 'x-original-uri': '/wiki', 'x-forwarded-uri': '/other' })).toBe(signInUrl('/wiki'));
  });

  it.each([
    ['no path', {}],
    ['an empty path', { 'x-original-uri': '' }],
    ['an absolute URL', { 'x-original-uri': 'https://evil.example/wiki' }],
    ['another host', { 'x-original-uri': '//evil.example/wiki' }],
    ['another host after a dot segment', { 'x-original-uri': '/.//evil.example' }],
    ['an encoded other host', { 'x-original-uri': '/%2f%2fevil.example' }],
    ['backslashes', { 'x-original-uri': '/\\evil.example' }],
    ['a tab', { 'x-original-uri': '/\t/evil.example' }],
    ['an encoded control character', { 'x-original-uri': '/%09//evil.example' }],
    ['a script', { 'x-original-uri': 'javascript:alert(1)' }],
    ['several paths', { 'x-original-uri': ['/wiki', '/other'] }],
    ['several paths with an empty one', { 'x-original-uri': ['', '/other'] }],
    ['a path of 3,000 characters', { 'x-original-uri': `/${'a'.repeat(3_000)}` }],
    ['bytes that no browser sends', { 'x-original-uri': '/caf\u00e9' }],
    ['a space', { 'x-original-uri': '/a b' }],
  ])('leads to the start page with %s', async (_what, headers) => {
    await startWith();
    expect(await redirectFor(headers as Record<string, string>)).toBe(signInUrl());
  });

  it('leads to the start page with a path of its own adapter, which would sign out or loop', async () => {
    await startWith();
    const own = `${variant.prefix}${signInPath}`;
    expect(await redirectFor({ 'x-original-uri': own })).toBe(signInUrl());
    expect(
      await redirectFor({ 'x-original-uri': `${variant.prefix}/${name === 'b2bAuth' ? '' : 'auth/'}logout` }),
    ).toBe(signInUrl());
  });

  it('survives a path of 100 KB, which Node refuses', async () => {
    await startWith();
    const stranger = createVisitor(app.origin);
    const headers = { 'x-original-uri': `/${'a'.repeat(100_000)}` };
    const status = await stranger.get('/forward', { headers }).then(
      (answer) => answer.status,
      () => 'reset',
    );
    expect(['reset', 431]).toContain(status);
    expect((await stranger.get('/forward')).status).toBe(401);
  });

  it('answers 401 without a URL where the host is unusable', async () => {
    await startWith();
    const answer = await createVisitor(app.origin).get('/forward', { headers: { host: 'evil.example/@x' } });
    expect(answer.status).toBe(variant.isProxied ? answer.status : 401);
    expect(answer.headers['x-auth-redirect']).toBeUndefined();
  });

  it('never reads what a client sends as X-Auth-*', async () => {
    await startWith();
    const forged = {
      'x-auth-request-user': 'admin',
      'x-auth-request-email': 'admin@example.com',
      'x-auth-request-organization': 'org_1',
      'x-auth-redirect': 'https://evil.example/',
    };
    const refused = await createVisitor(app.origin).get('/forward', { headers: forged });
    expect([refused.status, passedOn(refused)]).toEqual([401, { 'x-auth-redirect': signInUrl() }]);
    const visitor = await app.signedIn();
    const passed = await visitor.get('/forward', { headers: forged });
    expect(passed.headers['x-auth-request-user']).not.toBe('admin');
    expect(passed.headers['x-auth-redirect']).toBeUndefined();
    expect(passed.headers['x-auth-request-organization']).toBeUndefined();
  });

  it.each([
    ['true', () => true, 200],
    ['a promise of true', () => Promise.resolve(true), 200],
    ['false', () => false, 403],
    ['undefined', () => undefined, 403],
    ['1', () => 1, 403],
    ["'true'", () => 'true', 403],
    ['an error 401', () => Promise.reject(new AuthError('unauthenticated')), 401],
    ['an error 400', () => Promise.reject(new AuthError('invalid_request')), 403],
    ['an error 429', () => Promise.reject(new AuthError('rate_limited', { retryAfter: 9 })), 403],
    ['an error 502', () => Promise.reject(new AuthError('token_rejected')), 503],
  ])('answers a check that returns %s', async (_what, check, status) => {
    await startWith({ check: check as () => boolean });
    const answer = await (await app.signedIn()).get('/forward', asksFor('/wiki'));
    expect(answer.status).toBe(status);
    expect(answer.headers['retry-after']).toBe(status === 503 ? '5' : undefined);
    expect('x-auth-request-user' in answer.headers).toBe(status === 200);
  });

  it('gives the check the session and the gateway’s request', async () => {
    const seen: unknown[] = [];
    await startWith({
      check: (session, req) => seen.push(session.user.email, req.headers['x-original-uri']) > 0,
    });
    const visitor = await app.signedIn();
    await visitor.get('/forward', { headers: { 'x-original-uri': '/wiki' } });
    expect(seen).toEqual([expect.stringContaining('@'), '/wiki']);
    await createVisitor(app.origin).get('/forward');
    expect(seen).toHaveLength(2);
  });

  it('passes what else a check throws to the application', async () => {
    await startWith({ check: () => Promise.reject(new Error('no database')) });
    const answer = await (await app.signedIn()).get('/forward', asksFor('/wiki'));
    expect([answer.status, passedOn(answer)]).toEqual([500, {}]);
  });

  it('answers 403 where accept refuses the session', async () => {
    let isAccepted = true;
    await startWith({}, { accept: () => isAccepted });
    const visitor = await app.signedIn();
    isAccepted = false;
    app.expireTokens();
    const answer = await visitor.getJson('/forward');
    expect([answer.status, answer.headers['x-auth-redirect']]).toEqual([403, undefined]);
  });

  it('answers 503 with Retry-After where only the provider could tell, and loses no one', async () => {
    await startWith();
    const visitor = await app.signedIn();
    app.expireTokens(60_000);
    app.fail('refresh', 503);
    const answer = await visitor.get('/forward');
    expect(answer.status).toBe(503);
    expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
    expect(answer.setCookies).toEqual([]);
    app.heal();
    app.clock.advance(61_000);
    expect((await visitor.get('/forward')).status).toBe(200);
  });

  it('asks no onError, which could redirect', async () => {
    await startWith(
      {},
      {
        onError: (_error, _req, res) => void res.writeHead(302, { location: '/elsewhere' }).end(),
      },
    );
    expect((await createVisitor(app.origin).get('/forward')).status).toBe(401);
  });

  it('is a ConfigurationError on the request where a guard covers its path', async () => {
    app = await start({
      after: (host, auth) => host.use('/forward', requireSession() as Handler, forward(auth)),
    });
    expect((await (await app.signedIn()).get('/forward')).status).toBe(500);
  });

  describe('for a change', () => {
    const site = { 'sec-fetch-site': 'cross-site' };
    it.each([
      ['that another site sends', 'POST', { ...site }, 403],
      ['that the gateway names', 'GET', { ...site, 'x-original-method': 'POST' }, 403],
      ['that Traefik or Caddy name', 'GET', { ...site, 'x-forwarded-method': 'DELETE' }, 403],
      ['whose client also names GET', 'POST', { ...site, 'x-original-method': 'GET' }, 403],
      ['with several methods', 'GET', { ...site, 'x-original-method': ['GET', 'POST'] }, 403],
      ['from another origin', 'GET', { origin: 'https://evil.example', 'x-original-method': 'PUT' }, 403],
      ['with a null origin', 'GET', { origin: 'null', 'x-original-method': 'PUT' }, 403],
      ['from a trusted origin', 'GET', { ...site, origin: 'https://wiki.example', 'x-original-method': 'PUT' }, 200],
      ['from the own site', 'GET', { 'sec-fetch-site': 'same-origin', 'x-original-method': 'POST' }, 200],
      ['without either header', 'GET', { 'x-original-method': 'POST' }, 200],
      ['by a WebSocket', 'GET', { origin: 'https://evil.example', 'sec-websocket-key': 'x' }, 403],
      ['by a WebSocket of a browser that says so', 'GET', { ...site, 'sec-fetch-mode': 'websocket' }, 403],
      ['that is none', 'GET', { ...site, 'x-original-method': 'GET' }, 200],
      ['that is none, in small letters', 'GET', { ...site, 'x-original-method': 'head' }, 200],
    ])('%s', async (_what, method, headers, status) => {
      await startWith({}, { trustedOrigins: ['https://wiki.example'] });
      const visitor = await app.signedIn();
      expect((await visitor.ask('/forward', { method, headers })).status).toBe(status);
      // A stranger learns only that.
      expect((await createVisitor(app.origin).ask('/forward', { method, headers })).status).toBe(401);
    });
  });

  describe('and a renewal', () => {
    /** Signs in, with a session of several cookies where asked for. */
    async function signedIn(isChunked: boolean): Promise<Visitor> {
      if (isChunked) app.growTokens(chunked);
      const visitor = await app.signedIn();
      expect(visitor.cookies.size > 1).toBe(isChunked);
      return visitor;
    }
    /** As nginx passes it on: one cookie at most. */
    async function throughGateway(visitor: Visitor): Promise<Answer> {
      const before = new Map(visitor.cookies);
      const answer = await visitor.get('/forward');
      expect(answer.setCookies.length).toBeLessThan(2);
      const [first] = answer.setCookies;
      visitor.cookies.clear();
      for (const [cookie, value] of before) visitor.cookies.set(cookie, value);
      const [, cookie = '', value = ''] = /^([^=]+)=([^;]*)/.exec(first ?? '') ?? [];
      if (first !== undefined) visitor.cookies.set(cookie, value);
      return answer;
    }

    it.each([true, false])(
      'goes on for 50 times (several cookies: %s), then the application delivers',
      async (many) => {
        await startWith();
        const visitor = await signedIn(many);
        const former = visitor.cookieHeader();
        app.forget();
        for (let renewal = 0; renewal < 50; renewal += 1) {
          app.expireTokens();
          const parallel = await Promise.all([throughGateway(visitor), throughGateway(visitor)]);
          expect(parallel.map(({ status }) => status)).toEqual([200, 200]);
          expect((await throughGateway(visitor)).status).toBe(200);
        }
        expect(app.refreshes()).toHaveLength(50);
        if (many) expect(visitor.cookieHeader()).toBe(former);
        const direct = await visitor.getJson('/api/me');
        expect(direct.status).toBe(200);
        app.clock.advance(60_000);
        expect((await visitor.getJson('/api/me')).status).toBe(200);
        expect(app.refreshes()).toHaveLength(50);
        app.expireTokens();
        expect((await visitor.getJson('/api/me')).status).toBe(200);
      },
    );

    it('waits for a direct response over a weekend, and for a week after the latest use', async () => {
      await startWith();
      const visitor = await signedIn(true);
      for (const days of [3, 7, 7]) {
        app.expireTokens();
        expect((await throughGateway(visitor)).status).toBe(200);
        app.clock.advance(days * day);
        expect((await throughGateway(visitor)).status).toBe(200);
      }
      expect((await visitor.getJson('/api/me')).status).toBe(200);
    });

    it('waits likewise where it completes after the gateway has its answer', async () => {
      const shared = createShared(() => app.clock.now());
      const settle = shared.settle.bind(shared);
      let isRenewed = false;
      shared.settle = async (line, change) => {
        const standing = await settle(line, change);
        isRenewed = true;
        return standing;
      };
      await startWith({}, { coordinator: shared });
      app.setReplayGrace(false);
      const visitor = await signedIn(true);
      app.expireTokens(-20_000);
      const gate = app.gate();
      expect((await throughGateway(visitor)).status).toBe(200);
      await gate.arrived();
      gate.open();
      await until(() => isRenewed);
      app.clock.advance(7 * day);
      expect((await throughGateway(visitor)).status).toBe(200);
      expect((await visitor.getJson('/api/me')).status).toBe(200);
    });

    it('counts as delivered once the browser sends it, and not because the gateway has it', async () => {
      await startWith();
      app.setReplayGrace(false);
      const visitor = await signedIn(false);
      const former = visitor.cookieHeader();
      const send = async (cookie: string): Promise<number> =>
        (await createVisitor(app.origin).get('/forward', { headers: { cookie } })).status;
      app.expireTokens();
      app.forget();
      // The gateway keeps the cookie to itself.
      await visitor.get('/forward');
      const renewed = visitor.cookieHeader();
      app.clock.advance(60_000);
      expect(await send(former)).toBe(200);
      expect(app.refreshes()).toHaveLength(1);
      if (!isAlone) return;
      expect(await send(renewed)).toBe(200);
      app.clock.advance(20_000);
      expect(await send(former)).toBe(200);
      app.clock.advance(20_000);
      expect(await send(former)).toBe(401);
    });

    it('clears no part of a session that is over', async () => {
      await startWith();
      const visitor = await signedIn(true);
      const former = visitor.cookieHeader();
      await app.revoke(visitor);
      app.expireTokens();
      const answer = await visitor.get('/forward');
      expect([answer.status, answer.setCookies]).toEqual([401, []]);
      expect(visitor.cookieHeader()).toBe(former);
      // The application itself clears all.
      await visitor.getJson('/api/me');
      expect(visitor.cookies.size).toBeLessThan(2);
    });

    it('is over for its former cookie, too, when the user signs out', async () => {
      await startWith();
      const visitor = await signedIn(true);
      const former = visitor.cookieHeader();
      app.expireTokens();
      expect((await throughGateway(visitor)).status).toBe(200);
      await app.signOut(visitor);
      const thief = createVisitor(app.origin);
      expect((await thief.get('/forward', { headers: { cookie: former } })).status).toBe(401);
    });
  });

  it('passes on one cookie at most where other code asked for the session first', async () => {
    app = await start({
      after: (host, auth) => {
        host.use((req, _res, next) => void getSession(req).then(() => next(), next));
        host.use('/forward', forward(auth));
      },
    });
    app.growTokens(chunked);
    const visitor = await app.signedIn();
    app.expireTokens();
    app.forget();
    const answer = await visitor.get('/forward');
    expect([answer.status, answer.setCookies]).toEqual([200, []]);
    app.clock.advance(60_000);
    expect((await visitor.get('/forward')).status).toBe(200);
    expect(app.refreshes()).toHaveLength(1);
  });
});

describe('forwardAuth', () => {
  const closing = closeAfterEach();

  it('names the organization, and percent-encodes what a header cannot hold', async () => {
    const kit = createB2bTestKit();
    const auth = b2bAuth(kit.options);
    const app = express().use(auth).use('/forward', forwardAuth(auth));
    const { origin } = await closing(serve(app));
    const user = { id: 'user_\ud800', email: 'zoë+x, "%40"@exämple.com' };
    const cookie = await kit.cookie({ user, organizationId: 'org_ü' });
    const answer = await createVisitor(origin).get('/forward', { headers: { cookie } });
    expect(passedOn(answer)).toEqual({
      'x-auth-request-user': 'user_%EF%BF%BD',
      'x-auth-request-email': 'zo%C3%AB+x%2C%20%22%2540%22@ex%C3%A4mple.com',
      'x-auth-request-organization': 'org_%C3%BC',
    });
    expect(decodeURIComponent(String(answer.headers['x-auth-request-email']))).toBe(user.email);
  });

  it.each([
    ['no adapter', undefined, {}, 'forwardAuth: the first argument'],
    ['a router of something else', () => undefined, {}, 'forwardAuth: the first argument'],
  ])('is a ConfigurationError for %s', (_what, auth, options, message) => {
    expect(() => forwardAuth(auth as unknown as Router, options)).toThrow(ConfigurationError);
    expect(() => forwardAuth(auth as unknown as Router, options)).toThrow(message);
  });

  it.each([
    ['an unknown option', { tokens: true }, 'tokens'],
    ['an undefined check', { check: undefined }, 'is undefined'],
    ['a token that is no boolean', { token: 'yes' }, 'must be true or false'],
    ['an unknown whenCoordinatorDown', { whenCoordinatorDown: 'fail' }, "must be 'serve' or 'refuse'"],
    ['no object', 'token', 'options must be an object'],
  ])('is a ConfigurationError for %s', async (_what, options, message) => {
    const app = await closing(startB2bApp());
    expect(() => forwardAuth(app.auth, options as unknown as ForwardAuthOptions)).toThrow(message);
  });

  itOnExpress('is a ConfigurationError on the request where its adapter is not mounted before it', async () => {
    const messages: string[] = [];
    const other = await closing(startBackendApp());
    const app = await closing(
      startB2bApp({
        after: (host) => {
          host.use('/forward', forward(other.auth));
          host.onError((error, _req, res) => {
            messages.push(String(error));
            res.writeHead(500).end();
          });
        },
      }),
    );
    expect((await app.visitor().get('/forward')).status).toBe(500);
    expect(messages.join()).toContain('mount backendAuth() with app.use() before it');
  });
});
