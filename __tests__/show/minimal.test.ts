import { readFileSync } from 'node:fs';
import { demoUsers } from '../../stand-ins/workos/index.ts';
import { startAppProcesses } from '../support/app-process.ts';
import { createVisitor } from '../support/visitor.ts';

let apps: Awaited<ReturnType<typeof startAppProcesses>>;
beforeAll(async () => {
  apps = await startAppProcesses();
});
afterAll(() => apps.providers.close());

it('the B2B app signs in through WorkOS', async () => {
  await apps.running('show/minimal-b2b.mjs', async (origin) => {
    const browser = createVisitor(origin);
    const start = await browser.get((await browser.get('/dashboard')).location);
    const callback = await apps.providers.workos!.authorize(start.location, { user: demoUsers.personal });
    const done = await browser.get(callback.href);
    expect((await browser.getJson(done.location)).json).toMatchObject({ email: demoUsers.personal.email });
  });
}, 30_000);

it('the backend app signs in through Supabase', async () => {
  const { demo } = apps.providers.supabase!;
  await apps.running('show/minimal-backend.mjs', async (origin) => {
    const browser = createVisitor(origin);
    expect((await browser.get('/account')).location).toBe(`${origin}/auth/login?returnTo=%2Faccount`);
    expect((await browser.postJson('/auth/login', { ...demo })).status).toBe(200);
    expect((await browser.getJson('/account')).json).toMatchObject({ email: demo.email });
  });
}, 30_000);

it.each(['minimal-b2b.mjs', 'minimal-backend.mjs'])('%s has fewer than 20 lines, eight of them code', (file) => {
  const lines = readFileSync(`show/${file}`, 'utf8').trimEnd().split('\n');
  expect(lines.length).toBeLessThan(20);
  expect(lines.filter((line) => line !== '' && !line.startsWith('//'))).toHaveLength(8);
});

it('app.ts stays under 120 lines', () => {
  expect(readFileSync('show/app.ts', 'utf8').split('\n').length).toBeLessThan(120);
});
