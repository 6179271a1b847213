import express from 'express';
import { backendAuth, requireSession } from '../../lib/backend/index.ts';
import { demoUsers } from '../support/b2b-app.ts';
import { ada, encodeSession, postForm } from '../support/backend-app.ts';
import { startBothApp } from '../support/both-app.ts';
import type { BothApp } from '../support/both-app.ts';
import { rawRequest, sendRaw } from '../support/raw-socket.ts';
import { serve } from '../support/servers.ts';
import type { Visitor } from '../support/visitor.ts';

let app: BothApp;
beforeAll(async () => {
  app = await startBothApp({
    options: { throttle: false },
    after(host) {
      host.get('/array-head', requireSession({ adapter: 'backend' }), (_req, res) => {
        res.writeHead(200, ['X-One', '1', 'X-Two', '2']);
        res.end('written by hand');
      });
      host.get('/flushed', requireSession({ adapter: 'backend' }), (_req, res) => {
        res.flushHeaders();
        res.end('streamed');
      });
    },
  });
});
afterAll(() => app.close());

async function signedIn(): Promise<Visitor> {
  const visitor = app.visitor();
  await app.signInB2b(visitor);
  await visitor.postJson('/auth/login', ada);
  return visitor;
}

// Known vulnerabilities of other libraries, by name. docs/contributing/proofs.md lists them all.

