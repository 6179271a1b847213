import type { createLocalJWKSet, JWK } from 'jose';
import { isRecord } from '../core/json.ts';
import { readText } from '../core/read-text.ts';

/** A fetched JSON Web Key Set (RFC 7517 §5), reduced to what may verify a signature. */
export interface JwksDocument {
  readonly getKey: ReturnType<typeof createLocalJWKSet>;
  /** True for a project that signs with a shared secret and publishes no key. */
  readonly isEmpty: boolean;
}

/** Far more than any provider publishes, far less than what hurts. */
const MAX_JWKS_BYTES = 256 * 1024;

/**
 * @throws anything but a usable document: no connection, another status than 200 (redirects are not followed), a body that
 * is too long, no JSON, or no key set
 */
export async function fetchJwks(url: URL, fetch: typeof globalThis.fetch, signal: AbortSignal): Promise<JwksDocument> {
  const response = await fetch(url, { signal, redirect: 'manual', headers: { accept: 'application/json' } });
  if (response.status !== 200) {
    await response.body?.cancel();
    throw new Error(`The JWKS endpoint answered ${response.status}`);
  }
  const keys = verificationKeys(JSON.parse(await readText(response, MAX_JWKS_BYTES)));
  // With the first keys: a start does not wait for it.
  const { createLocalJWKSet } = await import('jose/jwks/local');
  return { getKey: createLocalJWKSet({ keys: [...keys] }), isEmpty: keys.length === 0 };
}

/**
 * Members that are not understood are skipped (RFC 7517 §5). Shared secrets are dropped, as a published secret signs for
 * anyone, and so are private keys.
 */
function verificationKeys(document: unknown): readonly JWK[] {
  if (!isRecord(document) || !Array.isArray(document['keys'])) throw new Error('The JWKS endpoint answered no key set');
  return document['keys'].filter(isPublicKey);
}

function isPublicKey(member: unknown): member is JWK {
  return (
    isRecord(member) &&
    typeof member['kty'] === 'string' &&
    member['kty'] !== 'oct' &&
    !(typeof member['alg'] === 'string' && member['alg'].startsWith('HS')) &&
    !['d', 'priv'].some((secret) => secret in member)
  );
}
