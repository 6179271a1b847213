import type { WorkOS } from '@workos-inc/node';
import { withDeadline } from '../tools/deadline.ts';
import { createRest, retryAfterOf } from '../tools/rest.ts';
import { defined, isRecord, parseJson, maxAnswerBytes, readText } from '../tools/json.ts';
import { noteAnswer, warnOfSilence } from '../session/events.ts';
import type { ClientFacts } from '../session/source.ts';
import type { B2bOptions } from './options.ts';
import { classifyFailure } from './provider-errors.ts';
import { refusals } from './refusals.ts';

export interface AuthorizationRequest {
  readonly redirectUri: string;
  readonly state: string;
  readonly codeChallenge: string;
  /** Either this or `connectionId`. */
  readonly provider?: string;
  readonly connectionId?: string;
  readonly screenHint?: 'sign-in' | 'sign-up';
  readonly loginHint?: string;
  readonly organizationId?: string;
  readonly domainHint?: string;
  readonly invitationToken?: string;
  /** Seconds. */
  readonly maxAge?: number;
  /** OpenID Connect Core §3.1.2.1. */
  readonly prompt?: string;
}

export interface RefreshRequest {
  readonly refreshToken: string;
  readonly organizationId?: string | undefined;
}

type UserManagement = WorkOS['userManagement'];

/** An interface, because the class has a name only within the SDK, which declarations cannot write. */
export interface Users extends UserManagement {}

type Fetch = typeof globalThis.fetch;

type ProviderOptions = Pick<
  B2bOptions,
  'clientId' | 'apiKey' | 'apiUrl' | 'timeoutMs' | 'fetch' | 'authorizationParams' | 'now'
>;

export type Provider = ReturnType<typeof createProvider>;

/** The calls to WorkOS that this adapter makes, each within the time budget and without the SDK's own retries. */
export function createProvider(options: ProviderOptions) {
  const { clientId, apiUrl, timeoutMs, now } = options;

  async function withinBudget<Result>(work: (users: Users) => Promise<Result>): Promise<Result> {
    // Before the clock starts: loading the SDK does not count against the deadline.
    const sdk = await loadSdk(options);
    const outOfTime = (): Error => new Error(`WorkOS did not answer within ${timeoutMs} ms`);
    return withDeadline((signal) => sdk.call(signal, work), timeoutMs, outOfTime);
  }

  /**
   * Uses the deadline of the refresh, which may be longer than that of a request. Not before the `Retry-After` of an earlier
   * answer to a call of its kind.
   */
  function createRefresh() {
    const rest = createRest(now);
    return async ({ refreshToken, organizationId }: RefreshRequest, client: ClientFacts, signal: AbortSignal) => {
      const sdk = await loadSdk(options);
      const request = { clientId, refreshToken, ...defined({ organizationId }), ...client };
      rest.refuse();
      try {
        return await sdk.call(signal, (users) => users.authenticateWithRefreshToken(request));
      } catch (error) {
        const failure = classifyFailure(error);
        if (failure.kind === 'unavailable' && failure.retryAfter !== undefined) rest.begin(failure);
        throw error;
      }
    };
  }

  return {
    // https://workos.com/docs/reference/authkit/session-tokens/jwks
    jwksUrl: `${apiUrl}/sso/jwks/${clientId}`,
    createVerifier: async () => (await loadSdk(options)).offline().pkce.generate(),
    async authorizationUrl(request: AuthorizationRequest): Promise<string> {
      const { userManagement } = (await loadSdk(options)).offline();
      const url = userManagement.getAuthorizationUrl({ ...request, clientId, codeChallengeMethod: 'S256' });
      return withParameters(url, options.authorizationParams);
    },
    exchangeCode: (code: string, codeVerifier: string, client: ClientFacts) =>
      withinBudget((users) => users.authenticateWithCode({ clientId, code, codeVerifier, ...client })),
    /** A room's own call. */
    call: withinBudget,
    refresh: createRefresh(),
    /** Refreshes of a room's own kind: a limit on them delays no refresh of another session. */
    createRefresh,
    /** Ends a session without a browser. */
    revokeSession: (sessionId: string) => withinBudget((users) => users.revokeSession({ sessionId })),
    logoutUrl: async (sessionId: string, returnTo: string) =>
      (await loadSdk(options)).offline().userManagement.getLogoutUrl({ sessionId, returnTo }),
  };
}

