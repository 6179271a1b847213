import { AuthError } from '../../errors.ts';
import type { AuthRequest } from '../../http/request.ts';
import type { Reply } from '../../http/reply.ts';
import type { BackendContext } from '../context.ts';
import { isRejected, listFactors } from './factors.ts';
import { isSessionOver } from '../supabase/account.ts';
import type { UserFactors } from './factors.ts';
import type { Fields } from '../../http/body.ts';
import { digitsOf, FormProblem } from '../forms/fields.ts';
import { errorForForm } from '../forms/forms.ts';
import { rejectedPage } from './page.ts';
import { siteFor } from '../pages/parts.ts';
import { endHere, endOver, signInFirst } from '../sign-in/subject.ts';
import type { Subject } from '../sign-in/subject.ts';

/** A request about second factors, with the backend's data about its user. */
export interface FactorRequest extends UserFactors {
  readonly request: AuthRequest;
  readonly subject: Subject;
  readonly returnTo: string;
  /** Where a sign-in leads that comes first. */
  readonly wayBack: string;
}

/**
 * @param wayBack where a sign-in leads that comes first
 * @returns a reply where there is neither a pending sign-in nor a session, or the backend has ended it
 */
export async function askFactors(
  backend: BackendContext,
  request: AuthRequest,
  subject: Subject | undefined,
  returnTo: string,
  wayBack = returnTo,
): Promise<FactorRequest | Reply> {
  if (subject === undefined) return signInFirst(request, wayBack);
  try {
    return { request, subject, returnTo, wayBack, ...(await listFactors(backend, request, subject.content)) };
  } catch (error) {
    if (!isSessionOver(error)) throw error;
    return endOver(backend, request, subject, wayBack);
  }
}

/**
 * @returns a reply where the failure means that the backend has ended the sign-in or the session
 * @throws {AuthError} `sign_in_refused` for clients that want JSON
 */
export async function replyToEnd(
  backend: BackendContext,
  { request, subject, returnTo, wayBack }: FactorRequest,
  failure: unknown,
): Promise<Reply | undefined> {
  if (isSessionOver(failure)) return endOver(backend, request, subject, wayBack);
  if (!isRejected(failure)) return undefined;
  await endHere(backend, request, subject);
  const { code, cause, reason } = failure;
  const message = 'Your code wasn’t accepted, and your sign-in has ended. Sign in again, or contact support.';
  const error = errorForForm(backend, request, new AuthError(code, { cause, reason, message }));
  return rejectedPage(siteFor(backend, request), request, { error, returnTo });
}

/** A code of six digits. @throws {FormProblem} where it is missing; {AuthError} `code_wrong` where it is malformed */
export function readCode(fields: Fields): string {
  const code = digitsOf(fields);
  if (code === '') throw new FormProblem('code', 'codeMissing', 'The code is missing.');
  if (!/^\d{6}$/.test(code)) throw new AuthError('code_wrong', { reason: 'malformed' });
  return code;
}
