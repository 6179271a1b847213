import { jest } from '@jest/globals';
import { createBreaker } from '../../lib/tools/breaker.ts';

/** The part that holds each key; tests move keys to another part. */
let parts: Map<string, string>;
let clock: number;

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'clearImmediate'] });
  clock = 0;
  parts = new Map();
});

afterEach(() => jest.useRealTimers());

function create(settings: { readonly firstTimeoutMs?: number; readonly errorPauseMs?: number } = {}) {
  return createBreaker({
    partOf: (key) => parts.get(key) ?? 'only',
    timeoutMs: 100,
    pauseMs: 1_000,
    now: () => clock,
    ...settings,
  });
}

async function advance(ms: number): Promise<void> {
  clock += ms;
  await jest.advanceTimersByTimeAsync(ms);
  await new Promise((resolve) => setImmediate(resolve));
}

const never = (): Promise<never> => new Promise(() => undefined);
const works = (): Promise<string> => Promise.resolve('answer');
const breaks = (): Promise<never> => Promise.reject(new Error('broken'));

/** Whether a call is started; it succeeds if it is. */
async function isCalled(breaker: ReturnType<typeof create>, key = 'a'): Promise<boolean> {
  let wasCalled = false;
  const call = (): Promise<void> => {
    wasCalled = true;
    return Promise.resolve();
  };
  await breaker.run(key, call).catch(() => undefined);
  return wasCalled;
}

/** Lets a call run into the timeout. */
async function timeOut(breaker: ReturnType<typeof create>, key = 'a', ms = 100): Promise<void> {
  const outcome = expect(breaker.run(key, never)).rejects.toThrow(`No answer within ${ms} ms`);
  await advance(ms);
  await outcome;
}

it('returns the answer of the call, and is closed', async () => {
  const breaker = create();
  expect(breaker.isClosed()).toBe(true);
  await expect(breaker.run('a', works)).resolves.toBe('answer');
  expect(breaker.isClosed()).toBe(true);
});

describe('a part that does not answer in time', () => {
  it('is not called until the pause is over', async () => {
    const breaker = create();
    await timeOut(breaker);
    expect(breaker.isClosed()).toBe(false);
    await advance(999);
    await expect(breaker.run('a', works)).rejects.toThrow('No answer lately');
    await advance(1);
    await expect(breaker.run('a', works)).resolves.toBe('answer');
    expect(breaker.isClosed()).toBe(true);
  });

  it('is probed by one call at a time', async () => {
    const breaker = create();
    await timeOut(breaker);
    await advance(1_000);
    const probe = expect(breaker.run('a', never)).rejects.toThrow('No answer within');
    expect(await isCalled(breaker)).toBe(false);
    await advance(100);
    await probe;
    expect(await isCalled(breaker)).toBe(false);
    await advance(999);
    expect(await isCalled(breaker)).toBe(false);
    await advance(1);
    expect(await isCalled(breaker)).toBe(true);
  });

  it('is called again after a probe that never settles', async () => {
    const breaker = create();
    await timeOut(breaker);
    await advance(1_000);
    breaker.run('a', never).catch(() => undefined);
    clock += 1_099;
    expect(await isCalled(breaker)).toBe(false);
    clock += 1;
    expect(await isCalled(breaker)).toBe(true);
  });

  it('is closed by an answer that comes late', async () => {
    const breaker = create();
    const answer = Promise.withResolvers<string>();
    const outcome = expect(breaker.run('a', () => answer.promise)).rejects.toThrow('No answer within');
    await advance(100);
    await outcome;
    answer.resolve('late');
    await advance(0);
    expect(breaker.isClosed()).toBe(true);
    expect(await isCalled(breaker)).toBe(true);
  });

  it('stays paused if its call fails late', async () => {
    const breaker = create({ errorPauseMs: 50 });
    const answer = Promise.withResolvers<string>();
    const outcome = expect(breaker.run('a', () => answer.promise)).rejects.toThrow('No answer within');
    await advance(100);
    await outcome;
    answer.reject(new Error('late'));
    await advance(0);
    await advance(60);
    expect(await isCalled(breaker)).toBe(false);
  });

  it('leaves the other parts alone', async () => {
    parts = new Map([['b', 'other']]);
    const breaker = create();
    await timeOut(breaker, 'a');
    expect(await isCalled(breaker, 'b')).toBe(true);
    expect(breaker.isClosed()).toBe(false);
    expect(await isCalled(breaker, 'a')).toBe(false);
  });

  it('is forgotten once its key belongs to a part that answers', async () => {
    parts = new Map([['b', 'other']]);
    const breaker = create();
    await timeOut(breaker, 'a');
    parts.set('a', 'other');
    expect(await isCalled(breaker, 'b')).toBe(true);
    expect(breaker.isClosed()).toBe(true);
  });
});

describe('the first call to a part', () => {
  it('has its own timeout until the part answers', async () => {
    const breaker = create({ firstTimeoutMs: 500 });
    const slow = Promise.withResolvers<string>();
    const first = breaker.run('a', () => slow.promise);
    await advance(499);
    slow.resolve('answer');
    await expect(first).resolves.toBe('answer');
    await timeOut(breaker, 'a', 100);
  });

  it('has it no longer after an outage of any part', async () => {
    const breaker = create({ firstTimeoutMs: 500 });
    await timeOut(breaker, 'a', 500);
    parts.set('b', 'other');
    await timeOut(breaker, 'b', 100);
  });

  it('never has less time than later ones', async () => {
    await timeOut(create({ firstTimeoutMs: 50 }), 'a', 100);
  });
});

describe('an error', () => {
  it('reaches the caller and opens the breaker, but pauses nothing by default', async () => {
    const breaker = create();
    await expect(breaker.run('a', breaks)).rejects.toThrow('broken');
    expect(breaker.isClosed()).toBe(false);
    const slow = Promise.withResolvers<string>();
    const running = breaker.run('a', () => slow.promise);
    expect(await isCalled(breaker)).toBe(true);
    slow.resolve('answer');
    await expect(running).resolves.toBe('answer');
    expect(breaker.isClosed()).toBe(true);
  });

  it('pauses the part for errorPauseMs', async () => {
    const breaker = create({ errorPauseMs: 1_000 });
    await expect(breaker.run('a', breaks)).rejects.toThrow('broken');
    await advance(999);
    expect(await isCalled(breaker)).toBe(false);
    await advance(1);
    expect(await isCalled(breaker)).toBe(true);
  });

  it('that is thrown synchronously counts as a failed call', async () => {
    const breaker = create();
    const throws = (): Promise<never> => {
      throw new Error('at once');
    };
    await expect(breaker.run('a', throws)).rejects.toThrow('at once');
    expect(breaker.isClosed()).toBe(false);
  });

  it('that is reported by fail opens the breaker and pauses nothing', async () => {
    const breaker = create();
    breaker.fail('a');
    expect(breaker.isClosed()).toBe(false);
    expect(await isCalled(breaker)).toBe(true);
    expect(breaker.isClosed()).toBe(true);
  });
});
