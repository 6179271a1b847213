export { b2bAuth } from './b2b/index.ts';
export type { B2bAuthOptions, B2bSignIn, OnB2bSignIn } from './b2b/index.ts';
export { backendAuth, getSupabaseClient } from './backend/index.ts';
export type {
  BackendAuthOptions,
  BackendPagesOptions,
  BackendSignIn,
  OAuthProviderOptions,
  OnBackendSignIn,
} from './backend/index.ts';
export { currentSession, getSession } from './http/context.ts';
export { requireSession } from './http/require-session.ts';
export { AuthError, ConfigurationError } from './errors.ts';
export type { AuthErrorCode, AuthErrorOptions } from './errors.ts';
export type { RequireSessionOptions } from './http/require-session.ts';
export type { SharedCoordinator } from './session/refresh-coordinator.ts';
export type * from './types.ts';
