import { AsyncLocalStorage } from 'node:async_hooks';
import { WorkOS } from '@workos-inc/node';
import type { AuthenticationResponse } from '@workos-inc/node';
import { withDeadline } from '../core/deadline.ts';
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
}

/** Who signs in, for WorkOS' audit log and risk checks. */
export interface ClientFacts {
  readonly ipAddress?: string;
  readonly userAgent?: string;
}

/** The calls to WorkOS that this adapter makes, each within the time budget and without the SDK's own retries. */
export interface Provider {
  createVerifier(): Promise<{ readonly codeVerifier: string; readonly codeChallenge: string }>;
  authorizationUrl(request: AuthorizationRequest): string;
  exchangeCode(code: string, codeVerifier: string, client: ClientFacts): Promise<AuthenticationResponse>;
  selectOrganization(
    pendingAuthenticationToken: string,
    organizationId: string,
    client: ClientFacts,
  ): Promise<AuthenticationResponse>;
  refresh(
    refreshToken: string,
    organizationId: string | undefined,
    signal: AbortSignal,
  ): Promise<AuthenticationResponse>;
  logoutUrl(sessionId: string, returnTo: string): string;
  readonly jwksUrl: string;
}

type ProviderOptions = Pick<
  B2bOptions,
  'clientId' | 'apiKey' | 'apiHostname' | 'port' | 'https' | 'timeoutMs' | 'fetch'
>;

export function createProvider(options: ProviderOptions): Provider {
  const { clientId, apiKey, apiHostname, port, https, timeoutMs, fetch } = options;
  // The SDK takes no signal per call, but it fetches through a function of ours.
  const deadlines = new AsyncLocalStorage<AbortSignal>();
  const fetchWithin: typeof fetch = (input, init) => {
    const signals = [init?.signal, deadlines.getStore()].filter((signal) => signal instanceof AbortSignal);
    return fetch(input, { ...init, signal: AbortSignal.any(signals) });
  };
  const workos = new WorkOS({
    apiKey,
    clientId,
    apiHostname,
    https,
    ...(port === undefined ? {} : { port }),
    timeout: timeoutMs,
    maxRetries: 0,
    fetchFn: fetchWithin,
  });
  const { userManagement } = workos;

  function withinBudget<Result>(call: () => Promise<Result>): Promise<Result> {
    const outOfTime = (): Error => new Error(`WorkOS did not answer within ${timeoutMs} ms`);
    return withDeadline((signal) => deadlines.run(signal, call), timeoutMs, outOfTime);
  }

  return {
    jwksUrl: userManagement.getJwksUrl(clientId),
    createVerifier: () => workos.pkce.generate(),
    authorizationUrl: (request) =>
      userManagement.getAuthorizationUrl({ ...request, clientId, codeChallengeMethod: 'S256' }),
    exchangeCode: (code, codeVerifier, client) =>
      withinBudget(() => userManagement.authenticateWithCode({ clientId, code, codeVerifier, ...client })),
    selectOrganization: (pendingAuthenticationToken, organizationId, client) =>
      withinBudget(() =>
        userManagement.authenticateWithOrganizationSelection({
          clientId,
          pendingAuthenticationToken,
          organizationId,
          ...client,
        }),
      ),
    refresh: (refreshToken, organizationId, signal) =>
      deadlines.run(signal, () =>
        userManagement.authenticateWithRefreshToken({
          clientId,
          refreshToken,
          ...(organizationId === undefined ? {} : { organizationId }),
        }),
      ),
    logoutUrl: (sessionId, returnTo) => userManagement.getLogoutUrl({ sessionId, returnTo }),
  };
}
