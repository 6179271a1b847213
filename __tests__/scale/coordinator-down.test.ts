import { jest } from '@jest/globals';
import { demoUsers } from '../../stand-ins/workos/index.ts';
import type { Worker } from '../support/b2b-worker-process.ts';
import { startTwoProcesses } from '../support/two-processes.ts';
import type { TwoProcesses } from '../support/two-processes.ts';
import { createVisitor } from '../support/visitor.ts';
import type { Visitor } from '../support/visitor.ts';

jest.setTimeout(60_000);

/** How long an answer of the coordinator counts. */
const readMs = 5_000;

describe("a guard with whenCoordinatorDown: 'refuse', in two processes with one Redis", () => {
  let processes: TwoProcesses;

  beforeEach(async () => {
    processes = await startTwoProcesses();
  });
  afterEach(() => processes.close());

  const outliveReads = (): Promise<void> => processes.advance(readMs + 1_000);

  async function signedIn({ origin }: Worker): Promise<Visitor> {
    const { workos } = processes;
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
    const visitor = await signedIn(processes.workers[0]);
    expect(await statuses(visitor)).toEqual([200, 200]);
    await processes.redis.kill();
    await outliveReads();
    expect(await statuses(visitor)).toEqual([503, 200]);
    await processes.redis.start();
    // The client connects again by itself, and what was read during the outage counts for five seconds.
    for (let tries = 0; (await visitor.getJson('/api/strict')).status !== 200; tries += 1) {
      expect(tries).toBeLessThan(200);
      await outliveReads();
    }
    expect(await statuses(visitor)).toEqual([200, 200]);
  });

  it('serves no session that the other process ended while neither knows of the other', async () => {
    const [here, there] = processes.workers;
    const visitor = await signedIn(here);
    const { id } = (await visitor.getJson('/auth/session')).json.user;
    await processes.redis.kill();
    await outliveReads();
    expect((await createVisitor(there.origin).post(`/server/end/${id}`)).status).toBeGreaterThanOrEqual(500);
    // The default serves it here, because this process could not hear of it.
    expect(await statuses(visitor)).toEqual([503, 200]);
  });
});
