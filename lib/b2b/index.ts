export { b2bAuth } from './adapter.ts';
export type {
  B2bAuthOptions,
  B2bPathsOptions,
  B2bSignIn,
  B2bSignOut,
  OAuthTokens,
  OnB2bSignIn,
  OnB2bSignOut,
  SignInHookResult,
} from './options.ts';
export * from '../every-entry.ts';
