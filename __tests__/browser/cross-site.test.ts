import { jest } from '@jest/globals';
import type { BrowserContext, Page } from 'playwright-core';
import { sealData } from 'iron-session';
import { demoUsers } from '../support/b2b-app.ts';
import { ada, encodeSession } from '../support/backend-app.ts';
import { startBothApp } from '../support/both-app.ts';
import type { BothApp } from '../support/both-app.ts';
import { launchBrowser } from '../support/browser.ts';
import type { TestBrowser } from '../support/browser.ts';
import { serve } from '../support/servers.ts';
import type { RunningServer } from '../support/servers.ts';

jest.setTimeout(20_000);

const eve = { email: 'eve@example.com', password: 'correct horse battery' };

let browser: TestBrowser;
let app: BothApp;
let attacker: RunningServer;
let context: BrowserContext;
let page: Page;
/** The pages of the attacker's server, or of the application itself, by path. */
const pages = new Map<string, string>();
/** The application's answers; they do not show what a browser blocks afterwards. */
const answered: { readonly method: string; readonly url: string }[] = [];

beforeAll(async () => {
  [browser, app] = await Promise.all([
    launchBrowser(),
    startBothApp({
      options: { throttle: false },
      before: (express) =>
        express.use((req, res, next) => {
          const { method, url } = req;
          res.on('finish', () => answered.push({ method, url }));
          const own = pages.get(url);
          if (own === undefined) next();
          else res.type('html').send(own);
        }),
    }),
  ]);
  app.supabase.addUser(eve);
  attacker = await serve((req, res) => {
    res.setHeader('content-type', 'text/html');
    res.end(pages.get(req.url ?? '') ?? '');
  });
});
afterAll(async () => {
  await browser.close();
  await attacker.close();
  await app.close();
});
beforeEach(async () => {
  pages.clear();
  answered.length = 0;
  context = await browser.newContext({ baseURL: app.origin });
  page = await context.newPage();
});
afterEach(() => context.close());

/** Another port of the same host is the same site, whose cookies travel along; `localhost` is another site. */
const elsewhere = [
  ['another site', () => `http://localhost:${attacker.port}`],
  ['another origin of the same site', () => attacker.origin],
] as const;

/** Signed in with both adapters. */
async function signIn(): Promise<void> {
  const sealing = { password: String(app.b2bOptions.cookiePassword), ttl: 0 };
  const b2b = await sealData(await app.workos.issueSession({ user: demoUsers.personal }), sealing);
  const backend = encodeSession(await app.supabase.issueSession(ada.email));
  const cookie = { url: app.origin, httpOnly: true, sameSite: 'Lax' as const };
  await context.addCookies([
    { ...cookie, name: 'b2b-session', value: b2b },
    { ...cookie, name: app.cookieName, value: backend },
  ]);
}

interface Who {
  readonly b2b: string | undefined;
  readonly backend: string | undefined;
}

/** The user of the browser according to the application, by its current cookies. */
async function whoIsThere(): Promise<Who> {
  const emailAt = async (path: string): Promise<string | undefined> => {
    const answer = await context.request.get(path);
    const body = (await answer.json()) as { readonly user?: { readonly email?: string } };
    return answer.ok() ? body.user?.email : undefined;
  };
  return { b2b: await emailAt('/b2b/session'), backend: await emailAt('/auth/session') };
}

const both: Who = { b2b: demoUsers.personal.email, backend: ada.email };
const signedOut: Who = { b2b: undefined, backend: undefined };

/** Shows the attacker's page, and waits until its requests have been answered. */
async function visit(origin: string, html: string, until: string): Promise<void> {
  pages.set('/attack', `<!doctype html><title>kittens</title>${html}`);
  answered.length = 0;
  await page.goto(`${origin}/attack`).catch((error: unknown) => {
    // Some of these pages redirect before they have loaded.
    if (!String(error).includes('interrupted by another navigation')) throw error;
  });
  await expectAnswer((url) => url.includes(until));
  await page.waitForLoadState();
}

