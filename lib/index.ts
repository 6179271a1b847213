/**
 * Everything, whichever adapter an app mounts.
 *
 * @module express-auth-adapters
 */

export { b2bAuth } from './b2b/index.ts';
export type {
  B2bAuthOptions,
  B2bPathsOptions,
  B2bSignIn,
  B2bSignOut,
  OnB2bSignIn,
  OnB2bSignOut,
  SignInHookResult,
} from './b2b/index.ts';
export { backendAuth, getSupabaseClient, sqlSession, withUser } from './backend/index.ts';
export type {
  BackendAuthOptions,
  BackendCookieOptions,
  BackendPagesOptions,
  BackendPathsOptions,
  BackendSignIn,
  BackendSignOut,
  FieldMessages,
  OAuthProviderOptions,
  OnBackendSignIn,
  OnBackendSignOut,
  PagesTextKey,
  SignUpData,
  SignUpOptions,
  SqlClient,
  SqlPool,
  SqlResult,
  SqlSession,
  SqlSessionOptions,
  SqlStatement,
  SqlTransaction,
  ThrottleOptions,
  ThrottleRedisClient,
  Translation,
} from './backend/index.ts';
export * from './every-entry.ts';
