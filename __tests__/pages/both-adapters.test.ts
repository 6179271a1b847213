import { backendAuth } from '../../lib/backend/index.ts';
import { b2bAuth, requireSession } from '../../lib/b2b/index.ts';
import { demoUsers } from '../support/b2b-app.ts';
import { startBothApp } from '../support/both-app.ts';
import type { BothApp } from '../support/both-app.ts';
import { sendText } from '../support/hosts.ts';
import { problemsBy } from '../support/problems.ts';

const pages = { title: 'نورثويند', lang: 'ar', links: { help: 'https://help.example/' } };
const refuse = () => false;

let app: BothApp;
beforeAll(async () => {
  app = await startBothApp({
    b2b: { pages: { ...pages, accent: '#635bff', text: { forbiddenHeading: 'لا تملك حق الوصول' } } },
    options: { pages: { ...pages, accent: '#0b5', text: { signInButton: 'دخول' } } },
    after: (host) => {
      host.get('/closed/b2b', requireSession({ adapter: 'b2b', check: refuse }), (_req, res) => sendText(res, 'open'));
      host.get('/closed/backend', requireSession({ adapter: 'backend', check: refuse }), (_req, res) =>
        sendText(res, 'open'),
      );
    },
  });
});
afterAll(() => app.close());

const unmarked = /<(?:h1|button|a|p)[^>]*>[A-Za-z]/;

describe('every page of both adapters', () => {
  it.each([
    ['sign-in', '/auth/login'],
    ['sign-up', '/auth/signup'],
    ['an error of the backend adapter', '/auth/confirm'],
    ['an error of the B2B adapter', '/callback'],
    ['sign-out', '/auth/logout'],
  ])('has the brand and the language: %s', async (_name, path) => {
    const { text } = await app.visitor().get(path);
    expect(text).toContain('<html lang="ar" dir="rtl">');
    expect(text).toContain('نورثويند');
    expect(text).toContain('<a href="https://help.example/">');
    // English that has no translation is marked as English.
    expect(text).toContain('<span lang="en" dir="ltr">');
    expect(text.replace(/<p class="reference">.*/, '')).not.toMatch(unmarked);
  });

  it('has its own adapter’s accent, from one stylesheet path', async () => {
    for (const [path, accent] of [
      ['/auth/login', '#00bb55'],
      ['/callback', '#635bff'],
    ] as const) {
      const { text } = await app.visitor().get(path);
      const [, href = ''] = /rel="stylesheet" href="([^"]+)"/.exec(text) ?? [];
      const sheet = await app.visitor().get(href.replaceAll('&amp;', '&'));
      expect(sheet.text).toContain(`--accent: ${accent};`);
      expect(sheet.headers['cache-control']).toBe('public, max-age=31536000, immutable');
    }
    const odd = await app.visitor().get('/auth/pages.css?accent=red;}body{display:none');
    expect(odd.text).not.toContain('display:none');
  });

  it('has its own adapter’s initial as the icon where there is no logo, from one path', async () => {
    for (const [path, accent] of [
      ['/auth/login', '#00bb55'],
      ['/callback', '#635bff'],
    ] as const) {
      const { text } = await app.visitor().get(path);
      const [, href = ''] = /rel="icon" href="([^"]+)"/.exec(text) ?? [];
      const icon = await app.visitor().get(href.replaceAll('&amp;', '&'));
      expect([icon.status, icon.headers['content-type']]).toEqual([200, 'image/svg+xml']);
      expect(icon.text).toContain(`--accent: ${accent};`);
      expect(icon.text).toContain('>ن</text>');
      expect(icon.headers).toMatchObject({
        'cache-control': 'public, max-age=86400',
        'x-content-type-options': 'nosniff',
      });
      expect(icon.setCookies).toEqual([]);
    }
  });

  it.each(['', '?letter=', '?letter=%3Cscript%3E', '?letter=%26', '?letter=ABCD', '?letter=A%22'])(
    'has no icon for anything but a letter: %s',
    async (query) => {
      const { status, headers } = await app.visitor().get(`/auth/pages.svg${query}`);
      expect([status, headers['cache-control']]).toEqual([404, 'private, no-store']);
    },
  );
});

