import { isRecord, parseJson, maxAnswerBytes, readText } from '../../tools/json.ts';
import { retryAfterOf } from '../../tools/rest.ts';
import { AuthError } from '../../errors.ts';
import { noteAnswer, warnOfSilence } from '../../session/events.ts';
import type { Emit } from '../../session/events.ts';

/** How the Supabase project is reached. */
export interface BackendConnection {
  readonly url: string;
  readonly anonKey: string;
  readonly fetch: typeof globalThis.fetch;
  /** For all attempts of one call, in milliseconds. */
  readonly timeoutMs: number;
  /** Whether the backend receives the visitor's address in `X-Forwarded-For`. */
  readonly forwardClientAddress: boolean;
  readonly emit: Emit;
}

/** The backend's actual response to the last call, before the SDK interprets it. */
export type ProviderResponse =
  | { readonly kind: 'none' }
  /** No response, or an incomplete one: the requested operation may or may not have happened. */
  | { readonly kind: 'unanswered'; readonly cause: unknown }
  | {
      readonly kind: 'answered';
      readonly status: number;
      /** GoTrue's error code, where the answer is GoTrue's. */
      readonly code: string | undefined;
      readonly message: string | undefined;
      /** Seconds, from `Retry-After`. */
      readonly retryAfter: number | undefined;
    };

export interface RecordingFetch {
  readonly fetch: typeof globalThis.fetch;
  /** The answer to the last call. */
  readonly answer: () => ProviderResponse;
}

/**
 * A `fetch` for one unit of work with the SDK. It applies the deadline, reads responses completely
 * and records them, because the SDK drops the code of every 5xx and tells an outage from a refusal
 * by status alone. The SDK would retry a refresh for up to 30 seconds; it receives a status that it
 * does not retry.
 */
export function createRecordingFetch(fetch: typeof globalThis.fetch, signal: AbortSignal): RecordingFetch {
  let answer: ProviderResponse = { kind: 'none' };
  return {
    async fetch(input, init) {
      try {
        const response = await fetch(input, { ...init, signal, redirect: 'manual' });
        const text = await readText(response, maxAnswerBytes);
        noteAnswer('backend');
        const body = parseJson(text);
        // A captive portal's page has a success status. The SDK would retry what it cannot parse, and fails on a bare `null`.
        const isGoTrues = isRecord(body) || hasOtherForm(input, response, body);
        const status = response.ok && !isGoTrues ? 502 : response.status;
        answer = { kind: 'answered', status, ...readError(response, isRecord(body) ? body : {}) };
        if (status < 500) return rebuilt(status, text, response.headers);
      } catch (cause) {
        answer = { kind: 'unanswered', cause };
        warnOfSilence('backend', input instanceof Request ? input.url : String(input), cause);
      }
      return rebuilt(400, JSON.stringify({ error_code: 'unavailable', msg: 'The backend is out of reach' }));
    },
    answer: () => answer,
  };
}

/** The calls that GoTrue answers without an object: a sign-out, and the list and the removal of passkeys and grants. */
function hasOtherForm(input: Parameters<typeof fetch>[0], { status }: Response, body: unknown): boolean {
  const { pathname } = new URL(input instanceof Request ? input.url : input);
  if (Array.isArray(body)) return /\/(?:passkeys|user\/oauth\/grants)$/.test(pathname);
  return status === 204 && /\/(?:logout|passkeys\/[^/]+|user\/oauth\/grants)$/.test(pathname);
}

function rebuilt(status: number, text: string, headers?: Headers): Response {
  const isEmpty = status === 204 || status === 304;
  const copied = new Headers(headers);
  // The text is already decoded.
  copied.delete('content-encoding');
  copied.delete('content-length');
  return new Response(isEmpty ? null : text, { status, headers: copied });
}

function readError(
  response: Response,
  body: Readonly<Record<string, unknown>>,
): Pick<Extract<ProviderResponse, { kind: 'answered' }>, 'code' | 'message' | 'retryAfter'> {
  const retryAfter = retryAfterOf(response.headers);
  if (response.ok) return { code: undefined, message: undefined, retryAfter };
  // API version 2024-01-01 sends `code`; older versions send the status as `code` and the code as `error_code`.
  const code =
    [body['error_code'], body['code']].find((value) => typeof value === 'string') ?? oauthCode(body['error']);
  const message = [body['message'], body['msg']].find((value) => typeof value === 'string');
  return { code, message, retryAfter };
}

/** Error codes of GoTrue's OAuth server (RFC 6749 §5.2). Other texts in `error` come from a gateway and are not codes. */
function oauthCode(error: unknown): string | undefined {
  return error === 'invalid_grant' || error === 'invalid_client' ? error : undefined;
}

/**
 * The connection's `fetch`, with the visitor's address for projects that rate-limit by it. Every
 * call comes from this server, so all visitors would share one rate limit.
 */
export function forwarding(
  { fetch, forwardClientAddress }: Pick<BackendConnection, 'fetch' | 'forwardClientAddress'>,
  address: string | undefined,
): typeof globalThis.fetch {
  if (!forwardClientAddress || address === undefined) return fetch;
  return (input, init) => {
    const headers = new Headers(init?.headers ?? (input instanceof Request ? input.headers : undefined));
    headers.set('x-forwarded-for', address);
    return fetch(input, { ...init, headers });
  };
}

/** Warns operators that the project refuses this application's key or does not exist. */
export function reportRefusal(error: AuthError, emit: Emit): AuthError {
  if (error.code === 'provider_refused') {
    emit({
      type: 'configuration_warning',
      message: 'backendAuth: the Supabase project refuses the API key or does not know the path; check url and anonKey',
    });
  }
  return error;
}

/** Node's codes for a connection that was never made. */
const unreached: ReadonlySet<unknown> = new Set([
  'EAI_AGAIN',
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'UND_ERR_CONNECT_TIMEOUT',
]);

/** Whether a call that failed with this was never sent, so that the backend has done nothing. */
export function isUnreached(failure: unknown): boolean {
  const cause = isRecord(failure) ? failure['cause'] : undefined;
  return isRecord(cause) && unreached.has(cause['code']);
}

export function outOfTime(): AuthError {
  return new AuthError('provider_unavailable', { reason: 'timeout', retryAfter: 5 });
}
