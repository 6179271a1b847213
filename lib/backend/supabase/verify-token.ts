import { createHash } from 'node:crypto';
import { isRenewalUrgent, judgeClaims, verifyAccessToken } from '../../session/jwt.ts';
import type { TokenVerdict, Token } from '../../session/jwt.ts';
import { createBoundedMap } from '../../tools/bounded-map.ts';
import { createSharedOutcomes } from '../../tools/shared-outcomes.ts';
import type { KeySet } from '../../session/keys.ts';
import type { TokenOrigin } from '../../session/source.ts';
import type { AccessTokenClaims } from '../../types.ts';
import { foreignClient } from './session-cookie.ts';
import type { Introspection } from './supabase.ts';

type TimedVerdict =
  | Exclude<TokenVerdict, { kind: 'valid' }>
  /** The backend says that the session is over. */
  | { readonly kind: 'invalid'; readonly reason: string; readonly isOver: true }
  | {
      readonly kind: 'valid';
      readonly claims: AccessTokenClaims;
      /** Milliseconds since the epoch; set when the backend confirmed the token (HS256). */
      readonly validUntil?: number;
    };

/**
 * Whether a token of another application is accepted; a cookie session never is one. For a protected resource, its guard judges the
 * audience, which an access token hook may have set.
 */
export type Clients = 'own client' | 'any client' | 'any client and audience';

export interface TokenVerifier {
  /** @param clients default: `own client` */
  verify(token: Token, origin: TokenOrigin, clients?: Clients): Promise<TimedVerdict>;
}

interface TimedIntrospection {
  readonly word: Introspection;
  /** Milliseconds since the epoch. */
  readonly validUntil: number;
}

/** How long the backend's answer about a token is valid, in milliseconds. */
const answerMs = 60_000;
/** How long a token that the backend confirmed is known to be authentic, in milliseconds. */
const genuineMs = 24 * 60 * 60_000;
const maxTokens = 20_000;

/**
 * Verifies the access tokens of one project: signature, `exp`, `nbf`, and the claims that Supabase's own `getClaims()` leaves to its
 * callers: `role`, `aud` and `iss`.
 *
 * @param ask asks the backend about a token that only it can verify; rejects when the backend gives no answer
 * @param now milliseconds since the epoch
 */
export function createTokenVerifier(
  keySet: KeySet,
  ask: (token: string) => Promise<Introspection>,
  issuers: readonly string[],
  now: () => number,
): TokenVerifier {
  // Whatever the answer is, so that a repeated made-up token costs one call.
  const answers = createSharedOutcomes<TimedIntrospection>({
    now,
    keepMs: ({ validUntil }) => validUntil - now(),
    max: maxTokens,
  });
  const genuine = createBoundedMap<true>({ max: maxTokens, ttlMs: genuineMs, now });

  async function introspect(token: Token, key: string, origin: TokenOrigin): Promise<TimedIntrospection> {
    const validUntil = now() + answerMs;
    const isFree = origin === 'provider' || genuine.has(key);
    const word = await (isFree ? ask(token.text) : origin.spend(token, () => ask(token.text), isAccepted));
    if (isAccepted(word)) genuine.set(key, true);
    return { word, validUntil };
  }

  /** A project that signs with a shared secret publishes no key, and this process must not know the secret. */
  async function verifyShared(token: Token, origin: TokenOrigin): Promise<TimedVerdict> {
    // Where keys are published, a shared secret no longer signs. An older token must prove its session by its refresh token.
    if (!(await keySet.isEmpty())) return { kind: 'unverifiable' };
    const { text, claims } = token;
    const key = createHash('sha256').update(text).digest('base64url');
    const stale: TimedVerdict = genuine.has(key) ? { kind: 'expired' } : { kind: 'unverifiable' };
    const verdict = judgeClaims(claims, now());
    if (verdict.kind === 'expired') return stale;
    if (verdict.kind !== 'valid') return verdict;
    // The backend allows no clock difference: a token about to expire would cost a call, and perhaps the session.
    if (isRenewalUrgent(claims, now()) && answers.kept([text]) === undefined) return stale;
    const { word, validUntil } = await answers.share([text], () => introspect(token, key, origin));
    switch (word) {
      case 'accepted':
        return { ...verdict, validUntil };
      case 'stale':
        return stale;
      case 'refused':
        return { kind: 'invalid', reason: 'refused', isOver: true };
    }
  }

  return {
    async verify(token, origin, clients = 'own client') {
      if (!token.isCompact) return { kind: 'invalid', reason: 'malformed' };
      // A wrong claim needs no signature check, and an expired token with one must not be renewed either.
      const reason = claimProblem(token.claims, issuers, clients);
      if (reason !== undefined) return { kind: 'invalid', reason };
      return token.header['alg'] === 'HS256'
        ? verifyShared(token, origin)
        : verifyAccessToken(token, origin === 'provider' ? keySet.ofIssued : keySet, now);
    },
  };
}

const isAccepted = (word: Introspection): boolean => word === 'accepted';

/** Why a correctly signed token is not a user's: keys, service accounts and other applications have the same signature. */
function claimProblem(claims: Token['claims'], issuers: readonly unknown[], clients: Clients): string | undefined {
  const { role, aud, iss } = claims;
  if (role !== 'authenticated') return 'role';
  if (clients !== 'any client and audience' && ![aud].flat().includes('authenticated')) return 'audience';
  if (iss !== undefined && !issuers.includes(iss)) return 'issuer';
  return clients === 'own client' && foreignClient(claims) !== undefined ? 'client' : undefined;
}
