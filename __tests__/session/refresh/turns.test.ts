import { jest } from '@jest/globals';
import { AuthError } from '../../../lib/errors.ts';
import { createSharedRefresh } from '../../../lib/session/refresh/refresh-shared.ts';
import type { Ended, Renewed } from '../../../lib/session/refresh/answers.ts';
import { createClock } from '../../support/clock.ts';
import { createShared } from '../../support/shared-memory.ts';

const renewed: Renewed = { kind: 'renewed', token: 'b', text: 'of b', steps: 1 };
const attempt = (holder: string, accepts: (answer: Renewed | Ended) => boolean = () => true) => ({ holder, accepts });
const refusedVariant = new AuthError('provider_unavailable', { reason: 'variant_refused' });
const unlimited = (): AbortSignal => new AbortController().signal;

/** A coordinator, and time that passes only while someone waits. */
function setUp() {
  const clock = createClock();
  const shared = createShared(clock.now);
  const waits: number[] = [];
  const turns = createSharedRefresh(shared, async (ms, _value, { signal }) => {
    signal.throwIfAborted();
    waits.push(ms);
    clock.advance(ms);
    await Promise.resolve();
  });
  return { clock, shared, turns, waits };
}

afterEach(() => {
  jest.useRealTimers();
  jest.restoreAllMocks();
});

describe('a process that waits for another one’s turn', () => {
  /** When the coordinator was asked, in milliseconds, while another process keeps its turn for so long. */
  async function timesOfLooks(forMs: number): Promise<readonly number[]> {
    const { clock, shared, turns } = setUp();
    const startedAt = clock.now();
    const take = shared.take.bind(shared);
    const times: number[] = [];
    await shared.take('a', { holder: 'one' });
    shared.take = async (token, turn) => {
      times.push(clock.now() - startedAt);
      if (clock.now() - startedAt < forMs) await take('a', { holder: 'one' });
      else await shared.settle('a', { holder: 'one', answer: JSON.stringify(renewed), weight: 1, ttlMs: 60_000 });
      return take(token, turn);
    };
    expect(await turns.take('a', attempt('two'), unlimited())).toEqual({ answer: renewed, ms: 60_000 });
    return times;
  }

  it('asks at most four times in 200 ms, and nine times in a second', async () => {
    jest.spyOn(Math, 'random').mockReturnValue(0);
    const times = await timesOfLooks(2_000);
    expect([200, 1_000].map((limit) => times.filter((time) => time <= limit).length)).toEqual([4, 9]);
  });

  it('sees an answer that took five seconds at most half a second late, and any one before its outcome is gone', async () => {
    jest.spyOn(Math, 'random').mockReturnValue(0.999);
    const [before = 0, last = 0] = (await timesOfLooks(5_000)).slice(-2);
    expect(last - before).toBeLessThan(500);
    const times = await timesOfLooks(60_000);
    const pauses = times.map((time, index) => time - (times[index - 1] ?? 0));
    expect(Math.max(...pauses)).toBeLessThan(2_000);
  });

  it('asks nothing once its time is over', async () => {
    const { shared, turns } = setUp();
    const take = jest.spyOn(shared, 'take');
    const reason = new Error('over');
    await expect(turns.take('a', attempt('one'), AbortSignal.abort(reason))).rejects.toBe(reason);
    expect(take).not.toHaveBeenCalled();
  });

  it('takes over once the turn has expired', async () => {
    const { shared, turns } = setUp();
    await shared.take('a', { holder: 'one' });
    expect(await turns.take('a', attempt('two'), unlimited())).toEqual({ holder: 'two', turnMs: 2_000 });
  });

  it.each([
    ['a variant was refused', (turns: ReturnType<typeof setUp>['turns']) => turns.fail('a', 'one', refusedVariant)],
    [
      'the answer gives it nothing',
      (turns: ReturnType<typeof setUp>['turns']) =>
        turns.settle('a', { attempt: 'one', answer: { ...renewed, steps: 0 }, ms: undefined }),
    ],
  ])('takes the turn itself where %s', async (_what, end) => {
    const { shared, turns } = setUp();
    await shared.take('a', { holder: 'one' });
    const take = shared.take.bind(shared);
    let looks = 0;
    shared.take = async (...asked) => {
      looks += 1;
      if (looks === 2) await end(turns);
      return take(...asked);
    };
    expect(
      await turns.take(
        'a',
        attempt('two', () => false),
        unlimited(),
      ),
    ).toMatchObject({ holder: 'two' });
    expect(looks).toBe(3);
  });

  it.each([
    [0, 100],
    [undefined as unknown as number, 100],
    [100, 100],
    [2_000, 2_000],
    [1e12, 60_000],
  ])('has a turn of a tenth of a second to a minute, whatever the coordinator says: %p', async (said, turnMs) => {
    const { shared, turns } = setUp();
    shared.take = () => Promise.resolve({ holder: 'one', turnMs: said });
    expect(await turns.take('a', attempt('one'), unlimited())).toEqual({ holder: 'one', turnMs });
  });
});

describe('a turn', () => {
  function hold(signal: AbortSignal = unlimited()) {
    jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask', 'Date', 'performance'] });
    const { clock, shared, turns } = setUp();
    const work = Promise.withResolvers<string>();
    const started = turns.take('a', attempt('one'), signal);
    const held = started.then((turn) => {
      if ('answer' in turn) throw new Error('There is an answer');
      return turns.hold('a', turn, () => work.promise, signal);
    });
    const pass = async (ms: number): Promise<void> => {
      clock.advance(ms);
      await jest.advanceTimersByTimeAsync(ms);
      await new Promise((resolve) => setImmediate(resolve));
    };
    const holder = async () => (await shared.take('a', { holder: 'two' })).holder;
    return { shared, started, held, work, pass, holder };
  }

  it('lasts as long as its work, also where the coordinator fails once', async () => {
    const { shared, started, held, work, pass, holder } = hold();
    await started;
    for (let third = 0; third < 12; third += 1) {
      shared.isDown = third === 5;
      await pass(667);
    }
    expect(await holder()).toBe('one');
    work.resolve('done');
    expect(await held).toBe('done');
    expect(jest.getTimerCount()).toBe(0);
    await pass(2_001);
    expect(await holder()).toBe('two');
  });

  it('is not kept for work that failed', async () => {
    const { started, held, work, pass, holder } = hold();
    await started;
    work.reject(new Error('failed'));
    await expect(held).rejects.toThrow('failed');
    expect(jest.getTimerCount()).toBe(0);
    await pass(2_001);
    expect(await holder()).toBe('two');
  });

  it('is not kept for work that no one waits for any more', async () => {
    const over = new AbortController();
    const { started, held, work, pass, holder } = hold(over.signal);
    await started;
    await pass(667);
    over.abort();
    for (let third = 0; third < 4; third += 1) await pass(667);
    expect([await holder(), jest.getTimerCount()]).toEqual(['two', 0]);
    work.resolve('late');
    expect(await held).toBe('late');
  });
});
