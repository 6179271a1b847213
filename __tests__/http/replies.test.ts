import { jest } from '@jest/globals';
import { AuthError } from '../../lib/errors.ts';
import type { B2bAuthOptions } from '../../lib/b2b/index.ts';
import { getSession, requireSession } from '../../lib/b2b/index.ts';
import { startB2bApp, startProvider } from '../support/b2b-app.ts';
import type { B2bApp, SharedProvider } from '../support/b2b-app.ts';
import { sendText } from '../support/hosts.ts';
import type { Answer, Visitor } from '../support/visitor.ts';

let provider: SharedProvider;
let app: B2bApp;
beforeAll(async () => {
  provider = await startProvider();
  app = await startB2bApp({
    provider,
    after: (root) => {
      root.get('/page', requireSession, (_req, res) => sendText(res, 'page'));
      root.get('/page/cached', requireSession, (_req, res) => {
        res.setHeader('Cache-Control', 'private, max-age=60');
        res.appendHeader('Vary', 'Accept-Language');
        sendText(res, 'page');
      });
      root.get('/page/stream', requireSession, (_req, res) => {
        res.writeHead(200, {
          'Content-Type': 'text/plain',
          'Cache-Control': 'public, max-age=600',
          Vary: 'Accept-Language',
        });
        res.write('one ');
        res.end('two');
      });
      root.get('/page/cookies', requireSession, (_req, res) => {
        res.writeHead(200, ['Set-Cookie', 'theirs=1', 'Set-Cookie', 'more=2', 'Vary', '*']);
        res.end('page');
      });
      root.get('/late', (req, res, next) => {
        res.write('early ');
        getSession(req).then((session) => res.end(session === null ? 'signed out' : 'signed in'), next);
      });
    },
  });
});
afterEach(() => {
  app.workos.switches.outage = {};
});
afterAll(async () => {
  await app.close();
  await provider.close();
});

const kindOf = ({ headers }: Answer): string => /json|html/.exec(headers['content-type'] ?? '')?.[0] ?? 'none';
const varies = ({ headers }: Answer): string[] => (headers.vary ?? '').split(/, */).sort();

