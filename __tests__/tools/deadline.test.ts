import { jest } from '@jest/globals';
import { answerWithin, untilAborted, WaitingTime, withDeadline } from '../../lib/tools/deadline.ts';
import { useFakeTimeouts } from '../support/fake-timeouts.ts';

const never = () => new Promise<never>(() => undefined);
const late = () => new Error('late');

useFakeTimeouts();

describe('withDeadline', () => {
  it('settles as the work does', async () => {
    await expect(withDeadline(async () => 'done', 1000, late)).resolves.toBe('done');
    await expect(withDeadline(() => Promise.reject(new Error('work')), 1000, late)).rejects.toThrow('work');
    const throwing = (): Promise<never> => {
      throw new Error('at once');
    };
    await expect(withDeadline(throwing, 1000, late)).rejects.toThrow('at once');
  });

  it('rejects at the deadline if the work ignores its signal', async () => {
    const outcome = expect(withDeadline(never, 1000, late)).rejects.toThrow('late');
    await jest.advanceTimersByTimeAsync(1000);
    await outcome;
  });

  it('does not keep the process alive, and leaves no listener behind', async () => {
    jest.useRealTimers();
    jest.restoreAllMocks();
    const active = () => process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length;
    const before = active();
    const removals: unknown[] = [];
    let finish: (value: string) => void = () => undefined;
    const outcome = withDeadline(
      (signal) => {
        jest.spyOn(signal, 'removeEventListener').mockImplementation((type) => void removals.push(type));
        return new Promise<string>((resolve) => (finish = resolve));
      },
      60_000,
      late,
    );
    expect(active()).toBe(before);
    finish('done');
    await outcome;
    expect(removals).toEqual(['abort']);
  });

  it('rejects with its own error if the work rejects after the abort', async () => {
    const obedient = (signal: AbortSignal) =>
      new Promise<never>((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(new Error('aborted')));
      });
    const outcome = expect(withDeadline(obedient, 1000, late)).rejects.toThrow('late');
    await jest.advanceTimersByTimeAsync(1000);
    await outcome;
  });

  it('ignores a later rejection of the work', async () => {
    const unhandled = jest.fn();
    process.on('unhandledRejection', unhandled);
    let fail: (error: Error) => void = () => undefined;
    const work = () => new Promise<never>((_resolve, reject) => (fail = reject));
    const outcome = expect(withDeadline(work, 1000, late)).rejects.toThrow('late');
    await jest.advanceTimersByTimeAsync(1000);
    await outcome;
    fail(new Error('too late'));
    jest.useRealTimers();
    await new Promise((resolve) => setImmediate(resolve));
    process.off('unhandledRejection', unhandled);
    expect(unhandled).not.toHaveBeenCalled();
  });
});

describe('answerWithin', () => {
  beforeEach(() => {
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'clearImmediate'] });
  });

  it('settles as the answer does, and leaves no timer behind', async () => {
    await expect(answerWithin(Promise.resolve('done'), 1000, late)).resolves.toBe('done');
    await expect(answerWithin(Promise.reject(new Error('work')), 1000, late)).rejects.toThrow('work');
    expect(jest.getTimerCount()).toBe(0);
  });

  it('rejects one read of the sockets after the deadline', async () => {
    const outcome = expect(answerWithin(never(), 1000, late)).rejects.toThrow('late');
    await jest.advanceTimersByTimeAsync(1000);
    await outcome;
    expect(jest.getTimerCount()).toBe(0);
  });

  it('takes an answer that arrives between the timer and that read', async () => {
    const answer = Promise.withResolvers<string>();
    const outcome = answerWithin(answer.promise, 1000, late);
    setTimeout(() => answer.resolve('just in time'), 1000);
    jest.advanceTimersByTime(1000);
    await expect(outcome).resolves.toBe('just in time');
    expect(jest.getTimerCount()).toBe(0);
  });
});

describe('the waiting time of a request', () => {
  const wait = (ms: number) => new Promise<string>((resolve) => setTimeout(() => resolve('done'), ms));

  it('ends a wait when all of them together have taken it, and does not count what lies between them', async () => {
    const waits = new WaitingTime(1_000);
    const first = waits.count(wait(600));
    await jest.advanceTimersByTimeAsync(600);
    expect(await first).toBe('done');
    await jest.advanceTimersByTimeAsync(5_000);
    const second = waits.limit(() => wait(300), late);
    await jest.advanceTimersByTimeAsync(300);
    expect(await second).toBe('done');
    const settled = jest.fn();
    const third = waits.limit(() => wait(300), late).catch(settled);
    await jest.advanceTimersByTimeAsync(99);
    expect(settled).not.toHaveBeenCalled();
    await jest.advanceTimersByTimeAsync(1);
    await third;
    expect(settled).toHaveBeenCalledWith(late());
  });

  it('counts a wait that failed, and leaves an answer at hand even when it is over', async () => {
    const waits = new WaitingTime(1_000);
    const failed = expect(waits.count(wait(1_000).then(() => Promise.reject(new Error('failed'))))).rejects.toThrow();
    await jest.advanceTimersByTimeAsync(1_000);
    await failed;
    expect(await waits.limit(() => Promise.resolve('known'), late)).toBe('known');
    const over = expect(waits.limit(never, late)).rejects.toThrow('late');
    await jest.advanceTimersByTimeAsync(0);
    await over;
  });
});

describe('untilAborted', () => {
  it('settles as the work does, and leaves no listener on the signal', async () => {
    const { signal } = new AbortController();
    const added = jest.spyOn(signal, 'addEventListener');
    const removed = jest.spyOn(signal, 'removeEventListener');
    await expect(untilAborted(Promise.resolve('done'), signal, late)).resolves.toBe('done');
    await expect(untilAborted(Promise.reject(new Error('work')), signal, late)).rejects.toThrow('work');
    expect(added.mock.calls).toHaveLength(2);
    expect(removed.mock.calls.map(([type, listener]) => [type, listener])).toEqual(
      added.mock.calls.map(([type, listener]) => [type, listener]),
    );
  });

  it('rejects once the signal aborts, and at once where it already did', async () => {
    const controller = new AbortController();
    const waiting = expect(untilAborted(never(), controller.signal, late)).rejects.toThrow('late');
    controller.abort();
    await waiting;
    await expect(untilAborted(never(), controller.signal, late)).rejects.toThrow('late');
    await expect(untilAborted(Promise.resolve('done'), controller.signal, late)).rejects.toThrow('late');
  });
});
