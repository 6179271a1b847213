import { jest } from '@jest/globals';
import { createAskShared, createOutageReport } from '../../lib/session/outages.ts';
import { boundCoordinator } from '../../lib/session/coordinator.ts';
import type { SharedCoordinator } from '../../lib/session/coordinator.ts';
import { createShared } from '../support/shared-memory.ts';

/** As an application may write one: its methods need `this`. */
class Coordinator implements SharedCoordinator {
  readonly #inner = createShared();
  isComplete = true;
  isAvailable?(): boolean;
  read: SharedCoordinator['read'] = (...call) => this.#inner.read(...call);
  merge: SharedCoordinator['merge'] = (...call) => this.#inner.merge(...call);
  take: SharedCoordinator['take'] = (...call) => this.#inner.take(...call);
  settle: SharedCoordinator['settle'] = (...call) => this.#inner.settle(...call);
}

class TellingCoordinator extends Coordinator {
  override isAvailable(): boolean {
    return this.isComplete;
  }
}

describe('a coordinator with a time limit', () => {
  it('says whether it is available where the coordinator says so, and only then', () => {
    const shared = new TellingCoordinator();
    const bound = boundCoordinator(shared, 1_000);
    expect(bound.isAvailable?.()).toBe(true);
    shared.isComplete = false;
    expect(bound.isAvailable?.()).toBe(false);
    expect(boundCoordinator(new Coordinator(), 1_000)).not.toHaveProperty('isAvailable');
  });

  it('answers what the coordinator answers, and rejects where that throws', async () => {
    const shared = new Coordinator();
    const bound = boundCoordinator(shared, 1_000);
    await bound.merge('user', { ended: 5 }, 1_000);
    expect(await bound.read('user')).toEqual({ ended: 5 });
    expect(await bound.take('token', { holder: 'one' })).toMatchObject({ holder: 'one' });
    await bound.settle('token', { answer: 'first', weight: 1, ttlMs: 1_000 });
    expect(await bound.settle('token', { holder: 'one', answer: 'second', weight: 1, ttlMs: 1_000 })).toBe('first');
    const bug = new TypeError('a bug');
    shared.read = () => {
      throw bug;
    };
    await expect(bound.read('user')).rejects.toBe(bug);
  });
});

describe('a call of the coordinator that has no answer', () => {
  beforeEach(() => jest.useFakeTimers({ doNotFake: ['setImmediate', 'clearImmediate'] }));
  afterEach(() => jest.useRealTimers());

  const never = () => new Promise<never>(() => undefined);
  const calls: [string, (bound: SharedCoordinator) => Promise<unknown>][] = [
    ['read', (bound) => bound.read('user')],
    ['merge', (bound) => bound.merge('user', { ended: 5 }, 1_000)],
    ['take', (bound) => bound.take('token', { holder: 'one' })],
    ['settle', (bound) => bound.settle('token', { ttlMs: 0 })],
  ];

  it.each(calls)('fails after a third of the time of a request where it is the first: %s', async (name, call) => {
    const shared = Object.assign(new Coordinator(), { [name]: never });
    const failed = expect(call(boundCoordinator(shared, 3_702))).rejects.toThrow('1234 ms');
    await jest.advanceTimersByTimeAsync(1_234);
    await failed;
  });

  it.each(calls)('fails after a fifth of it later: %s', async (name, call) => {
    const shared = new Coordinator();
    const bound = boundCoordinator(shared, 6_170);
    await bound.read('user');
    await jest.advanceTimersByTimeAsync(2_057);
    Object.assign(shared, { [name]: never });
    const failed = expect(call(bound)).rejects.toThrow('1234 ms');
    await jest.advanceTimersByTimeAsync(1_234);
    await failed;
  });

  it('is waited for once: the next calls fail at once for a second, and then one of them tries', async () => {
    let isBack = false;
    const asked: string[] = [];
    const inner = new Coordinator();
    const read: SharedCoordinator['read'] = (subject) => {
      asked.push(subject);
      return isBack ? inner.read(subject) : never();
    };
    const bound = boundCoordinator(Object.assign(new Coordinator(), { read }), 6_000);
    const first = expect(bound.read('first')).rejects.toThrow('2000 ms');
    await jest.advanceTimersByTimeAsync(2_000);
    await first;
    for (const [, call] of calls) await expect(call(bound)).rejects.toThrow('No answer lately');
    await jest.advanceTimersByTimeAsync(999);
    await expect(bound.read('during')).rejects.toThrow('No answer lately');
    await jest.advanceTimersByTimeAsync(1);
    isBack = true;
    expect(await bound.read('after')).toBeUndefined();
    expect(await bound.take('token', { holder: 'one' })).toMatchObject({ holder: 'one' });
    expect(asked).toEqual(['first', 'after']);
  });
});

describe('what is asked of the coordinator', () => {
  function setUp(isComplete = true) {
    const events: unknown[] = [];
    const shared = Object.assign(new TellingCoordinator(), { isComplete });
    const outages = createOutageReport(shared, (event) => events.push(event));
    return { events, shared, outages, ask: createAskShared(outages) };
  }

  it('is its answer, or nothing where it fails', async () => {
    const { ask } = setUp();
    expect(await ask(Promise.resolve('answer'))).toBe('answer');
    expect(await ask(Promise.reject<string>(new Error('down')))).toBeUndefined();
  });

  it('tells of an outage once, and of its end once all parts are back', async () => {
    const { events, shared, outages, ask } = setUp(false);
    await ask(Promise.resolve('answer'));
    expect(events).toEqual([]);
    await ask(Promise.reject(new Error('down')));
    outages.failed('refresh');
    await ask(Promise.resolve('answer'));
    expect(events.splice(0)).toEqual([{ type: 'coordinator_unavailable', operation: 'record', reason: 'unavailable' }]);
    shared.isComplete = true;
    await ask(Promise.resolve('answer'));
    await ask(Promise.resolve('answer'));
    expect(events).toEqual([{ type: 'coordinator_recovered' }]);
  });
});
