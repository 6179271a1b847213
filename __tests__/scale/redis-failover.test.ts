import { setTimeout as pass } from 'node:timers/promises';
import { jest } from '@jest/globals';
import { Cluster, Redis } from 'ioredis';
import { createClient, createCluster, createSentinel } from 'redis';
import type { ThrottleRedisClient } from '../../lib/backend/index.ts';
import { createThrottle } from '../support/throttle.ts';
import type { RedisClient } from '../../lib/redis/index.ts';
import { startRedisCluster, startRedisSentinels } from '../support/redis-cluster.ts';
import type { RedisCluster, RedisSentinels } from '../support/redis-cluster.ts';
import { startRefreshLoad } from '../support/refresh-load.ts';
import type { LoadedSession, RefreshLoad } from '../support/refresh-load.ts';
import { startRedisServer } from '../support/redis-server.ts';
import type { RedisServer } from '../support/redis-server.ts';

jest.setTimeout(150_000);

interface Connection {
  readonly client: RedisClient & ThrottleRedisClient;
  readonly close: () => void;
}

const host = '127.0.0.1';
const quietly = () => undefined;

/** Two processes with each library. */
async function connect(ioredis: () => Redis | Cluster, redis: () => Promise<Connection>): Promise<Connection[]> {
  const ours = [ioredis(), ioredis()].map((client) => {
    client.on('error', quietly);
    return { client, close: () => client.disconnect() };
  });
  return [ours[0]!, await redis(), ours[1]!, await redis()];
}

/** Each outage is told of once when it begins and once when it ends; a busy machine may see a short one more. */
function expectOutages({ apps }: RefreshLoad): void {
  for (const { eventTypes } of apps) {
    const types = eventTypes().filter((type) => type.startsWith('coordinator'));
    expect(types.join(' ')).toMatch(/^(?:coordinator_unavailable coordinator_recovered ?){1,3}$/);
  }
}

const isCoordinated = ({ calls }: LoadedSession): boolean => calls === 1;
const isWhole = ({ signedIn }: LoadedSession): boolean => signedIn === 2;

/** What the load met, in the numbers that docs/scaling.md gives. */
function summaryOf(sessions: readonly LoadedSession[], from: number, to = Infinity) {
  const part = sessions.filter(({ startedAt }) => startedAt >= from && startedAt < to);
  return {
    sessions: part.length,
    lost: part.filter((session) => !isWhole(session)).length,
    uncoordinated: part.filter((session) => !isCoordinated(session)).length,
    slowestMs: Math.round(Math.max(0, ...part.map(({ tookMs }) => tookMs))),
  };
}

/** Sessions of two seconds. */
const sessionsInTwoSeconds = 50;
/** What an outage may add to the slowest request that the machine had before, in milliseconds. */
const longestWaitMs = 1_500;

/** How many sessions began before 20 in a row met one call each. */
const sessionsUntilCoordinated = (sessions: readonly LoadedSession[]): number =>
  sessions.findIndex((_session, index) => sessions.slice(index, index + 20).every(isCoordinated));

/** What an outage may cost. Back within two seconds is counted in sessions, because a busy machine begins fewer of them. */
function expectLittleHarm(sessions: readonly LoadedSession[], from: number, to: number): void {
  expect(sessions.filter((session) => !isWhole(session))).toEqual([]);
  const later = sessions.filter(({ startedAt }) => startedAt >= to);
  expect(sessionsUntilCoordinated(later)).toBeLessThanOrEqual(sessionsInTwoSeconds);
  const usualMs = summaryOf(sessions, 0, from).slowestMs;
  expect(summaryOf(sessions, from).slowestMs).toBeLessThanOrEqual(usualMs + longestWaitMs);
}

/** When the last session began that met two calls, in milliseconds. */
const lastUncoordinated = (sessions: readonly LoadedSession[]): number =>
  Math.max(...sessions.filter((session) => !isCoordinated(session)).map(({ startedAt }) => startedAt));

function report(what: string, values: object): void {
  if (process.env['SCALE_REPORT'] !== undefined) process.stdout.write(`${what} ${JSON.stringify(values)}\n`);
}

/** Two processes that count sign-ins together. */
function createThrottles(connections: readonly Connection[]) {
  const create = ({ client }: Connection) =>
    createThrottle({ store: client, keyPrefix: 'load:throttle', emit: () => undefined });
  const [one, two] = connections.slice(0, 2).map(create);
  let accounts = 0;
  return {
    /** Until ten of twelve attempts at one account, in turn by both processes, are let through: alone, each lets ten through. */
    async untilCountedTogether(): Promise<void> {
      for (let passed = 0; passed !== 10;) {
        passed = 0;
        accounts += 1;
        for (let attempt = 0; attempt < 12; attempt += 1) {
          const throttle = attempt % 2 === 0 ? one! : two!;
          await throttle.attempt(`user${accounts}@example.com`, undefined).then(
            () => (passed += 1),
            () => undefined,
          );
        }
        if (passed !== 10) await pass(200);
      }
    },
    /** Five wrong codes in one process close them in the other one. */
    async expectClosedTogether(): Promise<void> {
      for (const [from, to] of [
        [one!, two!],
        [two!, one!],
      ] as const) {
        accounts += 1;
        const subject = `factor:${accounts}`;
        for (let attempt = 0; attempt < 5; attempt += 1) await (await from.code(subject)).end('keep');
        await expect(to.code(subject)).rejects.toMatchObject({ code: 'rate_limited', retryAfter: 15 * 60 });
      }
    },
    /** Attempts at many accounts, spread over the masters. */
    async tryMany(): Promise<void> {
      accounts += 30;
      const all = Array.from({ length: 30 }, (_, index) =>
        one!.attempt(`user${accounts - index}@example.com`, undefined),
      );
      await Promise.all(all);
    },
  };
}

