import type { BackendSessionBody, RedirectBody } from '../types.ts';
import { accountRoutes } from '../backend/account/client.ts';
import type { AccountCalls, AccountPaths } from '../backend/account/client.ts';
import type { ConfirmPaths } from '../backend/confirm/client.ts';
import { consentRoutes } from '../backend/consent/client.ts';
import type { ConsentCalls, ConsentPaths } from '../backend/consent/client.ts';
import { emailCodeRoutes } from '../backend/email-code/client.ts';
import type { EmailCodeCalls, EmailCodePaths } from '../backend/email-code/client.ts';
import { factorsRoutes } from '../backend/factors/client.ts';
import type { FactorsCalls, FactorsPaths } from '../backend/factors/client.ts';
import { oauthRoutes } from '../backend/oauth/client.ts';
import type { OAuthCalls } from '../backend/oauth/client.ts';
import { passkeysRoutes } from '../backend/passkeys/client.ts';
import type { PasskeysCalls, PasskeysPaths } from '../backend/passkeys/client.ts';
import { passwordRoutes } from '../backend/password/client.ts';
import type { PasswordCalls } from '../backend/password/client.ts';
import { resetRoutes } from '../backend/reset/client.ts';
import type { ResetCalls, ResetPaths } from '../backend/reset/client.ts';
import { signUpRoutes } from '../backend/sign-up/client.ts';
import type { SignUpCalls, SignUpPaths } from '../backend/sign-up/client.ts';
import { ssoRoutes } from '../backend/sso/client.ts';
import type { SsoCalls, SsoPaths } from '../backend/sso/client.ts';
import { createClient } from './send.ts';
import type { CallOptions, ClientOptions, ClientResult, PostCall, ReturnTo, TabCalls } from './send.ts';

export type { AccountBody, AccountCall, ChangeEmailCall } from '../backend/account/client.ts';
export type { ConsentCall, ConsentQueryCall, DisconnectCall } from '../backend/consent/client.ts';
export type { EnterCodeCall, SendCodeCall } from '../backend/email-code/client.ts';
export type {
  CodeSentBody,
  EnrollCall,
  EnrollKeyCall,
  EnrollmentBody,
  FactorsBody,
  KeyChallengeBody,
  StartKeyCall,
  VerifyCall,
} from '../backend/factors/client.ts';
export type { OAuthCall } from '../backend/oauth/client.ts';
export type {
  PasskeyCall,
  PasskeysBody,
  PasskeysCall,
  StartPasskeyCall,
  StartPasskeysCall,
} from '../backend/passkeys/client.ts';
export type { ForgotCall, NewPasswordCall } from '../backend/reset/client.ts';
export type { ResendCall, SignUpCall } from '../backend/sign-up/client.ts';
export type { SsoCall } from '../backend/sso/client.ts';
export type { PasswordCall } from './send.ts';

export type BackendLogoutCall = Partial<PostCall<ReturnTo>>;

/** The paths of the Supabase adapter's routes. */
export interface BackendPaths
  extends
    AccountPaths,
    ConfirmPaths,
    ConsentPaths,
    EmailCodePaths,
    FactorsPaths,
    PasskeysPaths,
    ResetPaths,
    SignUpPaths,
    SsoPaths {
  /** Default `/auth/login`. */
  readonly login: string;
  /** Default `/auth/logout`. */
  readonly logout: string;
  /** Default `/auth/session`. */
  readonly session: string;
}

/** Methods never reject; check `error`. */
export interface BackendClient
  extends
    AccountCalls,
    ConsentCalls,
    EmailCodeCalls,
    FactorsCalls,
    OAuthCalls,
    PasskeysCalls,
    PasswordCalls,
    ResetCalls,
    SignUpCalls,
    SsoCalls,
    TabCalls<BackendSessionBody> {
  /** Signs out; then send the browser to `data.redirectTo`. */
  logout(call?: BackendLogoutCall): Promise<ClientResult<RedirectBody>>;
  /** Who is signed in; without a session the error with status 401 and code `unauthenticated`. */
  session(call?: CallOptions): Promise<ClientResult<BackendSessionBody>>;
}

/**
 * A typed client for the routes of `backendAuth`, for browsers.
 *
 * @example
 * const auth = createBackendClient();
 * const { data, error } = await auth.login({ body: { email, password, returnTo: '/account' } });
 * if (error) show(error.message);
 * else location.assign(data.redirectTo);
 */
export function createBackendClient(options: ClientOptions<BackendPaths> = {}): BackendClient {
  return createClient<BackendClient, BackendPaths>(options, {
    ...passwordRoutes,
    ...signUpRoutes,
    ...oauthRoutes,
    logout: { path: '/auth/logout', post: 'redirectTo' },
    session: { path: '/auth/session', get: 'user' },
    ...resetRoutes,
    ...factorsRoutes,
    ...emailCodeRoutes,
    ...ssoRoutes,
    ...passkeysRoutes,
    ...consentRoutes,
    ...accountRoutes,
  });
}
