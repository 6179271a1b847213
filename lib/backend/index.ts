export { backendAuth } from './adapter.ts';
export { sqlSession, withUser } from '../doors/sql/index.ts';
export type { SqlSession, SqlSessionOptions } from '../doors/sql/index.ts';
export type { SqlClient, SqlPool, SqlResult, SqlStatement, SqlTransaction } from '../doors/sql/pool.ts';
export { getSupabaseClient } from './supabase-client/index.ts';
export type {
  BackendAuthOptions,
  BackendCookieOptions,
  BackendPagesOptions,
  BackendPathsOptions,
  BackendSignIn,
  BackendSignOut,
  OnBackendSignIn,
  OnBackendSignOut,
} from './option-schema.ts';
export type { OAuthProviderOptions } from './oauth/options.ts';
export type { FieldMessages, SignUpData, SignUpOptions } from './sign-up/options.ts';
export type { ThrottleOptions, ThrottleRedisClient } from './throttle/options.ts';
export type { PagesTextKey, Translation } from './pages/text.ts';
export * from '../every-entry.ts';
