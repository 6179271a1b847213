import { once } from 'node:events';
import net from 'node:net';
import { Redis } from 'ioredis';
import { createClient } from 'redis';
import { createRedisCommands } from '../../lib/redis/client.ts';
import type { NodeRedisClient, RedisClient, RedisCommands } from '../../lib/redis/client.ts';
import { createRedisCoordinator } from '../../lib/redis/index.ts';
import { createOutageReport } from '../../lib/session/outages.ts';
import { createRefresh } from '../../lib/session/refresh/refresh.ts';

const password = 'p'.repeat(32);

/** A connection that never answers. */
function createSilentClient(): NodeRedisClient & { readonly asked: string[] } {
  const asked: string[] = [];
  const silence = (what: string) => {
    asked.push(what);
    return new Promise<never>(() => undefined);
  };
  return { asked, isReady: true, hGet: (key) => silence(key), eval: (script) => silence(script) };
}

const commandsTo = (client: RedisClient, timeoutMs = 60_000, now = () => 0): RedisCommands =>
  createRedisCommands(client, { timeoutMs, firstTimeoutMs: timeoutMs, now });

describe('commands to Redis', () => {
  it('are refused at once by a redis client without a connection, instead of being queued', async () => {
    const client = createClient();
    await expect(commandsTo(client).hget('key', 'record')).rejects.toThrow('not connected');
  });

  it('are refused at once by an ioredis client whose connection ended', async () => {
    const client = new Redis({ lazyConnect: true });
    client.disconnect();
    await expect(commandsTo(client).eval('', ['key'], [])).rejects.toThrow('not connected');
  });

  it('make a lazy ioredis client connect', async () => {
    const client = new Redis({ port: 1, host: '127.0.0.1', lazyConnect: true, retryStrategy: () => null });
    client.on('error', () => undefined);
    await expect(commandsTo(client).hget('key', 'record')).rejects.toThrow('Connection is closed');
  });

  it('reject after their time limit, and then no other command waits for a second', async () => {
    let now = 0;
    const client = createSilentClient();
    const commands = commandsTo(client, 5, () => now);
    await expect(commands.hget('first', 'record')).rejects.toThrow('within 5 ms');
    now = 999;
    await expect(commands.hget('second', 'record')).rejects.toThrow('lately');
    now = 1_000;
    await expect(commands.hget('third', 'record')).rejects.toThrow('within 5 ms');
    expect(client.asked).toEqual(['first', 'third']);
  });

  it('read an answer that arrived while the event loop was busy', async () => {
    const server = net.createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const near = net.connect((server.address() as net.AddressInfo).port, '127.0.0.1');
    const [far]: net.Socket[] = await once(server, 'connection');
    const answer = once(near, 'data').then(([data]) => String(data));
    const client = { ...createSilentClient(), hGet: () => answer };

    const pending = commandsTo(client, 5).hget('key', 'record');
    far!.write('here');
    const started = performance.now();
    while (performance.now() - started < 20);
    try {
      await expect(pending).resolves.toBe('here');
    } finally {
      near.destroy();
      far!.destroy();
      server.close();
    }
  });

  it.each([undefined, 0, true, {}, [], new Error('upstream failure')])(
    'treat %p as no answer to GET',
    async (reply) => {
      const client = { ...createSilentClient(), hGet: () => Promise.resolve(reply) };
      await expect(commandsTo(client).hget('key', 'record')).rejects.toThrow('that HGET does not give');
    },
  );

  it.each([null, '', 'text', Buffer.from('bytes')])('treat %p as an answer to GET', async (reply) => {
    const client = { ...createSilentClient(), hGet: () => Promise.resolve(reply) };
    expect(await commandsTo(client).hget('key', 'record')).toBe(reply);
  });

  it('pass on a client’s own failure', async () => {
    const client = { ...createSilentClient(), hGet: () => Promise.reject(new Error('NOPERM')) };
    await expect(commandsTo(client, 5).hget('key', 'record')).rejects.toThrow('NOPERM');
  });
});

/** Keys whose slots are 12182, 5061 and 866: one for each master of an even cluster. */
const [onDead, onLive] = ['foo', 'bar'];

/** A cluster as the clients of both libraries show it, with the master of `foo` away until `revive`. */
function createClusterClient(shape: 'ioredis' | 'redis') {
  const entry = (address: string): unknown => (shape === 'ioredis' ? [address] : { master: { address } });
  const slots = Array.from({ length: 16_384 }, (_, slot) => entry(slot < 8_192 ? 'live:1' : 'dead:2'));
  const asked: string[] = [];
  let isDead = true;
  const get = (key: string): Promise<unknown> => {
    asked.push(key);
    return isDead && key === onDead ? new Promise<never>(() => undefined) : Promise.resolve('here');
  };
  return {
    asked,
    client: { isReady: true, slots, hGet: get, eval: () => get(onLive) } satisfies NodeRedisClient & {
      slots: unknown[];
    },
    failOver: () => {
      isDead = false;
      slots.fill(entry('heir:3'), 8_192);
    },
    revive: () => void (isDead = false),
  };
}

