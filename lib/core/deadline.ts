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
  return new TimeBudget(timeoutMs, now, onTimeout);
}

/** A class, as an object literal with a getter costs a microsecond. */
class TimeBudget implements Deadline {
  readonly #endsAt: number;
  readonly #now: () => number;
  readonly #timer: NodeJS.Timeout;
  /** Made on demand: most work is done before it is asked for, and it costs more than the timer. */
  #controller: AbortController | undefined;
  #isOver = false;

  constructor(timeoutMs: number, now: () => number, onTimeout: (() => void) | undefined) {
    this.#endsAt = now() + timeoutMs;
    this.#now = now;
    this.#timer = setTimeout(() => {
      this.#isOver = true;
      onTimeout?.();
      this.#abort();
    }, timeoutMs).unref();
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#isOver) this.#abort();
    }
    return this.#controller.signal;
  }

  remainingMs(): number {
    return Math.max(0, this.#endsAt - this.#now());
  }

  clear(): void {
    clearTimeout(this.#timer);
  }

  #abort(): void {
    this.#controller?.abort(new DOMException('The time budget is used up', 'TimeoutError'));
  }
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
export function raceDeadline<Result>(
  start: (deadline: Deadline) => Promise<Result>,
  timeoutMs: number,
  onTimeout: () => Error,
): Promise<Result> {
  return new Promise((resolve, reject) => {
    const deadline = createDeadline(timeoutMs, undefined, () => reject(onTimeout()));
    const settle =
      <Value>(how: (value: Value) => void): ((value: Value) => void) =>
      (value) => {
        deadline.clear();
        how(value);
      };
    const started = async (): Promise<Result> => start(deadline);
    started().then(settle(resolve), settle(reject));
  });
}
