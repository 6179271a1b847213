import type { Session as SdkSession } from '@supabase/supabase-js';
import type { AuthRequest } from '../../http/request.ts';
import { json } from '../../http/reply.ts';
import type { Reply } from '../../http/reply.ts';
import type { BackendSession } from '../../types.ts';
import type { BackendContext } from '../context.ts';
import { addressChangedPage } from '../pages/notice.ts';
import { siteFor } from '../pages/parts.ts';
import type { Step } from '../slots.ts';
import { prepareSignIn } from './sign-in.ts';
import type { PreparedSignIn } from './sign-in.ts';
import { issuedContent } from '../supabase/session-cookie.ts';
import { renewOthers } from './subject.ts';

/**
 * The browser's session; `unknown` where the backend had to be asked for it and did not answer. A guest has no account, so it is
 * replaced without a question.
 */
export type Held = BackendSession | 'unknown' | null;

export async function heldSession(request: AuthRequest): Promise<Held> {
  const session = await request.resolveSession().catch(() => 'unknown' as const);
  return session === 'unknown' || session?.adapter === 'backend' ? session : null;
}

/** What the backend issued for an email's link. */
interface OpenedLink {
  readonly issued: SdkSession;
  readonly returnTo: string;
  readonly needs: readonly Step[];
  /** Whether the link confirmed a new address. Its mail goes to that address, so it signs in no other user. */
  readonly isChange: boolean;
}

/**
 * Anyone can send a link of their own account to someone else. So a link never replaces another user's session unasked: its sign-in
 * waits for an answer. Only by using the link up does the backend say whose it is.
 *
 * @param held before the link was used up
 * @returns `undefined` where the new address is all that the link confirms; then its session has ended at the backend
 * @throws {AuthError} as `prepareSignIn`
 */
export async function prepareLink(
  backend: BackendContext,
  request: AuthRequest,
  held: Held,
  { issued, returnTo, needs, isChange }: OpenedLink,
): Promise<PreparedSignIn | undefined> {
  const isSame = held !== null && held !== 'unknown' && held.user.id === issued.user.id;
  if (isChange && !isSame) {
    await backend.supabase.discard(issued);
    return undefined;
  }
  // The user's other tokens name the former address. A guest's session becomes the account's by a sign-in.
  if (isChange && isSame && !held.user.isAnonymous) await renewOthers(backend, issued.user.id, issuedContent(issued));
  const isOther = held === 'unknown' || (held !== null && !isSame && !held.user.isAnonymous);
  return prepareSignIn(backend, request, { issued, returnTo, needs: isOther ? ['account', ...needs] : needs });
}

/** After the last link of a changed address, in a browser that is not signed in to that account. */
export async function changedAnswer(backend: BackendContext, request: AuthRequest, returnTo: string): Promise<Reply> {
  const site = siteFor(backend, request);
  const isSignedIn = (await heldSession(request)) !== null;
  if (!request.wantsJson) return addressChangedPage(site, request, { returnTo, isSignedIn });
  const redirectTo = isSignedIn ? request.urlOf(returnTo) : request.signInUrl(returnTo);
  return { ...json(200, { message: site.text.addressChangedText.plain, redirectTo }), hasTexts: true };
}
