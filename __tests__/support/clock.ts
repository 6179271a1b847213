/** A clock that only the test moves. */
export interface Clock {
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  advance(ms: number): void;
}

export function createClock(start = Date.now()): Clock {
  let at = start;
  return {
    now: () => at,
    advance(ms) {
      at += ms;
    },
  };
}
