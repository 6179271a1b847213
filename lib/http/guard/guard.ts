import type { Session } from '../../types.ts';
import { AuthError } from '../../errors.ts';
import { NotAccepted } from '../accept.ts';
import { guardByBearer, isBearerRequest, refuseBearer } from './bearer.ts';
import type { BearerRules } from './bearer.ts';
import { refuse, explainDecision, signedOutReason } from '../error-reply.ts';
import { isExplaining } from '../../session/events.ts';
import { passToNext } from '../next.ts';
import type { Next } from '../next.ts';
import type { AuthRequest } from '../request.ts';
import { sendReply } from '../reply.ts';
import { refuseUnsafeMountPath } from '../request/urls.ts';
import type { Reply } from '../reply.ts';
import { pathOf } from '../../tools/paths/request-path.ts';

export interface GuardRules {
  /**
   * Called with an existing session: returns a redirect where another step is required, and throws
   * an `AuthError` to refuse. Without it every session passes.
   */
  readonly demand?: ((request: AuthRequest, session: Session) => Promise<Reply | undefined>) | undefined;
  /** The response to a signed-out request; may throw an `AuthError` instead. */
  readonly challenge: (request: AuthRequest) => Reply;
  /** Omitted where only a cookie's session is accepted. */
  readonly bearer?: BearerRules | undefined;
}

/** The only guard: used by `protectedRoutes` and by `requireSession`. */
export function guard(request: AuthRequest, rules: GuardRules, next: Next): void {
  if (rules.bearer !== undefined && isBearerRequest(request, rules.bearer)) {
    void guardByBearer(request, rules.bearer, rules.demand, next);
    return;
  }
  const known = request.cachedSession();
  // Fast path: cached session, no further requirement. Asking the request's adapter whether to explain it took 2 % of a request.
  if (known?.credential === 'cookie' && rules.demand === undefined && !isExplaining) {
    request.admit(known);
    next();
    return;
  }
  void decide(request, rules, known, next);
}

/** `next` is called by `passToNext`, outside of `try`: a later handler's error is not the guard's error. */
async function decide(
  request: AuthRequest,
  { demand, challenge }: GuardRules,
  known: Session | undefined,
  next: Next,
): Promise<void> {
  try {
    const session = known ?? (await request.resolveSession());
    // An earlier guard has accepted the request's bearer token, which this guard does not accept.
    if (session?.credential === 'bearer') {
      refuseBearer(request, new AuthError('unauthenticated'), next);
      return;
    }
    if (session === null) {
      // Signing in again with this account would not help, so a redirect would loop.
      if (request.visit.is === 'refused') throw new NotAccepted(request.visit.session);
      refuseUnsafeMountPath(request);
      answer(request, challenge(request), () => `signed out, as ${signedOutReason(request)}`);
      return;
    }
    const reply = await demand?.(request, session);
    if (reply !== undefined) {
      answer(request, reply, () => 'the guard asks for more than the session has');
      return;
    }
    explainDecision(request, () => (known === undefined ? 'let in' : 'let in, with a session from the cache'));
    request.admit(session);
    passToNext(next);
  } catch (error) {
    refuse(request, error, next);
  }
}

function answer(request: AuthRequest, reply: Reply, reason: () => string): void {
  explainDecision(request, () => {
    const to = reply.headers?.['Location'];
    return `${reason()}: ${reply.status}${typeof to === 'string' ? ` to ${pathOf(to)}` : ''}`;
  });
  sendReply(request, reply);
}
