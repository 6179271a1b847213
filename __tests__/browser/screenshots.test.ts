import { jest } from '@jest/globals';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { scriptText } from '../../lib/backend/webauthn/script.ts';
import { stylesheet } from '../../lib/pages/style.ts';
import { sendReply } from '../../lib/http/reply.ts';
import type { Reply } from '../../lib/http/reply.ts';
import { launchBrowser, takePicture } from '../support/browser.ts';
import type { TestBrowser } from '../support/browser.ts';
import { startTourHere } from '../support/show.ts';
import { everyPageState } from '../support/built-in-pages.ts';
import { markdownFiles } from '../support/markdown.ts';
import { serve } from '../support/servers.ts';
import type { RunningServer } from '../support/servers.ts';

/**
 * The pictures of the documentation, taken from the pages as they are. The committed ones are renewed with
 * `UPDATE_SCREENSHOTS=1`; without, they go to `reports`, as fonts differ from machine to machine.
 */
const committed = join('docs', 'screenshots');
const isRenewed = process.env['UPDATE_SCREENSHOTS'] !== undefined;
const directory = isRenewed ? committed : join('reports', 'screenshots');
/** How much longer than its picture a page may be, as a part of its height: another machine's fonts may wrap a line more. */
const tolerance = 0.1;
const maxBytes = 495 * 1024;

// Chromium is slow on a busy machine.
jest.setTimeout(60_000);

const pictures = [
  { file: 'sign-in-light.png', state: 'sign-in', width: 560, height: 760, colorScheme: 'light' },
  { file: 'sign-in-dark.png', state: 'sign-in', width: 560, height: 760, colorScheme: 'dark' },
  { file: 'sign-up-error.png', state: 'sign-up, weak password', width: 560, height: 790, colorScheme: 'light' },
  { file: 'check-your-mail.png', state: 'confirmation sent', width: 560, height: 605, colorScheme: 'light' },
  { file: 'chooser.png', state: 'chooser', width: 560, height: 595, colorScheme: 'light' },
  { file: 'no-access.png', state: 'error, no access', width: 560, height: 610, colorScheme: 'light' },
  { file: 'second-factor.png', state: 'verify', width: 560, height: 720, colorScheme: 'light' },
] as const;

/** The start page of the tour, which is longer than its picture. */
const tour = { file: 'tour.png', width: 1000, height: 780 };

const logo =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="9" fill="#3646c9"/><path d="M9 23V9l14 14V9" fill="none" stroke="#fff" stroke-width="3" stroke-linecap="round" stroke-linejoin="round"/></svg>';

const states = everyPageState();
const assets: Readonly<Record<string, Reply>> = {
  'auth/pages.css': { status: 200, body: { kind: 'asset', text: stylesheet, type: 'text/css; charset=utf-8' } },
  'auth/pages.js': { status: 200, body: { kind: 'asset', text: scriptText, type: 'text/javascript; charset=utf-8' } },
  'logo.svg': { status: 200, body: { kind: 'asset', text: logo, type: 'image/svg+xml' } },
};

let server: RunningServer;
let browser: TestBrowser;

beforeAll(async () => {
  server = await serve((req, res) => {
    const name = decodeURIComponent((req.url ?? '').slice(1).replace(/\?.*/, ''));
    sendReply({ req, res }, assets[name] ?? states[name] ?? { status: 404 });
  });
  browser = await launchBrowser();
});

afterAll(async () => {
  await browser.close();
  await server.close();
});

/** Width and height have a fixed position in every PNG (its IHDR chunk). */
function sizeOf(png: Buffer): { readonly width: number; readonly height: number } {
  return { width: png.readUInt32BE(16), height: png.readUInt32BE(20) };
}

/**
 * @param style beside the page's own
 * @returns the picture, and how much of the page's height is below it
 */
async function take({ state, width, height, colorScheme }: (typeof pictures)[number], style?: string) {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme, bypassCSP: true });
  const page = await context.newPage();
  await page.goto(`${server.origin}/${encodeURIComponent(state)}`);
  if (style !== undefined) await page.addStyleTag({ content: style });
  const png = await takePicture(page);
  const below = await page.evaluate<number>('document.documentElement.scrollHeight - innerHeight');
  await context.close();
  return { png, overflow: below / height };
}

describe('the pictures of the documentation', () => {
  it.each(pictures)('$file shows the whole current page and nothing else', async (picture) => {
    const { file, width, height } = picture;
    const { png, overflow } = await take(picture);
    mkdirSync(directory, { recursive: true });
    writeFileSync(join(directory, file), png);

    expect(overflow).toBeLessThanOrEqual(isRenewed ? 0 : tolerance);
    expect(sizeOf(readFileSync(join(committed, file)))).toEqual({ width, height });
  });

  it.each([
    ['are no failure on a machine with other fonts', 'html { font-size: 103% }', false],
    ['are out of date once a page has a part more', 'main::after { content: ""; display: block; height: 15vh }', true],
  ])('%s', async (_, style, isFailure) => {
    for (const picture of pictures) {
      const { overflow } = await take(picture, style);
      expect([overflow > 0, overflow > tolerance]).toEqual([true, isFailure]);
    }
  });

  it(`${tour.file} shows the start page of the tour`, async () => {
    const app = await startTourHere();
    const { file, width, height } = tour;
    const context = await browser.newContext({ viewport: { width, height }, colorScheme: 'light' });
    const page = await context.newPage();
    await page.goto(app.origin);
    const png = await takePicture(page);
    await context.close();
    await app.close();
    mkdirSync(directory, { recursive: true });
    writeFileSync(join(directory, file), png);

    expect(sizeOf(readFileSync(join(committed, file)))).toEqual({ width, height });
  });

  it('are exactly these, each of them used on a page, and small enough to ship', () => {
    const files = readdirSync(committed);
    const bytes = files.reduce((sum, file) => sum + readFileSync(join(committed, file)).length, 0);
    const text = markdownFiles()
      .map((page) => page.text)
      .join('\n');

    // `npm run docs:picture` takes README's, of its own example.
    expect(files.sort()).toEqual([...[...pictures, tour].map(({ file }) => file), 'readme.png'].sort());
    expect(files.filter((file) => !new RegExp(`/docs/screenshots/${file}[)"]`).test(text))).toEqual([]);
    expect(bytes).toBeLessThan(maxBytes);
  });
});
