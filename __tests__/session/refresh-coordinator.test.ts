import { AuthError } from '../../lib/errors.ts';
import { createRefreshCoordinator, refreshKey } from '../../lib/session/refresh-coordinator.ts';
import type { SettledRefresh, SharedCoordinator } from '../../lib/session/shared-coordinator.ts';
import { createClock } from '../support/clock.ts';
import { until } from '../support/until.ts';

const renewed: SettledRefresh = { kind: 'renewed', text: 'new tokens' };
const ended: SettledRefresh = { kind: 'ended', reason: 'invalid_grant' };

interface SetUp {
  readonly shared?: SharedCoordinator;
  readonly timeoutMs?: number;
  readonly callLifeMs?: number;
}

function setUp({ shared, timeoutMs = 5_000, callLifeMs = 25_000 }: SetUp = {}) {
  const clock = createClock();
  const events: string[] = [];
  const told: unknown[] = [];
  const coordinator = createRefreshCoordinator({
    now: clock.now,
    emit: (event) => {
      events.push(event.type);
      told.push(event);
    },
    timeoutMs,
    callLifeMs,
    shared,
  });
  let calls = 0;
  const answering = (settled: SettledRefresh) => () => {
    calls += 1;
    return Promise.resolve(settled);
  };
  return { clock, events, told, coordinator, answering, calls: () => calls };
}

const failing = (error: Error) => () => Promise.reject(error);

