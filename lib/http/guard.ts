import type { Session } from '../types.ts';
import { AuthError } from '../errors.ts';
import { guardByBearer, isBearerRequest, refuseBearer } from './bearer.ts';
import type { BearerRules } from './bearer.ts';
import { errorBody, goOn, refuse, explainDecision, signedOutReason } from './error-reply.ts';
import { isExplaining } from '../session/events.ts';
import type { Next } from './error-reply.ts';
import type { AuthRequest } from './auth-request.ts';
import { json, redirect, sendReply } from './reply.ts';
import type { Reply } from './reply.ts';
import { pathOf } from '../core/request-path.ts';

export interface GuardRules {
  /**
   * Asked about a session that is there: answers where the way on leads elsewhere, and throws an `AuthError` where there is none.
   * Left out: every session passes.
   */
  readonly demand?: ((request: AuthRequest, session: Session) => Promise<Reply | undefined>) | undefined;
  /** What a signed-out request gets; may throw an `AuthError` instead. */
  readonly challenge: (request: AuthRequest) => Reply;
  /** Left out where a session comes from a cookie only. */
  readonly bearer?: BearerRules | undefined;
}

/** The one guard: behind `protectedRoutes` and behind `requireSession`. */
export function guard(request: AuthRequest, rules: GuardRules, next: Next): void {
  if (rules.bearer !== undefined && isBearerRequest(request, rules.bearer)) {
    void guardByBearer(request, rules.bearer, rules.demand, next);
    return;
  }
  const known = request.cachedSession();
  // Fast path: cached session, no further requirement. Asking the request's adapter whether to explain it took 2 % of a request.
  if (known?.credential === 'cookie' && rules.demand === undefined && !isExplaining) {
    request.admit();
    next();
    return;
  }
  void decide(request, rules, known, next);
}

/** `next` is called by `goOn`, outside of `try`: what comes after a guard is not the guard's error. */
async function decide(
  request: AuthRequest,
  { demand, challenge }: GuardRules,
  known: Session | undefined,
  next: Next,
): Promise<void> {
  try {
    const session = known ?? (await request.resolveSession());
    // A guard in front has taken the request's bearer token, which this one does not take.
    if (session?.credential === 'bearer') {
      refuseBearer(request, new AuthError('unauthenticated'), next);
      return;
    }
    if (session === null) request.refuseUnsafeMountPath();
    const reply = session === null ? challenge(request) : await demand?.(request, session);
    if (reply !== undefined) {
      explainDecision(request, () => describe(request, session, reply));
      sendReply(request, reply);
      return;
    }
    explainDecision(request, () => (known === undefined ? 'let in' : 'let in, with a session from the cache'));
    request.admit();
    goOn(next);
  } catch (error) {
    refuse(request, error, next);
  }
}

function describe(request: AuthRequest, session: Session | null, { status, headers }: Reply): string {
  const reason =
    session === null ? `signed out, as ${signedOutReason(request)}` : 'the guard asks for more than the session has';
  const to = headers?.['Location'];
  return `${reason}: ${status}${typeof to === 'string' ? ` to ${pathOf(to)}` : ''}`;
}

/** The redirect of a guard to the sign-in page, with the way back. */
export function challengeRedirect(request: AuthRequest, url = request.signInUrl(request.wayBack)): Reply {
  const { req, definition } = request;
  const isForm = req.method !== 'GET' && req.method !== 'HEAD';
  return redirect(isForm ? definition.guardStatusForForms : 307, url);
}

/**
 * Sends a document to where it can become what the guard wants, and tells a JSON client where that is.
 *
 * @throws {AuthError} the given one, where `onError` takes over what a JSON client is told
 */
export function challengeWith(request: AuthRequest, error: AuthError, url: string): Reply {
  if (!request.wantsJson) return challengeRedirect(request, url);
  if (request.definition.onError !== undefined) throw error;
  return json(error.status, errorBody(error, url));
}
