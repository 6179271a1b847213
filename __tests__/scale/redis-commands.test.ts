import { Redis } from 'ioredis';
import { createRedisCoordinator } from '../../lib/redis/index.ts';
import type { IoRedisClient } from '../../lib/redis/index.ts';
import { createMemoryApp, createMemoryBrowser, tokenLifetimeMs, visit } from '../support/memory-sessions.ts';
import type { MemoryApp, MemoryBrowser } from '../support/memory-sessions.ts';
import { startRedisServer } from '../support/redis-server.ts';
import type { RedisServer } from '../support/redis-server.ts';
import { until } from '../support/until.ts';

interface Sent {
  readonly command: 'HGET' | 'EVAL';
  /** How many answers had arrived when it was sent. */
  readonly after: number;
}

let server: RedisServer;
let redis: Redis;
beforeAll(async () => {
  server = await startRedisServer();
  redis = new Redis(server.url);
});
afterAll(async () => {
  redis.disconnect();
  await server.stop();
});

/** A client that counts what it is asked for. */
function createCountingClient() {
  let sent: Sent[] = [];
  let answered = 0;
  async function count<Reply>(command: Sent['command'], reply: Promise<Reply>): Promise<Reply> {
    sent.push({ command, after: answered });
    try {
      return await reply;
    } finally {
      answered += 1;
    }
  }
  const client: IoRedisClient = {
    status: 'ready',
    hget: (key, field) => count('HGET', redis.hget(key, field)),
    eval: (script, numberOfKeys, ...rest) => count('EVAL', redis.eval(script, numberOfKeys, ...rest)),
  };
  return {
    client,
    /** What was sent since the last call, and in how many round trips. */
    take: () => {
      const taken = sent;
      sent = [];
      const commands = (name: string): number => taken.filter(({ command }) => command === name).length;
      return {
        HGET: commands('HGET'),
        EVAL: commands('EVAL'),
        roundTrips: new Set(taken.map(({ after }) => after)).size,
      };
    },
  };
}

function setUp() {
  const { client, take } = createCountingClient();
  const app = createMemoryApp({
    shared: createRedisCoordinator({ client, password: 'p'.repeat(32), keyPrefix: crypto.randomUUID() }),
  });
  return { app, take, browser: createMemoryBrowser(app.provider.issue('ada')) };
}

async function request(app: MemoryApp, browser: MemoryBrowser): Promise<void> {
  const resolution = await visit(app, browser.header());
  expect(resolution.session?.user.id).toBe('ada');
  browser.receive(resolution);
}

describe('sessions', () => {
  /** The records of the session and of its user. */
  const check = { HGET: 2, EVAL: 0, roundTrips: 1 };

  it('need no command while they are in the cache, and one look-up every five seconds', async () => {
    const { app, take, browser } = setUp();
    await request(app, browser);
    expect(take()).toEqual(check);
    for (let count = 0; count < 50; count += 1) await request(app, browser);
    app.clock.advance(5_000);
    await request(app, browser);
    expect(take()).toEqual({ HGET: 0, EVAL: 0, roundTrips: 0 });
    app.clock.advance(1);
    for (let count = 0; count < 50; count += 1) await request(app, browser);
    expect(take()).toEqual(check);
  });

  it('need no more commands for 20 simultaneous requests, also for a refresh', async () => {
    const { app, take, browser } = setUp();
    const request20 = () => Promise.all(Array.from({ length: 20 }, () => visit(app, browser.header())));
    await request20();
    expect(take()).toEqual(check);
    app.clock.advance(tokenLifetimeMs);
    const resolutions = await request20();
    expect(new Set(resolutions.map(({ session }) => session?.accessToken))).toEqual(new Set(['access for refresh-2']));
    expect(take()).toEqual({ HGET: 2 + 2, EVAL: 2, roundTrips: 1 + 3 });
  });

  it('need three more round trips for a refresh: the claim, the answer, and a look-up of ended sessions', async () => {
    const { app, take, browser } = setUp();
    app.clock.advance(tokenLifetimeMs);
    const resolution = await visit(app, browser.header());
    expect(app.provider.calls).toHaveLength(1);
    expect(take()).toEqual({ HGET: 2 + 2, EVAL: 2, roundTrips: 1 + 3 });
    // No request waits for this one.
    browser.receive(resolution);
    await new Promise((resolve) => setImmediate(resolve));
    expect(take()).toEqual({ HGET: 0, EVAL: 1, roundTrips: 1 });
  });

  it('need three more scripts and one more look-up for a refresh where the browser still sends an earlier token', async () => {
    const { app, take, browser } = setUp();
    app.clock.advance(tokenLifetimeMs);
    // Its response is lost.
    await visit(app, browser.header());
    app.clock.advance(tokenLifetimeMs);
    take();
    const resolution = await visit(app, browser.header());
    expect([resolution.session?.accessToken, app.provider.calls]).toEqual([
      'access for refresh-3',
      ['refresh-1', 'refresh-2'],
    ]);
    const sent = { HGET: 0, EVAL: 0 };
    // No request waits for the last two.
    await until(() => {
      const { HGET, EVAL } = take();
      sent.HGET += HGET;
      sent.EVAL += EVAL;
      return sent.EVAL >= 2 + 3;
    });
    expect(sent).toEqual({ HGET: 2 + 2 + 2, EVAL: 2 + 3 });
  });
});
