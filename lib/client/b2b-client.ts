import type { B2bSessionBody, RedirectBody } from '../types.ts';
import { createClient, prefixPaths } from './send.ts';
import type { CallOptions, ClientOptions, ClientResult, PostCall } from './send.ts';

const defaultPaths = {
  /** Default `/login`. */
  login: '/login',
  /** Default `/signup`. */
  signup: '/signup',
  /** Default `/logout`. */
  logout: '/logout',
  /** Default `/auth/session`. */
  session: '/auth/session',
  /** Default `/organization`. */
  organization: '/organization',
};

/** The paths of the B2B adapter's routes. */
export interface B2bPaths extends Readonly<typeof defaultPaths> {}

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

export type OrganizationCall = PostCall<{
  /** The WorkOS id of the organization to switch to. */
  readonly organizationId: string;
}>;

/** Methods never reject; check `error`. */
export interface B2bClient {
  /** Starts hosted sign-in: send the browser to `data.redirectTo`. */
  login(call?: HostedSignInCall): Promise<ClientResult<RedirectBody>>;
  /** Starts hosted sign-up: send the browser to `data.redirectTo`. */
  signup(call?: HostedSignInCall): Promise<ClientResult<RedirectBody>>;
  /** Signs out here; sending the browser to `data.redirectTo` signs out at the provider, too. */
  logout(call?: CallOptions): Promise<ClientResult<RedirectBody>>;
  /** Who is signed in; without a session the error with status 401 and code `unauthenticated`. */
  session(call?: CallOptions): Promise<ClientResult<B2bSessionBody>>;
  /**
   * Switches the session to another organization; send the browser to `data.redirectTo`, which leads to the provider where it
   * wants a sign-in for this organization. A refusal is the error with status 403, and the session stays as it is.
   */
  organization(call: OrganizationCall): Promise<ClientResult<RedirectBody>>;
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
  const paths = { ...prefixPaths(options.pathPrefix, defaultPaths), ...options.paths };
  return createClient<B2bClient>(options, {
    login: { path: paths.login, get: 'redirectTo' },
    signup: { path: paths.signup, get: 'redirectTo' },
    logout: { path: paths.logout, post: 'redirectTo' },
    session: { path: paths.session, get: 'user' },
    organization: { path: paths.organization, post: 'redirectTo' },
  });
}
