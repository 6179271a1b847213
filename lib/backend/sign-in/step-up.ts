import { AuthError } from '../../errors.ts';
import type { AuthRequest } from '../../http/request.ts';
import { challengeWith, errorBody } from '../../http/error-reply.ts';
import { json, redirectOrJson } from '../../http/reply.ts';
import type { Reply } from '../../http/reply.ts';
import { askFreshSignIn } from '../../http/guard/step-up.ts';
import type { BackendContext } from '../context.ts';
import { localUrl } from '../forms/forms.ts';
import { stepUrl } from './sign-in.ts';
import { renewDenied } from './subject.ts';
import type { Subject } from './subject.ts';

/** Seconds since the sign-in within which a further way to sign in may be added. */
const freshSeconds = 600;

/** An old session must not get a way to sign in of its own: a thief would lock its owner out, or come back. */
export function signInAgainFirst(request: AuthRequest, { session }: Subject, wayBack: string): Reply | undefined {
  return askFreshSignIn(request, session, freshSeconds, wayBack);
}

/**
 * Leads a guest to sign-up, and back: the new account keeps the guest's user id. Where no one can sign up, it leads to sign-in. JSON gets
 * 403 `forbidden` with `redirectTo`.
 */
export function accountFirst({ ways }: BackendContext, request: AuthRequest, wayBack: string): Reply {
  const url = ways.signUp === undefined ? request.signInUrl(wayBack) : localUrl(request, ways.signUp, wayBack);
  const message = 'Guests can’t do this. Create an account, or sign in to yours.';
  return challengeWith(request, new AuthError('forbidden', { reason: 'guest', message }), url);
}

/** A password alone must change nothing where the account has a second factor. @param wayBack where the second factor leads back to */
export function secondFactorFirst(backend: BackendContext, request: AuthRequest, wayBack: string): Reply {
  const verifyUrl = stepUrl(backend, request, 'factor', wayBack);
  if (!request.wantsJson) return redirectOrJson(request, verifyUrl, request.req.method === 'POST' ? 303 : 302);
  const error = new AuthError('second_factor_required');
  if (backend.settings.onError !== undefined) throw error;
  return json(error.status, errorBody(error, verifyUrl));
}

/** GoTrue's `insufficient_aal`: for a token that claims `aal2`, the factor that raised its session was removed elsewhere. */
export function isInsufficient(error: unknown): error is AuthError {
  return error instanceof AuthError && error.reason === 'insufficient_aal';
}

/**
 * Leads on from GoTrue's `insufficient_aal`: to the second factor, and back. Before, a token that claims a factor which was removed
 * elsewhere is renewed.
 *
 * @returns `undefined` for any other failure
 */
export async function stepAfter(
  backend: BackendContext,
  request: AuthRequest,
  { subject, wayBack }: { readonly subject: Subject; readonly wayBack: string },
  error: unknown,
): Promise<Reply | undefined> {
  if (!isInsufficient(error)) return undefined;
  return (await renewDenied(backend, request, subject, wayBack)) ?? secondFactorFirst(backend, request, wayBack);
}