const submitted = (action: string, fields: Record<string, string>, enctype = ''): string =>
  `<form method=post action="${app.origin}${action}" ${enctype}>${Object.entries(fields)
    .map(([name, value]) => `<input name='${name}' value='${value}'>`)
    .join('')}</form><script>document.forms[0].submit()</script>`;

describe.each(elsewhere)('from %s', (_title, origin) => {
  describe('login CSRF', () => {
    it.each([
      ['a form', () => submitted('/auth/login', eve)],
      [
        'a form of text that is JSON',
        () =>
          submitted(
            '/auth/login',
            { [`{"email":"${eve.email}","password":"${eve.password}","x":"`]: '"}' },
            'enctype="text/plain"',
          ),
      ],
      ['a form that signs up', () => submitted('/auth/signup', { ...eve, email: 'mallory@example.com' })],
    ])('by %s signs no one in', async (_name, html) => {
      await visit(origin(), html(), '/auth/');
      expect(await whoIsThere()).toEqual(signedOut);
      expect(await page.locator('body').innerText()).toContain('another site');
      expect(answered.some(({ method, url }) => method === 'POST' && url.startsWith('/auth/'))).toBe(true);
    });

    it('by a script signs no one in', async () => {
      const script = (type: string): string =>
        `fetch('${app.origin}/auth/login', { method: 'POST', mode: 'no-cors', credentials: 'include', headers: { 'content-type': '${type}' }, body: ${JSON.stringify(JSON.stringify(eve))} })`;
      await visit(origin(), `<script>${script('text/plain')}</script>`, '/auth/login');
      expect(await whoIsThere()).toEqual(signedOut);
    });

    it('never replaces a visitor’s session by another user’s', async () => {
      await signIn();
      await visit(origin(), submitted('/auth/login', eve), '/auth/login');
      expect(await whoIsThere()).toEqual(both);
    });
  });

  describe('callback CSRF', () => {
    const callbacks: readonly (readonly [string, () => Promise<string>])[] = [
      [
        'the B2B adapter',
        async () => {
          const start = await app.visitor().get('/login');
          return (await app.workos.authorize(start.location, { user: demoUsers.oneOrganization })).href;
        },
      ],
      [
        'the backend adapter',
        async () => {
          const start = await app.visitor().get('/auth/login?provider=github');
          return String(await app.supabase.authorize(start.location, { approve: true, user: eve.email }));
        },
      ],
    ];
    const codesAsked = (): number => app.workos.tokenCalls + app.supabase.calls('pkce');

    describe.each(callbacks)('of %s', (_adapter, attackersCallback) => {
      it('signs no one in as the attacker, by any element, and never uses the code', async () => {
        const before = codesAsked();
        const url = await attackersCallback();
        for (const html of [
          `<script>location = ${JSON.stringify(url)}</script>`,
          `<img src="${url}">`,
          `<iframe src="${url}"></iframe>`,
          `<link rel=prefetch href="${url}">`,
        ]) {
          await visit(origin(), html, 'callback');
          expect(await whoIsThere()).toEqual(signedOut);
        }
        expect(codesAsked()).toBe(before);
      });

      it('does not interfere with a visitor’s own sign-in', async () => {
        await page.goto(`${app.origin}/`);
        for (const start of ['/login', '/auth/login?provider=github']) {
          await page.goto(start, { waitUntil: 'commit' });
        }
        await visit(origin(), `<script>location = ${JSON.stringify(await attackersCallback())}</script>`, 'callback');
        expect(await whoIsThere()).toEqual(signedOut);
      });

      it('keeps the session of a signed-in user', async () => {
        await signIn();
        const url = await attackersCallback();
        await visit(origin(), `<script>location = ${JSON.stringify(url)}</script>`, 'callback');
        expect(await whoIsThere()).toEqual(both);
      });
    });
  });

  describe('logout', () => {
    beforeEach(signIn);
    const routes = ['/auth/logout', '/logout'];

    it.each([
      ['an image', (url: string) => `<img src="${url}">`],
      ['a script', (url: string) => `<script src="${url}"></script>`],
      ['a stylesheet', (url: string) => `<link rel=stylesheet href="${url}">`],
      ['a frame', (url: string) => `<iframe src="${url}"></iframe>`],
      ['a navigation', (url: string) => `<script>location = "${url}"</script>`],
      ['a window', (url: string) => `<script>open("${url}")</script>`],
      ['a refresh', (url: string) => `<meta http-equiv=refresh content="0;url=${url}">`],
      ['a prefetch', (url: string) => `<link rel=prefetch href="${url}">`],
      ['a fetch', (url: string) => `<script>fetch("${url}", { mode: 'no-cors', credentials: 'include' })</script>`],
      ['a beacon', (url: string) => `<script>navigator.sendBeacon("${url}")</script>`],
      [
        'a form',
        (url: string) => `<form method=post action="${url}"></form><script>document.forms[0].submit()</script>`,
      ],
      ['a form that gets', (url: string) => `<form action="${url}"></form><script>document.forms[0].submit()</script>`],
    ])('by %s signs no one out', async (_name, html) => {
      for (const route of routes) {
        await visit(origin(), html(app.origin + route), 'logout');
        expect(await whoIsThere()).toEqual(both);
      }
    });

    it('by a link asks first, and its button signs out', async () => {
      pages.set('/attack', `<a href="${app.origin}/auth/logout">Win a prize</a>`);
      await page.goto(`${origin()}/attack`);
      await page.getByRole('link').click();
      await page.waitForURL('**/auth/logout');
      expect(await whoIsThere()).toEqual(both);
      await page.getByRole('button').click();
      await page.waitForURL(`${app.origin}/`);
      expect(await whoIsThere()).toEqual({ ...both, backend: undefined });
    });
  });

  it('the pages cannot be framed', async () => {
    pages.set('/attack', `<iframe src="${app.origin}/auth/login"></iframe>`);
    await page.goto(`${origin()}/attack`);
    const [, frame] = page.frames();
    expect(await frame?.locator('input').count()).toBe(0);
  });
});