describe('document or client', () => {
  it.each<[string, Record<string, string>, string]>([
    ['no Accept', {}, 'html'],
    ['anything', { accept: '*/*' }, 'html'],
    ['HTML', { accept: 'text/html' }, 'html'],
    ['a browser', { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' }, 'html'],
    ['HTML before JSON', { accept: 'text/html, application/json;q=0.9' }, 'html'],
    ['something else', { accept: 'image/png' }, 'html'],
    ['JSON refused', { accept: 'application/json;q=0, */*' }, 'html'],
    ['JSON', { accept: 'application/json' }, 'json'],
    ['JSON in capitals', { accept: 'Application/JSON' }, 'json'],
    ['JSON before HTML', { accept: 'text/html;q=0.5, application/json' }, 'json'],
    ['axios', { accept: 'application/json, text/plain, */*' }, 'json'],
    ['a navigation', { 'sec-fetch-mode': 'navigate', accept: '*/*' }, 'html'],
    ['fetch() as it is', { 'sec-fetch-mode': 'cors', 'sec-fetch-site': 'same-origin', accept: '*/*' }, 'json'],
    ['fetch() of the own origin', { 'sec-fetch-mode': 'same-origin', 'sec-fetch-site': 'same-origin' }, 'json'],
    ['a malformed Accept', { accept: ';;,,q=//application/json' }, 'html'],
  ])('%s: %j gets %s', async (_name, headers, kind) => {
    const error = await app.visitor().get('/callback', { headers });
    expect([error.status, kindOf(error)]).toEqual([400, kind]);
    expect(varies(error)).toContain('Accept');
    const guard = await app.visitor().get('/api/me', { headers });
    expect(guard.status).toBe(kind === 'json' ? 401 : 307);
    const login = await app.visitor().get('/login', { headers });
    expect(login.status).toBe(kind === 'json' ? 200 : 302);
    expect(varies(login)).toEqual(['Accept', 'Cookie']);
  });

  it('a POST that carries JSON gets JSON', async () => {
    for (const type of ['application/json', 'application/json; charset=utf-8', 'APPLICATION/JSON']) {
      const answer = await app.visitor().post('/logout', { headers: { 'content-type': type }, body: '{}' });
      expect([answer.status, kindOf(answer)]).toEqual([200, 'json']);
    }
    const form = { headers: { 'content-type': 'application/x-www-form-urlencoded' }, body: 'a=b' };
    expect((await app.visitor().post('/logout', form)).status).toBe(303);
  });
});

describe('errors', () => {
  it('in JSON are { error: { status, code, message } }', async () => {
    const { json, headers } = await app.visitor().getJson('/callback?state=x');
    expect(json).toEqual({ error: { status: 400, code: 'invalid_state', message: expect.any(String) } });
    expect(headers['x-content-type-options']).toBe('nosniff');
  });

  it('for documents are a page with a link to continue, which loads and runs nothing', async () => {
    const { text, headers } = await app.visitor().get('/callback?state=%3Cscript%3E');
    expect(text).toMatch(/^<!doctype html>/i);
    expect(text).toContain('href="/login"');
    expect(text).not.toMatch(/<script|style=| on\w+=/);
    expect(headers['content-security-policy']).toContain("default-src 'none'");
    expect(headers['content-security-policy']).toContain("frame-ancestors 'none'");
    expect(headers['x-frame-options']).toBe('DENY');
  });

  it('of an outage are a 503 with Retry-After for every kind of client and route, and keep the session', async () => {
    const visitor = await app.signedIn();
    const cookie = visitor.cookieHeader();
    provider.clock.advance(400_000);
    app.workos.switches.outage = { token: 'refuse' };
    for (const path of ['/dashboard', '/api/me', '/auth/session', '/page']) {
      for (const accept of ['text/html', 'application/json']) {
        const answer = await visitor.get(path, { headers: { accept } });
        expect([path, answer.status]).toEqual([path, 503]);
        expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
        expect(answer.setCookies).toEqual([]);
        expect(kindOf(answer)).toBe(accept === 'text/html' && path !== '/auth/session' ? 'html' : 'json');
      }
    }
    app.workos.switches.outage = {};
    provider.clock.advance(60_000);
    expect(visitor.cookieHeader()).toBe(cookie);
    expect((await visitor.getJson('/auth/session')).status).toBe(200);
  });
});

describe('onError', () => {
  async function withOnError(
    onError: unknown,
    run: (visitor: Visitor, failures: unknown[], other: B2bApp) => Promise<void>,
  ): Promise<void> {
    const failures: unknown[] = [];
    const other = await startB2bApp({
      provider,
      options: { onError } as B2bAuthOptions,
      // As an application's middleware for its public pages.
      before: (root) =>
        root.use((_req, res, next) => {
          res.setHeader('Cache-Control', 'public, max-age=600');
          next();
        }),
      after: (root) => {
        root.use('/failing', requireSession({ check: () => Promise.reject(new Error('broken')) }));
        root.use('/guarded', requireSession, (_req, res) => sendText(res, 'secret'));
        root.onError((error, _req, res) => {
          failures.push(error);
          sendText(res, 'application', error instanceof AuthError ? error.status : 500);
        });
      },
    });
    await run(other.visitor(), failures, other);
    await other.close();
  }

  it('replaces pages and JSON', async () => {
    await withOnError(
      (error: AuthError, req: any, res: any) => sendText(res, `mine: ${error.code} ${req.url}`, error.status),
      async (visitor) => {
        expect((await visitor.get('/callback?state=x')).text).toBe('mine: invalid_state /callback?state=x');
        expect((await visitor.getJson('/auth/session')).text).toBe('mine: unauthenticated /auth/session');
        expect((await visitor.getJson('/guarded')).text).toBe('mine: unauthenticated /');
        expect((await visitor.ask('/login', { method: 'PUT' })).text).toBe('mine: method_not_allowed /login');
      },
    );
  });

  it.each([
    ['itself', (error: AuthError, _req: unknown, res: any) => sendText(res, 'mine', error.status)],
    [
      'by passing them on',
      (error: AuthError, _req: unknown, _res: unknown, next: (error: unknown) => void) => next(error),
    ],
  ])('that answers %s has the headers of a private response, which it may replace', async (_how, onError) => {
    await withOnError(onError, async (visitor) => {
      for (const path of ['/callback?state=x', '/auth/session', '/guarded']) {
        const { headers } = await visitor.getJson(path);
        expect([path, headers['cache-control'], headers.vary]).toEqual([
          path,
          'private, no-store',
          expect.stringMatching(/cookie/i),
        ]);
      }
    });
  });

  it('does not get an error of the application, whose response is private as well', async () => {
    const onError = jest.fn();
    await withOnError(onError, async (_visitor, failures, other) => {
      const { headers } = await (await other.signedIn()).get('/failing');
      expect(headers['cache-control']).toBe('private, no-store');
      expect([failures.map(String), onError.mock.calls]).toEqual([['Error: broken'], []]);
    });
  });

  it('does not affect the redirect of a guard', async () => {
    await withOnError(
      (_error: AuthError, _req: unknown, res: any) => sendText(res, 'mine', 400),
      async (visitor) => {
        expect((await visitor.get('/guarded')).status).toBe(307);
        expect((await visitor.get('/dashboard')).status).toBe(307);
      },
    );
  });

  it.each(['/callback?state=x', '/auth/session', '/guarded'])('may pass %s on to the application', async (path) => {
    await withOnError(
      (error: AuthError, _req: unknown, _res: unknown, next: (error: unknown) => void) => next(error),
      async (visitor, failures) => {
        const answer = await visitor.getJson(path);
        expect([answer.status, answer.text]).toEqual([path === '/callback?state=x' ? 400 : 401, 'application']);
        expect(failures[0]).toBeInstanceOf(AuthError);
      },
    );
  });

  it.each([
    [
      'throws',
      () => {
        throw new Error('broken');
      },
    ],
    ['rejects', () => Promise.reject(new Error('broken'))],
  ])('that %s ends in the application’s error handling, not in a crash or a hang', async (_how, onError) => {
    await withOnError(onError, async (visitor, failures) => {
      for (const path of ['/callback?state=x', '/guarded']) {
        expect((await visitor.getJson(path)).text).toBe('application');
      }
      expect(failures.map(String)).toEqual(['Error: broken', 'Error: broken']);
    });
  });
});

describe('methods', () => {
  it.each([
    ['/login', 'GET, HEAD, POST, OPTIONS'],
    ['/signup', 'GET, HEAD, POST, OPTIONS'],
    ['/callback', 'GET, HEAD, OPTIONS'],
    ['/logout', 'GET, HEAD, POST, OPTIONS'],
    ['/organization', 'POST, OPTIONS'],
    ['/auth/session', 'GET, HEAD, OPTIONS'],
    ['/auth/pages.css', 'GET, HEAD, OPTIONS'],
  ])('%s is supported for %s, and others get 405 with Allow', async (path, allowed) => {
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'PROPFIND']) {
      const answer = await app.visitor().ask(path, { method });
      if (allowed.includes(method)) expect([method, answer.status]).not.toEqual([method, 405]);
      else expect([method, answer.status, answer.headers.allow]).toEqual([method, 405, allowed]);
    }
    const options = await app.visitor().ask(path, { method: 'OPTIONS' });
    expect([options.status, options.headers.allow, options.text]).toEqual([204, allowed, '']);
    expect(
      (await app.visitor().ask(path, { method: 'DELETE', headers: { accept: 'application/json' } })).json.error.code,
    ).toBe('method_not_allowed');
  });

  it('HEAD is answered without a body and without effects', async () => {
    const visitor = await app.signedIn();
    app.workos.clearRequests();
    for (const [path, status] of [
      ['/login', 204],
      ['/signup', 204],
      ['/callback?code=1', 204],
      ['/logout', 200],
      ['/auth/session', 200],
    ] as const) {
      const answer = await visitor.ask(path, { method: 'HEAD' });
      expect([path, answer.status, answer.text, answer.setCookies]).toEqual([path, status, '', []]);
    }
    expect(app.workos.requests).toEqual([]);
    expect((await visitor.getJson('/auth/session')).status).toBe(200);
  });
});

