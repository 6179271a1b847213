import { AuthError } from '../../errors.ts';
import type { Fields } from '../../http/body.ts';
import type { AuthRequest } from '../../http/request.ts';
import { accountName } from '../../pages/texts.ts';
import { json, redirect, redirectOrJson } from '../../http/reply.ts';
import type { Reply } from '../../http/reply.ts';
import type { BackendSession } from '../../types.ts';
import type { BackendContext } from '../context.ts';
import { isSessionOver, presentUser, asIssued } from '../supabase/account.ts';
import { readReturnTo } from '../forms/forms.ts';
import { heldSession } from '../sign-in/link-sign-in.ts';
import { switchPage } from './page.ts';
import { siteFor } from '../pages/parts.ts';
import { clearPending, endPending, readPending } from '../sign-in/pending.ts';
import type { PendingSignIn } from '../sign-in/pending.ts';
import { advance, needsOf, stepUrl } from '../sign-in/sign-in.ts';

/** An email's link of another account than the browser's was used up; its sign-in waits for the answer. */
export interface AccountQuestion {
  readonly pending: PendingSignIn;
  readonly returnTo: string;
}

/**
 * @param fields of a POST
 * @returns a reply where nothing is to be asked anymore
 * @throws {AuthError} `link_expired` for an answer that comes too late, `invalid_request` for a visitor without a link
 */
export async function findQuestion(
  backend: BackendContext,
  request: AuthRequest,
  fields?: Fields,
): Promise<AccountQuestion | Reply> {
  const pending = await readPending(backend, request);
  const returnTo = readReturnTo(request, fields, pending?.returnTo);
  const [next] = pending?.needs ?? [];
  if (pending !== undefined && next === 'account') return { pending, returnTo };
  if (fields?.has('stay') === true) return redirectOrJson(request, returnTo, 303);
  if (fields?.has('account') === true) throw new AuthError('link_expired');
  // Reached by the back button after the answer.
  if (fields === undefined && next !== undefined) return redirect(302, stepUrl(backend, request, next, returnTo));
  if (fields === undefined && (await request.resolveSession()) !== null) return redirect(302, request.urlOf(returnTo));
  throw new AuthError('invalid_request');
}

export async function askAccount(
  backend: BackendContext,
  request: AuthRequest,
  { pending, returnTo }: AccountQuestion,
  error?: AuthError,
): Promise<Reply> {
  const held = await heldSession(request);
  const present = held === 'unknown' || held?.user.id === pending.session.user.id ? null : held;
  if (request.wantsJson) {
    return json(200, { account: bodyOf(pending.session), signedInAs: present && bodyOf(present) });
  }
  return switchPage(siteFor(backend, request), request, {
    returnTo,
    account: { id: pending.session.user.id, name: nameOf(pending.session) },
    signedInAs: present === null ? undefined : nameOf(present),
    error,
  });
}

/**
 * `account` names the user that the person has agreed to: another tab's link may have taken the place of the one that the form was
 * shown for. `stay` declines.
 *
 * @returns the next URL, or the question again
 * @throws {AuthError} `invalid_request` for a JSON client that names another user, `link_expired`, or as `advance`
 */
export async function answerAccount(
  backend: BackendContext,
  request: AuthRequest,
  question: AccountQuestion,
  fields: Fields,
): Promise<Reply | string> {
  const { pending, returnTo } = question;
  const { content, session } = pending;
  if (fields.has('stay')) {
    await endPending(backend, request);
    return returnTo;
  }
  if (fields.get('account') !== session.user.id) {
    if (request.wantsJson) throw new AuthError('invalid_request');
    return askAccount(backend, request, question);
  }
  const user = await presentUser(backend, request, content).catch((error: unknown) => {
    if (!isSessionOver(error)) throw error;
    clearPending(backend, request);
    throw new AuthError('link_expired', { cause: error });
  });
  const issued = asIssued(content, user);
  // The cookie is not sealed and may name less, and a factor may have been added since.
  const needs = ['account', ...needsOf(issued, pending.needs.includes('password'))] as const;
  const subject = { pending: { ...pending, needs }, content, session };
  return advance(backend, request, subject, { step: 'account', issued, returnTo });
}

/** An account without an address and a phone number has no other name. */
const nameOf = (session: BackendSession): string => accountName(session) ?? session.user.id;

const bodyOf = ({ user: { id, email } }: BackendSession) => ({ id, email });
