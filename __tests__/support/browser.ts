import { existsSync } from 'node:fs';
import { chromium } from 'playwright-core';
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';

/** The location of Chromium on Debian and derivatives; `CHROMIUM_PATH` overrides it. */
const candidates = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/** No sandbox, as containers have none; no features that use the network by themselves. */
const launchArguments = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

export interface TestBrowser {
  /** A browser profile of its own: no cookie is shared with another context. */
  newContext(options?: BrowserContextOptions): Promise<BrowserContext>;
  /** Closes every context and ends the browser. */
  close(): Promise<void>;
}

/**
 * Chromium without a window. Close it in `afterAll`.
 *
 * @param hosts what Chromium resolves instead of a host, with or without a port, such as `{ 'localhost:3000': '127.0.0.1:4242' }`
 */
export async function launchBrowser(hosts: Readonly<Record<string, string>> = {}): Promise<TestBrowser> {
  const rules = Object.entries(hosts).map(([host, address]) => `MAP ${host} ${address}`);
  const args = rules.length > 0 ? [...launchArguments, `--host-resolver-rules=${rules.join(',')}`] : launchArguments;
  const browser: Browser = await chromium.launch({ executablePath: chromiumPath(), args });
  return {
    newContext: async (options) => {
      const context = await browser.newContext(options);
      // A missing element must fail its own test, not run into jest's limit for all of them.
      context.setDefaultTimeout(5_000);
      return context;
    },
    close: () => browser.close(),
  };
}

/**
 * The picture of a page, without a blinking cursor or a half of an animation. On a busy machine Chromium refuses a
 * capture now and then ("Unable to capture screenshot"), and takes the same picture when asked again.
 */
export async function takePicture(page: Page): Promise<Buffer> {
  const capture = () => page.screenshot({ caret: 'hide', animations: 'disabled' });
  return capture().catch((error: unknown) => {
    if (String(error).includes('Unable to capture screenshot')) return capture();
    throw error;
  });
}

function chromiumPath(): string {
  const path = process.env['CHROMIUM_PATH'] ?? candidates.find((candidate) => existsSync(candidate));
  if (path === undefined) throw new Error('No Chromium found: install it, or set CHROMIUM_PATH.');
  return path;
}
