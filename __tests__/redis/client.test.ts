import { once } from 'node:events';
import net from 'node:net';
import { Redis } from 'ioredis';
import { createClient } from 'redis';
import { createRedisCommands } from '../../lib/redis/client.ts';
import type { NodeRedisClient } from '../../lib/redis/client.ts';
import { createRedisCoordinator } from '../../lib/redis/index.ts';
import { createRefreshCoordinator } from '../../lib/session/refresh-coordinator.ts';

const password = 'p'.repeat(32);

/** A connection into a black hole. */
function createSilentClient(): NodeRedisClient & { readonly asked: string[] } {
  const asked: string[] = [];
  const silence = (what: string) => {
    asked.push(what);
    return new Promise<never>(() => undefined);
  };
  return { asked, isReady: true, get: (key) => silence(key), eval: (script) => silence(script) };
}

describe('commands to Redis', () => {
  it('are refused at once by a redis client without a connection, instead of being queued', async () => {
    const client = createClient();
    await expect(createRedisCommands(client, 60_000, () => 0).get('key')).rejects.toThrow('not connected');
  });

  it('are refused at once by an ioredis client whose connection ended', async () => {
    const client = new Redis({ lazyConnect: true });
    client.disconnect();
    await expect(createRedisCommands(client, 60_000, () => 0).eval('', [], [])).rejects.toThrow('not connected');
  });

  it('make a lazy ioredis client connect', async () => {
    const client = new Redis({ port: 1, host: '127.0.0.1', lazyConnect: true, retryStrategy: () => null });
    client.on('error', () => undefined);
    await expect(createRedisCommands(client, 60_000, () => 0).get('key')).rejects.toThrow('Connection is closed');
  });

  it('reject after their time limit, and for a second no other command waits for it', async () => {
    let now = 0;
    const client = createSilentClient();
    const commands = createRedisCommands(client, 5, () => now);
    await expect(commands.get('first')).rejects.toThrow('within 5 ms');
    now = 999;
    await expect(commands.get('second')).rejects.toThrow('lately');
    now = 1_000;
    await expect(commands.get('third')).rejects.toThrow('within 5 ms');
    expect(client.asked).toEqual(['first', 'third']);
  });

  it('read an answer that waited in the socket while the event loop was busy', async () => {
    const server = net.createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const near = net.connect((server.address() as net.AddressInfo).port, '127.0.0.1');
    const [far]: net.Socket[] = await once(server, 'connection');
    const answer = once(near, 'data').then(([data]) => String(data));
    const client = { ...createSilentClient(), get: () => answer };

    const pending = createRedisCommands(client, 5, () => 0).get('key');
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

  it('pass a client’s own failure on', async () => {
    const client = { ...createSilentClient(), get: () => Promise.reject(new Error('NOPERM')) };
    await expect(createRedisCommands(client, 5, () => 0).get('key')).rejects.toThrow('NOPERM');
  });
});

describe('without Redis', () => {
  it('a process refreshes by itself and says so', async () => {
    const events: string[] = [];
    const coordinator = createRefreshCoordinator({
      now: Date.now,
      emit: (event) => events.push(event.type),
      timeoutMs: 5_000,
      shared: createRedisCoordinator({ client: createClient(), password }),
    });
    const answer = { kind: 'renewed', text: 'new' } as const;
    const result = await coordinator.run('key', () => Promise.resolve(answer));
    expect(result).toEqual({ settled: answer, isNew: true });
    expect(events).toEqual(['coordinator_unavailable']);
  });

  it('tombstones can neither be left nor seen, and the caller learns it', async () => {
    const coordinator = createRedisCoordinator({ client: createClient(), password });
    await expect(coordinator.endSession('session', 1_000)).rejects.toThrow('not connected');
    await expect(coordinator.isEnded('session')).rejects.toThrow('not connected');
  });
});