describe('a refusal', () => {
  it('shows who is signed in, and offers another account, keeping returnTo: B2B', async () => {
    const visitor = app.visitor();
    await app.signInB2b(visitor);
    const { status, text } = await visitor.get('/closed/b2b?tab=1');
    expect(status).toBe(403);
    expect(text).toContain(`<strong dir="auto">${demoUsers.personal.email}</strong>`);
    const [, href = ''] = /class="button" href="([^"]+)"/.exec(text) ?? [];
    const start = await visitor.get(href.replaceAll('&amp;', '&'));
    expect(new URL(start.location).searchParams.get('prompt')).toBe('login');
    const back = await visitor.get((await app.workos.authorize(start.location, { user: demoUsers.personal })).href);
    expect(back.headers.location).toBe('/closed/b2b?tab=1');
  });

  it('shows who is signed in, and offers another account, keeping returnTo: backend', async () => {
    const visitor = await app.signedIn();
    const { status, text } = await visitor.get('/closed/backend?tab=1');
    expect(status).toBe(403);
    expect(text).toContain('<strong dir="auto">ada@example.com</strong>');
    const [, href = ''] = /class="button" href="([^"]+)"/.exec(text) ?? [];
    const form = await visitor.get(href.replaceAll('&amp;', '&'));
    expect(form.text).toContain('name="password"');
    expect(form.text).toContain('name="returnTo" value="/closed/backend?tab=1"');
  });
});

describe('the sign-in page of a visitor who is signed in', () => {
  it('shows who they are, and links onward or to another account', async () => {
    const visitor = await app.signedIn();
    const { text } = await visitor.get('/auth/login?returnTo=/account?tab=1');
    expect(text).toContain('<strong dir="auto">ada@example.com</strong>');
    expect(text).toContain('<a class="button" href="/account?tab=1">');
    expect(text).toContain('href="/auth/login?returnTo=%2Faccount%3Ftab%3D1&amp;prompt=login"');
    expect(text).not.toContain('<form');
    expect((await visitor.get('/auth/login?prompt=login')).text).toContain('name="password"');
  });

  it('shows the form if the session is unreadable', async () => {
    const visitor = await app.signedIn();
    visitor.cookies.forEach((_value, name) => visitor.cookies.set(name, 'base64-broken'));
    const { status, text } = await visitor.get('/auth/login');
    expect([status, text.includes('name="password"')]).toEqual([200, true]);
  });
});

describe('the option pages', () => {
  it.each<[string, unknown, string]>([
    ['accent', 'red', 'must be a color of the form #rgb or #rrggbb'],
    ['accent', '#12345', 'must be a color of the form #rgb or #rrggbb'],
    ['theme', { radius: '50%' }, 'pages.theme.radius'],
    ['theme', { font: 'url(https://evil.example/x)' }, 'must be a list of font families'],
    ['theme', { background: 'red' }, 'must be a color of the form #rgb or #rrggbb'],
    ['theme', { layout: 'split' }, "must be 'card' or 'plain'"],
    ['theme', { shadow: 'none' }, 'pages.theme.shadow'],
    ['lang', 'de_DE', 'must be a BCP 47 language tag'],
    ['dir', 'up', "must be 'ltr' or 'rtl'"],
    ['logo', 'logo.svg', 'must be a root-relative path'],
    ['logoDark', 'data:image/png,x', 'must be a root-relative path'],
    ['links', { imprint: '/imprint' }, 'pages.links.imprint'],
    ['links', { terms: 'javascript:alert(1)' }, 'must be a root-relative path'],
    ['text', { noSuchText: 'x' }, 'pages.text.noSuchText'],
  ])('of both adapters reports what is wrong: %s %j', (name, value, problem) => {
    const given = { pages: { [name]: value } } as object;
    const b2b = { clientId: 'client_1', apiKey: 'sk_test_1', cookiePassword: 'p'.repeat(32), ...given };
    const backend = { url: 'https://project.supabase.co', anonKey: 'sb_publishable_abc_def', ...given };
    for (const problems of [problemsBy(() => b2bAuth(b2b)), problemsBy(() => backendAuth(backend))]) {
      expect(problems).toEqual([expect.stringContaining(problem)]);
    }
  });
});
