import { jest } from '@jest/globals';
import { Redis } from 'ioredis';
import { RateLimiterRedis } from 'rate-limiter-flexible';
import { createClient } from 'redis';
import { AuthError } from '../../lib/errors.ts';
import type { ThrottleRedisClient } from '../../lib/backend/index.ts';
import { createClock } from '../support/clock.ts';
import { startRedisServer } from '../support/redis-server.ts';
import type { RedisServer } from '../support/redis-server.ts';
import { createThrottle } from '../support/throttle.ts';
import type { Throttle } from '../support/throttle.ts';

interface Connection {
  readonly client: ThrottleRedisClient;
  keys(): Promise<string[]>;
  ttl(key: string): Promise<number>;
  persist(key: string): Promise<unknown>;
  /** Keeps the key's end. */
  set(key: string, value: string): Promise<unknown>;
  flush(): Promise<unknown>;
  close(): void;
}

const libraries: Record<string, (url: string) => Promise<Connection>> = {
  redis: async (url) => {
    const client = createClient({ url, socket: { reconnectStrategy: 20 } });
    client.on('error', () => undefined);
    await client.connect();
    return {
      client,
      keys: () => client.keys('*'),
      ttl: (key) => client.ttl(key),
      persist: (key) => client.persist(key),
      set: (key, value) => client.set(key, value, { KEEPTTL: true }),
      flush: () => client.flushAll(),
      close: () => client.destroy(),
    };
  },
  ioredis: (url) => {
    const client = new Redis(url, { lazyConnect: true, retryStrategy: () => 20 });
    client.on('error', () => undefined);
    return Promise.resolve({
      client,
      keys: () => client.keys('*'),
      ttl: (key) => client.ttl(key),
      persist: (key) => client.persist(key),
      set: (key, value) => client.set(key, value, 'KEEPTTL'),
      flush: () => client.flushall(),
      close: () => client.disconnect(),
    });
  },
};

jest.setTimeout(30_000);

const account = 'ada@example.com';
const home = '192.0.2.1';

let server: RedisServer;

beforeAll(async () => {
  server = await startRedisServer();
});

afterAll(() => server.stop());

