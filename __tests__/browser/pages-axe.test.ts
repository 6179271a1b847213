import { jest } from '@jest/globals';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { BrowserContext, BrowserContextOptions, Locator, Page } from 'playwright-core';
import { render } from '../../lib/tools/html.ts';
import { stylesheet } from '../../lib/pages/style.ts';
import { ar } from '../../lib/texts/ar.ts';
import { de } from '../../lib/texts/de.ts';
import { sendReply } from '../../lib/http/reply.ts';
import type { Reply } from '../../lib/http/reply.ts';
import { axeReports, pairsOfLooks } from '../support/axe.ts';
import { launchBrowser } from '../support/browser.ts';
import type { TestBrowser } from '../support/browser.ts';
import { everyPageState } from '../support/built-in-pages.ts';
import { inTurn } from '../../tools/turn.ts';

// Chromium is slow on a busy machine.
jest.setTimeout(120_000);

const inEnglish = everyPageState();
const names = Object.keys(inEnglish);
/** The same in a language of long words, and in one that is written from right to left. */
const translated: Readonly<Record<string, Reply>> = Object.fromEntries(
  Object.entries({
    de: everyPageState({ title: 'Nordwind Logistik und Handelsgesellschaft', lang: 'de', text: de }),
    ar: everyPageState({ title: 'نورثويند', lang: 'ar', text: ar }),
  }).flatMap(([lang, pages]) => Object.entries(pages).map(([name, page]) => [`${lang}/${name}`, page])),
);
const states: Readonly<Record<string, Reply>> = { ...inEnglish, ...translated };
const logo = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><circle cx="16" cy="16" r="16"/></svg>';

const assets: Readonly<Record<string, Reply>> = {
  'auth/pages.css': { status: 200, body: { kind: 'asset', text: stylesheet, type: 'text/css; charset=utf-8' } },
  'logo.svg': { status: 200, body: { kind: 'asset', text: logo, type: 'image/svg+xml' } },
  'favicon.ico': { status: 200, body: { kind: 'asset', text: logo, type: 'image/svg+xml' } },
};

let server: Server;
let browser: TestBrowser;
let origin: string;

