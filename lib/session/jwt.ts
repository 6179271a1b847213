import { constants, KeyObject, verify } from 'node:crypto';
import type { webcrypto } from 'node:crypto';
import type { CryptoKey, errors, JWTVerifyOptions } from 'jose';
import { isRecord, parseEncodedJson } from '../tools/json.ts';
import { AuthError } from '../errors.ts';
import type { AccessTokenClaims } from '../types.ts';
import { joseCode } from './keys.ts';
import type { SigningKeys } from './keys.ts';

/** A decoded JWT (RFC 7519) whose signature has **not** been checked. */
export interface Token {
  readonly text: string;
  /** Empty where it cannot be parsed; the same for the claims. */
  readonly header: Readonly<Record<string, unknown>>;
  readonly claims: Readonly<Record<string, unknown>>;
  /** Whether it has the compact serialization (RFC 7515 §7.1), with parseable header and claims. */
  readonly isCompact: boolean;
}

const compactForm = /^[\w-]+\.[\w-]+\.[\w-]+$/;
const nothing: Readonly<Record<string, unknown>> = Object.freeze({});

/** Parses a token without verifying it: for session ids and lifetimes, never for access. */
export function readToken(text: string): Token {
  const [encodedHeader, encodedClaims] = text.split('.', 2);
  const header = parseObject(encodedHeader);
  const claims = parseObject(encodedClaims);
  const isCompact = header !== undefined && claims !== undefined && compactForm.test(text);
  return { text, header: header ?? nothing, claims: claims ?? nothing, isCompact };
}

const sessionIdForm = /^[\x21-\x7e]{1,100}$/;

/** The session id in a claim; `undefined` where its form is invalid, which also prevents forged log lines. */
export function readSessionId(claim: unknown): string | undefined {
  return typeof claim === 'string' && sessionIdForm.test(claim) ? claim : undefined;
}

function parseObject(encoded = ''): Readonly<Record<string, unknown>> | undefined {
  const value = parseEncodedJson(encoded);
  return isRecord(value) ? value : undefined;
}

export type TokenVerdict =
  | { readonly kind: 'valid'; readonly claims: AccessTokenClaims }
  | { readonly kind: 'expired' }
  /** The issuer publishes no key that matches the token. */
  | { readonly kind: 'unverifiable' }
  | { readonly kind: 'invalid'; readonly reason: string };

/** Seconds by which the provider's clock and ours may differ. */
export const clockSkew = 5;

/** Shared secrets (HS256) and unsigned tokens (`none`) are never accepted, because they can be forged. */
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
 * `expired` is returned only for a token with a valid signature.
 *
 * @param now milliseconds since the epoch
 * @throws {AuthError} `provider_unavailable` where only the issuer can decide and it cannot be reached
 */
export async function verifyAccessToken(token: Token, keySet: SigningKeys, now: () => number): Promise<TokenVerdict> {
  try {
    if (await hasKnownSignature(token, keySet.getKey)) return judgeClaims(token.claims, now());
    return await verifyWith(token.text, keySet.getKey, now());
  } catch (error) {
    const code = joseCode(error);
    if (code === 'ERR_JWKS_MULTIPLE_MATCHING_KEYS') {
      return verifyWithEach(token.text, error as AsyncIterable<CryptoKey>, now());
    }
    if (code === 'ERR_JWKS_NO_MATCHING_KEY') {
      if (!mayBeNewerThanKeys(token, keySet, now())) return { kind: 'unverifiable' };
      throw new AuthError('provider_unavailable', { cause: error, retryAfter: 5 });
    }
    return verdictOf(error);
  }
}

/** Whether verification failed because the issuer publishes no such key; a newer key may not be fetched yet. */
export function isUnknownKey(error: unknown): boolean {
  return error instanceof AuthError && joseCode(error.cause) === 'ERR_JWKS_NO_MATCHING_KEY';
}

/**
 * Whether a published key signed the token, checked at once by `node:crypto`: a fifth to a half less CPU than jose's way through the
 * thread pool of WebCrypto (RS256 39 to 67 µs for 62 to 179). It says yes only to what jose accepts, too. All else is
 * jose's to judge: other algorithms, headers with extensions (RFC 7515 §4.1.11), wrong signatures.
 *
 * @throws what `getKey` throws
 */
export async function hasKnownSignature(
  { header, isCompact, text }: Token,
  getKey: SigningKeys['getKey'],
): Promise<boolean> {
  const { alg } = header;
  if (!isCompact || !isWanted(alg) || 'crit' in header || 'b64' in header) return false;
  const end = text.lastIndexOf('.');
  const encoded = text.slice(end + 1);
  const signature = Buffer.from(encoded, 'base64url');
  // Buffer skips what other decoders refuse.
  if (signature.toString('base64url') !== encoded) return false;
  const key = await getKey(header);
  const data = Buffer.from(text.slice(0, end), 'latin1');
  return isKeyOf(alg, key) && verify('sha256', data, verifierOf(alg, key), signature);
}

const parameters = {
  RS256: { padding: constants.RSA_PKCS1_PADDING },
  ES256: { dsaEncoding: 'ieee-p1363' },
} as const;

/**
 * The key as `node:crypto` takes it. The parameters are properties of the key: Node asks of an object around a key what it is by two
 * exceptions, which cost as much as the signature of an RS256 token. Without them an ES256 signature would be refused here, and be
 * jose's to judge.
 */
