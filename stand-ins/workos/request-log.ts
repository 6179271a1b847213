import type { RequestBody } from './authenticate.ts';
import type { Endpoint } from './faults.ts';

/** A request as it arrived, before any fault. */
export interface LoggedRequest {
  readonly endpoint: Endpoint;
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly body: RequestBody;
  /** Of a token request. */
  readonly grantType: string | undefined;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

/** Enough for any test, and bounded for a process that runs for days. */
const maxEntries = 1000;

export function createRequestLog() {
  const requests: LoggedRequest[] = [];
  const counts = new Map<Endpoint, number>();
  let waiting: { readonly endpoint: Endpoint; readonly count: number; readonly resolve: () => void }[] = [];
  const callsTo = (endpoint: Endpoint) => counts.get(endpoint) ?? 0;

  return {
    requests,
    callsTo,

    add(request: LoggedRequest): void {
      requests.push(request);
      if (requests.length > maxEntries) requests.shift();
      counts.set(request.endpoint, callsTo(request.endpoint) + 1);
      waiting = waiting.filter(({ endpoint, count, resolve }) => {
        if (callsTo(endpoint) < count) return true;
        resolve();
        return false;
      });
    },

    clear(): void {
      requests.length = 0;
      counts.clear();
    },

    /** Resolves once `count` calls to the endpoint have come in since the log was last cleared. */
    arrived(endpoint: Endpoint, count: number): Promise<void> {
      if (callsTo(endpoint) >= count) return Promise.resolve();
      return new Promise((resolve) => {
        waiting.push({ endpoint, count, resolve });
      });
    },
  };
}

export type RequestLog = ReturnType<typeof createRequestLog>;
