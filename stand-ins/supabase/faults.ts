import type { ServerResponse } from 'node:http';
import { errorReply, GoTrueError } from './errors.ts';
import { json, page } from './http.ts';
import type { Reply } from './http.ts';
import type { Endpoint, Fault, FaultTarget } from './types.ts';

/** Holds requests back until the test releases them. */
export interface Gate {
  /** The number of requests that wait or have passed. */
  readonly arrived: number;
  /** Resolves once `count` requests have arrived. */
  waitFor(count: number): Promise<void>;
  /** Lets all requests through, now and later. */
  open(): void;
}

interface Planned {
  readonly target: FaultTarget;
  readonly fault: Fault;
  times: number;
}

const grants: readonly Endpoint[] = ['password', 'refresh', 'pkce'];
const covers = (target: FaultTarget, endpoint: Endpoint) =>
  target === 'all' || target === endpoint || (target === 'token' && grants.includes(endpoint));

export function createFaults() {
  let planned: Planned[] = [];
  const hanging = new Set<ServerResponse>();
  const gates: { readonly target: FaultTarget; readonly pass: () => Promise<void> }[] = [];

  return {
    /** `times`: the number of calls that fail; all by default. */
    fail(target: FaultTarget, fault: Fault, times = Infinity): void {
      planned.push({ target, fault, times });
    },

    /** A gateway that recovers has lost the hanging connections. */
    heal(): void {
      planned = [];
      for (const res of hanging) res.socket?.destroy();
      hanging.clear();
    },

    hang(res: ServerResponse): void {
      hanging.add(res);
      res.once('close', () => hanging.delete(res));
    },

    next(endpoint: Endpoint): Fault | undefined {
      const hit = planned.find(({ target, times }) => times > 0 && covers(target, endpoint));
      if (hit) hit.times -= 1;
      return hit?.fault;
    },

    gate(target: FaultTarget): Gate {
      let arrived = 0;
      let isOpen = false;
      const waiting = new Set<() => void>();
      const watchers: { count: number; resolve: () => void }[] = [];
      const pass = async () => {
        arrived += 1;
        for (const { count, resolve } of watchers) if (arrived >= count) resolve();
        if (!isOpen) await new Promise<void>((resolve) => waiting.add(resolve));
      };
      gates.push({ target, pass });
      return {
        get arrived() {
          return arrived;
        },
        waitFor: (count) =>
          new Promise((resolve) => {
            if (arrived >= count) resolve();
            else watchers.push({ count, resolve });
          }),
        open() {
          isOpen = true;
          for (const proceed of waiting) proceed();
        },
      };
    },

    async passGates(endpoint: Endpoint): Promise<void> {
      for (const { target, pass } of gates) if (covers(target, endpoint)) await pass();
    },
  };
}

/** Breaks the connection according to the fault; `false` where an ordinary reply must be sent. */
export function breakConnection(fault: Fault | undefined, reply: Reply | undefined, res: ServerResponse): boolean {
  if (fault === 'hang') return true;
  if (fault === 'refuse' || fault === 'lost') {
    res.socket?.destroy();
    return true;
  }
  if (fault !== 'reset') return false;
  const body = reply?.body ?? '{}';
  res.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) + 1 });
  res.write(body.slice(0, body.length / 2), () => res.socket?.destroy());
  return true;
}

/** Replies of gateways and proxies in front of GoTrue, in their own formats. */
export function faultReply(fault: Fault, apiVersion?: string): Reply | undefined {
  if (typeof fault === 'object') return errorReply(new GoTrueError(fault.status, fault.code, 'Refused.'), apiVersion);
  switch (fault) {
    case 'html502':
      return page(502, '<html><head><title>502 Bad Gateway</title></head><body>cloudflare</body></html>');
    case 401:
      return json(401, {
        message: 'Invalid API key',
        hint: 'Double check your Supabase `anon` or `service_role` API key.',
      });
    case 403:
      return json(403, { message: 'Forbidden' });
    case 404:
      return json(404, { message: 'no Route matched with those values' });
    case 408:
      return json(408, { code: 408, error_code: 'request_timeout', msg: 'Request timed out' });
    case 429:
      return json(429, { code: 429, error_code: 'over_request_rate_limit', msg: 'Request rate limit reached' });
    case 500:
      return json(500, { code: 500, error_code: 'unexpected_failure', msg: 'Database error querying schema' });
    case 503:
      return json(503, { message: 'name resolution failed' });
    case 'refuse':
    case 'hang':
    case 'reset':
    case 'lost':
      return undefined;
  }
}
