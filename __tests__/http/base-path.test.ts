import { demoUsers, startB2bApp } from '../support/b2b-app.ts';
import type { B2bApp } from '../support/b2b-app.ts';
import { startBackendApp } from '../support/backend-app.ts';
import { describeAtRoot } from '../support/only.ts';

const base = 'https://public.example/shop';

/** A proxy that serves the application under `/shop`: it removes the prefix, and the browser never sees a path without it. */
function behindProxy(url: string): string {
  const { origin, pathname, search } = new URL(url, base);
  expect([origin, pathname.startsWith('/shop/')]).toEqual(['https://public.example', true]);
  return pathname.slice('/shop'.length) + search;
}

describeAtRoot('an appBaseUrl with a path, which a proxy removes from every request', () => {
  let app: B2bApp;
  beforeAll(async () => {
    app = await startB2bApp({ options: { appBaseUrl: `${base}/` } });
    app.workos.redirectUris.push(`${base}/callback`);
  });
  afterAll(() => app.close());

  it('is in every redirect of a sign-in', async () => {
    const visitor = app.visitor();
    const guarded = await visitor.get('/dashboard?a=b');
    expect(guarded.headers.location).toBe('/shop/login?returnTo=%2Fshop%2Fdashboard%3Fa%3Db');
    const start = await visitor.get(behindProxy(guarded.headers.location ?? ''));
    expect(new URL(start.location).searchParams.get('redirect_uri')).toBe(`${base}/callback`);
    const callback = await app.workos.authorize(start.location, { user: demoUsers.personal });
    const done = await visitor.get(behindProxy(callback.href));
    expect([done.status, done.headers.location]).toEqual([303, '/shop/dashboard?a=b']);
    expect((await visitor.get(behindProxy(callback.href))).headers.location).toBe('/shop/');
  });

  it('is in the links of pages and in the answers to JSON clients', async () => {
    const visitor = app.visitor();
    const failed = await visitor.get('/callback?state=foreign');
    const links = [...failed.text.matchAll(/href="([^"]*)"/g)].map(([, href]) => href);
    expect(links.map((link) => link?.replace(/\?v=[\w-]{16}$/, ''))).toEqual([
      '/shop/auth/pages.css',
      '/shop/login',
      '/shop/',
    ]);
    const { json } = await visitor.getJson('/api/me');
    expect(json.redirectTo).toBe('/shop/login');
    const script = { accept: 'application/json', referer: `${base}/items` };
    const fromPage = await visitor.get('/api/me', { headers: script });
    expect(fromPage.json.redirectTo).toBe('/shop/login?returnTo=%2Fshop%2Fitems');

    const start = await visitor.get('/login?returnTo=/shop/dashboard');
    const callback = await app.workos.authorize(start.location, { user: demoUsers.twoOrganizations });
    const chooser = await visitor.get(behindProxy(callback.href));
    const [, link = ''] = /href="([^"]*organization_id[^"]*)"/.exec(chooser.text) ?? [];
    const done = await visitor.get(behindProxy(link.replaceAll('&amp;', '&')));
    expect(done.headers.location).toBe('/shop/dashboard');
  });

  it.each(['/shop/login', '/shop/callback?code=x', '/login', '//evil.example', ''])(
    'redirects to the start page instead of %j',
    async (returnTo) => {
      const visitor = app.visitor();
      const start = await visitor.get(`/login?returnTo=${encodeURIComponent(returnTo)}`);
      const callback = await app.workos.authorize(start.location, { user: demoUsers.personal });
      expect((await visitor.get(behindProxy(callback.href))).headers.location).toBe('/shop/');
    },
  );

  it('is not repeated if it includes the mount path already', async () => {
    const mounted = await startB2bApp({ prefix: '/shop', options: { appBaseUrl: base } });
    const guarded = await mounted.visitor().get('/shop/dashboard');
    expect(guarded.headers.location).toBe('/shop/login?returnTo=%2Fshop%2Fdashboard');
    await mounted.close();
  });

  it('is spelled as in appBaseUrl where a visitor writes the mount path in capitals', async () => {
    const mounted = await startB2bApp({ prefix: '/shop', options: { appBaseUrl: base } });
    const { location } = (await mounted.visitor().get('/SHOP/dashboard')).headers;
    expect(location).toBe('/shop/login?returnTo=%2FSHOP%2Fdashboard');
    const start = await mounted.visitor().get('/SHOP/login');
    expect(new URL(start.location).searchParams.get('redirect_uri')).toBe(`${base}/callback`);
    await mounted.close();
  });

  it('of an own route is no way back, however it is spelled', async () => {
    const visitor = app.visitor();
    const start = await visitor.get('/login?returnTo=/SHOP/login');
    const callback = await app.workos.authorize(start.location, { user: demoUsers.personal });
    expect((await visitor.get(behindProxy(callback.href))).headers.location).toBe('/shop/');
  });

  it('is in the forms and redirects of the backend adapter', async () => {
    const backend = await startBackendApp({ options: { appBaseUrl: base } });
    const visitor = backend.visitor();
    const page = await visitor.get('/auth/login?returnTo=/shop/a');
    expect(page.text).toContain('action="/shop/auth/login"');
    expect(page.text).toContain('href="/shop/auth/signup');
    const email = { email: 'unknown@example.com', password: 'wrong horse battery' };
    expect((await visitor.postJson('/auth/logout', email)).json).toEqual({ redirectTo: '/shop/' });
    await backend.close();
  });
});

describe('the error page of an outage', () => {
  it('reloads the requested page, and starts over if the error is in the URL', async () => {
    const app = await startB2bApp();
    const visitor = await app.signedIn();
    app.clock.advance(310_000);
    app.workos.switches.outage = { token: 'refuse' };
    const page = await visitor.get('/dashboard/a?b=c');
    expect(page.status).toBe(503);
    expect(page.text).toContain('<a class="button" href="">Try again</a>');
    const posted = await visitor.post('/dashboard/a');
    expect(posted.text).toContain('<a class="button" href="/login?returnTo=%2Fdashboard%2Fa">Try again</a>');
    const start = await visitor.get('/login');
    const state = new URL(start.location).searchParams.get('state') ?? '';
    const reported = await visitor.get(`/callback?error=temporarily_unavailable&state=${state}`);
    // What a query says of the provider is not known to be true: a failed sign-in, not an outage.
    expect(reported.status).toBe(400);
    expect(reported.text).toContain('<a class="button" href="/login?prompt=login">Sign in</a>');
    await app.close();
  });
});