describe('one process', () => {
  it('runs one refresh for everybody who asks while it runs, and tells only the first that it is new', async () => {
    const { coordinator } = setUp();
    const { promise, resolve } = Promise.withResolvers<SettledRefresh>();
    let calls = 0;
    const refresh = () => {
      calls += 1;
      return promise;
    };
    const all = Array.from({ length: 50 }, () => coordinator.run('key', refresh));
    expect(coordinator.knows('key')).toBe(true);
    resolve(renewed);
    const answers = await Promise.all(all);
    expect(calls).toBe(1);
    expect(answers.filter(({ isNew }) => isNew)).toHaveLength(1);
    for (const { settled } of answers) expect(settled).toEqual(renewed);
  });

  it('keeps tokens apart', async () => {
    const { coordinator, answering, calls } = setUp();
    await coordinator.run('one', answering(renewed));
    expect(coordinator.knows('two')).toBe(false);
    await coordinator.run('two', answering(ended));
    expect(calls()).toBe(2);
  });

  it('keeps an answer for as long as the browser has not got it', async () => {
    const { coordinator, clock, answering, calls } = setUp();
    await coordinator.run('key', answering(renewed));
    clock.advance(23 * 60 * 60_000);
    expect(await coordinator.run('key', answering(ended))).toEqual({ settled: renewed, isNew: false });
    expect(calls()).toBe(1);
  });

  it('keeps an answer for 25 seconds from when the browser got it', async () => {
    const { coordinator, clock, answering, calls } = setUp();
    await coordinator.run('key', answering(renewed));
    clock.advance(60_000);
    coordinator.confirmDelivery('key');
    clock.advance(25_000);
    expect((await coordinator.run('key', answering(ended))).settled).toEqual(renewed);
    clock.advance(1);
    expect((await coordinator.run('key', answering(ended))).settled).toEqual(ended);
    expect(calls()).toBe(2);
  });

  it('does not start the 25 seconds again with every further delivery', async () => {
    const { coordinator, clock, answering } = setUp();
    await coordinator.run('key', answering(renewed));
    coordinator.confirmDelivery('key');
    clock.advance(20_000);
    coordinator.confirmDelivery('key');
    clock.advance(5_001);
    expect(coordinator.knows('key')).toBe(false);
  });

  it('remembers for ten minutes that a token is spent', async () => {
    const { coordinator, clock, answering, calls } = setUp();
    await coordinator.run('key', answering(ended));
    clock.advance(10 * 60_000);
    await coordinator.run('key', answering(ended));
    expect(calls()).toBe(1);
    clock.advance(1);
    await coordinator.run('key', answering(ended));
    expect(calls()).toBe(2);
  });

  it('does not let the traffic of others push out what did not reach the browser yet', async () => {
    const { coordinator, answering } = setUp();
    await coordinator.run('key', answering(renewed));
    for (let index = 0; index < 25_000; index += 1) await coordinator.run(`other ${index}`, answering(ended));
    expect(coordinator.knows('key')).toBe(true);
  });

  it('forgets nothing but what it is told to forget', async () => {
    const { coordinator, answering } = setUp();
    await coordinator.run('one', answering(renewed));
    await coordinator.run('two', answering(renewed));
    coordinator.forget('one');
    expect([coordinator.knows('one'), coordinator.knows('two')]).toEqual([false, true]);
  });

  it('forgets tokens that reached the browser already, where it is told to', async () => {
    const { coordinator, answering, calls } = setUp();
    await coordinator.run('key', answering(renewed));
    coordinator.confirmDelivery('key');
    coordinator.forget('key');
    expect(coordinator.knows('key')).toBe(false);
    expect(await coordinator.run('key', answering(ended))).toEqual({ settled: ended, isNew: true });
    expect(calls()).toBe(2);
  });

  it('names a token by its adapter and a digest, never by itself', () => {
    const key = refreshKey('b2b', { refreshToken: 'a refresh token' });
    expect(key).toMatch(/^b2b:[\w-]{43}$/);
    expect(refreshKey('backend', { refreshToken: 'a refresh token' })).not.toBe(key);
    expect(refreshKey('b2b', { refreshToken: 'another one' })).not.toBe(key);
  });

  it('shares a failure among those who wait, and remembers none of it', async () => {
    const { coordinator, answering, events } = setUp();
    const failure = new AuthError('provider_unavailable', { retryAfter: 7 });
    const both = [coordinator.run('key', failing(failure)), coordinator.run('key', answering(renewed))];
    expect(await Promise.allSettled(both)).toEqual([
      { status: 'rejected', reason: failure },
      { status: 'rejected', reason: failure },
    ]);
    expect(events).toEqual(['refresh_failed']);
    expect((await coordinator.run('key', answering(renewed))).isNew).toBe(true);
  });

  it('turns whatever is thrown into an outage', async () => {
    const { coordinator } = setUp();
    const cause = new TypeError('a bug');
    await expect(coordinator.run('key', failing(cause))).rejects.toMatchObject({
      code: 'provider_unavailable',
      status: 503,
      retryAfter: 5,
      cause,
    });
  });

  it.each([
    [undefined, 5],
    [0, 1],
    [7, 7],
    [1_000_000, 60],
  ])('rests after a failure with Retry-After %p for %p seconds', async (retryAfter, seconds) => {
    const { coordinator, clock } = setUp();
    const failure = new AuthError('provider_unavailable', retryAfter === undefined ? {} : { retryAfter });
    await coordinator.run('key', failing(failure)).catch(() => undefined);
    expect([coordinator.isCoolingDown('key'), coordinator.isCoolingDown('other')]).toEqual([true, false]);
    clock.advance(seconds * 1000);
    expect(coordinator.isCoolingDown('key')).toBe(true);
    clock.advance(1);
    expect(coordinator.isCoolingDown('key')).toBe(false);
  });

  it('is told that an answer is slow, and still gets it', async () => {
    const { coordinator, events, answering, calls } = setUp({ timeoutMs: 20 });
    const { promise, resolve } = Promise.withResolvers<SettledRefresh>();
    const first = coordinator.run('key', () => promise);
    await until(() => events.length > 0);
    expect([events, coordinator.isCoolingDown('key'), coordinator.knows('key')]).toEqual([
      ['refresh_failed'],
      true,
      true,
    ]);
    const joined = coordinator.run('key', answering(ended));
    resolve(renewed);
    expect([(await first).settled, (await joined).settled]).toEqual([renewed, renewed]);
    expect([calls(), events, coordinator.isCoolingDown('key')]).toEqual([0, ['refresh_failed'], false]);
  });

  it('tells a slow failure once', async () => {
    const { coordinator, events } = setUp({ timeoutMs: 20 });
    const { promise, reject } = Promise.withResolvers<SettledRefresh>();
    const first = coordinator.run('key', () => promise);
    await until(() => events.length > 0);
    reject(new AuthError('provider_unavailable'));
    await expect(first).rejects.toThrow(AuthError);
    expect(events).toEqual(['refresh_failed']);
  });

  it('gives up when the call has lived long enough, and keeps an answer that comes after it', async () => {
    const { coordinator, answering, calls } = setUp({ timeoutMs: 10, callLifeMs: 20 });
    const { promise, resolve } = Promise.withResolvers<SettledRefresh>();
    let signal: AbortSignal | undefined;
    const refresh = (given: AbortSignal) => {
      signal = given;
      return promise;
    };
    await expect(coordinator.run('key', refresh)).rejects.toMatchObject({ code: 'provider_unavailable' });
    expect([signal?.aborted, coordinator.knows('key')]).toEqual([true, false]);
    resolve(renewed);
    await new Promise((done) => setImmediate(done));
    expect((await coordinator.run('key', answering(ended))).settled).toEqual(renewed);
    expect(calls()).toBe(0);
  });

  it('takes an answer that comes late over the refusal of a second try with the token that it spent', async () => {
    const { coordinator } = setUp({ timeoutMs: 10, callLifeMs: 20 });
    const first = Promise.withResolvers<SettledRefresh>();
    const second = Promise.withResolvers<SettledRefresh>();
    await coordinator.run('key', () => first.promise).catch(() => undefined);
    const retry = coordinator.run('key', () => second.promise);
    first.resolve(renewed);
    await first.promise;
    second.resolve(ended);
    expect((await retry).settled).toEqual(renewed);
  });
});

