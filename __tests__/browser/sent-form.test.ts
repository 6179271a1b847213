import { jest } from '@jest/globals';
import type { BrowserContextOptions, Page } from 'playwright-core';
import type { ServerResponse } from 'node:http';
import { render } from '../../lib/tools/html.ts';
import { stylesheet } from '../../lib/pages/style.ts';
import { sendReply } from '../../lib/http/reply.ts';
import type { Reply } from '../../lib/http/reply.ts';
import { launchBrowser } from '../support/browser.ts';
import type { TestBrowser } from '../support/browser.ts';
import { everyPageState } from '../support/built-in-pages.ts';
import { serve } from '../support/servers.ts';
import type { RunningServer } from '../support/servers.ts';

/** Between a form and its answer: the server below answers a post only when the test says so. */

// Chromium is slow on a busy machine.
jest.setTimeout(60_000);

const states = everyPageState({ title: 'Northwind' });
const css: Reply = { status: 200, body: { kind: 'asset', text: stylesheet, type: 'text/css; charset=utf-8' } };

let server: RunningServer;
let browser: TestBrowser;
const held: ServerResponse[] = [];

beforeAll(async () => {
  server = await serve((req, res) => {
    if (req.method === 'POST') held.push(res);
    else if (req.url?.startsWith('/auth/pages.css') === true) sendReply({ req, res }, css);
    else sendReply({ req, res }, states[decodeURIComponent((req.url ?? '').slice(1))] ?? { status: 404 });
  });
  browser = await launchBrowser();
});

afterAll(async () => {
  await browser.close();
  await server.close();
});

/** What a page shows of its rings. */
interface Rings {
  /** The labels of the buttons that show theirs. */
  readonly on: readonly string[];
  /** The style properties that change. */
  readonly changes: readonly string[];
}

/** Runs in the page, where `ringsNow` then is a function. */
const observer = `globalThis.ringsNow = () => ({
  on: [...document.querySelectorAll('button')]
    .filter((button) => {
      const { visibility, clipPath } = getComputedStyle(button, '::after');
      return visibility === 'visible' && clipPath.startsWith('inset(0');
    })
    .map((button) => button.textContent),
  changes: [...new Set(document.getAnimations().filter(({ effect }) => effect.pseudoElement === '::after').map((change) => change.transitionProperty))],
});
document.addEventListener('transitionstart', ({ propertyName }) => {
  if (propertyName === 'clip-path') void globalThis.ringStarts(ringsNow());
});`;

/** A page, and what it shows when a ring appears on it. */
async function withPage(
  name: string,
  work: (page: Page, shown: Promise<Rings>) => Promise<void>,
  options: BrowserContextOptions = {},
): Promise<void> {
  const context = await browser.newContext({ viewport: { width: 390, height: 800 }, ...options });
  try {
    const page = await context.newPage();
    const shown = Promise.withResolvers<Rings>();
    await page.exposeFunction('ringStarts', shown.resolve);
    await page.addInitScript(observer);
    await page.goto(`${server.origin}/${encodeURIComponent(name)}`);
    await work(page, shown.promise);
  } finally {
    await context.close();
  }
}

async function fillIn(page: Page): Promise<void> {
  await page.fill('#email', 'ada@example.com');
  await page.fill('#password', 'correct horse');
}

/** The action ends with the answer, as Chromium holds back what a page says of itself until then. */
async function shownAfter(action: Promise<void>, shown: Promise<Rings>): Promise<Rings> {
  const rings = await shown;
  held.splice(0).forEach((res) => res.end());
  await action;
  return rings;
}

describe('a ring turns on the button of a form that was sent', () => {
  it.each<[string, (page: Page) => Promise<void>]>([
    ['by a click', (page) => page.getByText('Sign in', { exact: true }).click()],
    ['by Enter in a field', (page) => page.press('#password', 'Enter')],
    ['by Enter on the button', (page) => page.getByText('Sign in', { exact: true }).press('Enter')],
    ['by the space bar on the button', (page) => page.getByText('Sign in', { exact: true }).press('Space')],
  ])('%s', async (_name, send) => {
    await withPage('sign-in, every way', async (page, shown) => {
      await fillIn(page);
      expect(await shownAfter(send(page), shown)).toEqual({ on: ['Sign in'], changes: ['clip-path', 'rotate'] });
    });
  });

  it('and not on another button of the form', async () => {
    await withPage('sign-in, every way', async (page, shown) => {
      await fillIn(page);
      const { on } = await shownAfter(page.getByText('Email me a code instead').click(), shown);
      expect(on).toEqual(['Email me a code instead']);
    });
    await withPage('consent', async (page, shown) => {
      const { on } = await shownAfter(page.getByText('Deny').click(), shown);
      expect(on).toEqual(['Deny']);
    });
  });

  it('and stands still where motion is reduced', async () => {
    const send = async (page: Page, shown: Promise<Rings>): Promise<void> => {
      const rings = await shownAfter(page.getByText('Confirm and continue').click(), shown);
      expect(rings).toEqual({ on: ['Confirm and continue'], changes: ['clip-path'] });
    };
    await withPage('confirm', send, { reducedMotion: 'reduce' });
  });
});

it('no ring turns where the browser refuses the form, nor when the field is corrected', async () => {
  await withPage('sign-in', async (page) => {
    const rings = () => page.evaluate<Rings>('ringsNow()');
    await page.getByText('Sign in', { exact: true }).click();
    expect(await page.locator('#email:user-invalid').count()).toBe(1);
    expect(await rings()).toEqual({ on: [], changes: [] });
    await fillIn(page);
    expect(await page.locator('form:valid > .sent:user-valid').count()).toBe(1);
    expect(await rings()).toEqual({ on: [], changes: [] });
    expect(held).toEqual([]);
  });
});

it('every form has the mark by which the stylesheet knows, except those that a script sends', () => {
  for (const [name, { body }] of Object.entries(states)) {
    const markup = body?.kind === 'page' ? render(body.markup) : '';
    const forms = markup.match(/<form [\s\S]*?<\/form>/g) ?? [];
    const unmarked = forms.filter((form) => form.includes('class="sent"') === /<form [^>]*data-passkey/.test(form));
    expect({ name, unmarked }).toEqual({ name, unmarked: [] });
  }
});
