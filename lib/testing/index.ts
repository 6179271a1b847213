/**
 * Signed-in agents for the tests of an application: real session cookies with really signed tokens, verified by the adapters as in
 * production, and a provider that lives in memory. Nothing is listened on, nothing is fetched.
 */
export { createB2bTestKit } from './b2b-kit.ts';
export type { B2bTestKit, B2bTestKitOptions, B2bTestSession } from './b2b-kit.ts';
export type { CookieAgent, StorageState, StoredCookie } from './agent.ts';
export type { ProviderState } from './provider.ts';
export { createBackendTestKit } from './backend-kit.ts';
export type { BackendTestKit, BackendTestKitOptions, BackendTestSession } from './backend-kit.ts';
