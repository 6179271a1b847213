import { jest } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { existsSync, globSync, readFileSync, statSync } from 'node:fs';
import { extname, join, posix } from 'node:path';
import type { BrowserContext, Page } from 'playwright-core';
import { axeReports } from '../support/axe.ts';
import { launchBrowser } from '../support/browser.ts';
import type { TestBrowser } from '../support/browser.ts';
import { serve } from '../support/servers.ts';
import type { RunningServer } from '../support/servers.ts';
import { isForContributors, sitePath } from '../../tools/site/links.ts';

// Building the site and reading each page take their time.
jest.setTimeout(180_000);

const folder = 'reports/site';
const base = '/express-auth-adapters/';
const types: Readonly<Record<string, string>> = {
  '.css': 'text/css',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.mjs': 'text/javascript',
  '.md': 'text/markdown; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
};

/** The file that GitHub Pages sends for a path; `undefined` for its 404 page. */
function fileOf(pathname: string): string | undefined {
  if (!pathname.startsWith(base)) return undefined;
  const file = join(folder, decodeURIComponent(pathname.slice(base.length)));
  const candidates = pathname.endsWith('/') ? [join(file, 'index.html')] : [file, `${file}.html`];
  return candidates.find((path) => existsSync(path) && statSync(path).isFile());
}

const source = globSync('docs/**/*.md').filter((path) => !isForContributors(path));
/** The pages' paths below the base, without an ending: `guards`, `recipes/index`. */
const pages = source.map((path) => sitePath(path).slice(0, -'.md'.length)).sort();
const withDiagram = source.filter((path) => readFileSync(path, 'utf8').includes('```mermaid'));

let server: RunningServer;
let browser: TestBrowser;
let context: BrowserContext;
let page: Page;
const foreign: string[] = [];
const failed: string[] = [];

beforeAll(async () => {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['tools/site.ts'], { encoding: 'utf8' });
  expect({ status, output: status === 0 ? '' : stdout + stderr }).toEqual({ status: 0, output: '' });
  server = await serve((req, res) => {
    const file = fileOf(new URL(req.url ?? '/', 'http://site').pathname);
    if (file === undefined) res.writeHead(404).end('not found');
    else
      res
        .writeHead(200, { 'Content-Type': types[extname(file)] ?? 'application/octet-stream' })
        .end(readFileSync(file));
  });
  browser = await launchBrowser();
  context = await browser.newContext({ viewport: { width: 390, height: 844 }, reducedMotion: 'reduce' });
  await context.route(
    (url) => url.origin !== server.origin,
    (route) => {
      foreign.push(route.request().url());
      return route.abort();
    },
  );
  context.on('response', (response) => {
    if (!response.ok()) failed.push(response.url());
  });
  page = await context.newPage();
});

afterAll(async () => {
  await browser.close();
  await server.close();
});

const urlOf = (path: string): string => `${server.origin}${base}${path}`;

it('has each page of docs/, as HTML and as Markdown, and each in the sidebar', async () => {
  expect(pages.length).toBeGreaterThan(40);
  const missing = pages.filter(
    (path) => !existsSync(join(folder, `${path}.html`)) || !existsSync(join(folder, `${path}.md`)),
  );
  expect(missing).toEqual([]);
  await page.goto(urlOf('guards.html'));
  const listed = await page
    .locator('.VPSidebar a')
    .evaluateAll((links) => (links as unknown as { pathname: string }[]).map(({ pathname }) => pathname));
  const expected = pages.map((path) => `${base}${path.replace(/index$/, '')}`.replace(/([^/])$/, '$1.html'));
  expect([...new Set(listed)].sort()).toEqual(expected.sort());
});

interface Link {
  readonly from: string;
  readonly href: string;
}

/** The links of each page, and the anchors that others may name. */
const links: Link[] = [];
const anchors = new Map<string, readonly string[]>();

