import type { IncomingMessage } from 'node:http';
import type { Session } from '../types.ts';
import { AuthError } from '../errors.ts';
import type { MountedAdapter } from './context.ts';
import { goOn, refuse } from './error-reply.ts';
import type { Next } from './error-reply.ts';
import { AuthRequest } from './auth-request.ts';
import { keepPrivate, redirect, sendReply } from './reply.ts';
import type { Reply } from './reply.ts';

export interface GuardRules {
  /** Asked about a session that is there; only `true` lets it pass. Left out: every session passes. */
  readonly allows?: ((session: Session, req: IncomingMessage) => unknown) | undefined;
  /** What a signed-out request gets; may throw an `AuthError` instead. */
  readonly challenge: (request: AuthRequest) => Reply;
}

/** The one guard: behind `protectedRoutes` and behind `requireSession`. */
export function guard(mounted: MountedAdapter, rules: GuardRules, next: Next): void {
  const known = mounted.cachedSession();
  // Fast path: cached session, no further requirement.
  if (known !== undefined && rules.allows === undefined) {
    admit(mounted);
    next();
    return;
  }
  void decide(mounted, rules, known, next);
}

/** `next` is called by `goOn`, outside of `try`: what comes after a guard is not the guard's error. */
async function decide(
  mounted: MountedAdapter,
  { allows, challenge }: GuardRules,
  known: Session | undefined,
  next: Next,
): Promise<void> {
  const request = new AuthRequest(mounted);
  try {
    const session = known ?? (await mounted.resolve());
    if (session === null) {
      request.refuseUnsafeMountPath();
      sendReply(request, challenge(request));
      return;
    }
    if (allows !== undefined && (await allows(session, mounted.req)) !== true) throw new AuthError('forbidden');
    admit(mounted);
    goOn(next);
  } catch (error) {
    refuse(request, error, next);
  }
}

function admit(mounted: MountedAdapter): void {
  mounted.isGuarded = true;
  keepPrivate(mounted.res);
}

/** The redirect of a guard to the sign-in page, with the way back. */
export function challengeRedirect(request: AuthRequest): Reply {
  const { req, definition } = request;
  const isForm = req.method !== 'GET' && req.method !== 'HEAD';
  return redirect(isForm ? definition.guardStatusForForms : 307, request.signInUrl(request.wayBack));
}
