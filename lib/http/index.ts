// The exports of every server entry of the package, independent of the provider.
export { AuthError, ConfigurationError, messageOf } from '../errors.ts';
export type { AuthErrorCode, AuthErrorOptions } from '../errors.ts';
export type { SharedCoordinator } from '../session/shared-coordinator.ts';
export type { SessionRecord } from '../session/record.ts';
export type * from '../types.ts';
export type { OnError } from './adapter.ts';
export { endSession, renewSession } from './end-session.ts';
export type { SessionTarget } from '../session/records.ts';
export { forwardAuth } from './forward-auth.ts';
export type { ForwardAuthOptions } from './forward-auth.ts';
export { currentSession, getSession } from './get-session.ts';
export { createNonce, takeNonce } from './nonce.ts';
export type { Nonce } from './nonce.ts';
export type { CookieOptions } from './options.ts';
export type { PageLinks } from './page.ts';
export type { PagesOptions } from './page-options.ts';
export type { BuiltInPage, PageKind, RenderPage } from './page-view.ts';
export type { SharedTextKey } from './page-text.ts';
export { authInfo, protectResource } from './resource.ts';
export type { ProtectResourceOptions } from './resource-options.ts';
export type { AuthInfo } from './resource-token.ts';
export { createTokenVerifier } from './token-verifier.ts';
export type { TokenErrorClass, TokenVerifier, TokenVerifierOptions } from './token-verifier.ts';
export { requireSession } from './require-session.ts';
export type {
  RequireAnySessionOptions,
  RequireB2bSessionOptions,
  RequireBackendSessionOptions,
  RequireSessionOptions,
} from './require-session.ts';
export { sessionEnded } from './session-ended.ts';
export { requireSameOrigin, storeSession } from './store-session.ts';
export type { StoreSessionOptions } from './store-session.ts';
export { authenticateUpgrade, refuseUpgrade } from './upgrade.ts';
export type { AuthenticatedUpgrade, UpgradeOptions } from './upgrade.ts';