describe.each(['ioredis', 'redis'] as const)('a cluster of %s with a failed master', (shape) => {
  it('uses the keys of the other masters, and skips the failed one', async () => {
    const { client, asked } = createClusterClient(shape);
    const commands = commandsTo(client, 5);
    expect(await commands.hget(onLive, 'record')).toBe('here');
    await expect(commands.hget(onDead, 'record')).rejects.toThrow('within 5 ms');
    expect(commands.isAvailable()).toBe(false);
    await expect(commands.hget(onDead, 'record')).rejects.toThrow('lately');
    expect(await commands.hget(onLive, 'record')).toBe('here');
    expect(commands.isAvailable()).toBe(false);
    expect(asked).toEqual([onLive, onDead, onLive]);
  });

  it('retries it with one command at a time, and works fully when that one is answered', async () => {
    let now = 0;
    const { client, asked, revive } = createClusterClient(shape);
    const commands = commandsTo(client, 5, () => now);
    await expect(commands.hget(onDead, 'record')).rejects.toThrow('within 5 ms');
    now = 1_000;
    const probe = commands.hget(onDead, 'record');
    const failing = expect(probe).rejects.toThrow('within 5 ms');
    await expect(commands.hget(onDead, 'record')).rejects.toThrow('lately');
    await failing;
    expect(asked).toEqual([onDead, onDead]);
    now = 2_000;
    revive();
    expect(await commands.hget(onDead, 'record')).toBe('here');
    expect(commands.isAvailable()).toBe(true);
  });

  it('works fully at once when its keys have moved to another master', async () => {
    const { client, failOver } = createClusterClient(shape);
    const commands = commandsTo(client, 5);
    await expect(commands.hget(onDead, 'record')).rejects.toThrow('within 5 ms');
    failOver();
    expect(await commands.hget(onDead, 'record')).toBe('here');
    expect(commands.isAvailable()).toBe(true);
  });
});

describe('a client that was just started', () => {
  /** Answers on command. */
  function createSlowClient(isReady: boolean) {
    const answers: (() => void)[] = [];
    const client = {
      isReady,
      isOpen: true,
      hGet: () => new Promise<unknown>((resolve) => void answers.push(() => resolve('here'))),
      eval: () => Promise.reject(new Error('not asked for')),
    };
    return { client, answers };
  }

  it('is waited for while its first connection opens', async () => {
    const { client, answers } = createSlowClient(false);
    const commands = createRedisCommands(client, { timeoutMs: 5, firstTimeoutMs: 60_000, now: () => 0 });
    const reply = commands.hget('key', 'record');
    await new Promise((resolve) => setTimeout(resolve, 60));
    expect(answers).toEqual([]);
    client.isReady = true;
    while (answers.length === 0) await new Promise((resolve) => setTimeout(resolve, 1));
    answers[0]!();
    expect(await reply).toBe('here');
  });

  it('may take longer for its first answer, and not for the next one', async () => {
    const { client, answers } = createSlowClient(true);
    const commands = createRedisCommands(client, { timeoutMs: 5, firstTimeoutMs: 60_000, now: () => 0 });
    const first = commands.hget('key', 'record');
    await new Promise((resolve) => setTimeout(resolve, 30));
    answers[0]!();
    expect(await first).toBe('here');
    await expect(commands.hget('key', 'record')).rejects.toThrow('within 5 ms');
  });

  it('is waited for only within a limit', async () => {
    const { client } = createSlowClient(false);
    const commands = createRedisCommands(client, { timeoutMs: 5, firstTimeoutMs: 50, now: () => 0 });
    await expect(commands.hget('key', 'record')).rejects.toThrow('not connected');
    await expect(commands.hget('key', 'record')).rejects.toThrow('not connected');
  });
});

describe('without Redis', () => {
  it('a process refreshes by itself and reports it', async () => {
    const events: string[] = [];
    const emit = ({ type }: { readonly type: string }) => void events.push(type);
    const shared = createRedisCoordinator({ client: createClient(), password });
    const outages = createOutageReport(shared, emit);
    const refresh = createRefresh({ now: Date.now, emit, timeoutMs: 5_000, shared, outages });
    const answer = { kind: 'renewed', text: 'new', token: 'next', issuedAt: 0 } as const;
    const holder = { token: 'token', pair: 'pair', isNewer: () => true };
    const result = await refresh.run(holder, { former: [], run: () => Promise.resolve(answer) });
    expect(result).toEqual({ answer: { kind: 'renewed', text: 'new', token: 'next', steps: 1 }, isNew: true });
    expect(events).toEqual(['coordinator_unavailable']);
  });

  it('records can neither be written nor read, and the caller learns it', async () => {
    const coordinator = createRedisCoordinator({ client: createClient(), password });
    await expect(coordinator.merge('session', { signedOut: 1 }, 1_000)).rejects.toThrow('not connected');
    await expect(coordinator.read('session')).rejects.toThrow('not connected');
  });
});
