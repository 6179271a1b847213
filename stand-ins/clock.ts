/** The clock of the adapters and their stand-ins, which an experiment can advance. */
export interface DemoClock {
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly advance: (ms: number) => void;
  /** Milliseconds ahead of the computer's own clock. */
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
