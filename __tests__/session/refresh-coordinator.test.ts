import { AuthError } from '../../lib/errors.ts';
import { createRefreshCoordinator, refreshKey } from '../../lib/session/refresh-coordinator.ts';
import type { SettledRefresh, SharedCoordinator } from '../../lib/session/shared-coordinator.ts';
import { createClock } from '../support/clock.ts';
import { until } from '../support/until.ts';
import { createShared } from '../support/shared-memory.ts';

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
  it('runs one refresh for all simultaneous callers, and reports it as new only to the first', async () => {
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

  it('keeps tokens separate', async () => {
    const { coordinator, answering, calls } = setUp();
    await coordinator.run('one', answering(renewed));
    expect(coordinator.knows('two')).toBe(false);
    await coordinator.run('two', answering(ended));
    expect(calls()).toBe(2);
  });

  it('keeps an answer until the browser has received it', async () => {
    const { coordinator, clock, answering, calls } = setUp();
    await coordinator.run('key', answering(renewed));
    clock.advance(23 * 60 * 60_000);
    expect(await coordinator.run('key', answering(ended))).toEqual({ settled: renewed, isNew: false });
    expect(calls()).toBe(1);
  });

  it('keeps an answer for 25 seconds after the browser received it', async () => {
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

  it('does not restart the 25 seconds with each further delivery', async () => {
    const { coordinator, clock, answering } = setUp();
    await coordinator.run('key', answering(renewed));
    coordinator.confirmDelivery('key');
    clock.advance(20_000);
    coordinator.confirmDelivery('key');
    clock.advance(5_001);
    expect(coordinator.knows('key')).toBe(false);
  });

  it('remembers for ten minutes that a token was used', async () => {
    const { coordinator, clock, answering, calls } = setUp();
    await coordinator.run('key', answering(ended));
    clock.advance(10 * 60_000);
    await coordinator.run('key', answering(ended));
    expect(calls()).toBe(1);
    clock.advance(1);
    await coordinator.run('key', answering(ended));
    expect(calls()).toBe(2);
  });

  it('keeps undelivered answers despite the traffic of other users', async () => {
    const { coordinator, answering } = setUp();
    await coordinator.run('key', answering(renewed));
    for (let index = 0; index < 25_000; index += 1) await coordinator.run(`other ${index}`, answering(ended));
    expect(coordinator.knows('key')).toBe(true);
  });

  it('forgets only the tokens that it is told to forget', async () => {
    const { coordinator, answering } = setUp();
    await coordinator.run('one', answering(renewed));
    await coordinator.run('two', answering(renewed));
    coordinator.forget('one');
    expect([coordinator.knows('one'), coordinator.knows('two')]).toEqual([false, true]);
  });

  it('forgets tokens that the browser already received, if it is told to', async () => {
    const { coordinator, answering, calls } = setUp();
    await coordinator.run('key', answering(renewed));
    coordinator.confirmDelivery('key');
    coordinator.forget('key');
    expect(coordinator.knows('key')).toBe(false);
    expect(await coordinator.run('key', answering(ended))).toEqual({ settled: ended, isNew: true });
    expect(calls()).toBe(2);
  });

  it('identifies a token by its adapter and a digest, never by its value', () => {
    const key = refreshKey('b2b', { refreshToken: 'a refresh token' });
    expect(key).toMatch(/^b2b:[\w-]{43}$/);
    expect(refreshKey('backend', { refreshToken: 'a refresh token' })).not.toBe(key);
    expect(refreshKey('b2b', { refreshToken: 'another one' })).not.toBe(key);
  });

  it('shares a failure among waiting callers, and does not remember it', async () => {
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

  it('turns any error into an outage', async () => {
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
  ])('pauses after a failure with Retry-After %p for %p seconds', async (retryAfter, seconds) => {
    const { coordinator, clock } = setUp();
    const failure = new AuthError('provider_unavailable', retryAfter === undefined ? {} : { retryAfter });
    await coordinator.run('key', failing(failure)).catch(() => undefined);
    expect([coordinator.isCoolingDown('key'), coordinator.isCoolingDown('other')]).toEqual([true, false]);
    clock.advance(seconds * 1000);
    expect(coordinator.isCoolingDown('key')).toBe(true);
    clock.advance(1);
    expect(coordinator.isCoolingDown('key')).toBe(false);
  });

  it('reports that an answer is slow, and still receives it', async () => {
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

  it('reports a slow failure once', async () => {
    const { coordinator, events } = setUp({ timeoutMs: 20 });
    const { promise, reject } = Promise.withResolvers<SettledRefresh>();
    const first = coordinator.run('key', () => promise);
    await until(() => events.length > 0);
    reject(new AuthError('provider_unavailable'));
    await expect(first).rejects.toThrow(AuthError);
    expect(events).toEqual(['refresh_failed']);
  });

  it('gives up at the time limit of the call, and keeps an answer that comes later', async () => {
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

  it('prefers a late answer to the refusal of a second try with the same token', async () => {
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

describe('the memory for answers', () => {
  const answer = (length: number): SettledRefresh => ({ kind: 'renewed', text: 'x'.repeat(length) });

  it.each([
    ['undelivered answers', 16, 6_000, 'x'],
    ['delivered answers', 12, 6_000, 'x'],
    ['answers in another script, of two bytes a character', 16, 6_000, 'Ж'],
    ['small answers, with what an entry takes', 16, 10, 'x'],
  ])('needs for %s no more than its limit: %s MB', async (what, maxMegabytes, length, character) => {
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

  it('stores no answer that is too large for a cookie; waiting callers receive it', async () => {
    const { coordinator, answering } = setUp();
    const huge = answer(512 * 1024);
    expect((await coordinator.run('key', answering(huge))).settled).toBe(huge);
    expect(coordinator.knows('key')).toBe(false);
  });
});

describe('several processes', () => {
  const passing: SharedCoordinator = createShared();

  it('runs the refresh through the shared coordinator', async () => {
    const { coordinator, answering } = setUp({ shared: passing });
    expect(await coordinator.run('key', answering(renewed))).toEqual({ settled: renewed, isNew: true });
  });

  it('distinguishes an answer of another process from its own', async () => {
    const shared = { ...passing, coordinate: () => Promise.resolve(renewed) };
    const { coordinator, answering, calls } = setUp({ shared });
    expect(await coordinator.run('key', answering(ended))).toEqual({ settled: renewed, isNew: false });
    expect(calls()).toBe(0);
  });

  it('continues alone if the coordinator fails, and reports it', async () => {
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
  ])('treats an answer as the end of an outage if isAvailable %s', async (_what, isAvailable) => {
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

  it('reports an outage once when it begins and once when it ends, however many refreshes it affects', async () => {
    let isDown = true;
    const shared: SharedCoordinator = {
      ...passing,
      coordinate: (key, refresh) => (isDown && key !== 'live' ? Promise.reject(new Error('no Redis')) : refresh()),
      isAvailable: () => !isDown,
    };
    const { coordinator, answering, events } = setUp({ shared });
    // One part of the coordinator is unreachable, and the other one works.
    for (const key of ['one', 'live', 'two', 'live']) await coordinator.run(key, answering(renewed));
    expect(events).toEqual(['coordinator_unavailable']);
    isDown = false;
    for (const key of ['three', 'four']) await coordinator.run(key, answering(renewed));
    expect(events).toEqual(['coordinator_unavailable', 'coordinator_recovered']);
    isDown = true;
    await coordinator.run('five', answering(renewed));
    expect(events).toEqual(['coordinator_unavailable', 'coordinator_recovered', 'coordinator_unavailable']);
  });

  it('does not call a provider that another process found unreachable, nor blame the coordinator for it', async () => {
    const failure = new AuthError('provider_unavailable', { retryAfter: 7 });
    const shared = { ...passing, coordinate: () => Promise.reject(failure) };
    const { coordinator, answering, calls, events } = setUp({ shared });
    await expect(coordinator.run('key', answering(renewed))).rejects.toBe(failure);
    expect(calls()).toBe(0);
    expect(events).toEqual(['refresh_failed']);
  });

  it('never uses the token twice if the coordinator fails after the refresh', async () => {
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

  it('starts no refresh of its own once the time limit was spent waiting for other processes', async () => {
    const shared: SharedCoordinator = {
      ...passing,
      coordinate: (_key, _refresh, signal) =>
        new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('too late')))),
    };
    const { coordinator, answering, calls } = setUp({ shared, timeoutMs: 10, callLifeMs: 20 });
    await expect(coordinator.run('key', answering(renewed))).rejects.toMatchObject({ code: 'provider_unavailable' });
    expect(calls()).toBe(0);
  });

  it('tells the other processes once what was delivered, and what has ended', async () => {
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

  it('continues if the other processes cannot be informed', async () => {
    const away = () => Promise.reject(new Error('no Redis'));
    const { coordinator, answering, events } = setUp({ shared: { ...passing, confirmDelivery: away, forget: away } });
    await coordinator.run('key', answering(renewed));
    coordinator.confirmDelivery('key');
    coordinator.forget('key');
    await new Promise((done) => setImmediate(done));
    expect(events).toEqual(['coordinator_unavailable']);
  });
});