describe('caching', () => {
  it.each<[string, string]>([
    ['GET', '/login'],
    ['HEAD', '/login'],
    ['POST', '/login'],
    ['GET', '/callback'],
    ['POST', '/logout'],
    ['GET', '/auth/session'],
    ['OPTIONS', '/auth/session'],
    ['PUT', '/signup'],
    ['GET', '/dashboard'],
    ['GET', '/api/me'],
  ])('%s %s is private, no-store and varies on Cookie', async (method, path) => {
    for (const visitor of [app.visitor(), await app.signedIn()]) {
      const answer = await visitor.ask(path, { method });
      expect(answer.headers['cache-control']).toBe('private, no-store');
      expect(varies(answer)).toContain('Cookie');
    }
  });

  it('varies on Accept if the answer was negotiated', async () => {
    for (const path of ['/login', '/signup', '/callback', '/api/me']) {
      expect(varies(await app.visitor().get(path))).toEqual(['Accept', 'Cookie']);
    }
    expect(varies(await app.visitor().post('/logout'))).toEqual(['Accept', 'Cookie']);
  });

  it('lets every cache keep the stylesheet under the URL in the pages, and no other', async () => {
    const { text } = await app.visitor().get('/callback?state=foreign');
    const [, href = ''] = /rel="stylesheet" href="([^"]+)"/.exec(text) ?? [];
    expect(href).toMatch(/^\/auth\/pages\.css\?v=[\w-]{16}$/);
    const linked = await app.visitor().get(href);
    expect(linked.headers['cache-control']).toBe('public, max-age=31536000, immutable');
    expect(varies(linked)).not.toContain('Cookie');
    for (const other of ['/auth/pages.css', '/auth/pages.css?v=of-another-version']) {
      const { status, headers } = await app.visitor().get(other);
      expect([status, headers['cache-control']]).toEqual([200, 'private, no-store']);
    }
  });

  it('is private, no-store if a session is shown, whatever headers were set before', async () => {
    const shared = await startB2bApp({
      provider,
      before: (root) =>
        root.use((_req, res, next) => {
          res.setHeader('Cache-Control', 'public, max-age=3600');
          next();
        }),
    });
    const visitor = await shared.signedIn();
    for (const path of ['/dashboard', '/api/me', '/whoami']) {
      const answer = await visitor.get(path);
      expect([path, answer.status, answer.headers['cache-control']]).toEqual([path, 200, 'private, no-store']);
    }
    expect((await visitor.get('/')).headers['cache-control']).toBe('public, max-age=3600');
    await shared.close();
  });

  it('of a page behind a guard is the same by default, and its handler may override it', async () => {
    const visitor = await app.signedIn();
    const page = await visitor.get('/page');
    expect([page.headers['cache-control'], varies(page)]).toEqual(['private, no-store', ['Cookie']]);
    const cached = await visitor.get('/page/cached');
    expect([cached.headers['cache-control'], varies(cached)]).toEqual([
      'private, max-age=60',
      ['Accept-Language', 'Cookie'],
    ]);
  });

  it('cannot be overridden by the handler of a response with our cookie, streamed or not', async () => {
    for (const path of ['/page/cached', '/page/stream']) {
      const visitor = await app.signedIn();
      provider.clock.advance(400_000);
      const answer = await visitor.get(path);
      expect([answer.status, answer.setCookies.length]).toEqual([200, 1]);
      expect([path, answer.headers['cache-control'], varies(answer)]).toEqual([
        path,
        'private, no-store',
        ['Accept-Language', 'Cookie'],
      ]);
      expect((await visitor.getJson('/auth/session')).status).toBe(200);
    }
  });

  it('keeps the cookies that a handler sets, and a Vary of *', async () => {
    const visitor = await app.signedIn();
    provider.clock.advance(400_000);
    const answer = await visitor.get('/page/cookies');
    expect(answer.setCookies.map((line) => line.split('=', 1)[0])).toEqual(['theirs', 'more', 'b2b-session']);
    expect(answer.headers.vary).toBe('*');
  });

  it('does not touch a public page', async () => {
    const visitor = await app.signedIn();
    const { headers } = await visitor.get('/');
    expect([headers['cache-control'], headers.vary]).toEqual([undefined, undefined]);
  });
});

it('uses no token once the head is sent', async () => {
  const visitor = await app.signedIn();
  provider.clock.advance(400_000);
  app.workos.clearRequests();
  expect((await visitor.get('/late')).text).toBe('early signed out');
  expect(app.workos.tokenCalls).toBe(0);
  expect(app.events.at(-1)).toEqual({ adapter: 'b2b', type: 'refresh_skipped', reason: 'headers_sent' });
  expect((await visitor.getJson('/auth/session')).status).toBe(200);
});
