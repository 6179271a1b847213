// The exports of every server entry of the package, independent of the provider.
export { AuthError, ConfigurationError, messageOf } from './errors.ts';
export type { AuthErrorCode, AuthErrorOptions } from './errors.ts';
export type { SharedCoordinator } from './session/coordinator.ts';
export type { SessionRecord } from './session/ended/record.ts';
export type * from './types.ts';
export type { OnError } from './http/adapter.ts';
export { endSession, renewSession } from './doors/end-session/index.ts';
export type { SessionTarget } from './session/ended/records.ts';
export { forwardAuth } from './doors/forward-auth/index.ts';
export type { ForwardAuthOptions } from './doors/forward-auth/index.ts';
export { currentSession, getSession } from './http/get-session.ts';
export { createNonce, takeNonce } from './doors/store-session/nonce.ts';
export type { Nonce } from './doors/store-session/nonce.ts';
export type { CookieOptions } from './options/shared.ts';
export type { PageKind, PageLinks } from './pages/page.ts';
export type { PagesOptions } from './pages/options.ts';
export type { PageTheme } from './pages/theme.ts';
export type { BuiltInPage, PageField, RenderPage } from './pages/view.ts';
export type { SharedTextKey } from './pages/texts.ts';
export { authInfo, protectResource } from './doors/resource/index.ts';
export type { ProtectResourceOptions } from './doors/resource/options.ts';
export type { AuthInfo } from './doors/resource/token.ts';
export { createTokenVerifier } from './doors/resource/token-verifier.ts';
export type { TokenErrorClass, TokenVerifier, TokenVerifierOptions } from './doors/resource/token-verifier.ts';
export { requireSession } from './http/guard/require-session.ts';
export type {
  RequireAnySessionOptions,
  RequireB2bSessionOptions,
  RequireBackendSessionOptions,
  RequireSessionOptions,
} from './http/guard/require-session.ts';
export { sessionEnded } from './doors/stream/index.ts';
export { requireSameOrigin, storeSession } from './doors/store-session/index.ts';
export type { StoreSessionOptions } from './doors/store-session/index.ts';
export { authenticateUpgrade, refuseUpgrade } from './doors/websocket/index.ts';
export type { AuthenticatedUpgrade, UpgradeOptions } from './doors/websocket/index.ts';