describe('three masters with three replicas', () => {
  let cluster: RedisCluster;
  let connections: Connection[] = [];
  beforeAll(async () => {
    cluster = await startRedisCluster();
    connections = await connect(
      () =>
        new Cluster(
          cluster.ports.map((port) => ({ host, port })),
          { slotsRefreshInterval: 1_000 },
        ),
      async () => {
        const client = createCluster({
          rootNodes: cluster.ports.map((port) => ({ url: `redis://${host}:${port}` })),
          defaults: { socket: { reconnectStrategy: 100 } },
          topologyRefreshOnReconnectionAttemptStrategy: 500,
        });
        client.on('error', quietly);
        await client.connect();
        return { client, close: () => client.destroy() };
      },
    );
  });
  afterAll(async () => {
    for (const { close } of connections) close();
    await cluster.stop();
  });

  it('lose no session when a master is killed: its share is uncoordinated until its replica takes over', async () => {
    const throttles = createThrottles(connections);
    await throttles.untilCountedTogether();
    await throttles.expectClosedTogether();
    const load = startRefreshLoad(connections.map(({ client }) => client));
    await load.untilCoordinated();
    const killedAt = load.now();
    const failOver = cluster.killMaster();
    await throttles.tryMany();
    await failOver;
    const tookOverAt = load.now();
    await load.untilCoordinated();
    const backAt = load.now();
    await pass(Math.max(6_000 - (backAt - killedAt), 0));
    const sessions = await load.stop();

    const after = summaryOf(sessions, killedAt, killedAt + 6_000);
    report('cluster', {
      failOverMs: tookOverAt - killedAt,
      before: summaryOf(sessions, 0, killedAt),
      after,
      back: summaryOf(sessions, tookOverAt + 2_000),
      lastUncoordinatedMs: lastUncoordinated(sessions) - tookOverAt,
      sessionsUntilCoordinated: sessionsUntilCoordinated(sessions.filter(({ startedAt }) => startedAt >= tookOverAt)),
    });
    expectLittleHarm(sessions, killedAt, tookOverAt);
    expect(after.uncoordinated / after.sessions).toBeLessThanOrEqual(0.4);
    // Nearly all of them are the third of the dead master.
    const others = sessions.filter(({ third, startedAt }) => third !== 0 && startedAt >= killedAt);
    expect(others.length).toBeGreaterThan(10);
    expect(others.filter((session) => !isCoordinated(session)).length / others.length).toBeLessThanOrEqual(0.1);
    expectOutages(load);
    await throttles.untilCountedTogether();
  });
});

describe('a master that sentinels watch', () => {
  let sentinels: RedisSentinels;
  let connections: Connection[] = [];
  beforeAll(async () => {
    sentinels = await startRedisSentinels();
    const nodes = sentinels.ports.map((port) => ({ host, port }));
    connections = await connect(
      () => new Redis({ sentinels: nodes, name: sentinels.name, retryStrategy: () => 100 }),
      async () => {
        const client = createSentinel({
          name: sentinels.name,
          sentinelRootNodes: nodes,
          nodeClientOptions: { socket: { reconnectStrategy: 100 } },
          scanInterval: 500,
        });
        client.on('error', quietly);
        await client.connect();
        return { client, close: () => void client.destroy() };
      },
    );
  });
  afterAll(async () => {
    for (const { close } of connections) close();
    await sentinels.stop();
  });

  it('loses no session when it is killed, and its replica restores coordination', async () => {
    const throttles = createThrottles(connections);
    const load = startRefreshLoad(connections.map(({ client }) => client));
    await load.untilCoordinated();
    const killedAt = load.now();
    await sentinels.killMaster();
    const tookOverAt = load.now();
    await load.untilCoordinated();
    const sessions = await load.stop();

    report('sentinel', {
      failOverMs: tookOverAt - killedAt,
      before: summaryOf(sessions, 0, killedAt),
      after: summaryOf(sessions, killedAt, tookOverAt),
      back: summaryOf(sessions, tookOverAt + 2_000),
      lastUncoordinatedMs: lastUncoordinated(sessions) - tookOverAt,
      sessionsUntilCoordinated: sessionsUntilCoordinated(sessions.filter(({ startedAt }) => startedAt >= tookOverAt)),
    });
    expectLittleHarm(sessions, killedAt, tookOverAt);
    expectOutages(load);
    await throttles.untilCountedTogether();
    await throttles.expectClosedTogether();
  });
});

describe('a single Redis', () => {
  let server: RedisServer;
  let connections: Connection[] = [];
  beforeAll(async () => {
    server = await startRedisServer();
    connections = await connect(
      () => new Redis(server.url),
      async () => {
        const client = createClient({ url: server.url });
        client.on('error', quietly);
        await client.connect();
        return { client, close: () => client.destroy() };
      },
    );
  });
  afterAll(async () => {
    for (const { close } of connections) close();
    await server.stop();
  });

  it('that stops for three seconds loses no session, and then coordinates again', async () => {
    const load = startRefreshLoad(connections.map(({ client }) => client));
    await load.untilCoordinated();
    const stoppedAt = load.now();
    server.pause();
    await pass(3_000);
    server.resume();
    const resumedAt = load.now();
    await load.untilCoordinated();
    const sessions = await load.stop();

    report('single', {
      before: summaryOf(sessions, 0, stoppedAt),
      after: summaryOf(sessions, stoppedAt, resumedAt),
      back: summaryOf(sessions, resumedAt + 2_000),
      lastUncoordinatedMs: lastUncoordinated(sessions) - resumedAt,
    });
    expectLittleHarm(sessions, stoppedAt, resumedAt);
    expectOutages(load);
  });
});