describe.each(pages)('the page %s', (path) => {
  beforeAll(async () => {
    await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' });
    await page.goto(urlOf(`${path}.html`));
    const own = await page
      .locator('a[href]')
      .evaluateAll((found) => (found as unknown as { href: string }[]).map(({ href }) => href));
    links.push(...own.map((href) => ({ from: path, href })));
    const ids = await page
      .locator('[id]')
      .evaluateAll((found) => (found as unknown as { id: string }[]).map(({ id }) => id));
    anchors.set(fileOf(`${base}${path}.html`) ?? '', ids);
  });

  it('has one heading of the first level, its own title and a link to its Markdown', async () => {
    expect(await page.locator('main h1').count()).toBe(1);
    expect(await page.title()).toMatch(/ \| express-auth-adapters$/);
    const markdown = page.locator('.markdown-link a');
    expect(await markdown.getAttribute('href')).toBe(`${base}${path}.md`);
  });

  it('is not wider than a phone, and has no axe violations, light and dark', async () => {
    const looks = (['light', 'dark'] as const).map((colorScheme) => ({
      viewport: { width: 390, height: 844 },
      colorScheme,
    }));
    for (const { violations, overflow } of await axeReports(page, looks)) {
      expect({ violations, overflow }).toEqual({ violations: [], overflow: 0 });
    }
  });
});

