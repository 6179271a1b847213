/**
 * Signed-in agents for an application's tests: real session cookies with signed tokens, which the adapters
 * verify as in production, and an in-memory provider. It opens no port and uses no network.
 */
export { createB2bTestKit } from './b2b-kit.ts';
export type { B2bTestKit, B2bTestKitOptions, B2bTestSession, B2bTestTokens } from './b2b-kit.ts';
export type { CookieAgent, StorageState, StoredCookie, TestBearerOptions, TestSignInOptions } from './agent.ts';
export type { ProviderState } from './provider.ts';
export { createBackendTestKit } from './backend-kit.ts';
export type { BackendTestKit, BackendTestKitOptions, BackendTestSession, TestApp } from './backend-kit.ts';
