import { setTimeout as wait } from 'node:timers/promises';
import { createClient } from 'redis';
import { createOutageReport } from '../lib/session/outages.ts';
import { refreshTokenName } from '../lib/session/ended/record.ts';
import { createRefresh } from '../lib/session/refresh/refresh.ts';
import { createRevocations } from '../lib/session/ended/revocations.ts';
import { createRedisCoordinator } from '../lib/redis/index.ts';
import { startRedisServer } from '../__tests__/support/redis-server.ts';

/** The text of new tokens: an access token of 1 KB, a refresh token, a user. */
const answerLength = 2_400;
const loadedAtOnce = 256;
/** As a million sessions with one-hour tokens have. */
const refreshesPerSecond = 278;
const readsPerSecond = 1_000;
const readSeconds = 30;

/**
 * Loads one Redis as the code writes it: an exchanged token for each session, as after a refresh that its browser has not received, and
 * a record for each user, as after a `renewSession`. Then it reads the two records of a request, beside refreshes.
 */
export async function loadManySessions(count: number): Promise<void> {
  const redis = await startRedisServer();
  const client = createClient({ url: redis.url });
  await client.connect();
  const shared = createRedisCoordinator({ client, password: 'p'.repeat(32), commandTimeoutMs: 5_000 });
  const outages = createOutageReport(shared, () => undefined);
  const tokens = createRefresh({ now: Date.now, emit: () => undefined, timeoutMs: 5_000, shared, outages });
  const revocations = createRevocations('b2b', shared, outages, Date.now, { count: 0 });

  async function usedBytes(): Promise<number> {
    return Number(/used_memory:(\d+)/.exec(await client.info('memory'))?.[1]);
  }

  async function refresh(index: number): Promise<void> {
    const text = String(index).padEnd(answerLength, 'x');
    const answer = {
      kind: 'renewed',
      token: refreshTokenName('b2b', `refresh-${index} next`),
      issuedAt: 0,
      text,
    } as const;
    const token = refreshTokenName('b2b', `refresh-${index}`);
    const holder = { token, pair: token, isNewer: () => true };
    const { isNew } = await tokens.run(holder, { former: [], run: () => Promise.resolve(answer) });
    if (!isNew) throw new Error('A session was loaded twice');
  }

  const userOf = (index: number): string => `user_${String(index).padStart(24, '0')}`;
  const renew = (index: number): Promise<void> => revocations.renew({ userId: userOf(index) });

  async function all(work: (index: number) => Promise<void>): Promise<number> {
    const before = await usedBytes();
    for (let index = 0; index < count; index += loadedAtOnce) {
      const length = Math.min(loadedAtOnce, count - index);
      await Promise.all(Array.from({ length }, (_, offset) => work(index + offset)));
    }
    return ((await usedBytes()) - before) / count;
  }

  console.log(`${count} sessions, one each of as many users, in one Redis`);
  console.log(`  an exchanged token: ${(await all(refresh)).toFixed(0)} bytes per session`);
  console.log(`  a record: ${(await all(renew)).toFixed(0)} bytes per user`);
  console.log(`  all: ${((await usedBytes()) / 2 ** 30).toFixed(2)} GB in ${await client.dbSize()} hashes`);

  const latenciesMs: number[] = [];
  async function read(): Promise<void> {
    const index = Math.floor(Math.random() * count);
    const sessionId = `session_${String(index).padStart(24, '0')}`;
    const startedAt = performance.now();
    const facts = { sessionId, userId: userOf(index), beganAt: 0, issuedAt: Date.now() + 60_000 };
    const { standing } = await revocations.checkAfterRefresh(revocations.keysOf(facts, undefined));
    latenciesMs.push(performance.now() - startedAt);
    if (standing !== 'live') throw new Error(`A loaded session is ${standing}`);
  }

  const startedAt = performance.now();
  const underWay: Promise<void>[] = [];
  let [reads, refreshes] = [0, 0];
  while (performance.now() - startedAt < readSeconds * 1000) {
    const seconds = (performance.now() - startedAt) / 1000;
    for (; reads < seconds * readsPerSecond; reads += 1) underWay.push(read());
    for (; refreshes < seconds * refreshesPerSecond; refreshes += 1) underWay.push(refresh(count + refreshes));
    await wait(5);
  }
  await Promise.all(underWay);
  latenciesMs.sort((one, other) => one - other);
  const percentile = (share: number): string => latenciesMs[Math.floor(latenciesMs.length * share)]!.toFixed(2);
  console.log(`  the two reads of a request, ${readsPerSecond} times a second beside ${refreshesPerSecond} refreshes:`);
  console.log(`  p50 ${percentile(0.5)} ms, p99 ${percentile(0.99)} ms, of ${latenciesMs.length}`);
  client.destroy();
  await redis.stop();
}