it('reflected XSS via error_description: a provider’s words are never shown', async () => {
  const words = '<script>alert(1)</script>" onload=alert(2) \u2028{{7*7}}';
  for (const name of ['error', 'error_description', 'error_code', 'error_uri', 'message', 'state', 'code', 'type']) {
    for (const path of [
      '/callback',
      '/auth/callback',
      '/auth/login',
      '/auth/signup',
      '/auth/confirm',
      '/auth/logout',
    ]) {
      for (const rest of ['', '&error=access_denied', '&error_code=otp_expired&error=x']) {
        const query = `${new URLSearchParams({ [name]: words }).toString()}${rest}`;
        for (const accept of ['text/html', 'application/json']) {
          const answer = await app.visitor().get(`${path}?${query}`, { headers: { accept } });
          expect(answer.status).toBeLessThan(500);
          expect([path, query, /alert\(|\{\{7/.test(answer.text)]).toEqual([path, query, false]);
        }
      }
    }
  }
});

it('reflected XSS via typed values: values come back escaped, and the policy runs nothing', async () => {
  const email = '"><img/src=x>@example.com';
  const answer = await postForm(app.visitor(), '/auth/login', { email, password: 'x', returnTo: '/"><b>' });
  expect(answer.text).toContain('&lt;img/src=x&gt;@example.com');
  expect(answer.text).not.toMatch(/<img|"><b>/);
  expect(answer.headers['content-security-policy']).toMatch(/^default-src 'none'/);
});

it('page options from the query string: no parameter changes the built-in pages', async () => {
  for (const path of ['/auth/login', '/auth/signup']) {
    const plain = (await app.visitor().get(path)).text;
    const parameters = { providers: 'x', csrfToken: 'x', title: 'Evil', logo: 'https://evil.test/x.png', lang: 'xx' };
    const asked = await app.visitor().get(`${path}?${new URLSearchParams(parameters).toString()}`);
    expect(asked.text).toBe(plain);
  }
});

it('OAuth parameter injection via returnTo: injected parameters stay inside it', async () => {
  const returnTo = '/account?a=1&scopes=admin&redirect_to=https://evil.test&client_id=x#&provider=evil';
  const injected =
    'scopes=admin&redirect_to=https://evil.test&redirect_uri=https://evil.test&flow_type=implicit&code_challenge=x&state=x&client_id=x';
  const own = new URL((await app.visitor().get('/auth/login?provider=github')).location);
  const asked = new URL(
    (await app.visitor().get(`/auth/login?provider=github&returnTo=${encodeURIComponent(returnTo)}&${injected}`))
      .location,
  );
  expect([...asked.searchParams.keys()]).toEqual([...own.searchParams.keys()]);
  for (const name of ['provider', 'redirect_to', 'scopes']) {
    expect(asked.searchParams.getAll(name)).toEqual(own.searchParams.getAll(name));
  }
  const hosted = new URL(
    (await app.visitor().get(`/login?returnTo=${encodeURIComponent(returnTo)}&${injected}`)).location,
  );
  expect(hosted.searchParams.get('redirect_uri')).toBe(`${app.origin}/callback`);
  expect(hosted.searchParams.get('client_id')).toBe(app.workos.clientId);
  expect(hosted.href).not.toContain('evil');
});

it('markup in the body of a redirect: it has none, and its Location is plain ASCII', async () => {
  const visitor = await signedIn();
  for (const path of [
    '/account/<script>',
    `/auth/login?provider=github&returnTo=/${encodeURIComponent('"><script>é')}`,
    `/auth/logout?returnTo=/${encodeURIComponent('\\@evil.test/"><script>é\r\nX: y')}`,
    '/login?returnTo=/%E2%82%AC',
  ]) {
    const answer = await visitor.get(path);
    if (answer.status < 300 || answer.status > 399) continue;
    expect([path, answer.text]).toEqual([path, '']);
    expect(answer.headers.location).toMatch(/^[\x21-\x7e]+$/);
    expect(answer.headers['x']).toBeUndefined();
  }
});

it('a poisoned returnTo cookie: pages keep working, and the cookie leads nowhere', async () => {
  const visitor = app.visitor();
  const start = await visitor.get('/auth/login?provider=github&returnTo=/account');
  const callback = String(await app.supabase.authorize(start.location, { approve: true }));
  const [name = ''] = [...visitor.cookies.keys()].filter((each) => each.endsWith('-state'));
  for (const poison of [
    'oauth:https://evil.test',
    'oauth:%',
    '%',
    '__proto__',
    'oauth://evil.test',
    `oauth:${'x'.repeat(4000)}`,
  ]) {
    visitor.cookies.set(name, poison);
    for (const path of ['/auth/login', '/auth/signup', '/', '/login']) {
      const cookie = visitor.cookieHeader();
      expect((await app.visitor().get(path, { headers: { cookie } })).status).toBeLessThan(400);
    }
  }
  visitor.cookies.set(name, 'oauth://evil.test/x');
  const done = await visitor.get(callback);
  expect([done.status, done.headers.location]).toEqual([303, '/']);
  expect(visitor.cookies.has(name)).toBe(false);
});

describe('session fixation', () => {
  it('of the B2B adapter: a session that was planted before sign-in is replaced and ends', async () => {
    const planter = app.visitor();
    await app.signInB2b(planter);
    const planted = planter.cookies.get('b2b-session') ?? '';
    const victim = app.visitor();
    victim.cookies.set('b2b-session', planted);
    const start = await victim.get('/login');
    const callback = await app.workos.authorize(start.location, { user: demoUsers.oneOrganization });
    await victim.get(callback.href);
    expect(victim.cookies.get('b2b-session')).not.toBe(planted);
    expect((await victim.get('/b2b/session')).json.user.id).toBe(demoUsers.oneOrganization.id);
    expect((await planter.get('/b2b/session')).status).toBe(401);
  });

  it('of the backend adapter: nothing of the previous user is left, chunks included', async () => {
    const eve = { email: 'eve@example.com', password: 'correct horse battery' };
    app.supabase.addUser(eve);
    const before = await app.supabase.issueSession(eve.email, { claims: { extra: 'x'.repeat(5000) } });
    const victim = app.visitor();
    const planted = encodeSession(before);
    for (let i = 0; i * 3000 < planted.length; i += 1) {
      victim.cookies.set(`${app.cookieName}.${i}`, planted.slice(i * 3000, (i + 1) * 3000));
    }
    expect((await victim.get('/auth/session')).json.user.email).toBe(eve.email);
    await victim.postJson('/auth/login', ada);
    expect([...victim.cookies.keys()]).toEqual([app.cookieName]);
    expect((await victim.get('/auth/session')).json.user.email).toBe(ada.email);
    const old = await app.visitor().get('/auth/session', { headers: { cookie: `${app.cookieName}=${planted}` } });
    expect(old.status).toBe(401);
  });
});

it('percent-decoding the Cookie header before splitting it: an encoded semicolon starts no cookie', async () => {
  const session = encodeSession(await app.supabase.issueSession(ada.email));
  for (const header of [
    `theme=x%3B%20${app.cookieName}=${session}`,
    `theme=x%3b${app.cookieName}%3D${session}`,
    `theme%3D1%3B%20${app.cookieName}=${session}`,
    `theme="x; y"%3B${app.cookieName}=${session}`,
  ]) {
    const answer = await app.visitor().get('/auth/session', { headers: { cookie: header } });
    expect([header.slice(0, 30), answer.status]).toEqual([header.slice(0, 30), 401]);
  }
});

it('a CSRF check that is skipped without a cookie: a sign-in from another site is refused without one', async () => {
  for (const headers of [{ origin: 'https://evil.test' }, { 'sec-fetch-site': 'cross-site' }, { origin: 'null' }]) {
    const answer = await postForm(app.visitor(), '/auth/login', ada, headers);
    expect([answer.status, answer.setCookies]).toEqual([403, []]);
  }
});

it('set, then expired in one response: a sign-out after a refresh sends one Set-Cookie, and no token', async () => {
  const visitor = app.visitor();
  const old = await app.supabase.issueSession(ada.email, { ttl: -60 });
  visitor.cookies.set(app.cookieName, encodeSession(old));
  const answer = await visitor.post('/auth/logout');
  const lines = answer.setCookies.filter((line) => line.startsWith(`${app.cookieName}=`));
  expect(lines).toHaveLength(1);
  expect(lines[0]).toMatch(new RegExp(`^${app.cookieName}=; Max-Age=0;`));
});

it('headers that a handler writes by hand (CVE-2025-7339): sent unchanged, with the renewed cookie', async () => {
  for (const path of ['/array-head', '/flushed']) {
    const visitor = app.visitor();
    const old = await app.supabase.issueSession(ada.email, { ttl: -60 });
    visitor.cookies.set(app.cookieName, encodeSession(old));
    const answer = await visitor.get(path);
    expect([path, answer.status, answer.setCookies.length]).toEqual([path, 200, 1]);
    expect(answer.headers['cache-control']).toBe('private, no-store');
    if (path === '/array-head') expect([answer.headers['x-one'], answer.headers['x-two']]).toEqual(['1', '2']);
  }
});

it('rolling session writes: a request that changes nothing writes no cookie', async () => {
  const visitor = await signedIn();
  for (const path of [
    '/',
    '/dashboard',
    '/account',
    '/guard/b2b',
    '/guard/backend',
    '/auth/session',
    '/auth/pages.css',
  ]) {
    expect([path, (await visitor.get(path)).setCookies]).toEqual([path, []]);
  }
});

it('a cookie for every HEAD: HEAD of a route that starts a sign-in sets none', async () => {
  for (const path of ['/login', '/signup', '/auth/login?provider=github', '/auth/login', '/auth/logout']) {
    expect((await app.visitor().ask(path, { method: 'HEAD' })).setCookies).toEqual([]);
  }
});

it('unrepresentable requests: targets and hosts that no URL can contain get an answer below 500', async () => {
  for (const [method, target, ...headers] of [
    ['GET', '//'],
    ['TRACE', '/login'],
    ['GET', 'http://user:pass@host/login'],
    ['GET', '/login', 'Host: a b'],
    ['GET', '/auth/login?provider=github', 'Host: a b'],
    ['POST', '/auth/login', 'Host: ['],
    ['OPTIONS', '*'],
  ] as const) {
    const answer = await sendRaw(app.port, rawRequest(method, target, [...headers, 'Connection: close']));
    expect([method, target, answer.status < 500]).toEqual([method, target, true]);
  }
});

it('trusted origins that leak from one instance into another: each has its own', async () => {
  const options = {
    url: app.supabase.url,
    anonKey: app.supabase.publishableKey,
    now: app.clock.now,
    throttle: false,
  } as const;
  const [open, closed] = [express(), express()];
  open.use(backendAuth({ ...options, trustedOrigins: ['https://sister.test'] }));
  closed.use(backendAuth(options));
  const servers = [await serve(open), await serve(closed)];
  const ask = (origin: string): Promise<Response> =>
    fetch(`${origin}/auth/login`, {
      method: 'POST',
      redirect: 'manual',
      headers: { origin: 'https://sister.test', 'content-type': 'application/json' },
      body: JSON.stringify(ada),
    });
  const statuses = await Promise.all(
    Array.from({ length: 10 }, async (_each, i) => (await ask(servers[i % 2]?.origin ?? '')).status),
  );
  expect(statuses).toEqual(Array.from({ length: 10 }, (_each, i) => (i % 2 === 0 ? 200 : 403)));
  for (const server of servers) await server.close();
});
