import { randomUUID } from 'node:crypto';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import type { JSONWebKeySet, JWTPayload } from 'jose';

/** A key pair like the provider's own: what it signs is verified exactly as in production. */
export interface SigningKey {
  sign(claims: JWTPayload): Promise<string>;
  /** The public half, as the provider publishes it (RFC 7517 §5). */
  jwks(): Promise<JSONWebKeySet>;
}

/** Generated on first need, and never written anywhere. */
export function createSigningKey(alg: 'RS256' | 'ES256'): SigningKey {
  const kid = randomUUID();
  let pair: ReturnType<typeof generateKeyPair> | undefined;
  const keys = (): ReturnType<typeof generateKeyPair> => (pair ??= generateKeyPair(alg));
  return {
    async sign(claims) {
      const { privateKey } = await keys();
      return new SignJWT(claims).setProtectedHeader({ alg, kid, typ: 'JWT' }).sign(privateKey);
    },
    async jwks() {
      const { publicKey } = await keys();
      return { keys: [{ ...(await exportJWK(publicKey)), alg, kid, use: 'sig' }] };
    },
  };
}
