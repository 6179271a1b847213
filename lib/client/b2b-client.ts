import type { B2bSessionBody, RedirectBody } from '../types.ts';
import { organizationsRoutes } from '../b2b/organizations/client.ts';
import type { OrganizationsCalls, OrganizationsPaths } from '../b2b/organizations/client.ts';
import { createClient } from './send.ts';
import type { CallOptions, ClientOptions, ClientResult, TabCalls } from './send.ts';

export type { OrganizationCall } from '../b2b/organizations/client.ts';

/** The paths of the WorkOS adapter's routes. */
export interface B2bPaths extends OrganizationsPaths {
  /** Default `/login`. */
  readonly login: string;
  /** Default `/signup`. */
  readonly signup: string;
  /** Default `/logout`. */
  readonly logout: string;
  /** Default `/auth/session`. */
  readonly session: string;
}

/** The parameters of hosted sign-in; all except `returnTo` are passed to the provider. */
export interface HostedSignInQuery {
  /** A root-relative path to come back to. */
  readonly returnTo?: string;
  readonly login_hint?: string;
  readonly organization_id?: string;
  readonly domain_hint?: string;
  readonly provider?: string;
  readonly invitation_token?: string;
  readonly screen_hint?: 'sign-in' | 'sign-up';
}

export interface HostedSignInCall extends CallOptions {
  readonly query?: HostedSignInQuery;
}

/** Methods never reject; check `error`. */
export interface B2bClient extends OrganizationsCalls, TabCalls<B2bSessionBody> {
  /** Starts hosted sign-in: send the browser to `data.redirectTo`. */
  login(call?: HostedSignInCall): Promise<ClientResult<RedirectBody>>;
  /** Starts hosted sign-up: send the browser to `data.redirectTo`. */
  signup(call?: HostedSignInCall): Promise<ClientResult<RedirectBody>>;
  /** Signs out here; sending the browser to `data.redirectTo` signs out at the provider, too. */
  logout(call?: CallOptions): Promise<ClientResult<RedirectBody>>;
  /** Who is signed in; without a session the error with status 401 and code `unauthenticated`. */
  session(call?: CallOptions): Promise<ClientResult<B2bSessionBody>>;
}

/**
 * A typed client for the routes of `b2bAuth`, for browsers.
 *
 * @example
 * const auth = createB2bClient();
 * const { data, error } = await auth.login({ query: { returnTo: '/dashboard' } });
 * if (data) location.assign(data.redirectTo);
 */
export function createB2bClient(options: ClientOptions<B2bPaths> = {}): B2bClient {
  return createClient<B2bClient, B2bPaths>(options, {
    login: { path: '/login', get: 'redirectTo' },
    signup: { path: '/signup', get: 'redirectTo' },
    logout: { path: '/logout', post: 'redirectTo' },
    session: { path: '/auth/session', get: 'user' },
    ...organizationsRoutes,
  });
}
