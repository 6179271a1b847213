import { jest } from '@jest/globals';
import { axeReports, pairsOfLooks } from '../support/axe.ts';
import { launchBrowser } from '../support/browser.ts';
import type { TestBrowser } from '../support/browser.ts';
import { writtenEmails } from '../support/commands.ts';

// Chromium is slow on a busy machine.
jest.setTimeout(120_000);

let browser: TestBrowser;
beforeAll(async () => {
  browser = await launchBrowser();
});
afterAll(() => browser.close());

const filled: Readonly<Record<string, string>> = {
  '.SiteURL': 'https://northwind.example',
  '.TokenHash': 'pkce_0123456789abcdef0123456789abcdef0123456789abcdef01234567',
  '.Token': '40821357',
  '.Email': 'ada.byron-king.countess.of.lovelace@engine.analytical.example',
  '.NewEmail': 'ada.byron-king.countess.of.lovelace@engine.analytical.example',
};

/** Rules about landmarks, which mail programs have around the email. */
const ofPages = new Set(['landmark-one-main', 'region']);

const emails = Object.entries(
  writtenEmails('--title', 'Northwind Logistics and Trading Company', '--accent', '#ffd43b'),
);

it.each(emails)('the email %s can be read, light and dark, at 320 and 1280 pixels', async (_name, html) => {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.setContent(html.replaceAll(/\{\{ (\.\w+) \}\}/g, (_action, name: string) => filled[name] ?? ''));
  for (const looks of pairsOfLooks)
    for (const { violations, passes, overflow } of await axeReports(page, looks)) {
      expect({ violations: violations.filter(([rule]) => !ofPages.has(rule)), overflow }).toEqual({
        violations: [],
        overflow: 0,
      });
      expect(passes).toContain('color-contrast');
    }
  const width = await page.locator('.card').evaluate((card: { readonly clientWidth: number }) => card.clientWidth);
  expect(width).toBeLessThanOrEqual(480);
  await context.close();
});
