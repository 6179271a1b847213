import { createHash } from 'node:crypto';
import { createSharedOutcomes } from '../../tools/shared-outcomes.ts';
import { withQuery } from '../../tools/url.ts';
import { AuthError } from '../../errors.ts';
import { warnOfClocks } from '../../session/events.ts';
import { outOfTime } from '../../session/source.ts';
import type { Session } from '../../types.ts';
import type { SecondFactor } from '../adapter.ts';
import type { AuthRequest } from '../request.ts';
import { challengeWith } from '../error-reply.ts';
import type { Reply } from '../reply.ts';

/** A guard's requirements on the sign-in of a session: a second factor, or a recent sign-in (step-up in RFC 9470). */

/**
 * Redirects to the second factor where the session lacks it. A bearer request gets an error without a redirect.
 *
 * @param aal `enrolled`: only users with a second factor must use it
 * @param wayBack where the second factor leads back to
 * @throws {AuthError} `second_factor_required`; `provider_unavailable` where the provider cannot be asked about the factors
 */
export async function askSecondFactor(
  request: AuthRequest,
  session: Session,
  aal: 'aal2' | 'enrolled',
  wayBack = request.wayBack,
): Promise<Reply | undefined> {
  if (session.claims['aal'] === 'aal2') return undefined;
  const error = new AuthError('second_factor_required');
  const { secondFactor } = request.definition;
  if (secondFactor === undefined || (aal === 'aal2' && session.credential === 'bearer')) throw error;
  const ask = () => secondFactor.hasVerifiedFactor(session);
  const hasFactor = await request.waits.limit(ask, outOfTime).catch((failure: unknown) => endedOrThrow(failure));
  if (hasFactor === 'ended') return endHere(request, session, wayBack);
  if (aal === 'enrolled' && !hasFactor) return undefined;
  if (session.credential === 'bearer') throw error;
  const path = request.localPath(hasFactor ? secondFactor.verifyPath : secondFactor.enrollPath);
  return challengeWith(request, error, withQuery(path, wayBack === request.home ? {} : { returnTo: wayBack }));
}

/** `unauthenticated` is the provider's definitive answer that the session has ended; no other failure ends it here. */
function endedOrThrow(failure: unknown): 'ended' {
  if (failure instanceof AuthError && failure.code === 'unauthenticated') return 'ended';
  throw failure;
}

/** Ends the session here, too: with its cookie, the sign-in page would lead straight back to the guard. */
async function endHere(request: AuthRequest, session: Session, wayBack: string): Promise<Reply> {
  if (session.credential === 'bearer') throw new AuthError('invalid_token');
  const { resolver } = request.definition;
  request.writeCookies(await resolver.endOver(request.req.headers.cookie, session));
  return challengeWith(request, new AuthError('unauthenticated'), request.signInUrl(wayBack));
}

/** Asks the provider once per access token and minute; all requests share the result. */
export function rememberFactors(secondFactor: SecondFactor, now: () => number): SecondFactor {
  const answers = createSharedOutcomes<boolean>({ now, keepMs: () => 60_000 });
  return {
    ...secondFactor,
    hasVerifiedFactor: (session) => answers.share([session.accessToken], () => secondFactor.hasVerifiedFactor(session)),
  };
}

/**
 * Redirects to a new sign-in where the last one was too long ago. A cookie marks the round: if the sign-in is
 * then still not new, the result is an error and not another round. It lasts for that round only.
 *
 * @param maxAge seconds
 * @param wayBack where the new sign-in leads back to
 * @throws {AuthError} `fresh_sign_in_required` for a bearer request, `sign_in_not_fresh` after a round without a new sign-in
 */
export function askFreshSignIn(
  request: AuthRequest,
  session: Session,
  maxAge: number,
  wayBack = request.wayBack,
): Reply | undefined {
  const { freshSignIn, now } = request.definition;
  const seconds = Math.floor(now() / 1000);
  const { at, isUsable } = signInTime(request.definition, session, seconds);
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
    request.errorReturnTo = wayBack;
    throw new AuthError('sign_in_not_fresh');
  }
  writeRound(request, { count, signIn, startedAt: seconds });
  const url = request.signInUrl(wayBack, freshSignIn.parameters(session, maxAge));
  return challengeWith(request, new AuthError('fresh_sign_in_required'), url);
}

/** An unknown time counts like one far in the future: unusable. */
function signInTime({ adapter, freshSignIn }: AuthRequest['definition'], session: Session, seconds: number) {
  const at = freshSignIn.authenticatedAt(session) ?? Infinity;
  const isUsable = at <= seconds + maxAhead;
  if (isUsable && at > seconds + clockSkew) warnOfClocks(adapter);
  return { at, isUsable };
}

/** Seconds by which the provider's clock and ours may differ. */
const clockSkew = 5;
/** Seconds by which our clock may be behind: a sign-in in the future was still a sign-in just now. */
const maxAhead = 300;
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