/** @param further the option `authorizationParams` */
function withParameters(authorizationUrl: string, further: B2bOptions['authorizationParams']): string {
  const url = new URL(authorizationUrl);
  const { searchParams: query } = url;
  // WorkOS takes one way to choose a connection. A link may still name a provider of its own.
  if ('connection_id' in further && query.get('provider') === 'authkit') {
    query.delete('provider');
    query.delete('screen_hint');
  }
  for (const [name, values] of Object.entries(further)) {
    // This sign-in already names another connection, which WorkOS requires.
    if (query.has(name)) continue;
    for (const value of [values].flat()) query.append(name, value);
  }
  return url.href;
}

/** The `fetch` of one call, and the seconds of its answer's `Retry-After`. */
function createCallFetch(
  fetch: Fetch,
  signal: AbortSignal,
): { readonly fetch: Fetch; readonly retryAfter: () => number | undefined } {
  let response: Response | undefined;
  return {
    async fetch(input, init) {
      try {
        const signals = [signal, init?.signal ?? []].flat();
        response = await fetch(input, { ...init, signal: AbortSignal.any(signals), redirect: 'manual' });
        const read = await readable(response);
        noteAnswer('b2b');
        return read;
      } catch (error) {
        warnOfSilence('b2b', input instanceof Request ? input.url : String(input), error);
        throw error;
      }
    },
    retryAfter: () => response && retryAfterOf(response.headers),
  };
}

/**
 * Loads the SDK on the first sign-in, refresh or sign-out, so that it does not delay the application's start. Each call has a client
 * of its own, because the SDK takes a `fetch` for a client, and no signal for a call.
 */
async function loadSdk(options: ProviderOptions) {
  const sdk = await import('@workos-inc/node');
  const { apiKey, clientId, apiUrl, fetch } = options;
  const { protocol, hostname, port } = new URL(apiUrl);
  const open = (fetchFn: Fetch): WorkOS =>
    new sdk.WorkOS({
      apiKey,
      clientId,
      apiHostname: hostname,
      https: protocol === 'https:',
      ...(port === '' ? {} : { port: Number(port) }),
      // No SDK `timeout`: a refresh may outlast the request that waits for it, and every call has its own signal.
      maxRetries: 0,
      fetchFn,
    });
  return {
    /** A client for what needs no call. */
    offline: () => open(fetch),
    /** @throws {Error} what the SDK throws, with the seconds of the answer's `Retry-After` */
    async call<Result>(signal: AbortSignal, work: (users: Users) => Promise<Result>): Promise<Result> {
      const own = createCallFetch(fetch, signal);
      try {
        return await work(open(own.fetch).userManagement);
      } catch (error) {
        // The SDK keeps it only of a 429, and no date.
        if (isRecord(error)) Object.assign(error, { retryAfter: own.retryAfter() });
        throw error;
      }
    },
  };
}

/**
 * The response for the SDK, limited in size. The SDK drops the code of a 401 and the message of a 422: such a refusal gets
 * another status. Tokens without a user get an empty one; otherwise the SDK would throw and lose them.
 */
async function readable(response: Response): Promise<Response> {
  const text = await readText(response, maxAnswerBytes);
  const parsed = response.ok || response.status === 401 || response.status === 422 ? parseJson(text) : undefined;
  const answer = response.ok ? parsed : undefined;
  const isUnreadable = !response.ok && isRecord(parsed) && (response.status === 422 || isRefusal(parsed));
  const status = isUnreadable ? 400 : response.status;
  const isUserless = isRecord(answer) && 'access_token' in answer && !isRecord(answer['user']);
  const body = isUserless ? JSON.stringify({ ...answer, user: {} }) : text;
  const headers = new Headers(response.headers);
  // The text is already decoded.
  headers.delete('content-encoding');
  headers.delete('content-length');
  return new Response(body === '' ? null : body, { status, headers });
}

function isRefusal({ error, code }: Readonly<Record<string, unknown>>): boolean {
  return [error, code].some((name) => typeof name === 'string' && refusals.has(name));
}
