import type { IncomingMessage } from 'node:http';
export interface Attempt {
  run<R>(work: () => Promise<R>): Promise<R>;
  failed(): Promise<void>;
  succeeded(): Promise<void>;
}
export interface Attempts {
  begin(req: IncomingMessage, email: string): Promise<Attempt>;
}
export function createAttempts(_parts: unknown): Attempts {
  return {
    begin: () =>
      Promise.resolve({ run: (work) => work(), failed: () => Promise.resolve(), succeeded: () => Promise.resolve() }),
  };
}
