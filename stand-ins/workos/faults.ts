import { setTimeout as delay } from 'node:timers/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { json } from './replies.ts';
import type { Reply } from './replies.ts';

export type Endpoint =
  'authorize' | 'token' | 'jwks' | 'logout' | 'revoke' | 'sessions' | 'identities' | 'memberships' | 'api';

/**
 * How an endpoint fails:
 * - `refuse` closes the connection without a word, `hang` never answers, `reset` breaks off in the middle of an answer;
 * - `lost` does the work, a rotation included, and closes the connection instead of answering;
 * - `html502` is a proxy's error page; `{ status }` is any status with WorkOS' JSON, 429 with or without `Retry-After`, 401
 *   as for a refused API key.
 */
export type Fault =
  'refuse' | 'hang' | 'reset' | 'lost' | 'html502' | { readonly status: number; readonly retryAfterSeconds?: number };

/** A permanent fault, or one for the next `calls` calls only. */
export type Outage = Fault | { readonly fault: Fault; readonly calls: number };

/** An error that WorkOS returns instead of a session. https://workos.com/docs/reference/authkit/authentication-errors */
export type AuthenticateError =
  | 'email_verification_required'
  | 'mfa_enrollment'
  | 'mfa_challenge'
  | 'sso_required'
  | 'organization_authentication_methods_required'
  | { readonly status: number; readonly body: unknown };

/** Change any of these at any time; the next request sees it. */
export interface Switches {
  /** How long new access tokens live, in seconds. */
  accessTokenTtlSeconds: number;
  /** On: an exchanged refresh token returns the same pair again for 30 seconds. Off: strictly single-use. */
  replayGrace: boolean;
  /** On: a refresh answers with the refresh token that it was asked with, as WorkOS may. A switch of organization gets a new one. */
  repeatsRefreshTokens: boolean;
  /** On: the hosted page asks for the organization. Off: the exchange returns `organization_selection_required`. */
  hostedOrganizationChoice: boolean;
  /** Returned instead of a session, for every otherwise valid grant. */
  authenticateError: AuthenticateError | null;
  /** Further claims of every new access token. */
  extraClaims: Record<string, unknown>;
  /** Further fields of every response with tokens, or replacements of its own. */
  extraAnswer: Record<string, unknown>;
  /** The faults by endpoint; `all` applies to unnamed ones. */
  outage: Partial<Record<Endpoint | 'all', Outage>>;
  /** Awaited before a request is handled: holds a request back without sleeping. */
  gate: Partial<Record<Endpoint, () => Promise<unknown>>>;
  /** A pause before every answer, in milliseconds, to watch a slow provider in the browser. */
  delayMs: number;
}

export function defaultSwitches(): Switches {
  return {
    accessTokenTtlSeconds: 300,
    replayGrace: false,
    repeatsRefreshTokens: false,
    hostedOrganizationChoice: false,
    authenticateError: null,
    extraClaims: {},
    extraAnswer: {},
    outage: {},
    gate: {},
    delayMs: 0,
  };
}

/** The fault of this call; a limited one is counted down. */
export function takeFault({ outage }: Switches, endpoint: Endpoint): Fault | null {
  const name = outage[endpoint] === undefined ? 'all' : endpoint;
  const configured = outage[name];
  if (configured === undefined) return null;
  if (typeof configured !== 'object' || !('fault' in configured)) return configured;
  if (configured.calls > 1) outage[name] = { ...configured, calls: configured.calls - 1 };
  else Reflect.deleteProperty(outage, name);
  return configured.calls > 0 ? configured.fault : null;
}

export async function holdBack({ gate, delayMs }: Switches, endpoint: Endpoint): Promise<void> {
  await gate[endpoint]?.();
  if (delayMs > 0) await delay(delayMs);
}

/** Fails as configured; null where the broken connection is the response. */
export async function failWith(
  fault: Fault,
  work: () => Promise<Reply>,
  req: IncomingMessage,
  res: ServerResponse,
): Promise<Reply | null> {
  if (typeof fault === 'object') return statusReply(fault);
  switch (fault) {
    case 'hang':
      return null;
    case 'html502':
      return {
        status: 502,
        headers: { 'content-type': 'text/html' },
        body: '<html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1></body></html>',
      };
    case 'reset':
      res.writeHead(200, { 'content-type': 'application/json', 'content-length': 2048 });
      res.write('{"user":{"object":"us', () => req.socket.destroy());
      return null;
    case 'lost':
      await work();
      req.socket.destroy();
      return null;
    case 'refuse':
      req.socket.destroy();
      return null;
  }
}

function statusReply({ status, retryAfterSeconds }: Extract<Fault, object>): Reply {
  const messages: Readonly<Record<number, string>> = { 401: 'Unauthorized', 429: 'Rate limit exceeded.' };
  const reply = json(status, { message: messages[status] ?? 'Something went wrong.' });
  if (retryAfterSeconds === undefined) return reply;
  return { ...reply, headers: { ...reply.headers, 'retry-after': String(retryAfterSeconds) } };
}
