import { isRecord, parseJson, maxAnswerBytes, readText } from '../core/json.ts';
import { AuthError } from '../errors.ts';
import type { Emit } from '../session/events.ts';

/** How the Supabase project is reached. */
export interface BackendConnection {
  readonly url: string;
  readonly anonKey: string;
  readonly fetch: typeof globalThis.fetch;
  /** For all tries of one call, in milliseconds. */
  readonly timeoutMs: number;
  /** Whether the backend is told the visitor's address, in `X-Forwarded-For`. */
  readonly forwardClientAddress: boolean;
  readonly emit: Emit;
}

/** What the backend really answered to the last call, before the SDK made its own of it. */
export type ProviderResponse =
  | { readonly kind: 'none' }
  /** No answer, or one that broke off: whatever was asked may or may not have happened. */
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
 * A `fetch` for one piece of work with the SDK. It keeps within the time budget, reads answers whole, and remembers what was
 * answered, because the SDK drops the code of every 5xx and tells an outage from a refusal by status alone. The SDK's own
 * retries (up to 30 seconds of them for a refresh) end after the first failure, because an answer that it would retry reaches it
 * as one that it would not.
 */
export function createRecordingFetch(fetch: typeof globalThis.fetch, signal: AbortSignal): RecordingFetch {
  let answer: ProviderResponse = { kind: 'none' };
  return {
    async fetch(input, init) {
      try {
        const response = await fetch(input, { ...init, signal, redirect: 'manual' });
        const text = await readText(response, maxAnswerBytes);
        const body = parseJson(text);
        // A captive portal's page comes as a success; the SDK would retry what it cannot parse, and trips over a bare `null`.
        const status = response.ok && !isRecord(body) && !isSignedOut(input, response) ? 502 : response.status;
        answer = { kind: 'answered', status, ...readError(response, isRecord(body) ? body : {}) };
        if (status < 500) return rebuilt(status, text, response.headers);
      } catch (cause) {
        answer = { kind: 'unanswered', cause };
      }
      return rebuilt(400, JSON.stringify({ error_code: 'unavailable', msg: 'The backend is out of reach' }));
    },
    answer: () => answer,
  };
}

/** The one call that GoTrue answers without a body. */
function isSignedOut(input: Parameters<typeof fetch>[0], { status }: Response): boolean {
  const { pathname } = new URL(input instanceof Request ? input.url : input);
  return status === 204 && pathname.endsWith('/logout');
}

function rebuilt(status: number, text: string, headers?: Headers): Response {
  const isEmpty = status === 204 || status === 205 || status === 304;
  const copied = new Headers(headers);
  // The text is decoded already.
  copied.delete('content-encoding');
  copied.delete('content-length');
  return new Response(isEmpty ? null : text, { status, headers: copied });
}

function readError(
  response: Response,
  body: Readonly<Record<string, unknown>>,
): Pick<Extract<ProviderResponse, { kind: 'answered' }>, 'code' | 'message' | 'retryAfter'> {
  const seconds = Number(response.headers.get('retry-after') ?? Number.NaN);
  const retryAfter = Number.isFinite(seconds) && seconds > 0 ? seconds : undefined;
  if (response.ok) return { code: undefined, message: undefined, retryAfter };
  // API version 2024-01-01 says `code`; before it, `code` was the status and the code was `error_code`.
  const code =
    [body['error_code'], body['code']].find((value) => typeof value === 'string') ?? oauthCode(body['error']);
  const message = [body['message'], body['msg']].find((value) => typeof value === 'string');
  return { code, message, retryAfter };
}

/** What GoTrue's OAuth server says of a grant (RFC 6749 §5.2). Other texts in `error` are a gateway's and no codes. */
function oauthCode(error: unknown): string | undefined {
  return error === 'invalid_grant' || error === 'invalid_client' ? error : undefined;
}

/**
 * The connection's `fetch`, with the visitor's address where the project counts by it: every call comes from this server, so
 * that all visitors would share one rate limit.
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

/** Tells the operators of what no visitor can mend: the project refuses this application's key, or is not there. */
export function reportRefusal(error: AuthError, emit: Emit): AuthError {
  if (error.code === 'provider_refused') {
    emit({
      type: 'configuration_warning',
      message: 'backendAuth: the Supabase project refuses the API key or does not know the path; check url and anonKey',
    });
  }
  return error;
}

export function outOfTime(): AuthError {
  return new AuthError('provider_unavailable', { retryAfter: 5 });
}
