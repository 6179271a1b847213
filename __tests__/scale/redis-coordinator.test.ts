import { setTimeout as pass } from 'node:timers/promises';
import { jest } from '@jest/globals';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { createClient } from 'redis';
import { AuthError } from '../../lib/errors.ts';
import { createRedisCoordinator } from '../../lib/redis/index.ts';
import type { NodeRedisClient, RedisClient, RedisCoordinatorOptions } from '../../lib/redis/index.ts';
import { forever, hash, mergeRecords } from '../../lib/session/ended/record.ts';
import type { SharedCoordinator } from '../../lib/session/coordinator.ts';
import { createOutageReport } from '../../lib/session/outages.ts';
import { createRefresh } from '../../lib/session/refresh/refresh.ts';
import type { OnceAnswer } from '../../lib/session/refresh/ask-once.ts';
import type { Refresh } from '../../lib/session/refresh/refresh.ts';
import { startRedisServer } from '../support/redis-server.ts';
import type { RedisServer } from '../support/redis-server.ts';

interface Connection {
  readonly client: RedisClient;
  close(): void;
}

const libraries: Record<string, (url: string) => Promise<Connection>> = {
  redis: async (url) => {
    const client = createClient({ url, socket: { reconnectStrategy: 20 } });
    client.on('error', () => undefined);
    await client.connect();
    return { client, close: () => client.destroy() };
  },
  ioredis: async (url) => {
    const client = new Redis(url, { lazyConnect: true, retryStrategy: () => 20 });
    client.on('error', () => undefined);
    await client.connect();
    return { client, close: () => client.disconnect() };
  },
};

jest.setTimeout(30_000);

const password = 'p'.repeat(32);
const renewed: OnceAnswer = { kind: 'renewed', text: '{"refreshToken":"VISIBLE"}' };
const ended: OnceAnswer = { kind: 'ended', reason: 'invalid_grant' };

let server: RedisServer;
let admin: Redis;
beforeAll(async () => {
  server = await startRedisServer();
  admin = new Redis(server.url, { retryStrategy: () => 20, maxRetriesPerRequest: null });
  admin.on('error', () => undefined);
});
afterAll(async () => {
  admin.disconnect();
  await server.stop();
});

/** A promise that the test settles, to hold back the provider's answer. */
function createGate<T>() {
  let open!: (value: T) => void;
  let fail!: (error: Error) => void;
  const passed = new Promise<T>((resolve, reject) => {
    open = resolve;
    fail = reject;
  });
  return { passed, open, fail };
}

/** The token of a name, and what its hash in Redis is called. */
const tokenOf = (name: string): string => `token of ${name}`;
const keyOf = (name: string): string => `express-auth-adapters:{${hash(tokenOf(name))}}`;

/** Exchanges a token, in a process that remembers nothing. */
async function coordinate(
  shared: SharedCoordinator,
  name: string,
  ask: () => Promise<OnceAnswer>,
  callLifeMs = 5_000,
): Promise<OnceAnswer> {
  return (await exchange(refreshOf(shared, undefined, callLifeMs), name, ask)).answer;
}

async function exchange(refresh: Refresh, name: string, ask: () => Promise<OnceAnswer>) {
  const holder = { token: tokenOf(name), pair: name, isNewer: () => true };
  const run = async () => {
    const asked = await ask();
    return asked.kind === 'ended' ? asked : { ...asked, token: `after ${name}`, issuedAt: 0 };
  };
  const { answer, isNew } = await refresh.run(holder, { former: [], run });
  const { kind } = answer;
  return { answer: kind === 'ended' ? answer : { kind, text: answer.text }, isNew };
}

function refreshOf(
  shared: SharedCoordinator,
  emit: (event: { readonly type: string }) => unknown = () => undefined,
  callLifeMs = 5_000,
): Refresh {
  const told = (event: { readonly type: string }): void => void emit(event);
  const outages = createOutageReport(shared, told);
  return createRefresh({ now: Date.now, emit: told, timeoutMs: callLifeMs, callLifeMs, shared, outages });
}

/** The holder of a token's turn. */
async function holderOf(name = 'key'): Promise<string | null> {
  return admin.hget(keyOf(name), 'turn');
}

