import { LRUCache } from 'lru-cache';
import { decodeProtectedHeader } from 'jose/decode/protected_header';
import { clockSkew, peekClaims, verifyAccessToken } from '../core/access-token.ts';
import type { TokenVerdict } from '../core/access-token.ts';
import type { KeySet } from '../core/key-set.ts';
import type { AccessTokenClaims } from '../types.ts';

export interface TokenVerifierParts {
  readonly keySet: KeySet;
  /**
   * Asks the backend about a token that only it can verify.
   *
   * @returns whether it is good
   * @throws {AuthError} when the backend does not say
   */
  readonly ask: (token: string) => Promise<boolean>;
  readonly issuers: readonly string[];
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

export type TimedVerdict =
  | Exclude<TokenVerdict, { kind: 'valid' }>
  | {
      readonly kind: 'valid';
      readonly claims: AccessTokenClaims;
      /** Milliseconds since the epoch, where somebody's word is all there is. */
      readonly validUntil?: number;
    };

export interface TokenVerifier {
  verify(token: string): Promise<TimedVerdict>;
}

interface Question {
  readonly answer: Promise<boolean>;
  /** Milliseconds since the epoch. */
  readonly validUntil: number;
}

/** How long the backend's word about a token holds. */
const answerMs = 60_000;
const maxAnswers = 20_000;

/**
 * Verifies the access tokens of one project: signature, `exp`, `nbf`, and the claims that Supabase's own `getClaims()` leaves to its
 * callers: `role`, `aud` and `iss`.
 */
export function createTokenVerifier({ keySet, ask, issuers, now }: TokenVerifierParts): TokenVerifier {
  const answers = new LRUCache<string, Question>({
    max: maxAnswers,
    ttl: answerMs,
    ttlResolution: 0,
    perf: { now },
  });

  /** Once per token and minute, whatever the answer, so that a made-up token repeated is one question. */
  function askOnce(token: string): Question {
    const known = answers.get(token);
    if (known !== undefined) return known;
    const question = { answer: ask(token), validUntil: now() + answerMs };
    answers.set(token, question);
    // No answer is nothing to remember.
    question.answer.catch(() => answers.delete(token));
    return question;
  }

  async function verifyShared(token: string): Promise<TimedVerdict> {
    const claims = peekClaims(token);
    if (!isComplete(claims)) return { kind: 'invalid', reason: 'claims' };
    const reason = claimProblem(claims, issuers);
    if (reason !== undefined) return { kind: 'invalid', reason };
    const seconds = now() / 1000;
    if (typeof claims['nbf'] === 'number' && claims['nbf'] > seconds + clockSkew)
      return { kind: 'invalid', reason: 'nbf' };
    if (claims.exp <= seconds - clockSkew) return { kind: 'expired' };
    const { answer, validUntil } = askOnce(token);
    return (await answer) ? { kind: 'valid', claims, validUntil } : { kind: 'invalid', reason: 'refused' };
  }

  return {
    async verify(token) {
      if (isSharedSecret(token)) return verifyShared(token);
      const verdict = await verifyAccessToken(token, keySet, now);
      if (verdict.kind !== 'valid') return verdict;
      const reason = claimProblem(verdict.claims, issuers);
      return reason === undefined ? verdict : { kind: 'invalid', reason };
    },
  };
}

/** A project that signs with a shared secret publishes no key for it, and this process must not know it. */
function isSharedSecret(token: string): boolean {
  try {
    return decodeProtectedHeader(token).alg === 'HS256';
  } catch {
    return false;
  }
}

/** What makes a correctly signed token no user's: keys and service accounts are signed alike. */
function claimProblem(claims: AccessTokenClaims, issuers: readonly string[]): string | undefined {
  const { role, aud, iss } = claims;
  if (role !== 'authenticated') return 'role';
  if (!(Array.isArray(aud) ? aud : [aud]).includes('authenticated')) return 'audience';
  if (iss !== undefined && !(typeof iss === 'string' && issuers.includes(iss))) return 'issuer';
  return undefined;
}

function isComplete(claims: Readonly<Record<string, unknown>>): claims is AccessTokenClaims {
  return typeof claims['sub'] === 'string' && claims['sub'] !== '' && typeof claims['exp'] === 'number';
}
