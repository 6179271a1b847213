import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { startProviders } from '../../stand-ins/providers.ts';
import type { Providers } from '../../stand-ins/providers.ts';
import { demoUsers } from '../../stand-ins/workos/index.ts';
import { visitor as hostedPage } from '../../stand-ins/workos/visitor.ts';
import { startExampleProcess } from '../support/example-app.ts';
import { freePortsInARow } from '../support/servers.ts';
import { createVisitor } from '../support/visitor.ts';

let port: number;
let providers: Providers;
beforeAll(async () => {
  // The providers must know it before the app listens.
  port = await freePortsInARow(1);
  providers = await startProviders({ port, isRealWorkos: false, isRealSupabase: false, confirmsEmail: false }, port);
});
afterAll(() => providers.close());

/** Runs the file until the test is done. */
async function running(file: string, variables: Record<string, string>, use: (origin: string) => Promise<void>) {
  const app = startExampleProcess({ PORT: String(port), ...variables }, [`example-app/${file}`]);
  const origin = `http://localhost:${port}`;
  try {
    await Promise.race([
      answers(origin),
      app.ended.then((code) => Promise.reject(new Error(`It ended with ${code ?? 'a signal'}: ${app.output()}`))),
    ]);
    await use(origin);
  } finally {
    await app.stop();
  }
}

async function answers(origin: string): Promise<void> {
  while (
    !(await fetch(origin).then(
      () => true,
      () => false,
    ))
  )
    await pause(50);
}

it('the B2B app signs in through WorkOS', async () => {
  const { clientId, apiKey, hostname, port: workosPort } = providers.workos!;
  const variables = {
    B2B_CLIENT_ID: clientId,
    B2B_API_KEY: apiKey,
    B2B_API_HOSTNAME: hostname,
    B2B_API_PORT: String(workosPort),
    B2B_API_HTTPS: 'false',
  };
  await running('minimal-b2b.mjs', variables, async (origin) => {
    const browser = createVisitor(origin);
    const start = await browser.get((await browser.get('/dashboard')).location);
    const callback = await hostedPage.authorize(start.location, { user: demoUsers.personal });
    const done = await browser.get(callback.href);
    expect((await browser.getJson(done.location)).json).toMatchObject({ email: demoUsers.personal.email });
  });
}, 30_000);

it('the backend app signs in through Supabase', async () => {
  const { url, publishableKey, demo } = providers.supabase!;
  await running('minimal-backend.mjs', { BAAS_URL: url, BAAS_PUBLISHABLE_KEY: publishableKey }, async (origin) => {
    const browser = createVisitor(origin);
    expect((await browser.get('/account')).location).toBe(`${origin}/auth/login?returnTo=%2Faccount`);
    expect((await browser.postJson('/auth/login', { ...demo })).status).toBe(200);
    expect((await browser.getJson('/account')).json).toMatchObject({ email: demo.email });
  });
}, 30_000);

it.each(['minimal-b2b.mjs', 'minimal-backend.mjs'])('%s has fewer than 20 lines, eight of them code', (file) => {
  const lines = readFileSync(`example-app/${file}`, 'utf8').trimEnd().split('\n');
  expect(lines.length).toBeLessThan(20);
  expect(lines.filter((line) => line !== '' && !line.startsWith('//'))).toHaveLength(8);
});

it('app.ts stays under 120 lines', () => {
  expect(readFileSync('example-app/app.ts', 'utf8').split('\n').length).toBeLessThan(120);
});
