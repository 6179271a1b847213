import { AsyncLocalStorage } from 'node:async_hooks';
import type { WorkOS } from '@workos-inc/node';
import { withDeadline } from '../core/deadline.ts';
import { defined, isRecord, parseJson, maxAnswerBytes, readText } from '../core/json.ts';
import type { ClientFacts } from '../session/source.ts';
import type { B2bOptions } from './options.ts';

export interface AuthorizationRequest {
  readonly redirectUri: string;
  readonly state: string;
  readonly codeChallenge: string;
  readonly provider: string;
  readonly screenHint?: 'sign-in' | 'sign-up';
  readonly loginHint?: string;
  readonly organizationId?: string;
  readonly domainHint?: string;
  readonly invitationToken?: string;
  /** Seconds. */
  readonly maxAge?: number;
  /** OpenID Connect Core §3.1.2.1. */
  readonly prompt?: 'login';
}

export interface RefreshRequest {
  readonly refreshToken: string;
  readonly organizationId?: string | undefined;
}

type Users = WorkOS['userManagement'];

type ProviderOptions = Pick<
  B2bOptions,
  'clientId' | 'apiKey' | 'apiHostname' | 'port' | 'https' | 'timeoutMs' | 'fetch'
>;

export type Provider = ReturnType<typeof createProvider>;

/** The calls to WorkOS that this adapter makes, each within the time budget and without the SDK's own retries. */
export function createProvider(options: ProviderOptions) {
  const { clientId, apiHostname, port, https, timeoutMs, fetch } = options;
  // The SDK accepts no signal per call, but it accepts a fetch function.
  const deadlines = new AsyncLocalStorage<AbortSignal>();
  const fetchWithin: typeof fetch = async (input, init) => {
    const signals = [init?.signal, deadlines.getStore()].filter((signal) => signal instanceof AbortSignal);
    return withUser(await fetch(input, { ...init, signal: AbortSignal.any(signals) }));
  };
  let opening: Promise<WorkOS> | undefined;

  const workos = (): Promise<WorkOS> =>
    (opening ??= openSdk(options, fetchWithin).catch((error: unknown) => {
      // Where no file could be opened, the next call tries again.
      opening = undefined;
      throw error;
    }));

  async function withinBudget<Result>(call: (users: Users) => Promise<Result>): Promise<Result> {
    const { userManagement } = await workos();
    const outOfTime = (): Error => new Error(`WorkOS did not answer within ${timeoutMs} ms`);
    return withDeadline((signal) => deadlines.run(signal, () => call(userManagement)), timeoutMs, outOfTime);
  }

  return {
    // https://workos.com/docs/reference/authkit/session-tokens/jwks
    jwksUrl: `${https ? 'https' : 'http'}://${apiHostname}${port === undefined ? '' : `:${port}`}/sso/jwks/${clientId}`,
    createVerifier: async () => (await workos()).pkce.generate(),
    authorizationUrl: async (request: AuthorizationRequest) =>
      (await workos()).userManagement.getAuthorizationUrl({ ...request, clientId, codeChallengeMethod: 'S256' }),
    exchangeCode: (code: string, codeVerifier: string, client: ClientFacts) =>
      withinBudget((users) => users.authenticateWithCode({ clientId, code, codeVerifier, ...client })),
    selectOrganization: (pendingAuthenticationToken: string, organizationId: string, client: ClientFacts) =>
      withinBudget((users) =>
        users.authenticateWithOrganizationSelection({
          clientId,
          pendingAuthenticationToken,
          organizationId,
          ...client,
        }),
      ),
    /** Uses the deadline of the refresh, which may be longer than that of a request. */
    async refresh({ refreshToken, organizationId }: RefreshRequest, client: ClientFacts, signal: AbortSignal) {
      const { userManagement } = await workos();
      const request = { clientId, refreshToken, ...defined({ organizationId }), ...client };
      return deadlines.run(signal, () => userManagement.authenticateWithRefreshToken(request));
    },
    /** Ends a session without a browser. */
    revokeSession: (sessionId: string) => withinBudget((users) => users.revokeSession({ sessionId })),
    logoutUrl: async (sessionId: string, returnTo: string) =>
      (await workos()).userManagement.getLogoutUrl({ sessionId, returnTo }),
  };
}

/** Loads the SDK on the first sign-in, refresh or sign-out, so that it does not delay the application's start. */
async function openSdk(options: ProviderOptions, fetchFn: typeof globalThis.fetch): Promise<WorkOS> {
  const { apiKey, clientId, apiHostname, port, https } = options;
  const sdk = await import('@workos-inc/node');
  return new sdk.WorkOS({
    apiKey,
    clientId,
    apiHostname,
    https,
    ...defined({ port }),
    // No SDK `timeout`: a refresh may outlast the request that waits for it, and every call has its own signal.
    maxRetries: 0,
    fetchFn,
  });
}

/** The response for the SDK, limited in size. Tokens without a user get an empty one; otherwise the SDK would throw and lose them. */
async function withUser(response: Response): Promise<Response> {
  const text = await readText(response, maxAnswerBytes);
  const answer = response.ok ? parseJson(text) : undefined;
  const isUserless = isRecord(answer) && 'access_token' in answer && !isRecord(answer['user']);
  const body = isUserless ? JSON.stringify({ ...answer, user: {} }) : text;
  const headers = new Headers(response.headers);
  // The text is already decoded.
  headers.delete('content-encoding');
  headers.delete('content-length');
  return new Response(body === '' ? null : body, { status: response.status, headers });
}
