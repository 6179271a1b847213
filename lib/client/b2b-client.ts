import type { B2bSessionBody, RedirectBody } from '../types.ts';
import { createSender } from './send.ts';
import type { CallOptions, ClientOptions, ClientResult } from './send.ts';

/** The paths of the B2B adapter's routes. */
export interface B2bPaths {
  /** Default `/login`. */
  readonly login: string;
  /** Default `/signup`. */
  readonly signup: string;
  /** Default `/logout`. */
  readonly logout: string;
  /** Default `/auth/session`. */
  readonly session: string;
  /** Default `/organization`. */
  readonly organization: string;
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

export interface OrganizationCall extends CallOptions {
  readonly body: {
    /** The WorkOS id of the organization to switch to. */
    readonly organizationId: string;
    /** A root-relative path to go to afterwards. */
    readonly returnTo?: string;
  };
}

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
  const send = createSender(options);
  const paths: B2bPaths = {
    login: '/login',
    signup: '/signup',
    logout: '/logout',
    session: '/auth/session',
    organization: '/organization',
    ...options.paths,
  };
  return {
    login: (call) => send({ ...call, method: 'GET', path: paths.login, proof: 'redirectTo' }),
    signup: (call) => send({ ...call, method: 'GET', path: paths.signup, proof: 'redirectTo' }),
    logout: (call) => send({ ...call, method: 'POST', path: paths.logout, proof: 'redirectTo' }),
    session: (call) => send({ ...call, method: 'GET', path: paths.session, proof: 'user' }),
    organization: (call) => send({ ...call, method: 'POST', path: paths.organization, proof: 'redirectTo' }),
  };
}
