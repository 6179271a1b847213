/** The time of the adapters and their stand-ins, which an experiment moves ahead. */
export interface DemoClock {
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly advance: (ms: number) => void;
  /** Milliseconds before the computer's own clock. */
  readonly aheadMs: number;
}

export function createDemoClock(): DemoClock {
  let aheadMs = 0;
  return {
    now: () => Date.now() + aheadMs,
    advance: (ms) => void (aheadMs += ms),
    get aheadMs() {
      return aheadMs;
    },
  };
}
