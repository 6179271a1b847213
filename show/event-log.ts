import type { AuthEvent } from 'express-auth-adapters/b2b';

/** One request of a sign-in: names of parameters and cookies, never their values. */
export interface RequestStep {
  readonly method: string;
  readonly path: string;
  readonly status: number;
  /** The redirect target. */
  readonly location: string | undefined;
  readonly cookies: readonly { readonly name: string; readonly isCleared: boolean }[];
}

/** The result of an experiment, in numbers and a sentence. */
export interface Experiment {
  readonly title: string;
  readonly outcome: string;
  readonly figures: readonly { readonly value: string; readonly label: string }[];
}

export type LogEntry = { readonly id: number; readonly at: Date } & (
  | { readonly kind: 'event'; readonly event: AuthEvent }
  | { readonly kind: 'request'; readonly step: RequestStep }
  | { readonly kind: 'experiment'; readonly experiment: Experiment }
);

export interface EventLog {
  /** Newest first. */
  list(): readonly LogEntry[];
  addEvent(event: AuthEvent): void;
  addRequest(step: RequestStep): void;
  addExperiment(experiment: Experiment): void;
  /** Calls the listener after each new entry, until the returned function is called. */
  subscribe(listener: (entry: LogEntry) => void): () => void;
}

/** The last `limit` entries, in memory. */
export function createEventLog(limit = 50, now = Date.now): EventLog {
  const listeners = new Set<(entry: LogEntry) => void>();
  let entries: LogEntry[] = [];
  let lastId = 0;

  function add(entry: LogEntry): void {
    entries = [entry, ...entries].slice(0, limit);
    listeners.forEach((listener) => listener(entry));
  }
  const stamp = () => ({ id: ++lastId, at: new Date(now()) });

  return {
    list: () => entries,
    addEvent: (event) => add({ ...stamp(), kind: 'event', event }),
    addRequest: (step) => add({ ...stamp(), kind: 'request', step }),
    addExperiment: (experiment) => add({ ...stamp(), kind: 'experiment', experiment }),
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