beforeAll(async () => {
  server = createServer((req, res) => {
    const name = decodeURIComponent((req.url ?? '').slice(1));
    // A page that redirects by itself must stay for the test.
    const headers = { ...states[name]?.headers };
    Reflect.deleteProperty(headers, 'Refresh');
    const page = states[name] && { ...states[name], headers };
    sendReply({ req, res }, assets[name] ?? page ?? { status: 404 });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  origin = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
  browser = await launchBrowser();
});

afterAll(async () => {
  await browser.close();
  server.closeAllConnections();
  server.close();
});

async function withPage(options: BrowserContextOptions, work: (page: Page) => Promise<void>): Promise<void> {
  const context: BrowserContext = await browser.newContext(options);
  try {
    await work(await context.newPage());
  } finally {
    await context.close();
  }
}

/** What the script of the pages shows; `passkeys.test.ts` and `reveal.test.ts` test that script. */
const showScripted =
  "document.querySelectorAll('form[data-passkey], .reveal').forEach((element) => { element.hidden = false; })";

async function open(page: Page, name: string): Promise<void> {
  await page.goto(`${origin}/${encodeURIComponent(name)}`);
  await page.evaluate(showScripted);
}

/** Runs in the page, whose globals the types of these tests do not know. */
interface PageGlobals {
  getComputedStyle(element: unknown): { getPropertyValue(name: string): string };
}

interface MeasuredElement {
  readonly outerHTML: string;
  getBoundingClientRect(): { readonly height: number };
}

function computedStyle(control: Locator, property: string): Promise<string> {
  return control.evaluate(
    (element: unknown, name) => (globalThis as unknown as PageGlobals).getComputedStyle(element).getPropertyValue(name),
    property,
  );
}

function bodyOf(name: string): string {
  const body = states[name]?.body;
  return body?.kind === 'page' ? render(body.markup) : '';
}

/** Where the first of these elements is. */
async function boxOf(page: Page, selector: string): Promise<{ x: number; y: number; width: number; height: number }> {
  const box = await page.locator(selector).first().boundingBox();
  if (box === null) throw new Error(`${selector} is not visible`);
  return box;
}

const phone = { width: 320, height: 640 };
const desk = { width: 1280, height: 800 };

/** How far a page scrolls sideways, as it is and with text of twice the size. */
async function overflows(page: Page): Promise<number[]> {
  const overflow = () => page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
  const setFontSize = (size: string) => page.evaluate(`document.documentElement.style.fontSize = '${size}'`);
  const asItIs = await overflow();
  await setFontSize('200%');
  const enlarged = await overflow();
  await setFontSize('');
  return [asItIs, enlarged];
}

// To navigate and to load axe cost the most, so all states are written in turn into one document.
let context: BrowserContext;
let page: Page;
beforeAll(async () => {
  context = await browser.newContext();
  page = await context.newPage();
  await open(page, 'sign-in');
});
afterAll(() => context.close());

async function write(name: string): Promise<void> {
  await page.emulateMedia({ colorScheme: 'light', forcedColors: 'none', reducedMotion: 'no-preference' });
  await page.setViewportSize(phone);
  await page.setContent(bodyOf(name));
  await page.evaluate(showScripted);
}

describe.each(names)('the page "%s"', (name) => {
  beforeAll(() => write(name));

  it('has controls of at least 44 px', async () => {
    const controls = page.locator(
      'button:not(.link, .reveal):visible, .button:visible, input:visible, .choices a:visible',
    );
    const short = await controls.evaluateAll((elements) =>
      (elements as unknown as MeasuredElement[])
        .filter((element) => element.getBoundingClientRect().height < 44)
        .map(({ outerHTML }) => outerHTML),
    );
    expect(short).toEqual([]);
  });

  it('fits without horizontal scrolling at 320 and 1280 px, and with large text', async () => {
    expect(await overflows(page)).toEqual([0, 0]);
    await page.setViewportSize(desk);
    expect(await overflows(page)).toEqual([0, 0]);
  });

  it('has no axe violations at 320 and 1280 px, light and dark', async () => {
    const looks = inTurn(name, pairsOfLooks).flat();
    const reports = await axeReports(page, looks);
    expect(reports.map(({ violations }) => violations)).toEqual(looks.map(() => []));
    // The stylesheet has loaded: on an unstyled page contrast proves nothing.
    for (const { passes } of reports) expect(passes).toContain('color-contrast');
    expect(await computedStyle(page.locator('body'), 'display')).toBe('flex');
  });

  it('keeps its borders in forced colors, and has no motion if motion is reduced', async () => {
    await page.emulateMedia({ colorScheme: 'light', forcedColors: 'active', reducedMotion: 'reduce' });
    await page.setViewportSize(phone);
    const controls = page.locator('button:not(.link, .reveal):visible, .button:visible, input:visible, .message');
    const looksWrong = await controls.evaluateAll((elements) =>
      (elements as unknown as MeasuredElement[])
        .filter((element) => {
          const style = (globalThis as unknown as PageGlobals).getComputedStyle(element);
          const width = parseFloat(style.getPropertyValue('border-top-width'));
          return !(width >= 1) || style.getPropertyValue('transition-property') !== 'none';
        })
        .map(({ outerHTML }) => outerHTML),
    );
    expect(looksWrong).toEqual([]);
  });
});

it.each(Object.keys(translated))('fits without horizontal scrolling in another language: %s', async (name) => {
  await write(name);
  expect(await overflows(page)).toEqual([0, 0]);
  // German differs from English in length alone.
  if (!name.startsWith('ar/')) return;
  const light = inTurn(name, pairsOfLooks).map(([look]) => look!);
  const violations = (await axeReports(page, light)).flatMap((report) => report.violations);
  expect(violations).toEqual([]);
});

it('shows the places of a code in forced colors', async () => {
  await write('verify');
  await page.emulateMedia({ colorScheme: 'light', forcedColors: 'active', reducedMotion: 'reduce' });
  expect(await computedStyle(page.locator('input.places'), 'background-image')).toContain('gradient');
});

it('a message at a field has the same distance to it on every page', async () => {
  const gaps = new Set<number>();
  for (const name of names.filter((each) => bodyOf(each).includes('class="field-message"'))) {
    await write(name);
    const [field, message] = await Promise.all([boxOf(page, '[aria-invalid]'), boxOf(page, '.field-message')]);
    gaps.add(Math.round(message.y - field.y - field.height));
  }
  expect([...gaps]).toEqual([6]);
});

it('the organization of the last time stands apart from the others', async () => {
  await write('chooser, by letter');
  const [last, others] = await Promise.all([boxOf(page, '.choices'), boxOf(page, '.choices + .choices')]);
  expect(Math.round(others.y - last.y - last.height)).toBe(20);
});

it('a label of two lines stands beside its icon, whatever its direction', async () => {
  const gaps = `[...document.querySelectorAll('button:not(.reveal):has(> svg), .button:has(> svg)')].map((button) => {
    const icon = button.querySelector('svg').getBoundingClientRect();
    const range = document.createRange();
    range.setStartAfter(button.querySelector('svg'));
    range.setEndAfter(button.lastChild);
    return [...range.getClientRects()].map((line) => Math.round(Math.max(line.left - icon.right, icon.left - line.right)));
  })`;
  for (const name of ['de/verify, key', 'de/factors, with keys, none', 'ar/sign-in, last used, every way']) {
    await write(name);
    const lines = await page.evaluate<number[][]>(gaps);
    expect(lines.length).toBeGreaterThan(0);
    if (name.startsWith('de/')) expect(Math.max(...lines.map((each) => each.length))).toBe(2);
    expect({ name, gaps: [...new Set(lines.flat())] }).toEqual({ name, gaps: [10] });
  }
});

it('a name stands beside its initials, whatever its direction', async () => {
  for (const name of ['chooser', 'ar/chooser']) {
    await write(name);
    const [mark, text] = await Promise.all([boxOf(page, '.choices .mark'), boxOf(page, '.choices bdi')]);
    const gap = Math.max(text.x - mark.x - mark.width, mark.x - text.x - text.width);
    expect({ name, gap: Math.round(gap) }).toEqual({ name, gap: 12 });
  }
});

it('every page obeys its own policy, and works with scripts disabled', async () => {
  await withPage({ viewport: desk, javaScriptEnabled: false }, async (page) => {
    const complaints: string[] = [];
    page.on('console', (message) => complaints.push(message.text()));
    page.on('requestfailed', (request) => {
      const reason = request.failure()?.errorText;
      // The next page cancels an image of the last one that is still loading.
      if (reason !== 'net::ERR_ABORTED') complaints.push(`${request.url()}: ${reason}`);
    });
    for (const name of names) {
      await open(page, name);
      expect(await page.locator('h1').isVisible()).toBe(true);
    }
    // Chromium logs the 4xx and 5xx of the pages themselves.
    expect(complaints.filter((text) => !text.includes('Failed to load resource'))).toEqual([]);
  });
});

describe('with the keyboard alone', () => {
  /** The id of the control that has the focus, else its text; waits for the browser to act on `autofocus`. */
  async function focused(page: Page): Promise<string | null> {
    const control = page.locator(':focus');
    await control.waitFor();
    return (await control.getAttribute('id')) ?? (await control.textContent());
  }

  it.each([
    ['sign-in', 'email'],
    ['sign-in, wrong password', 'password'],
    ['sign-in, throttled', 'password'],
    ['sign-in, email missing', 'email'],
    ['sign-in, unconfirmed', 'Resend email'],
    ['sign-up, email malformed', 'email'],
    ['sign-up, weak password', 'password'],
  ])('%s starts at %s', async (name, start) => {
    await withPage({ viewport: desk }, async (page) => {
      await open(page, name);
      expect(await focused(page)).toBe(start);
    });
  });

  it('moves through the form in reading order, and shows the focus', async () => {
    await withPage({ viewport: desk }, async (page) => {
      await open(page, 'sign-in');
      const seen = [await focused(page)];
      for (const key of [...Array.from({ length: 5 }, () => 'Tab'), ...Array.from({ length: 7 }, () => 'Shift+Tab')]) {
        await page.keyboard.press(key);
        seen.push(await focused(page));
        const control = page.locator(':focus');
        const ring = `${await computedStyle(control, 'outline-style')} ${await computedStyle(control, 'outline-width')}`;
        expect(ring).toBe('solid 2px');
      }
      const form = ['email', 'password', 'Show password', 'Forgot password?', 'Sign in'];
      const back = [...form.toReversed(), 'Continue with Google', 'Continue with GitHub'];
      expect(seen).toEqual([...form, 'Create an account', ...back]);
    });
  });

  it('posts the form with Enter: email, password and returnTo', async () => {
    await withPage({ viewport: phone }, async (page) => {
      await open(page, 'sign-in');
      expect(await focused(page)).toBe('email');
      await page.keyboard.type('ada@example.com');
      await page.keyboard.press('Tab');
      await page.keyboard.type('correct horse');
      const [request] = await Promise.all([
        page.waitForRequest((candidate) => candidate.method() === 'POST'),
        page.keyboard.press('Enter'),
      ]);
      expect(request.url()).toBe(`${origin}/auth/login`);
      expect(Object.fromEntries(new URLSearchParams(request.postData() ?? ''))).toEqual({
        returnTo: '/account?tab=1',
        email: 'ada@example.com',
        password: 'correct horse',
      });
    });
  });

  it('announces the message with its field', async () => {
    await withPage({ viewport: desk }, async (page) => {
      await open(page, 'sign-up, weak password');
      const ids = (await page.locator('#password').getAttribute('aria-describedby')) ?? '';
      const texts = ids.split(' ').map((id) => page.locator(`#${id}`).textContent());
      const description = (await Promise.all(texts)).join(' ');
      expect(description).toMatch(/^This password is too weak\./);
    });
  });
});
