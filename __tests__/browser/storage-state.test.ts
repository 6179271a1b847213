import { jest } from '@jest/globals';
import express from 'express';
import { b2bAuth, currentSession } from '../../lib/b2b/index.ts';
import { createB2bTestKit } from '../../lib/testing/index.ts';
import { launchBrowser } from '../support/browser.ts';
import type { TestBrowser } from '../support/browser.ts';
import { serve } from '../support/servers.ts';
import type { RunningServer } from '../support/servers.ts';

jest.setTimeout(60_000);

const kit = createB2bTestKit();
let browser: TestBrowser;
let server: RunningServer;

beforeAll(async () => {
  const app = express();
  app.use(b2bAuth({ protectedRoutes: '/dashboard', ...kit.options }));
  app.get('/dashboard', (req, res) => void res.send(currentSession(req, 'b2b').user.email));
  [browser, server] = await Promise.all([launchBrowser(), serve(app)]);
});
afterAll(async () => {
  await browser.close();
  await server.close();
});

it.each([['fresh'], ['expired']])('a browser that starts with the kit’s storageState is signed in, %s', async (age) => {
  const session = { user: { email: 'ada@example.com' }, expired: age === 'expired' };
  const context = await browser.newContext({
    baseURL: server.origin,
    storageState: await kit.storageState(server.origin, session),
  });
  const page = await context.newPage();
  await page.goto('/dashboard');
  expect(await page.innerText('body')).toBe('ada@example.com');
  await page.reload();
  expect(await page.innerText('body')).toBe('ada@example.com');
  await context.close();
});
