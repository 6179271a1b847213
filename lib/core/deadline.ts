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
 * @param onTimeout called when the time is up, before the signal aborts
 */
export function createDeadline(
  timeoutMs: number,
  now: () => number = () => performance.now(),
  onTimeout?: () => void,
): Deadline {
  const endsAt = now() + timeoutMs;
  /** Made on demand: most work is done before anybody asks for it, and it costs more than the timer. */
  let controller: AbortController | undefined;
  let isOver = false;
  const abort = (): void => controller?.abort(new DOMException('The time budget is used up', 'TimeoutError'));
  const timer = setTimeout(() => {
    isOver = true;
    onTimeout?.();
    abort();
  }, timeoutMs).unref();
  return {
    get signal() {
      if (controller === undefined) {
        controller = new AbortController();
        if (isOver) abort();
      }
      return controller.signal;
    },
    remainingMs: () => Math.max(0, endsAt - now()),
    clear: () => clearTimeout(timer),
  };
}

/**
 * Settles like the started work, or rejects with `onTimeout()` at the deadline, even where the work ignores its signal.
 * Whatever the work does after that is swallowed.
 */
export function withDeadline<Result>(
  start: (signal: AbortSignal) => Promise<Result>,
  timeoutMs: number,
  onTimeout: () => Error,
): Promise<Result> {
  return raceDeadline(({ signal }) => start(signal), timeoutMs, onTimeout);
}

/** The same for work that seldom needs the signal. */
export async function raceDeadline<Result>(
  start: (deadline: Deadline) => Promise<Result>,
  timeoutMs: number,
  onTimeout: () => Error,
): Promise<Result> {
  let expire = (): void => undefined;
  const expiry = new Promise<never>((_resolve, reject) => {
    expire = () => reject(onTimeout());
  });
  const deadline = createDeadline(timeoutMs, undefined, () => expire());
  try {
    return await Promise.race([start(deadline), expiry]);
  } finally {
    deadline.clear();
  }
}
