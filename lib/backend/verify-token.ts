import { createHash } from 'node:crypto';
import { isRenewalUrgent, judgeClaims, verifyAccessToken } from '../tokens/access-token.ts';
import type { TokenVerdict, Token } from '../tokens/access-token.ts';
import { createBoundedMap } from '../core/bounded-map.ts';
import type { KeySet } from '../tokens/key-set.ts';
import type { TokenOrigin } from '../session/source.ts';
import type { AccessTokenClaims } from '../types.ts';
import type { TokenWord } from './supabase.ts';

type TimedVerdict =
  | Exclude<TokenVerdict, { kind: 'valid' }>
  | {
      readonly kind: 'valid';
      readonly claims: AccessTokenClaims;
      /** Milliseconds since the epoch; set when the backend vouched for the token (HS256). */
      readonly validUntil?: number;
    };

/** Whether a token may be one of another application, which is never a session of a cookie. */
type Clients = 'own client' | 'any client';

export interface TokenVerifier {
  /** @param clients default: `own client` */
  verify(token: Token, origin: TokenOrigin, clients?: Clients): Promise<TimedVerdict>;
}

interface Question {
  readonly answer: Promise<TokenWord>;
  /** Milliseconds since the epoch. */
  readonly validUntil: number;
}

/** How long the backend's word about a token holds. */
const answerMs = 60_000;
/** How long a token that the backend vouched for is known as its own. */
const genuineMs = 24 * 60 * 60_000;
const maxTokens = 20_000;

/**
 * Verifies the access tokens of one project: signature, `exp`, `nbf`, and the claims that Supabase's own `getClaims()` leaves to its
 * callers: `role`, `aud` and `iss`.
 *
 * @param ask asks the backend about a token that only it can verify; rejects when the backend does not say
 * @param now milliseconds since the epoch
 */
export function createTokenVerifier(
  keySet: KeySet,
  ask: (token: string) => Promise<TokenWord>,
  issuers: readonly string[],
  now: () => number,
): TokenVerifier {
  const answers = createBoundedMap<Question>({ max: maxTokens, ttlMs: answerMs, now });
  const genuine = createBoundedMap<true>({ max: maxTokens, ttlMs: genuineMs, now });

  /** Once per token and minute, whatever the answer, so that a made-up token repeated is one question. */
  function askOnce(token: Token, key: string, origin: TokenOrigin): Question {
    const known = answers.get(key);
    if (known !== undefined) return known;
    const isFree = origin === 'provider' || genuine.has(key);
    const answer = isFree ? ask(token.text) : origin.spend(token, () => ask(token.text), isAccepted);
    const question = { answer, validUntil: now() + answerMs };
    answers.set(key, question);
    answer.then(
      (word) => isAccepted(word) && genuine.set(key, true),
      // No answer is nothing to remember.
      () => answers.delete(key),
    );
    return question;
  }

  /** A project that signs with a shared secret publishes no key for it, and this process must not know it. */
  async function verifyShared(token: Token, origin: TokenOrigin): Promise<TimedVerdict> {
    // Where keys are published, a shared secret signs nothing any more. What it signed before its refresh token can prove.
    if (!(await keySet.isEmpty())) return { kind: 'unverifiable' };
    const { text, claims } = token;
    const key = createHash('sha256').update(text).digest('base64url');
    const stale: TimedVerdict = genuine.has(key) ? { kind: 'expired' } : { kind: 'unverifiable' };
    const verdict = judgeClaims(claims, now());
    if (verdict.kind === 'expired') return stale;
    if (verdict.kind !== 'valid') return verdict;
    // The backend allows no difference of clocks: a token that is about to expire would cost a question, and perhaps a session.
    if (isRenewalUrgent(claims, now()) && !answers.has(key)) return stale;
    const { answer, validUntil } = askOnce(token, key, origin);
    switch (await answer) {
      case 'accepted':
        return { ...verdict, validUntil };
      case 'stale':
        return stale;
      case 'refused':
        return { kind: 'invalid', reason: 'refused' };
    }
  }

  return {
    async verify(token, origin, clients = 'own client') {
      if (!token.isCompact) return { kind: 'invalid', reason: 'malformed' };
      // What speaks against a token needs no proof, and an expired one must not be renewed either.
      const reason = claimProblem(token.claims, issuers, clients);
      if (reason !== undefined) return { kind: 'invalid', reason };
      return token.header['alg'] === 'HS256'
        ? verifyShared(token, origin)
        : verifyAccessToken(token, origin === 'provider' ? keySet.ofIssued : keySet, now);
    },
  };
}

/**
 * The client of the project's OAuth server that a token was issued to. Only that server writes it, into the tokens of other applications,
 * which speak for a user to whom no session was given here.
 */
export function foreignClient({ client_id: client }: Token['claims']): string | undefined {
  if (client === undefined || client === null) return undefined;
  return typeof client === 'string' ? client : '';
}

const isAccepted = (word: TokenWord): boolean => word === 'accepted';

/** What makes a correctly signed token no user's: keys, service accounts and other applications' tokens are signed alike. */
function claimProblem(claims: Token['claims'], issuers: readonly string[], clients: Clients): string | undefined {
  const { role, aud, iss } = claims;
  if (role !== 'authenticated') return 'role';
  if (!(Array.isArray(aud) ? aud : [aud]).includes('authenticated')) return 'audience';
  if (iss !== undefined && !(typeof iss === 'string' && issuers.includes(iss))) return 'issuer';
  return clients === 'own client' && foreignClient(claims) !== undefined ? 'client' : undefined;
}
