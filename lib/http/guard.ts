import type { IncomingMessage } from 'node:http';
import type { Session } from '../types.ts';
import { AuthError } from '../errors.ts';
import { goOn, refuse } from './error-reply.ts';
import type { Next } from './error-reply.ts';
import type { AuthRequest } from './auth-request.ts';
import { keepPrivate, redirect, sendReply } from './reply.ts';
import type { Reply } from './reply.ts';

export interface GuardRules {
  /** Asked about a session that is there; only `true` lets it pass. Left out: every session passes. */
  readonly allows?: ((session: Session, req: IncomingMessage) => unknown) | undefined;
  /** What a signed-out request gets; may throw an `AuthError` instead. */
  readonly challenge: (request: AuthRequest) => Reply;
}

/** The one guard: behind `protectedRoutes` and behind `requireSession`. */
export function guard(request: AuthRequest, rules: GuardRules, next: Next): void {
  const known = request.cachedSession();
  // Fast path: cached session, no further requirement.
  if (known !== undefined && rules.allows === undefined) {
    admit(request);
    next();
    return;
  }
  void decide(request, rules, known, next);
}

/** `next` is called by `goOn`, outside of `try`: what comes after a guard is not the guard's error. */
async function decide(
  request: AuthRequest,
  { allows, challenge }: GuardRules,
  known: Session | undefined,
  next: Next,
): Promise<void> {
  try {
    const session = known ?? (await request.resolveSession());
    if (session === null) {
      request.refuseUnsafeMountPath();
      sendReply(request, challenge(request));
      return;
    }
    if (allows !== undefined && (await allows(session, request.req)) !== true) throw new AuthError('forbidden');
    admit(request);
    goOn(next);
  } catch (error) {
    refuse(request, error, next);
  }
}

function admit(request: AuthRequest): void {
  request.isGuarded = true;
  keepPrivate(request.res);
}

/** The redirect of a guard to the sign-in page, with the way back. */
export function challengeRedirect(request: AuthRequest): Reply {
  const { req, definition } = request;
  const isForm = req.method !== 'GET' && req.method !== 'HEAD';
  return redirect(isForm ? definition.guardStatusForForms : 307, request.signInUrl(request.wayBack));
}