describe('what is remembered of answers', () => {
  const answer = (length: number): SettledRefresh => ({ kind: 'renewed', text: 'x'.repeat(length) });

  it.each([
    ['undelivered answers', 16, 6_000, 'x'],
    ['delivered answers', 12, 6_000, 'x'],
    ['answers in another script, of two bytes a character', 16, 6_000, 'Ж'],
    ['small answers, with what an entry takes', 16, 10, 'x'],
  ])('takes no more memory than %s may: %s MB', async (what, maxMegabytes, length, character) => {
    const { coordinator, answering } = setUp();
    const text = character.repeat(length);
    const bytes = length * (character === 'x' ? 1 : 2) + 600;
    const most = Math.floor((maxMegabytes * 1024 * 1024) / bytes);
    const keys = Array.from({ length: most + 100 }, (_, index) => `key ${index}`);
    for (const key of keys) {
      await coordinator.run(key, answering({ kind: 'renewed', text }));
      if (what.startsWith('delivered')) coordinator.confirmDelivery(key);
    }
    const held = keys.filter((key) => coordinator.knows(key));
    expect(held).toHaveLength(most);
    expect(held.at(-1)).toBe(keys.at(-1));
  });

  it('has no room for what no cookie could hold; who waits for it gets it', async () => {
    const { coordinator, answering } = setUp();
    const huge = answer(512 * 1024);
    expect((await coordinator.run('key', answering(huge))).settled).toBe(huge);
    expect(coordinator.knows('key')).toBe(false);
  });
});

