/**
 * Settles like the started work, or rejects with `onTimeout()` when the time is up, even where the work ignores its signal.
 * What the work does after that is ignored. The timer does not keep the process alive.
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
  // Listens before the work does, so that its own rejection upon the abort comes second.
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

/**
 * Settles like `answer`, or rejects with `onTimeout()` when the time is up. After a stall of the event loop the timer comes before an
 * answer that is waiting in a socket: that is read first.
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