describe.each(Object.keys(libraries))('the throttle on Redis through %s', (library) => {
  let connection: Connection;
  let events: { readonly type: string }[];
  let here: Throttle;
  let there: Throttle;
  const clock = createClock();

  const create = (): Throttle =>
    createThrottle({
      store: connection.client,
      keyPrefix: 'app:throttle',
      emit: (event) => events.push(event),
      now: clock.now,
    });

  const isRefused = (throttle: Throttle, who = account, address = home): Promise<boolean> =>
    throttle.attempt(who, address).then(
      () => false,
      (error: unknown) => {
        if (error instanceof AuthError && error.code === 'rate_limited') return true;
        throw error;
      },
    );

  beforeEach(async () => {
    const connect = libraries[library];
    if (connect === undefined) throw new Error(library);
    connection = await connect(server.url);
    await connection.flush();
    events = [];
    // As two processes would, they share nothing but Redis.
    here = create();
    there = create();
  });

  afterEach(() => connection.close());

  it('counts for all processes in total', async () => {
    for (let count = 0; count < 5; count += 1) {
      await here.attempt(account, home);
      await there.attempt(account, home);
    }
    await expect(here.attempt(account, home)).rejects.toMatchObject({ code: 'rate_limited', status: 429 });
    await expect(there.attempt(account, home)).rejects.toMatchObject({ retryAfter: expect.any(Number) as number });
    expect(await isRefused(there, account, '198.51.100.7')).toBe(false);
    expect(events).toEqual([
      { type: 'throttled', scope: 'account' },
      { type: 'throttled', scope: 'account' },
    ]);
  });

  it('lets no more attempts through in parallel than in sequence', async () => {
    const answers = await Promise.all(
      Array.from({ length: 60 }, (_none, index) => isRefused(index % 2 === 0 ? here : there)),
    );
    expect(answers.filter((refused) => !refused)).toHaveLength(10);
  });

  it('locks a network everywhere, and successes do not use it up', async () => {
    for (let count = 0; count < 110; count += 1) await (await here.attempt(account, home)).end('forgive');
    for (let count = 0; count < 100; count += 1) await here.attempt(`user${count}@example.com`, home);
    expect(await isRefused(there, 'new@example.com')).toBe(true);
    expect(events).toEqual([{ type: 'throttled', scope: 'network' }]);
  });

  it('counts from zero after a success elsewhere, without the canceled attempts', async () => {
    for (let count = 0; count < 9; count += 1) await (await here.attempt(account, home)).end('keep');
    await (await there.attempt(account, home)).end('forgive');
    for (let count = 0; count < 20; count += 1) await (await there.attempt(account, home)).end('cancel');
    for (let count = 0; count < 10; count += 1) await here.attempt(account, home);
    expect(await isRefused(there)).toBe(true);
  });

  /** How many attempts with a code are let through, one after another. */
  async function codesUntilRefused(throttle: Throttle): Promise<number> {
    for (let count = 0; ; count += 1) {
      const isLetThrough = await throttle.code('factor:1').then(
        () => true,
        () => false,
      );
      if (!isLetThrough) return count;
    }
  }

  it('counts no attempt that it refuses', async () => {
    const answers = await Promise.allSettled(Array.from({ length: 25 }, () => here.attempt(account, home)));
    const open = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []));
    expect(open).toHaveLength(10);
    await open[0]?.end('cancel');
    expect([await isRefused(there), await isRefused(there)]).toEqual([false, true]);
  });

  it('keeps a code closed, however many were refused as it was being closed', async () => {
    const open = await Promise.all(Array.from({ length: 5 }, () => here.code('factor:1')));
    // The first count of a process loads the library.
    await there.code('factor:2');
    const flood = Array.from({ length: 40 }, () => there.code('factor:1'));
    const ended = open.map((attempt) => attempt.end('keep'));
    await Promise.allSettled([...flood, ...ended]);
    expect(await codesUntilRefused(there)).toBe(0);
  });

  it('keeps a code closed that was closed while Redis hung', async () => {
    for (const throttle of [here, there]) await (await throttle.code('factor:2')).end('keep');
    server.pause();
    try {
      const tried = Array.from({ length: 40 }, async (_, index) => {
        await (await (index % 2 === 0 ? here : there).code('factor:1')).end('keep');
      });
      await Promise.allSettled(tried);
    } finally {
      server.resume();
    }
    await connection.keys();
    expect(await codesUntilRefused(create())).toBe(0);
  });

  it('counts from zero where Redis lost attempts in progress, not from below', async () => {
    const attempts = await Promise.all(Array.from({ length: 5 }, () => here.code('factor:1')));
    await connection.flush();
    for (const attempt of attempts) await attempt.end('cancel');
    expect(await codesUntilRefused(there)).toBe(5);
  });

  it('counts from zero after a restart of a Redis that hung, not from below', async () => {
    await (await here.code('factor:2')).end('cancel');
    server.pause();
    const attempts = await Promise.all(Array.from({ length: 5 }, () => here.code('factor:1')));
    await server.kill();
    await server.start();
    // The client is connected again.
    await connection.keys();
    for (const attempt of attempts) await attempt.end('cancel');
    // Twice: the first answer follows the ends, the second one what they cause.
    await connection.keys();
    await connection.keys();
    expect(await codesUntilRefused(there)).toBe(5);
  });

  it('keeps a closed key closed for a whole window, whatever is refused meanwhile', async () => {
    const attempts = [];
    for (let count = 0; count < 5; count += 1) attempts.push(await here.code('factor:1'));
    const [key] = await connection.keys();
    for (const attempt of attempts.toReversed()) await attempt.end('keep');
    expect(await connection.ttl(key ?? '')).toBeGreaterThan(14 * 60);
    await Promise.allSettled(Array.from({ length: 25 }, () => there.code('factor:1')));
    for (const throttle of [here, there]) {
      await expect(throttle.code('factor:1')).rejects.toMatchObject({ code: 'rate_limited' });
    }
    expect(await connection.ttl(key ?? '')).toBeGreaterThan(14 * 60);
  });

  it('takes nothing back in a later window', async () => {
    const attempt = await here.code('factor:1');
    clock.advance(15 * 60 * 1_000);
    await attempt.end('cancel');
    expect(await codesUntilRefused(there)).toBe(4);
  });

  it('starts the count anew after a success, whatever it was', async () => {
    const attempt = await here.code('factor:1');
    const [key] = await connection.keys();
    await connection.set(key ?? '', '15');
    await attempt.end('forgive');
    expect(await codesUntilRefused(there)).toBe(5);
  });

  it('gives an end to a count that has none', async () => {
    await here.code('factor:1');
    const [key] = await connection.keys();
    await connection.persist(key ?? '');
    await here.code('factor:1');
    expect(await connection.ttl(key ?? '')).toBeGreaterThan(14 * 60);
  });

  it('shares its client with other limiters of the application', async () => {
    await here.attempt(account, home);
    const other = new RateLimiterRedis({
      storeClient: connection.client,
      useRedisPackage: library === 'redis',
      keyPrefix: 'other',
      points: 1,
      duration: 60,
      customIncrTtlLuaScript: 'return {7, 1000}',
    });
    await expect(other.consume('a')).rejects.toMatchObject({ consumedPoints: 7 });
    expect(await codesUntilRefused(here)).toBe(5);
    await there.attempt(account, home);
    await expect(other.consume('a')).rejects.toMatchObject({ consumedPoints: 7 });
  });

  it('keeps no email address, and each key for fifteen minutes at most', async () => {
    await here.attempt(account, home);
    const keys = await connection.keys();
    expect(keys.sort()).toEqual([
      expect.stringMatching(/^app:throttle:account:[\w-]{43}$/),
      `app:throttle:network:${home}`,
    ]);
    for (const key of keys) {
      expect(await connection.ttl(key)).toBeGreaterThan(0);
      expect(await connection.ttl(key)).toBeLessThanOrEqual(15 * 60);
    }
  });

  it('continues in memory during an outage of Redis, reports it once, and returns to Redis', async () => {
    await here.attempt(account, home);
    await server.kill();
    for (let count = 0; count < 10; count += 1) await here.attempt(account, home);
    expect(await isRefused(here)).toBe(true);
    expect(events.filter(({ type }) => type === 'coordinator_unavailable')).toHaveLength(1);
    await server.start();
    // The client reconnects by itself; what it answers then was asked after that. A command that it kept in its queue may have
    // ended the outage by then, and otherwise a second without commands is over.
    await connection.keys();
    clock.advance(1_000);
    expect(await isRefused(here)).toBe(false);
  });

  it('keeps no attempt counted that begins or ends while Redis hangs: afterwards the network is open', async () => {
    const attempt = (_none: unknown, user: number) => here.attempt(`user${user}@example.com`, home);
    const before = await Promise.all(Array.from({ length: 60 }, attempt));
    server.pause();
    try {
      const during = await Promise.all(Array.from({ length: 60 }, attempt));
      await Promise.all([...before, ...during].map((open) => open.end('forgive')));
    } finally {
      server.resume();
    }
    // Twice: the first answer follows the late ones, the second one what takes those back.
    await connection.keys();
    await connection.keys();
    for (let user = 0; user < 100; user += 1) await there.attempt(`user${user}@example.com`, home);
    expect(await isRefused(there, 'new@example.com')).toBe(true);
  });

  it('continues in memory while Redis hangs', async () => {
    await here.attempt(account, home);
    server.pause();
    try {
      for (let count = 0; count < 10; count += 1) await here.attempt(account, home);
      expect(await isRefused(here)).toBe(true);
    } finally {
      server.resume();
    }
  });
});
