export { b2bAuth } from './b2b/index.ts';
export type { B2bAuthOptions, B2bSignIn, OnB2bSignIn, SignInHookResult } from './b2b/index.ts';
export { backendAuth, getSupabaseClient, sqlSession, withUser } from './backend/index.ts';
export type {
  BackendAuthOptions,
  BackendCookieOptions,
  BackendPagesOptions,
  BackendSignIn,
  OAuthProviderOptions,
  OnBackendSignIn,
  PagesTextKey,
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
export * from './http/index.ts';
