import { jest } from '@jest/globals';
import { startBackendApp } from '../support/backend-app.ts';
import { launchBrowser } from '../support/browser.ts';

// Chromium is slow on a busy machine.
jest.setTimeout(60_000);

it('a browser loads the initial as the icon of a page without a logo, and the page’s policy allows it', async () => {
  const browser = await launchBrowser();
  const app = await startBackendApp({ options: { pages: { title: 'Northwind' } } });
  try {
    const context = await browser.newContext({ baseURL: app.origin });
    const page = await context.newPage();
    const faults: string[] = [];
    page.on('console', (message) => message.type() === 'error' && faults.push(message.text()));
    await page.goto('/auth/login');
    // The icons of tabs are not among the requests that a page reports, so an image stands for it, under the same directive.
    const size = await page.evaluate<number>(`new Promise((resolve, reject) => {
      const image = new Image();
      image.onload = () => resolve(image.naturalWidth);
      image.onerror = reject;
      image.src = document.querySelector('link[rel=icon]').href;
    })`);
    expect([size > 0, faults]).toEqual([true, []]);
  } finally {
    await browser.close();
    await app.close();
  }
});