function verifierOf(alg: keyof typeof parameters, key: CryptoKey): KeyObject {
  return Object.assign(KeyObject.from(key), parameters[alg]);
}

/** What WorkOS and Supabase sign with. */
function isWanted(alg: unknown): alg is keyof typeof parameters {
  return alg === 'RS256' || alg === 'ES256';
}

/** Each algorithm has one kind of key (RFC 7518 §3.3, §3.4). */
function isKeyOf(alg: keyof typeof parameters, { algorithm }: CryptoKey): boolean {
  const {
    name,
    hash,
    modulusLength = 0,
    namedCurve,
  } = algorithm as Partial<webcrypto.RsaHashedKeyAlgorithm & webcrypto.EcKeyAlgorithm>;
  return alg === 'RS256'
    ? name === 'RSASSA-PKCS1-v1_5' && hash?.name === 'SHA-256' && modulusLength >= 2048
    : name === 'ECDSA' && namedCurve === 'P-256';
}

async function verifyWith(token: string, getKey: SigningKeys['getKey'], now: number): Promise<TokenVerdict> {
  // Loaded with the first token, so that it does not delay the start.
  const { jwtVerify } = await import('jose/jwt/verify');
  const options: JWTVerifyOptions = { algorithms, clockTolerance: clockSkew, currentDate: new Date(now) };
  const { payload } = await jwtVerify(token, getKey, options);
  return judgeClaims(payload, now);
}

/** A token without `kid` where several keys match: any of them may have signed it. */
async function verifyWithEach(token: string, keys: AsyncIterable<CryptoKey>, now: number): Promise<TokenVerdict> {
  for await (const key of keys) {
    try {
      return await verifyWith(token, () => Promise.resolve(key), now);
    } catch (error) {
      if (joseCode(error) !== 'ERR_JWS_SIGNATURE_VERIFICATION_FAILED') return verdictOf(error);
    }
  }
  return { kind: 'invalid', reason: 'signature' };
}

const malformed: TokenVerdict = { kind: 'invalid', reason: 'claims' };

/** The checks besides the signature (RFC 7519 §4.1); a token without subject or expiry is malformed. */
export function judgeClaims(claims: Readonly<Record<string, unknown>>, now: number): TokenVerdict {
  const { sub, exp, nbf, iat } = claims;
  const seconds = Math.floor(now / 1000);
  if (typeof exp !== 'number' || !isDate(nbf) || !isDate(iat)) return malformed;
  if ((nbf ?? 0) > seconds + clockSkew) return { kind: 'invalid', reason: 'nbf' };
  if (exp <= seconds - clockSkew) return { kind: 'expired' };
  if (typeof sub !== 'string' || sub === '') return malformed;
  return { kind: 'valid', claims: claims as AccessTokenClaims };
}

function isDate(value: unknown): value is number | undefined {
  return value === undefined || typeof value === 'number';
}

/**
 * After a rotation a token may name a key that was published after the keys were fetched. It is not invalid:
 * it must wait until the cool-down allows another fetch. A token with a future `iat` cannot name such a key.
 */
function mayBeNewerThanKeys({ claims: { iat } }: Token, keySet: Pick<SigningKeys, 'fetchedAt'>, now: number): boolean {
  const fetchedAt = keySet.fetchedAt();
  if (fetchedAt === undefined || typeof iat !== 'number') return false;
  return (iat + clockSkew) * 1000 >= fetchedAt && (iat - clockSkew) * 1000 <= now;
}

function verdictOf(error: unknown): TokenVerdict {
  if (error instanceof AuthError) throw error;
  const code = joseCode(error);
  if (code === 'ERR_JWT_EXPIRED') return { kind: 'expired' };
  if (code === 'ERR_JWS_SIGNATURE_VERIFICATION_FAILED') return { kind: 'invalid', reason: 'signature' };
  if (code !== 'ERR_JWT_CLAIM_VALIDATION_FAILED') return { kind: 'invalid', reason: code ?? 'malformed' };
  const { claim, reason } = error as errors.JWTClaimValidationFailed;
  return claim === 'nbf' && reason === 'check_failed' ? { kind: 'invalid', reason: 'nbf' } : malformed;
}

/** The lifetime of a token in milliseconds; `Infinity` where it is unknown. */
export function tokenLifetimeMs(claims: Readonly<Record<string, unknown>>): number {
  const { exp, iat } = claims;
  return typeof exp === 'number' && typeof iat === 'number' ? Math.max(0, (exp - iat) * 1000) : Infinity;
}

/** Milliseconds: a token that expires sooner may expire before the receiving server reads it. */
export const urgentWindowMs = 10_000;

/**
 * The time from which a token is due for renewal: `windowMs` before its expiry, but at most a tenth of its lifetime before it.
 *
 * @returns milliseconds since the epoch
 */
export function renewalDueAt(claims: Readonly<Record<string, unknown>>, windowMs: number): number {
  const { exp } = claims;
  return typeof exp === 'number' ? exp * 1000 - Math.min(windowMs, tokenLifetimeMs(claims) / 10) : 0;
}

/** Whether a token must be renewed before it is used. */
export function isRenewalUrgent(claims: Readonly<Record<string, unknown>>, now: number): boolean {
  return renewalDueAt(claims, urgentWindowMs) <= now;
}
