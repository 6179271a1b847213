import { createHash } from 'node:crypto';
import { createBoundedMap } from '../core/bounded-map.ts';
import { withQuery } from '../core/url.ts';
import { AuthError } from '../errors.ts';
import type { Session } from '../types.ts';
import type { SecondFactor } from './adapter.ts';
import type { AuthRequest } from './auth-request.ts';
import { challengeWith } from './guard.ts';
import type { Reply } from './reply.ts';

/** What a guard asks of the sign-in behind a session: a second factor, or a recent one (RFC 9470 calls it step-up). */

/**
 * The way to the second factor where the session lacks it. A bearer request is told, and sent nowhere.
 *
 * @param aal `enrolled`: the second factor is asked of those who have one
 * @throws {AuthError} `second_factor_required`; `provider_unavailable` where only the provider knows about the factors
 */
export async function askSecondFactor(
  request: AuthRequest,
  session: Session,
  aal: 'aal2' | 'enrolled',
): Promise<Reply | undefined> {
  if (session.claims['aal'] === 'aal2') return undefined;
  const error = new AuthError('second_factor_required');
  const { secondFactor } = request.definition;
  if (secondFactor === undefined || (aal === 'aal2' && session.credential === 'bearer')) throw error;
  const hasFactor = await secondFactor.hasVerifiedFactor(session);
  if (aal === 'enrolled' && !hasFactor) return undefined;
  if (session.credential === 'bearer') throw error;
  const path = request.localPath(hasFactor ? secondFactor.verifyPath : secondFactor.enrollPath);
  const { wayBack } = request;
  return challengeWith(request, error, withQuery(path, wayBack === request.home ? {} : { returnTo: wayBack }));
}

/** Asks the provider once per access token and minute, for all requests together. */
export function rememberFactors(secondFactor: SecondFactor, now: () => number): SecondFactor {
  const answers = createBoundedMap<Promise<boolean>>({ max: 10_000, ttlMs: 60_000, now });
  return {
    ...secondFactor,
    hasVerifiedFactor(session) {
      const key = createHash('sha256').update(session.accessToken).digest('base64url');
      const known = answers.get(key);
      if (known !== undefined) return known;
      const answer = secondFactor.hasVerifiedFactor(session);
      answers.set(key, answer);
      // No answer is nothing to remember.
      answer.catch(() => answers.delete(key));
      return answer;
    },
  };
}

/**
 * The way to a new sign-in where the last one was too long ago. A cookie marks the round, so that a sign-in that is not new in spite of it
 * ends in an error and not in the next round. It lasts for that round only.
 *
 * @param maxAge seconds
 * @throws {AuthError} `fresh_sign_in_required` for a bearer request, `sign_in_not_fresh` after a round in vain
 */
export function askFreshSignIn(request: AuthRequest, session: Session, maxAge: number): Reply | undefined {
  const { freshSignIn, now } = request.definition;
  const seconds = Math.floor(now() / 1000);
  // Unknown tells as little as a time to come.
  const at = freshSignIn.authenticatedAt(session) ?? Infinity;
  const isUsable = at <= seconds + clockSkew;
  const isFresh = isUsable && seconds - at <= maxAge;
  if (session.credential === 'bearer') {
    if (isFresh) return undefined;
    throw new AuthError('fresh_sign_in_required');
  }
  const round = readRound(request);
  if (isFresh) {
    if (round !== undefined) writeRound(request, undefined);
    return undefined;
  }
  const signIn = fingerprint(freshSignIn.signInId(session));
  const isAnswered = round !== undefined && round.signIn !== signIn;
  // A sign-in that was new when the round ended, and has grown old since, starts a round of its own.
  const isVain = isAnswered && !(isUsable && at + clockSkew >= round.startedAt);
  const count = (round?.count ?? 0) + (request.wantsJson ? 0 : 1);
  if (isVain || count > maxRounds) {
    writeRound(request, undefined);
    request.errorReturnTo = request.wayBack;
    throw new AuthError('sign_in_not_fresh');
  }
  writeRound(request, { count, signIn, startedAt: seconds });
  const url = request.signInUrl(request.wayBack, freshSignIn.parameters(session, maxAge));
  return challengeWith(request, new AuthError('fresh_sign_in_required'), url);
}

/** Seconds by which the provider's clock and ours may differ. */
const clockSkew = 5;
/** Rounds that were begun and left without an answer; more of them are a loop that no sign-in ends. */
const maxRounds = 3;
/** Seconds; as long as a sign-in may take. */
const roundMaxAge = 600;

interface Round {
  readonly count: number;
  /** Names the sign-in that was not fresh. */
  readonly signIn: string;
  /** Seconds since the epoch. */
  readonly startedAt: number;
}

/** Neither sealed nor signed: it lets no request pass, and who forges one is refused sooner. */
function readRound({ cookies, definition }: AuthRequest): Round | undefined {
  const [value = ''] = cookies.get(roundName(definition)) ?? [];
  const match = /^(\d)\.(\d{1,12})\.([\w-]{22})$/.exec(value);
  if (match === null) return undefined;
  const [, count, startedAt, signIn] = match;
  return { count: Number(count), startedAt: Number(startedAt), signIn: String(signIn) };
}

function writeRound(request: AuthRequest, round: Round | undefined): void {
  const { sameSite } = request.definition.cookieOptions;
  const name = roundName(request.definition);
  const value = round === undefined ? undefined : `${round.count}.${round.startedAt}.${round.signIn}`;
  const attributes = { maxAge: roundMaxAge, httpOnly: true, sameSite: sameSite === 'none' ? 'none' : 'lax' } as const;
  request.writeCookies([{ name, value, attributes }]);
}

function roundName({ cookieName }: AuthRequest['definition']): string {
  return `${cookieName}-fresh`;
}

function fingerprint(signInId: string): string {
  return createHash('sha256').update(signInId).digest('base64url').slice(0, 22);
}