describe('the application’s own pages', () => {
  beforeEach(signIn);

  it.each([
    ['a prefetch', (url: string) => `<link rel=prefetch href="${url}">`],
    [
      'a rule that prefetches',
      (url: string) =>
        `<script type=speculationrules>{"prefetch":[{"urls":["${url}"],"eagerness":"immediate"}]}</script>`,
    ],
    [
      'a rule that prerenders',
      (url: string) =>
        `<script type=speculationrules>{"prerender":[{"urls":["${url}"],"eagerness":"immediate"}]}</script>`,
    ],
    ['an image', (url: string) => `<img src="${url}">`],
  ])('sign no one out, and start no sign-in, by %s', async (_name, html) => {
    for (const route of ['/auth/logout', '/logout', '/login', '/auth/login?provider=github']) {
      pages.set('/own', `<!doctype html>${html(route)}`);
      answered.length = 0;
      await page.goto('/own');
      await expectAnswer((url) => url === route);
      expect(await whoIsThere()).toEqual(both);
      const names = (await context.cookies()).map(({ name }) => name);
      expect(names.sort()).toEqual(['b2b-session', app.cookieName].sort());
    }
  });

  it('sign out by a link, at once', async () => {
    pages.set('/own', '<a href="/auth/logout">Sign out</a>');
    await page.goto('/own');
    await page.getByRole('link').click();
    await page.waitForURL(`${app.origin}/`);
    expect(await whoIsThere()).toEqual({ ...both, backend: undefined });
  });
});

/** The browser prefetches when it is idle. */
async function expectAnswer(isWanted: (url: string) => boolean): Promise<void> {
  const isThere = (): boolean => answered.some(({ url }) => isWanted(url));
  for (const end = Date.now() + 5_000; !isThere() && Date.now() < end;) await page.waitForTimeout(20);
  expect([isThere(), answered]).toEqual([true, answered]);
}