/** Until a process has its turn, by which a refresh shows that it has begun. */
async function untilTaken(name = 'key'): Promise<void> {
  while ((await holderOf(name)) === null) await pass(2);
}

/** Until Redis has served some command more, by which the waiting ones show that they do wait. */
async function untilPolled(times = 8): Promise<void> {
  const count = async (): Promise<number> =>
    Number(/cmdstat_eval:calls=(\d+)/.exec(await admin.info('commandstats'))?.[1] ?? 0);
  const before = await count();
  while ((await count()) < before + times) await pass(5);
}

describe.each(Object.keys(libraries))('coordination through a client of %s', (library) => {
  let connections: Connection[] = [];

  async function connect(): Promise<Connection> {
    const connection = await libraries[library]!(server.url);
    connections.push(connection);
    return connection;
  }

  async function createProcess(options: Partial<RedisCoordinatorOptions> = {}): Promise<SharedCoordinator> {
    const { client } = await connect();
    return createRedisCoordinator({ client, password, commandTimeoutMs: 2_000, ...options });
  }

  const createProcesses = (count: number, options?: Partial<RedisCoordinatorOptions>) =>
    Promise.all(Array.from({ length: count }, () => createProcess(options)));

  const never = (): Promise<never> => Promise.reject(new Error('a second refresh'));

  beforeEach(async () => {
    await admin.flushall();
  });
  afterEach(() => {
    for (const connection of connections) connection.close();
    connections = [];
  });

  it.each([renewed, ended])('lets one of many refresh, and shares the result with all: $kind', async (answer) => {
    const processes = await createProcesses(8);
    const gate = createGate<OnceAnswer>();
    let calls = 0;
    const refresh = (): Promise<OnceAnswer> => {
      calls += 1;
      return gate.passed;
    };
    const answers = processes.map((process) => coordinate(process, 'key', refresh));
    await untilPolled();
    gate.open(answer);
    expect(await Promise.all(answers)).toEqual(processes.map(() => answer));
    expect(calls).toBe(1);
    // A straggler in a process that never waited.
    const straggler = await createProcess();
    expect(await coordinate(straggler, 'key', never)).toEqual(answer);
  });

  it('keeps different tokens separate', async () => {
    const process = await createProcess();
    const run = (key: string) => coordinate(process, key, () => Promise.resolve({ kind: 'renewed', text: key }));
    const keys = Array.from({ length: 20 }, (_, index) => `key ${index}`);
    expect(await Promise.all(keys.map(run))).toEqual(keys.map((text) => ({ kind: 'renewed', text })));
  });

  it('leaves no turn behind, keeps a renewed answer for eight days and an ended one for ten minutes', async () => {
    const process = await createProcess();
    await coordinate(process, 'one', () => Promise.resolve(renewed));
    expect(await admin.keys('*')).toEqual([keyOf('one')]);
    expect(await holderOf('one')).toBeNull();
    expect(await admin.pttl(keyOf('one'))).toBeGreaterThan(691_000_000);
    expect(await admin.pttl(keyOf('one'))).toBeLessThanOrEqual(691_200_000);
    await coordinate(process, 'two', () => Promise.resolve(ended));
    expect(await admin.pttl(keyOf('two'))).toBeGreaterThan(590_000);
    expect(await admin.pttl(keyOf('two'))).toBeLessThanOrEqual(600_000);
  });

  it('keeps a delivered answer for 25 seconds, and none that is over', async () => {
    const refresh = refreshOf(await createProcess());
    await exchange(refresh, 'one', () => Promise.resolve(renewed));
    refresh.received('after one');
    while ((await admin.pttl(keyOf('one'))) > 25_000) await pass(2);
    expect(await admin.pttl(keyOf('one'))).toBeGreaterThan(20_000);
    refresh.forget(tokenOf('one'));
    while ((await admin.keys('*')).length > 0) await pass(2);
  });

  it('lets another process take over when the holder dies', async () => {
    const connection = await connect();
    const dead = createRedisCoordinator({ client: connection.client, password, lockTtlMs: 300 });
    const started = createGate<undefined>();
    const lost = coordinate(
      dead,
      'key',
      () => {
        started.open(undefined);
        return new Promise<never>(() => undefined);
      },
      100,
    );
    void lost.catch(() => undefined);
    await started.passed;
    connection.close();
    const heir = await createProcess({ lockTtlMs: 300 });
    expect(await coordinate(heir, 'key', () => Promise.resolve(renewed))).toEqual(renewed);
  });

  it('leaves the lock to a holder that is alive, however long its refresh takes', async () => {
    const [holder, other] = await createProcesses(2, { lockTtlMs: 150 });
    const gate = createGate<OnceAnswer>();
    const held = coordinate(holder!, 'key', () => gate.passed);
    await untilTaken();
    const shared = coordinate(other!, 'key', never);
    // Redis keeps the time here, so it has to pass: three lives of an unattended lock.
    await pass(450);
    gate.open(renewed);
    expect(await Promise.all([held, shared])).toEqual([renewed, renewed]);
  });

  it('stops renewing the lock of a refresh that exceeds its time limit, and still shares its late answer', async () => {
    const holder = await createProcess({ lockTtlMs: 150 });
    const gate = createGate<OnceAnswer>();
    const held = coordinate(holder, 'key', () => gate.passed, 300);
    await expect(held).rejects.toMatchObject({ reason: 'timeout' });
    while ((await admin.keys('*')).length > 0) await pass(10);
    gate.open(renewed);
    while ((await admin.hexists(keyOf('key'), 'settled')) === 0) await pass(2);
    expect(await coordinate(await createProcess(), 'key', never)).toEqual(renewed);
  });

  it('reports a failure to those who waited for it, and not to later callers', async () => {
    const processes = await createProcesses(5);
    const gate = createGate<OnceAnswer>();
    let calls = 0;
    const answers = processes.map((process) =>
      coordinate(process, 'key', () => {
        calls += 1;
        return gate.passed;
      }),
    );
    const outcomes = Promise.allSettled(answers);
    await untilPolled();
    const failure = new AuthError('provider_unavailable', { retryAfter: 7, cause: new Error('VISIBLE') });
    gate.fail(failure);
    const reasons = (await outcomes).map((outcome) => (outcome.status === 'rejected' ? outcome.reason : outcome));
    expect(calls).toBe(1);
    expect(reasons.filter((reason) => reason === failure)).toHaveLength(1);
    for (const reason of reasons) {
      expect(reason).toBeInstanceOf(AuthError);
      expect(reason).toMatchObject({ code: 'provider_unavailable', retryAfter: 7 });
    }
    // While the word of the failure is still there, the first request after it refreshes at once.
    expect(await admin.hget(keyOf('key'), 'weight')).toBe('0');
    expect(await coordinate(processes[0]!, 'key', () => Promise.resolve(renewed))).toEqual(renewed);
  });

  it('calls an unreachable provider once, and reports no outage of Redis', async () => {
    const events: string[] = [];
    const gate = createGate<OnceAnswer>();
    let calls = 0;
    const answers = (await createProcesses(5)).map((shared) =>
      exchange(
        refreshOf(shared, ({ type }) => events.push(type)),
        'key',
        () => {
          calls += 1;
          return gate.passed;
        },
      ),
    );
    const outcomes = Promise.allSettled(answers);
    await untilPolled(20);
    gate.fail(new AuthError('provider_unavailable'));
    for (const outcome of await outcomes) expect(outcome).toMatchObject({ reason: { code: 'provider_unavailable' } });
    expect(calls).toBe(1);
    expect(events).toEqual(Array.from({ length: 5 }, () => 'refresh_failed'));
  });

  it.each([
    [new AuthError('provider_refused'), 'provider_refused'],
    [new AuthError('forbidden'), 'provider_unavailable'],
    [new TypeError('a bug'), 'provider_unavailable'],
  ])('turns the failure %p into the code %s for waiting callers', async (failure, code) => {
    const [holder, other] = await createProcesses(2);
    const gate = createGate<OnceAnswer>();
    const held = coordinate(holder!, 'key', () => gate.passed);
    await untilTaken();
    const waiting = coordinate(other!, 'key', never);
    const outcomes = Promise.allSettled([held, waiting]);
    await untilPolled(2);
    gate.fail(failure);
    expect(await outcomes).toMatchObject([
      { reason: failure instanceof AuthError ? failure : { cause: failure } },
      { reason: { code } },
    ]);
  });

  it('ends a wait at the caller’s time limit', async () => {
    const [holder, other] = await createProcesses(2);
    const gate = createGate<OnceAnswer>();
    const held = coordinate(holder!, 'key', () => gate.passed);
    await untilTaken();
    await expect(coordinate(other!, 'key', never, 200)).rejects.toMatchObject({ reason: 'timeout' });
    gate.open(renewed);
    await held;
  });

  it('stores only sealed values in Redis, under names that reveal nothing, and never without an expiry', async () => {
    const [holder, other] = await createProcesses(2);
    const gate = createGate<OnceAnswer>();
    const held = coordinate(holder!, 'b2b:VISIBLE', () => gate.passed);
    await untilTaken('b2b:VISIBLE');
    await other!.merge('session_VISIBLE', { 'fresh:b2b:token': 5 }, 60_000);
    const failure = new AuthError('provider_unavailable', { cause: new Error('VISIBLE') });
    await expect(coordinate(other!, 'other', () => Promise.reject(failure))).rejects.toBe(failure);
    await coordinate(holder!, 'third', () => Promise.resolve(renewed));
    const keys = await admin.keys('*');
    expect(keys).toHaveLength(4);
    for (const key of keys) {
      expect(key).toMatch(/^express-auth-adapters:\{[\w-]{43}\}$/);
      expect(JSON.stringify([key, await admin.hgetall(key)])).not.toContain('VISIBLE');
      expect(await admin.pttl(key)).toBeGreaterThan(0);
    }
    gate.open(renewed);
    await held;
  });

  it('does not return an answer that was stored under another key', async () => {
    const process = await createProcess();
    await coordinate(process, 'mine', () => Promise.resolve(renewed));
    await coordinate(process, 'yours', () => Promise.resolve({ kind: 'renewed', text: 'of yours' }));
    await admin.hset(keyOf('yours'), 'settled', (await admin.hget(keyOf('mine'), 'settled'))!);
    await expect(process.take(tokenOf('yours'), { holder: 'us' })).rejects.toThrow('cannot be opened');
  });

  it('reports that processes do not share a password, and works across a change of it', async () => {
    const next = 'n'.repeat(32);
    const [before, between, stranger] = await Promise.all([
      createProcess(),
      createProcess({ password: [next, password] }),
      createProcess({ password: next }),
    ]);
    await coordinate(before, 'key', () => Promise.resolve(renewed));
    expect(await coordinate(between, 'key', never)).toEqual(renewed);
    await expect(stranger.take(tokenOf('key'), { holder: 'us' })).rejects.toThrow('cannot be opened');
  });

  it('separates applications by prefix', async () => {
    const [one, two] = await Promise.all([createProcess({ keyPrefix: 'one' }), createProcess({ keyPrefix: 'two' })]);
    await coordinate(one, 'key', () => Promise.resolve(renewed));
    expect(await coordinate(two, 'key', () => Promise.resolve(ended))).toEqual(ended);
    await one.merge('session', { signedOut: 5 }, 1_000);
    expect(await two.read('session')).toBeUndefined();
  });

  it.each([
    ['ended after renewed', renewed, ended, renewed],
    ['renewed after ended', ended, renewed, renewed],
    ['ended twice', ended, { kind: 'ended', reason: 'session_revoked' } as const, ended],
    ['renewed twice', renewed, { kind: 'renewed', text: 'second' } as const, renewed],
  ])('keeps one answer when a holder comes late: %s', async (_name, first, second, standing) => {
    const [late, heir] = await createProcesses(2);
    const gate = createGate<OnceAnswer>();
    const held = coordinate(late!, 'key', () => gate.passed);
    await untilTaken();
    // As if the holder had been stopped for longer than its lock lives.
    await admin.hdel(keyOf('key'), 'turn');
    await coordinate(heir!, 'key', () => Promise.resolve(first));
    gate.open(second);
    expect(await held).toEqual(standing);
    expect(await coordinate(heir!, 'key', never)).toEqual(standing);
  });

  it('does not prolong a turn that another process took over', async () => {
    const late = await createProcess({ lockTtlMs: 150 });
    const gate = createGate<OnceAnswer>();
    const held = coordinate(late, 'key', () => gate.passed);
    await untilTaken();
    const ends = Date.now() + 400;
    // A successor.
    await admin.hset(keyOf('key'), 'turn', 'heir', 'turn-until', ends);
    await admin.pexpire(keyOf('key'), 400);
    await pass(200);
    expect(await admin.hmget(keyOf('key'), 'turn', 'turn-until')).toEqual(['heir', String(ends)]);
    gate.open(renewed);
    expect(await held).toEqual(renewed);
  });

  it('does not end a turn that another process took over', async () => {
    const [late, heir] = await createProcesses(2);
    const [lateGate, heirGate] = [createGate<OnceAnswer>(), createGate<OnceAnswer>()];
    const lost = coordinate(late!, 'key', () => lateGate.passed);
    const outcome = expect(lost).rejects.toThrow(AuthError);
    await untilTaken();
    await admin.hdel(keyOf('key'), 'turn');
    const held = coordinate(heir!, 'key', () => heirGate.passed);
    await untilTaken();
    const holder = await holderOf();
    lateGate.fail(new Error('too late'));
    await outcome;
    // Commands of one connection arrive in order: the late holder's have arrived by now.
    await late!.read('anything');
    expect(await holderOf()).toBe(holder);
    heirGate.open(renewed);
    expect(await held).toEqual(renewed);
  });

  it('recognizes its own turn when the client sends a command twice', async () => {
    const stutter: NodeRedisClient = {
      isReady: true,
      hGet: (key, field) => admin.hget(key, field),
      eval: async (script, { keys, arguments: args }) => {
        await admin.eval(script, keys.length, ...keys, ...args);
        return admin.eval(script, keys.length, ...keys, ...args);
      },
    };
    const process = createRedisCoordinator({ client: stutter, password });
    expect(await coordinate(process, 'key', () => Promise.resolve(renewed))).toEqual(renewed);
    expect(await holderOf()).toBeNull();
  });

  describe('a record', () => {
    it('holds the latest time of each name in every process, for the longest requested time', async () => {
      const [one, two] = await createProcesses(2);
      expect(await two!.read('user')).toBeUndefined();
      await one!.merge('user', { ended: 1_700_000_000_500 }, 400 * 86_400_000);
      await two!.merge('user', { stale: 1_700_000_000_700.2, signedOut: forever }, 1_000.5);
      await two!.merge('user', { ended: 1_700_000_000_499, stale: 5, signedOut: 0 }, 1_000);
      expect(await one!.read('user')).toEqual({
        ended: 1_700_000_000_500,
        stale: 1_700_000_000_701,
        signedOut: forever,
      });
      expect(await one!.read('other')).toBeUndefined();
      const [key] = await admin.keys('*');
      expect(await admin.pttl(key!)).toBeGreaterThan(399 * 86_400_000);
      await one!.merge('short', { ended: 1 }, 1_000);
      await one!.merge('short', { ended: 1 }, 60_000);
      const short = (await admin.keys('*')).find((name) => name !== key);
      expect(await admin.pttl(short!)).toBeGreaterThan(50_000);
    });

    it('merges as it does in a process, in any order', async () => {
      const process = await createProcess();
      const kinds = ['fresh:b2b:', 'spent:b2b:'];
      const names = ['ended', ...kinds.flatMap((kind) => Array.from('abcdefghijkl', (letter) => kind + letter))];
      const change = fc.dictionary(fc.constantFrom(...names), fc.integer({ min: 0, max: 5 }), { minKeys: 1 });
      let serial = 0;
      await fc.assert(
        fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 8 }), async (changes) => {
          const subject = `subject-${(serial += 1)}`;
          for (const each of changes) await process.merge(subject, each, 60_000);
          expect(await process.read(subject)).toEqual(changes.reduce(mergeRecords, {}));
        }),
        { numRuns: 50 },
      );
    });

    it('is refused if another program has written it', async () => {
      const process = await createProcess();
      await process.merge('user', { ended: 1 }, 60_000);
      const [key] = await admin.keys('*');
      await admin.hset(key!, 'record', 'something else');
      await expect(process.read('user')).rejects.toThrow('no script of ours');
    });
  });

  describe('an outage of Redis', () => {
    afterEach(async () => {
      await server.start();
      server.resume();
      await admin.ping();
    });

    it('during a refresh lets the holder keep its answer and the others continue alone, and is reported', async () => {
      const events: string[] = [];
      const gates = [createGate<OnceAnswer>(), createGate<OnceAnswer>()];
      let calls = 0;
      const processes = (await createProcesses(2, { commandTimeoutMs: 200 })).map((shared) =>
        refreshOf(shared, ({ type }) => events.push(type)),
      );
      const refresh = (): Promise<OnceAnswer> => gates[calls++]!.passed;
      const held = exchange(processes[0]!, 'key', refresh);
      await untilTaken();
      const waiting = exchange(processes[1]!, 'key', refresh);
      await untilPolled(2);
      await server.kill();
      while (calls < 2) await pass(5);
      gates[1]!.open(renewed);
      expect(await waiting).toEqual({ answer: renewed, isNew: true });
      expect(events).toEqual(['coordinator_unavailable']);
      gates[0]!.open(renewed);
      expect(await held).toEqual({ answer: renewed, isNew: true });
    });

    it('is noticed even if the connections stay open, and ignored once Redis is back', async () => {
      const process = await createProcess({ commandTimeoutMs: 50 });
      await process.merge('session', { signedOut: 5 }, 60_000);
      server.pause();
      await expect(process.read('session')).rejects.toThrow('within 50 ms');
      await expect(process.read('session')).rejects.toThrow('lately');
      server.resume();
      for (;;) {
        const record = await process.read('session').catch(() => undefined);
        if (record !== undefined) {
          expect(record).toEqual({ signedOut: 5 });
          break;
        }
        await pass(20);
      }
    });

    it('ends with coordination after a restart, without intervention', async () => {
      const process = await createProcess({ commandTimeoutMs: 100, lockTtlMs: 100 });
      await server.kill();
      await expect(coordinate(process, 'key', never)).rejects.toThrow();
      await server.start();
      // Until then each exchange is the process' own.
      while ((await admin.hexists(keyOf('key'), 'settled')) === 0) {
        await coordinate(process, 'key', () => Promise.resolve(renewed));
        await pass(20);
      }
      expect(await coordinate(await createProcess(), 'key', never)).toEqual(renewed);
    });
  });

  it('never runs two refreshes at once nor uses a token twice, for any order of requests and any failure', async () => {
    const processes = await createProcesses(4);
    const callers = fc.array(
      fc.record({ process: fc.nat(3), delayMs: fc.nat(60), tookMs: fc.nat(40), fails: fc.boolean() }),
      { minLength: 1, maxLength: 12 },
    );
    let round = 0;
    await fc.assert(
      fc.asyncProperty(callers, async (plan) => {
        round += 1;
        let running = 0;
        let most = 0;
        let spent = 0;
        const outcomes = await Promise.allSettled(
          plan.map(async ({ process, delayMs, tookMs, fails }) => {
            await pass(delayMs);
            const refresh = async (): Promise<OnceAnswer> => {
              running += 1;
              most = Math.max(most, running);
              await pass(tookMs);
              running -= 1;
              if (fails) throw new AuthError('provider_unavailable');
              spent += 1;
              return { kind: 'renewed', text: `token ${round} ${spent}` };
            };
            return coordinate(processes[process]!, `key ${round}`, refresh);
          }),
        );
        expect(most).toBe(1);
        expect(spent).toBeLessThanOrEqual(1);
        if (plan.every(({ fails }) => !fails)) expect(spent).toBe(1);
        for (const outcome of outcomes) {
          if (outcome.status === 'fulfilled') {
            expect(outcome.value).toEqual({ kind: 'renewed', text: `token ${round} 1` });
          } else expect(outcome.reason).toMatchObject({ code: 'provider_unavailable' });
        }
      }),
      { numRuns: 25 },
    );
  });
});
