// One by one: the whole of jose takes three times as long to import.
import * as errors from 'jose/errors';
import { decodeJwt } from 'jose/jwt/decode';
import { jwtVerify } from 'jose/jwt/verify';
import type { JWTPayload, JWTVerifyOptions } from 'jose';
import { AuthError } from '../errors.ts';
import type { AccessTokenClaims } from '../types.ts';
import type { KeySet } from './key-set.ts';

export type TokenVerdict =
  | { readonly kind: 'valid'; readonly claims: AccessTokenClaims }
  | { readonly kind: 'expired' }
  /** The issuer publishes no key that the token names. */
  | { readonly kind: 'unverifiable' }
  | { readonly kind: 'invalid'; readonly reason: string };

/** Seconds by which the provider's clock and ours may differ. */
export const clockSkew = 5;

/** What a shared secret could forge (HS256) or nobody signed (`none`) is never accepted. */
const algorithms = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
];

/**
 * Verifies a provider's access token: signature against its published keys, `exp`, `nbf`, `sub` (RFC 7519 §4.1, RFC 8725 §3.1).
 * `expired` is said only of a token whose signature is good.
 *
 * @param now milliseconds since the epoch
 * @throws {AuthError} `provider_unavailable` when only the issuer could tell and it cannot be reached
 */
export async function verifyAccessToken(token: string, keySet: KeySet, now: () => number): Promise<TokenVerdict> {
  const options: JWTVerifyOptions = {
    algorithms,
    clockTolerance: clockSkew,
    currentDate: new Date(now()),
  };
  try {
    const { payload } = await jwtVerify(token, keySet.getKey, options);
    return valid(payload);
  } catch (error) {
    if (error instanceof errors.JWKSMultipleMatchingKeys) return verifyWithEach(token, error, options);
    if (error instanceof errors.JWKSNoMatchingKey) {
      if (!mayBeNewerThanKeys(token, keySet)) return { kind: 'unverifiable' };
      throw new AuthError('provider_unavailable', { cause: error, retryAfter: 5 });
    }
    return verdictOf(error);
  }
}

/** A token without `kid` where several keys fit: one of them may have signed it. */
async function verifyWithEach(
  token: string,
  keys: errors.JWKSMultipleMatchingKeys,
  options: JWTVerifyOptions,
): Promise<TokenVerdict> {
  for await (const key of keys) {
    try {
      const { payload } = await jwtVerify(token, key, options);
      return valid(payload);
    } catch (error) {
      if (!(error instanceof errors.JWSSignatureVerificationFailed)) return verdictOf(error);
    }
  }
  return { kind: 'invalid', reason: 'signature' };
}

/**
 * Right after a rotation a token may name a key that was published since the keys were fetched. It is not invalid; it has to
 * wait until the cool-down lets them be fetched again.
 */
function mayBeNewerThanKeys(token: string, keySet: KeySet): boolean {
  const fetchedAt = keySet.fetchedAt();
  const { iat } = decodeJwt(token);
  return fetchedAt !== undefined && typeof iat === 'number' && (iat + clockSkew) * 1000 >= fetchedAt;
}

function valid(payload: JWTPayload): TokenVerdict {
  const { sub, exp } = payload;
  if (typeof sub !== 'string' || sub === '' || typeof exp !== 'number') return { kind: 'invalid', reason: 'claims' };
  return { kind: 'valid', claims: payload as AccessTokenClaims };
}

function verdictOf(error: unknown): TokenVerdict {
  if (error instanceof errors.JWTExpired) return { kind: 'expired' };
  if (error instanceof errors.JOSEError) return { kind: 'invalid', reason: error.code };
  if (error instanceof AuthError) throw error;
  return { kind: 'invalid', reason: 'malformed' };
}

/** What a token says of itself, without trust: for session ids and lifetimes, never for access. */
export function peekClaims(token: string): Readonly<Record<string, unknown>> {
  try {
    return decodeJwt(token);
  } catch {
    return {};
  }
}

/** How long the issuer makes its tokens live, in milliseconds; for ever where the token does not say. */
export function tokenLifetimeMs(claims: Readonly<Record<string, unknown>>): number {
  const { exp, iat } = claims;
  return typeof exp === 'number' && typeof iat === 'number' ? Math.max(0, (exp - iat) * 1000) : Infinity;
}
