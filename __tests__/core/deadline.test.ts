import { jest } from '@jest/globals';
import { createDeadline, withDeadline } from '../../lib/core/deadline.ts';

const never = () => new Promise<never>(() => undefined);
const late = () => new Error('late');

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

describe('createDeadline', () => {
  it('counts down to zero and not below, then aborts its signal', () => {
    const deadline = createDeadline(1000);
    expect(deadline.remainingMs()).toBe(1000);
    jest.advanceTimersByTime(999);
    expect(deadline.remainingMs()).toBe(1);
    expect(deadline.signal.aborted).toBe(false);
    jest.advanceTimersByTime(2);
    expect(deadline.remainingMs()).toBe(0);
    expect(deadline.signal.aborted).toBe(true);
    expect(deadline.signal.reason).toMatchObject({ name: 'TimeoutError' });
  });

  it('has one signal, which is aborted already when it is first read too late', () => {
    const early = createDeadline(1000);
    const late = createDeadline(1000);
    const signal = early.signal;
    jest.advanceTimersByTime(1000);
    expect(early.signal).toBe(signal);
    expect([signal.aborted, late.signal.aborted]).toEqual([true, true]);
    expect(late.signal.reason).toMatchObject({ name: 'TimeoutError' });
  });

  it('measures by the clock it is given', () => {
    let now = 50;
    const deadline = createDeadline(1000, () => now);
    now = 450;
    expect(deadline.remainingMs()).toBe(600);
    deadline.clear();
  });

  it('never aborts once cleared and leaves no timer behind', () => {
    const deadline = createDeadline(1000);
    deadline.clear();
    expect(jest.getTimerCount()).toBe(0);
    jest.advanceTimersByTime(5000);
    expect(deadline.signal.aborted).toBe(false);
  });

  it('does not keep the process alive', () => {
    jest.useRealTimers();
    const active = () => process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length;
    const before = active();
    const deadline = createDeadline(60_000);
    expect(active()).toBe(before);
    deadline.clear();
  });
});

describe('withDeadline', () => {
  it('settles like the work and leaves no timer behind', async () => {
    await expect(withDeadline(async () => 'done', 1000, late)).resolves.toBe('done');
    await expect(withDeadline(() => Promise.reject(new Error('work')), 1000, late)).rejects.toThrow('work');
    const throwing = (): Promise<never> => {
      throw new Error('at once');
    };
    await expect(withDeadline(throwing, 1000, late)).rejects.toThrow('at once');
    expect(jest.getTimerCount()).toBe(0);
  });

  it('rejects at the deadline although the work ignores its signal', async () => {
    const outcome = expect(withDeadline(never, 1000, late)).rejects.toThrow('late');
    await jest.advanceTimersByTimeAsync(1000);
    await outcome;
    expect(jest.getTimerCount()).toBe(0);
  });

  it('rejects with its own error although the work rejects upon the abort', async () => {
    const obedient = (signal: AbortSignal) =>
      new Promise<never>((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(new Error('aborted')));
      });
    const outcome = expect(withDeadline(obedient, 1000, late)).rejects.toThrow('late');
    await jest.advanceTimersByTimeAsync(1000);
    await outcome;
  });

  it('swallows what the work rejects with afterwards', async () => {
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
