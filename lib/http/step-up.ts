import { createHash } from 'node:crypto';
import { createBoundedMap } from '../core/bounded-map.ts';
import { withQuery } from '../core/url.ts';
import { AuthError } from '../errors.ts';
import type { Session } from '../types.ts';
import type { SecondFactor } from './adapter.ts';
import type { AuthRequest } from './auth-request.ts';
import { challengeWith } from './guard.ts';
import type { Reply } from './reply.ts';

/** A guard's requirements on the sign-in of a session: a second factor, or a recent sign-in (step-up in RFC 9470). */

/**
 * Redirects to the second factor where the session lacks it. A bearer request gets an error without a redirect.
 *
 * @param aal `enrolled`: only users with a second factor must use it
 * @throws {AuthError} `second_factor_required`; `provider_unavailable` where the provider cannot be asked about the factors
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

/** Asks the provider once per access token and minute; all requests share the result. */
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
      // A failed call is not cached.
      answer.catch(() => answers.delete(key));
      return answer;
    },
  };
}

/**
 * Redirects to a new sign-in where the last one was too long ago. A cookie marks the round: if the sign-in is
 * then still not new, the result is an error and not another round. It lasts for that round only.
 *
 * @param maxAge seconds
 * @throws {AuthError} `fresh_sign_in_required` for a bearer request, `sign_in_not_fresh` after a round without a new sign-in
 */
export function askFreshSignIn(request: AuthRequest, session: Session, maxAge: number): Reply | undefined {
  const { freshSignIn, now } = request.definition;
  const seconds = Math.floor(now() / 1000);
  // An unknown time counts like one in the future: unusable.
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
  // A sign-in that was new when the round ended, and has become old since, starts a new round.
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
/** Maximum unfinished rounds; more indicate a redirect loop. */
const maxRounds = 3;
/** Seconds; the maximum duration of a sign-in. */
const roundMaxAge = 600;

interface Round {
  readonly count: number;
  /** Identifies the sign-in that was not fresh. */
  readonly signIn: string;
  /** Seconds since the epoch. */
  readonly startedAt: number;
}

/** Neither sealed nor signed: it admits no request, and a forged one only causes an earlier refusal. */
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
