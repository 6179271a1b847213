import { sealData } from 'iron-session';
import { demoUsers } from '../support/b2b-app.ts';
import { ada, encodeSession } from '../support/backend-app.ts';
import { startBothApp } from '../support/both-app.ts';
import type { BothApp } from '../support/both-app.ts';
import type { Answer } from '../support/visitor.ts';

const sister = 'https://sister.example';

let app: BothApp;
let signedInCookie: () => Promise<string>;
beforeAll(async () => {
  app = await startBothApp({
    b2b: { trustedOrigins: [sister] },
    options: {
      trustedOrigins: [sister],
      throttle: false,
      signInMethods: ['password', 'code'],
      sso: true,
      oauthConsent: true,
    },
  });
  const sealing = { password: String(app.b2bOptions.cookiePassword), ttl: 0 };
  signedInCookie = async () => {
    const b2b = await sealData(await app.workos.issueSession({ user: demoUsers.personal }), sealing);
    return `b2b-session=${b2b}; ${app.cookieName}=${encodeSession(await app.supabase.issueSession(ada.email))}`;
  };
});
afterAll(() => app.close());

const sites = [undefined, 'same-origin', 'none', 'same-site', 'cross-site', 'made-up', ''];
const origins = () => [undefined, app.origin, 'https://evil.example', 'null', sister, `${app.origin}.evil.example`];

type Headers = Record<string, string>;
const headersOf = (given: Record<string, string | undefined>): Headers =>
  Object.fromEntries(Object.entries(given).filter((entry): entry is [string, string] => entry[1] !== undefined));

describe('a POST', () => {
  const bodies: readonly (readonly [string | undefined, string])[] = [
    [undefined, ''],
    ['application/x-www-form-urlencoded', new URLSearchParams(ada).toString()],
    ['application/json', JSON.stringify(ada)],
    ['text/plain', JSON.stringify({ ...ada, x: '=' })],
    ['multipart/form-data; boundary=x', '--x--'],
  ];
  const routes = [
    '/logout',
    '/organization',
    '/auth/login',
    '/auth/signup',
    '/auth/logout',
    '/auth/resend',
    '/auth/confirm',
    '/auth/forgot',
    '/auth/password',
    '/auth/code',
    '/auth/sso',
    '/auth/verify',
    '/auth/enroll',
    '/oauth/consent',
    '/oauth/apps',
  ];

  /** The rule: a trusted origin passes; else Sec-Fetch-Site decides; else Origin; else its origin is unknown. */
  function isWelcome(site: string | undefined, origin: string | undefined): boolean {
    if (origin === sister) return true;
    if (site !== undefined) return site === 'same-origin' || site === 'none';
    return origin === undefined || origin === app.origin;
  }

  const answers = async (route: string, site: string | undefined, origin: string | undefined): Promise<Answer[]> => {
    const found: Answer[] = [];
    for (const [type, body] of bodies) {
      const headers = headersOf({
        'sec-fetch-site': site,
        origin,
        'content-type': type,
        cookie: await signedInCookie(),
      });
      found.push(await app.visitor().post(route, { headers, body }));
    }
    return found;
  };

  it.each(routes)(
    'to %s is accepted from trusted sites, and otherwise changes nothing, whatever its type',
    async (route) => {
      for (const site of sites) {
        for (const origin of origins()) {
          const calls = app.supabase.requests.length + app.workos.requests.length;
          for (const answer of await answers(route, site, origin)) {
            const isRefused = answer.status === 403 && answer.text.includes('another site');
            expect([site, origin, isRefused]).toEqual([site, origin, !isWelcome(site, origin)]);
            if (isRefused) expect(answer.setCookies).toEqual([]);
          }
          if (!isWelcome(site, origin)) {
            expect(app.supabase.requests.length + app.workos.requests.length).toBe(calls);
          }
        }
      }
    },
  );

  it.each(['/login', '/signup'])(
    'to %s drops its body and starts nothing, whatever site it comes from',
    async (route) => {
      for (const site of sites) {
        const answer = await app.visitor().post(route, { headers: headersOf({ 'sec-fetch-site': site }), body: 'x=y' });
        expect([303, 403]).toContain(answer.status);
        if (answer.status === 303) expect(answer.headers.location).toBe(route);
        expect(answer.setCookies).toEqual([]);
      }
    },
  );

  it.each(['/callback', '/auth/callback', '/auth/session', '/b2b/session'])('to %s is a 405', async (route) => {
    for (const site of sites) {
      const answer = await app.visitor().post(route, { headers: headersOf({ 'sec-fetch-site': site }) });
      expect([answer.status, answer.headers.allow]).toEqual([405, 'GET, HEAD, OPTIONS']);
    }
  });

  it('is not accepted because of its Referer, a forwarded host, or a method override', async () => {
    const cookie = await signedInCookie();
    for (const extra of [
      { referer: `${app.origin}/` },
      { 'x-forwarded-host': 'evil.example' },
      { 'x-http-method-override': 'GET' },
      { 'x-requested-with': 'XMLHttpRequest' },
      { host: 'evil.example', 'x-forwarded-host': new URL(app.origin).host },
    ]) {
      const headers = { cookie, origin: 'https://evil.example', 'sec-fetch-site': 'cross-site', ...extra };
      for (const route of routes) expect((await app.visitor().post(route, { headers })).status).toBe(403);
    }
  });
});