describe('the site', () => {
  it('has no dead link, and no link to a heading that is not there', () => {
    const inside = links.filter(({ href }) => href.startsWith(server.origin));
    expect(inside.length).toBeGreaterThan(1_000);
    const dead = inside.filter(({ href }) => {
      const { pathname, hash } = new URL(href);
      const file = fileOf(pathname);
      if (file === undefined) return true;
      const ids = anchors.get(file);
      return hash !== '' && ids !== undefined && !ids.includes(decodeURIComponent(hash.slice(1)));
    });
    expect([...new Set(dead.map(({ from, href }) => `${from}: ${href}`))]).toEqual([]);
  });

  it('links other sites by https, and loads nothing from them', () => {
    const outside = links.map(({ href }) => href).filter((href) => !href.startsWith(server.origin));
    expect(outside.length).toBeGreaterThan(10);
    expect(outside.filter((href) => !/^https:|^http:\/\/localhost/.test(href))).toEqual([]);
    expect(foreign).toEqual([]);
  });

  it('loads nothing that is not there, its icon included', async () => {
    expect(failed).toEqual([]);
    const icon = await page.locator('link[rel=icon]').getAttribute('href');
    expect(fileOf(icon ?? '')).toBe(`${folder}/favicon.svg`);
  });

  it('has the API reference, whose links lead to files', () => {
    const files = globSync(`${folder}/api/**/*.html`);
    expect(files.length).toBeGreaterThan(50);
    const dead = files.flatMap((file) =>
      [...readFileSync(file, 'utf8').matchAll(/ (?:href|src)="([^"#?]+)[^"]*"/g)]
        .map(([, target = '']) => target)
        .filter((target) => !/^[a-z]+:/i.test(target) && !existsSync(join(posix.dirname(file), target)))
        .map((target) => `${file}: ${target}`),
    );
    expect(dead).toEqual([]);
  });

  it('has Markdown whose links work, and llms.txt that lists it', () => {
    const dead = pages.flatMap((path) =>
      [...readFileSync(join(folder, `${path}.md`), 'utf8').matchAll(/\]\(([^)\s:#]+)(?:#[^)]*)?\)/g)]
        .map(([, target = '']) => posix.join(posix.dirname(path), target))
        .filter((target) => !existsSync(join(folder, target)))
        .map((target) => `${path}: ${target}`),
    );
    expect(dead).toEqual([]);
    const address = 'https://express-auth-adapters.github.io';
    const listed = [...readFileSync(join(folder, 'llms.txt'), 'utf8').matchAll(/\]\(([^)]+)\)/g)].map(
      ([, url = '']) => url,
    );
    expect(listed.length).toBeGreaterThan(40);
    expect(listed.filter((url) => fileOf(url.replace(address, '')) === undefined)).toEqual([]);
  });

  it('finds a page by its words, by keyboard', async () => {
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.goto(urlOf(''));
    // The pages answer keys as soon as their scripts run.
    await page.waitForLoadState('networkidle');
    await page.keyboard.press('Control+k');
    await page.locator('.VPLocalSearchBox input').fill('redirect uri is refused');
    const result = page.locator('.VPLocalSearchBox .result').first();
    await result.waitFor();
    expect(await result.getAttribute('href')).toContain('troubleshooting.html#the-redirect-uri-is-refused');
    await page.keyboard.press('Enter');
    await page.waitForURL(/troubleshooting\.html#the-redirect-uri-is-refused$/);
  });

  it.each([
    ['google login', 'tasks.html#sign-in-with-google-and-github'],
    ['2fa', 'tasks.html#ask-for-a-second-factor'],
  ])('finds "%s", which the pages call otherwise', async (words, found) => {
    await page.goto(urlOf(''));
    await page.waitForLoadState('networkidle');
    await page.keyboard.press('Control+k');
    await page.locator('.VPLocalSearchBox input').fill(words);
    const result = page.locator('.VPLocalSearchBox .result').first();
    await result.waitFor();
    expect(await result.getAttribute('href')).toContain(found);
  });

  it('has a front page that leads to both quickstarts and shows a page', async () => {
    await page.goto(urlOf(''));
    const ways = page.locator('.front-page .way');
    expect(
      await ways.evaluateAll((found) => (found as unknown as { pathname: string }[]).map(({ pathname }) => pathname)),
    ).toEqual(['supabase', 'workos'].map((name) => `${base}quickstart-${name}.html`));
    expect(
      await page
        .locator('.front-page img')
        .evaluate((image) => (image as unknown as { naturalWidth: number }).naturalWidth),
    ).toBeGreaterThan(0);
  });

  it('is readable on a large screen, with sidebar and outline, light and dark', async () => {
    await page.setViewportSize({ width: 1280, height: 800 });
    for (const path of ['', 'guards.html']) {
      await page.goto(urlOf(path));
      const looks = (['light', 'dark'] as const).map((colorScheme) => ({
        viewport: { width: 1280, height: 800 },
        colorScheme,
      }));
      for (const { violations, overflow } of await axeReports(page, looks)) {
        expect({ path, violations, overflow }).toEqual({ path, violations: [], overflow: 0 });
      }
    }
  });

  it('becomes dark by a switch, and stays so on the next page', async () => {
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.emulateMedia({ colorScheme: 'light' });
    await page.goto(urlOf('guards.html'));
    const isDark = () => page.evaluate("document.documentElement.classList.contains('dark')");
    expect(await isDark()).toBe(false);
    await page.locator('.VPNavBarAppearance button').click();
    expect(await isDark()).toBe(true);
    await page.goto(urlOf('pages.html'));
    expect(await isDark()).toBe(true);
    await page.evaluate('localStorage.clear()');
  });

  it.each(withDiagram.map((path) => path.slice('docs/'.length, -'.md'.length)))(
    'draws the diagrams of %s, sequences as wide as the page, and shows them as text without scripts',
    async (path) => {
      const count = readFileSync(`docs/${path}.md`, 'utf8').split('```mermaid').length - 1;
      await page.setViewportSize({ width: 1280, height: 800 });
      await page.goto(urlOf(`${path}.html`));
      await page
        .locator('.diagram svg')
        .nth(count - 1)
        .waitFor();
      expect(await page.locator('.diagram svg').count()).toBe(count);
      const clipped = await page
        .locator('.picture:has(svg[aria-roledescription=sequence])')
        .evaluateAll((found) => found.filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth).length);
      expect(clipped).toBe(0);
      const plain = await browser.newContext({ javaScriptEnabled: false });
      try {
        const still = await plain.newPage();
        await still.goto(urlOf(`${path}.html`));
        expect(await still.locator('.diagram pre').first().textContent()).toMatch(/^\s*(?:sequence|state|flow)/);
        expect(await still.locator('.diagram pre').count()).toBe(count);
      } finally {
        await plain.close();
      }
    },
  );

  it('is no part of the package, nor of what `npm ci` installs', () => {
    const { files, dependencies, devDependencies } = JSON.parse(readFileSync('package.json', 'utf8'));
    expect(
      Object.keys({ ...dependencies, ...devDependencies }).filter((name) => /vite|vue|mermaid/.test(name)),
    ).toEqual([]);
    expect(files.filter((name: string) => /site|tools|reports/.test(name))).toEqual([]);
  });
});
