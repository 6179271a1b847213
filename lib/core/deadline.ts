export interface Deadline {
  /** Aborts with a `TimeoutError` when the time is up. */
  readonly signal: AbortSignal;
  /** Milliseconds, never negative. */
  remainingMs(): number;
  /** Releases the timer once the work is done; the signal then never aborts. */
  clear(): void;
}

/**
 * A time budget for everything that one piece of work calls. Its timer does not keep the process alive.
 *
 * @param now milliseconds from any fixed point
 */
export function createDeadline(timeoutMs: number, now: () => number = () => performance.now()): Deadline {
  const endsAt = now() + timeoutMs;
  const controller = new AbortController();
  const timer = setTimeout(() => {
    controller.abort(new DOMException('The time budget is used up', 'TimeoutError'));
  }, timeoutMs).unref();
  return {
    signal: controller.signal,
    remainingMs: () => Math.max(0, endsAt - now()),
    clear: () => clearTimeout(timer),
  };
}

/**
 * Settles like the started work, or rejects with `onTimeout()` at the deadline, even where the work ignores its signal.
 * Whatever the work does after that is swallowed.
 */
export async function withDeadline<Result>(
  start: (signal: AbortSignal) => Promise<Result>,
  timeoutMs: number,
  onTimeout: () => Error,
): Promise<Result> {
  const deadline = createDeadline(timeoutMs);
  const expiry = new Promise<never>((_resolve, reject) => {
    deadline.signal.addEventListener('abort', () => reject(onTimeout()));
  });
  try {
    return await Promise.race([start(deadline.signal), expiry]);
  } finally {
    deadline.clear();
  }
}
