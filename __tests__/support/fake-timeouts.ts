import { jest } from '@jest/globals';

/** Lets jest's fake clock drive `AbortSignal.timeout`, too; `jest.restoreAllMocks()` ends it. */
export function fakeTimeoutSignals(): void {
  jest.spyOn(AbortSignal, 'timeout').mockImplementation((ms) => {
    const controller = new AbortController();
    setTimeout(() => controller.abort(new DOMException('The operation timed out', 'TimeoutError')), ms).unref();
    return controller.signal;
  });
}

/** Fakes all timers for the tests of this `describe`. */
export function useFakeTimeouts(): void {
  beforeEach(() => {
    jest.useFakeTimers();
    fakeTimeoutSignals();
  });
  afterEach(() => {
    jest.useRealTimers();
    jest.restoreAllMocks();
  });
}