describe('a GET that has effects', () => {
  const starts = ['/login', '/signup', '/auth/login?provider=github'];
  const callbacks = ['/callback?code=x&state=y', '/auth/callback?code=x'];

  const get = async (route: string, headers: Headers): Promise<Answer> =>
    app.visitor().get(route, { headers: { cookie: await signedInCookie(), ...headers } });

  it.each([...starts, ...callbacks])(
    '%s does nothing for a prefetch, an image, or a script of another site',
    async (route) => {
      const calls = app.supabase.requests.length + app.workos.requests.length;
      const guesses: Headers[] = [
        { 'sec-purpose': 'prefetch' },
        { 'sec-purpose': 'prefetch;prerender', 'sec-fetch-mode': 'navigate', 'sec-fetch-site': 'same-origin' },
        { 'sec-purpose': 'prefetch;anonymous-client-ip' },
        { purpose: 'prefetch' },
        { 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'image', 'sec-fetch-site': 'cross-site' },
        { 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'script', 'sec-fetch-site': 'same-origin' },
        { 'sec-fetch-mode': 'cors', 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' },
        { 'sec-fetch-mode': 'cors', 'sec-fetch-site': 'same-site', origin: 'https://evil.example' },
        { 'sec-fetch-mode': 'websocket', 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' },
      ];
      for (const headers of guesses) {
        const answer = await get(route, headers);
        expect([headers, answer.status, answer.setCookies]).toEqual([headers, 403, []]);
      }
      const head = await app.visitor().ask(route, { method: 'HEAD', headers: { cookie: await signedInCookie() } });
      expect([head.status, head.setCookies]).toEqual([204, []]);
      expect(app.supabase.requests.length + app.workos.requests.length).toBe(calls);
    },
  );

  it.each(starts)('%s starts on every navigation, also by a link on another site', async (route) => {
    const answer = await get(route, { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' });
    expect(answer.status).toBe(302);
    expect(answer.setCookies.length).toBeGreaterThan(0);
  });

  it('signs out only if this site or the visitor asks: GET /auth/logout', async () => {
    for (const site of sites) {
      for (const mode of [undefined, 'navigate', 'no-cors', 'cors', 'same-origin']) {
        for (const purpose of [undefined, 'prefetch']) {
          for (const referer of [undefined, `${app.origin}/x`, 'https://evil.example/']) {
            const given = { 'sec-fetch-site': site, 'sec-fetch-mode': mode, 'sec-purpose': purpose, referer };
            const answer = await get('/auth/logout', headersOf(given));
            const isOwn =
              site === undefined ? referer === `${app.origin}/x` : site === 'same-origin' || site === 'none';
            const isWelcome = isOwn && purpose === undefined && (site === undefined || mode !== 'no-cors');
            expect([given, answer.setCookies.length > 0]).toEqual([given, isWelcome]);
            expect(answer.status).toBe(isWelcome ? (mode === undefined || mode === 'navigate' ? 302 : 200) : 200);
          }
        }
      }
    }
  });

  it('signs no one out of the B2B adapter: GET /logout asks first, whatever site it comes from', async () => {
    for (const given of [
      {},
      { 'sec-fetch-site': 'same-origin' },
      { 'sec-fetch-site': 'none' },
      { referer: app.origin },
    ]) {
      const answer = await get('/logout', headersOf(given));
      expect([answer.status, answer.setCookies]).toEqual([200, []]);
    }
  });
});

it('sends no CORS headers, which are up to the application', async () => {
  const cookie = await signedInCookie();
  for (const route of ['/auth/session', '/b2b/session', '/auth/login', '/login', '/logout']) {
    for (const method of ['GET', 'POST', 'OPTIONS']) {
      const headers = { cookie, origin: sister, 'access-control-request-method': 'POST' };
      const answer = await app.visitor().ask(route, { method, headers });
      expect(Object.keys(answer.headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
    }
  }
});
