/**
 * Settles like the started work, or rejects with `onTimeout()` at the deadline, even where the work
 * ignores its signal. Later results are ignored. The timer does not keep the process alive.
 *
 * @param timeoutMs milliseconds
 */
export async function withDeadline<Result>(
  start: (signal: AbortSignal) => Promise<Result>,
  timeoutMs: number,
  onTimeout: () => Error,
): Promise<Result> {
  const signal = AbortSignal.timeout(timeoutMs);
  let giveUp = (): void => undefined;
  // Registered before the work's own listener, so that its rejection on the abort comes second.
  const timeout = new Promise<never>((_resolve, reject) => {
    giveUp = () => reject(onTimeout());
    signal.addEventListener('abort', giveUp);
  });
  try {
    return await Promise.race([timeout, start(signal)]);
  } finally {
    signal.removeEventListener('abort', giveUp);
  }
}

/** Settles like `work`, or rejects with `onAbort()` once the signal aborts. Later results are ignored. */
export async function untilAborted<Result>(
  work: Promise<Result>,
  signal: AbortSignal,
  onAbort: () => Error,
): Promise<Result> {
  let giveUp = (): void => undefined;
  const aborted = new Promise<never>((_resolve, reject) => {
    giveUp = () => reject(onAbort());
    if (signal.aborted) giveUp();
    else signal.addEventListener('abort', giveUp);
  });
  try {
    return await Promise.race([aborted, work]);
  } finally {
    signal.removeEventListener('abort', giveUp);
  }
}

/** The time that the waits of one request have together; what the application does between them does not count. */
export class WaitingTime {
  #leftMs: number;

  /** @param totalMs milliseconds */
  constructor(totalMs: number) {
    this.#leftMs = totalMs;
  }

  /** Counts a wait that has its own limit. */
  async count<Result>(wait: Promise<Result>): Promise<Result> {
    const startedAt = performance.now();
    try {
      return await wait;
    } finally {
      this.#leftMs -= performance.now() - startedAt;
    }
  }

  /** Waits as long as time is left, and rejects with `onTimeout()` then. */
  limit<Result>(start: () => Promise<Result>, onTimeout: () => Error): Promise<Result> {
    return this.count(withDeadline(start, Math.max(0, Math.floor(this.#leftMs)), onTimeout));
  }
}

/**
 * Settles like `answer`, or rejects with `onTimeout()` at the deadline. After a stall of the event
 * loop the timer fires before a waiting socket is read, so the rejection waits for one more read.
 *
 * @param timeoutMs milliseconds
 */
export function answerWithin<Answer>(
  answer: Promise<Answer>,
  timeoutMs: number,
  onTimeout: () => Error,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const giveUp = (): void => reject(onTimeout());
    const timer = setTimeout(() => void (immediate = setImmediate(giveUp)), timeoutMs);
    let immediate: NodeJS.Immediate | undefined;
    const settled = (): void => {
      clearTimeout(timer);
      clearImmediate(immediate);
    };
    answer.finally(settled).then(resolve, reject);
  });
}
