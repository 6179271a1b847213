import type { AuthenticationResponse } from '@workos-inc/node';
import type { IncomingMessage } from 'node:http';
import type { B2bSession } from '../types.ts';
import type { Flow } from './flow-cookie.ts';

export interface B2bSignIn {
  readonly session: B2bSession;
  readonly req: IncomingMessage;
  readonly returnTo: string;
  /** The session's organization, from the verified access token; absent for a personal session. */
  readonly organizationId?: string;
  /** What the sign-in was started for: the option `organizationId`, else `organization_id` of the query. Asked for, not granted. */
  readonly requestedOrganizationId?: string;
  /** As WorkOS names it: `Password`, `SSO`, `GoogleOAuth`, … */
  readonly authenticationMethod?: string;
  /** The social provider's own tokens, where WorkOS is set up to return them. They are in no cookie: keep what you need. */
  readonly oauthTokens?: OAuthTokens;
}

export interface OAuthTokens {
  readonly accessToken: string;
  readonly refreshToken: string;
  /** Seconds since the epoch; 0 for a token that does not expire. */
  readonly expiresAt: number;
  readonly scopes: readonly string[];
}

/** Where to go instead of `returnTo`, sanitised like it; nothing keeps `returnTo`. */
// eslint-disable-next-line @typescript-eslint/no-invalid-void-type -- a hook that returns nothing is the common one
export type SignInHookResult = { readonly redirectTo?: string } | undefined | void;

/**
 * The place to map `organizationId` to a tenant or to create a row. Throwing an `AuthError` refuses the sign-in with that error;
 * anything else thrown goes to Express' error handling. In both cases there is no session.
 */
export type OnB2bSignIn = (signIn: B2bSignIn) => SignInHookResult | Promise<SignInHookResult>;

/** Everything that the hook may want to know of a sign-in. */
export function signInOf(
  signIn: Pick<B2bSignIn, 'session' | 'req' | 'returnTo'>,
  { organizationId: requestedOrganizationId }: Flow,
  { authenticationMethod, oauthTokens }: AuthenticationResponse,
): B2bSignIn {
  const { organizationId } = signIn.session;
  return {
    ...signIn,
    ...(organizationId === undefined ? {} : { organizationId }),
    ...(requestedOrganizationId === undefined ? {} : { requestedOrganizationId }),
    // The wire may say null for either.
    ...(authenticationMethod ? { authenticationMethod } : {}),
    ...(oauthTokens ? { oauthTokens } : {}),
  };
}
