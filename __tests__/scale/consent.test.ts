import { jest } from '@jest/globals';
import { Redis } from 'ioredis';
import { createRedisCoordinator } from '../../lib/redis/index.ts';
import { ada } from '../support/backend-app.ts';
import type { BackendApp } from '../support/backend-app.ts';
import { arrive, callback, startConsentApp } from '../support/consent.ts';
import { startRedisServer } from '../support/redis-server.ts';
import type { RedisServer } from '../support/redis-server.ts';

jest.setTimeout(30_000);

let server: RedisServer;
let client: Redis;
const apps: BackendApp[] = [];

beforeAll(async () => {
  server = await startRedisServer();
  client = new Redis(server.url, { retryStrategy: () => 20 });
  client.on('error', () => undefined);
  const coordinator = () => createRedisCoordinator({ client, password: 'p'.repeat(32) });
  const first = await startConsentApp({ options: { coordinator: coordinator(), now: Date.now } });
  const { url, publishableKey: anonKey } = first.supabase;
  apps.push(first, await startConsentApp({ options: { coordinator: coordinator(), now: Date.now, url, anonKey } }));
});
afterAll(async () => {
  for (const app of apps) await app.close();
  client.disconnect();
  await server.stop();
});

/** Everything that Redis holds, as text. */
async function dump(): Promise<string> {
  const keys = await client.keys('*');
  const hashes = await Promise.all(keys.map((key) => client.hgetall(key)));
  return JSON.stringify([keys, hashes]);
}

it('one process asks about an authorization, all have the sealed answer, and it is gone after ten minutes', async () => {
  const [one, two] = apps as [BackendApp, BackendApp];
  const here = await one.signedIn();
  const there = two.visitor();
  for (const [name, value] of here.cookies) there.cookies.set(name, value);
  const asking = one.supabase.addClient({ name: 'Secret Name', redirectUris: [callback] });
  const id = one.supabase.askConsent(asking, { state: 'state-of-the-app' });
  const before = new Set(await client.keys('*'));
  const pages = await Promise.all([arrive(here, id), arrive(there, id)]);
  expect(pages.map(({ status }) => status)).toEqual([200, 200]);
  const decisions = await Promise.all(
    [here, there].map((visitor) => visitor.postJson('/oauth/consent', { authorization_id: id, action: 'allow' })),
  );
  const [answer, same] = decisions.map(({ json }) => json.redirectTo as string);
  expect(answer).toBe(same);
  expect([one.supabase.calls('authorization'), one.supabase.calls('consent')]).toEqual([1, 1]);

  const held = await dump();
  const code = new URL(answer ?? '').searchParams.get('code') ?? '';
  for (const secret of [id, code, 'Secret Name', 'state-of-the-app', callback, ada.email]) {
    expect([secret.length > 5, held.includes(secret)]).toEqual([true, false]);
  }
  expect(held).toContain('Fe26.2');
  const added = (await client.keys('*')).filter((key) => !before.has(key));
  const lives = await Promise.all(added.map((key) => client.pttl(key)));
  expect(lives.filter((life) => life > 0 && life <= 600_000).length).toBeGreaterThanOrEqual(2);
});