describe('several processes', () => {
  const passing: SharedCoordinator = {
    coordinate: (_key, refresh) => refresh(),
    endSession: () => Promise.resolve(),
    isEnded: () => Promise.resolve(false),
  };

  it('runs the refresh through the shared coordinator', async () => {
    const { coordinator, answering } = setUp({ shared: passing });
    expect(await coordinator.run('key', answering(renewed))).toEqual({ settled: renewed, isNew: true });
  });

  it('knows an answer from elsewhere from its own', async () => {
    const shared = { ...passing, coordinate: () => Promise.resolve(renewed) };
    const { coordinator, answering, calls } = setUp({ shared });
    expect(await coordinator.run('key', answering(ended))).toEqual({ settled: renewed, isNew: false });
    expect(calls()).toBe(0);
  });

  it('goes on alone where the coordinator fails, and says so', async () => {
    const shared = { ...passing, coordinate: () => Promise.reject(new Error('no Redis')) };
    const { coordinator, answering, told } = setUp({ shared });
    expect(await coordinator.run('key', answering(renewed))).toEqual({ settled: renewed, isNew: true });
    expect(told).toEqual([{ type: 'coordinator_unavailable', operation: 'refresh' }]);
  });

  const cannotTell = (): never => {
    throw new Error('unknown');
  };
  it.each([
    ['throws', cannotTell],
    ['says nothing', () => undefined as never],
    ['is missing', undefined],
  ])('takes an answer for the end of an outage where isAvailable %s', async (_what, isAvailable) => {
    let isDown = true;
    const shared: SharedCoordinator = {
      ...passing,
      coordinate: (_key, refresh) => (isDown ? Promise.reject(new Error('no Redis')) : refresh()),
      ...(isAvailable && { isAvailable }),
    };
    const { coordinator, answering, events } = setUp({ shared });
    await coordinator.run('one', answering(renewed));
    isDown = false;
    expect((await coordinator.run('two', answering(renewed))).settled.kind).toBe('renewed');
    expect(events).toEqual(['coordinator_unavailable', 'coordinator_recovered']);
  });

  it('tells of an outage once when it begins and once when it ends, however many refreshes meet it', async () => {
    let isDown = true;
    const shared: SharedCoordinator = {
      ...passing,
      coordinate: (key, refresh) => (isDown && key !== 'live' ? Promise.reject(new Error('no Redis')) : refresh()),
      isAvailable: () => !isDown,
    };
    const { coordinator, answering, events } = setUp({ shared });
    // One part of the coordinator is away, and the other one goes on.
    for (const key of ['one', 'live', 'two', 'live']) await coordinator.run(key, answering(renewed));
    expect(events).toEqual(['coordinator_unavailable']);
    isDown = false;
    for (const key of ['three', 'four']) await coordinator.run(key, answering(renewed));
    expect(events).toEqual(['coordinator_unavailable', 'coordinator_recovered']);
    isDown = true;
    await coordinator.run('five', answering(renewed));
    expect(events).toEqual(['coordinator_unavailable', 'coordinator_recovered', 'coordinator_unavailable']);
  });

  it("does not ask a provider again that another process found out of reach, nor call that the coordinator's failure", async () => {
    const failure = new AuthError('provider_unavailable', { retryAfter: 7 });
    const shared = { ...passing, coordinate: () => Promise.reject(failure) };
    const { coordinator, answering, calls, events } = setUp({ shared });
    await expect(coordinator.run('key', answering(renewed))).rejects.toBe(failure);
    expect(calls()).toBe(0);
    expect(events).toEqual(['refresh_failed']);
  });

  it('never spends the token twice where the coordinator fails after the refresh', async () => {
    const shared: SharedCoordinator = {
      ...passing,
      async coordinate(_key, refresh) {
        await refresh();
        throw new Error('Redis went away');
      },
    };
    const { coordinator, answering, calls, events } = setUp({ shared });
    expect(await coordinator.run('key', answering(renewed))).toEqual({ settled: renewed, isNew: true });
    expect(calls()).toBe(1);
    expect(events).toEqual([]);
  });

  it('starts no refresh of its own once the budget is spent waiting for others', async () => {
    const shared: SharedCoordinator = {
      ...passing,
      coordinate: (_key, _refresh, signal) =>
        new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('too late')))),
    };
    const { coordinator, answering, calls } = setUp({ shared, timeoutMs: 10, callLifeMs: 20 });
    await expect(coordinator.run('key', answering(renewed))).rejects.toMatchObject({ code: 'provider_unavailable' });
    expect(calls()).toBe(0);
  });

  it('tells the others what was delivered, once, and what is over', async () => {
    const told: string[] = [];
    const shared: SharedCoordinator = {
      ...passing,
      confirmDelivery: async (key) => void told.push(`delivered ${key}`),
      forget: async (key) => void told.push(`over ${key}`),
    };
    const { coordinator, answering } = setUp({ shared });
    await coordinator.run('key', answering(renewed));
    coordinator.confirmDelivery('key');
    coordinator.confirmDelivery('key');
    coordinator.forget('key');
    expect(told).toEqual(['delivered key', 'over key']);
  });

  it('goes on where the others cannot be told', async () => {
    const away = () => Promise.reject(new Error('no Redis'));
    const { coordinator, answering, events } = setUp({ shared: { ...passing, confirmDelivery: away, forget: away } });
    await coordinator.run('key', answering(renewed));
    coordinator.confirmDelivery('key');
    coordinator.forget('key');
    await new Promise((done) => setImmediate(done));
    expect(events).toEqual(['coordinator_unavailable']);
  });
});
