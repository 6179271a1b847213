import { randomBytes } from 'node:crypto';
import { jest } from '@jest/globals';
import { demoUsers, startWorkosStandIn } from '../../example-app/providers/workos/index.ts';
import type { WorkosStandIn } from '../../example-app/providers/workos/index.ts';
import { killWorker, startWorker } from '../support/b2b-worker-process.ts';
import type { Worker } from '../support/b2b-worker-process.ts';
import { startRedisServer } from '../support/redis-server.ts';
import type { RedisServer } from '../support/redis-server.ts';
import { createVisitor } from '../support/visitor.ts';
import type { Visitor } from '../support/visitor.ts';

jest.setTimeout(60_000);

/** How long an answer of the coordinator counts. */
const readMs = 5_000;

describe("a guard with whenCoordinatorDown: 'refuse', in two processes with one Redis", () => {
  let redis: RedisServer;
  let workos: WorkosStandIn;
  let workers: Worker[] = [];
  let aheadMs = 0;

  beforeEach(async () => {
    redis = await startRedisServer();
    const now = (): number => Date.now() + aheadMs;
    workos = await startWorkosStandIn({ clientId: 'client_test', apiKey: randomBytes(16).toString('hex'), now });
    const cookiePassword = randomBytes(32).toString('base64');
    const { clientId, apiKey, hostname: apiHostname, port } = workos;
    const adapter = { clientId, apiKey, apiHostname, port, https: false, cookiePassword };
    const options = { redisUrl: redis.url, password: cookiePassword, adapter };
    workers = await Promise.all([startWorker(options), startWorker(options)]);
  });
  afterEach(async () => {
    await Promise.all(workers.map(killWorker));
    await workos.close();
    await redis.stop();
  });

  async function outliveReads(): Promise<void> {
    aheadMs += readMs + 1_000;
    await Promise.all(workers.map((worker) => worker.setAhead(aheadMs)));
  }

  async function signedIn({ origin }: Worker): Promise<Visitor> {
    workos.redirectUris.push(`${origin}/callback`);
    const visitor = createVisitor(origin);
    const callback = await workos.authorize((await visitor.get('/login')).location, { user: demoUsers.personal });
    expect((await visitor.get(callback.href)).status).toBe(303);
    return visitor;
  }
  const statuses = async (visitor: Visitor): Promise<number[]> => [
    (await visitor.getJson('/api/strict')).status,
    (await visitor.getJson('/api/me')).status,
  ];

  it('answers 503 once Redis was killed, and lets in again when it is back', async () => {
    const visitor = await signedIn(workers[0]!);
    expect(await statuses(visitor)).toEqual([200, 200]);
    await redis.kill();
    await outliveReads();
    expect(await statuses(visitor)).toEqual([503, 200]);
    await redis.start();
    // The client connects again by itself, and what was read during the outage counts for five seconds.
    for (let tries = 0; (await visitor.getJson('/api/strict')).status !== 200; tries += 1) {
      expect(tries).toBeLessThan(200);
      await outliveReads();
    }
    expect(await statuses(visitor)).toEqual([200, 200]);
  });

  it('serves no session that the other process ended while neither knows of the other', async () => {
    const [here, there] = workers;
    const visitor = await signedIn(here!);
    const { id } = (await visitor.getJson('/auth/session')).json.user;
    await redis.kill();
    await outliveReads();
    expect((await createVisitor(there!.origin).post(`/server/end/${id}`)).status).toBeGreaterThanOrEqual(500);
    // The default serves it here, because this process could not hear of it.
    expect(await statuses(visitor)).toEqual([503, 200]);
  });
});
