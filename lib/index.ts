export { b2bAuth } from './b2b/index.ts';
export type { B2bAuthOptions, B2bSignIn, OnB2bSignIn, SignInHookResult } from './b2b/index.ts';
export { backendAuth, getSupabaseClient } from './backend/index.ts';
export type {
  BackendAuthOptions,
  BackendPagesOptions,
  BackendSignIn,
  OAuthProviderOptions,
  OnBackendSignIn,
  ThrottleOptions,
  ThrottleRedisClient,
} from './backend/index.ts';
export { currentSession, getSession } from './http/get-session.ts';
export { endSession, renewSession } from './http/end-session.ts';
export type { SessionTarget } from './http/end-session.ts';
export { authenticateUpgrade, refuseUpgrade } from './http/upgrade.ts';
export type { AuthenticatedUpgrade, UpgradeOptions } from './http/upgrade.ts';
export { requireSession } from './http/require-session.ts';
export { AuthError, ConfigurationError } from './errors.ts';
export type { AuthErrorCode, AuthErrorOptions } from './errors.ts';
export type {
  RequireAnySessionOptions,
  RequireB2bSessionOptions,
  RequireBackendSessionOptions,
  RequireSessionOptions,
} from './http/require-session.ts';
export type { OnError } from './http/adapter.ts';
export type { CookieOptions } from './http/options.ts';
export type { SessionCutoffs, SharedCoordinator } from './session/shared-coordinator.ts';
export type * from './types.ts';
