import type { Request } from 'express';
import type { Session as SdkSession } from '@supabase/supabase-js';
import { chunkNames } from '../../core/cookie-chunks.ts';
import type { CookieWrite } from '../../core/cookies.ts';
import { withDeadline } from '../../core/deadline.ts';
import { defined } from '../../core/json.ts';
import { AuthError } from '../../errors.ts';
import type { AuthRequest } from '../../http/auth-request.ts';
import type { Allowance } from '../../session/allowance.ts';
import type { LeftSession } from '../../session/sign-out.ts';
import { isRenewalUrgent } from '../../tokens/access-token.ts';
import { outOfTime } from '../connection.ts';
import type { BackendContext } from '../context.ts';
import { localUrl } from '../forms.ts';
import type { StoredContent } from '../session-cookie.ts';
import { beginPending, beginSession, discardIssued, endPendingOfOthers } from './pending.ts';
import { issuedContent, needsFactor, verifyIssued } from './pending.ts';
import type { NewPending, PendingKind } from './pending.ts';

/**
 * A sign-in that is ready for a cookie. Preparing it asks `onSignIn` and writes no cookie, so that requests which share one, as those of a
 * button that is pressed twice, each store it for themselves.
 */
export type PreparedSignIn =
  /** Verified, accepted by `onSignIn`, and no larger than cookies can hold. */
  | { readonly kind: 'session'; readonly content: StoredContent; readonly redirectTo: string }
  /** A new password or the second factor comes first. */
  | NewPending;

/** What the backend issued, and what for. */
export interface Issued {
  readonly issued: SdkSession;
  readonly returnTo: string;
  /** Default: `factor` where the user has a second factor that was not given, else `session`. */
  readonly kind?: PendingKind | 'session' | undefined;
}

/**
 * The first half of a sign-in: verifies what the backend issued, asks the hook, and looks at the size.
 *
 * @throws {AuthError} `token_rejected`, `session_too_large`, `provider_unavailable`, or what the hook throws; there is no session then
 */
export async function prepareSignIn(
  backend: BackendContext,
  request: AuthRequest,
  { issued, returnTo, kind = needsFactor(issued) ? 'factor' : 'session' }: Issued,
): Promise<PreparedSignIn> {
  if (kind !== 'session') return { kind, issued, returnTo };
  const { settings, source, writer, emit } = backend;
  const content = issuedContent(issued);
  const session = await verifyIssued(backend, content);
  try {
    if (!(await writer.fits(content, session.user.id))) throw new AuthError('session_too_large');
    const answer = await settings.onSignIn?.({ session, req: request.req as Request, returnTo });
    const redirectTo = request.returnTo(answer?.redirectTo ?? returnTo, returnTo);
    await beginSession(backend, content);
    const { sessionId } = source.toStored(content);
    emit({ type: 'signed_in', userId: session.user.id, ...defined({ sessionId }) }, request.startedAt);
    return { kind, content, redirectTo };
  } catch (error) {
    await discardIssued(backend, content);
    throw error;
  }
}

/**
 * The second half: stores the session in place of whatever session there was, or keeps the sign-in until its next step.
 *
 * @param further cookies to write as well
 * @returns where to go next
 * @throws {AuthError} `invalid_state`, or as `beginPending`
 */
export async function storeSignIn(
  backend: BackendContext,
  request: AuthRequest,
  prepared: PreparedSignIn,
  further: readonly CookieWrite[] = [],
): Promise<string> {
  if (prepared.kind === 'session') {
    await storeSession(backend, request, prepared.content, further);
    return prepared.redirectTo;
  }
  const { kind, returnTo } = prepared;
  await beginPending(backend, request, prepared);
  request.writeCookies(further);
  if (kind === 'factor') return verifyUrl(backend, request, returnTo);
  return localUrl(request, backend.settings.passwordPath, returnTo);
}

/** Both halves. @returns where to go next @throws {AuthError} as its halves */
export async function completeSignIn(
  backend: BackendContext,
  request: AuthRequest,
  issued: SdkSession,
  returnTo: string,
): Promise<string> {
  return storeSignIn(backend, request, await prepareSignIn(backend, request, { issued, returnTo }));
}

/** Stores newer tokens of the session that the browser has. It is no new sign-in, so the hook is not asked. @throws {AuthError} */
export async function renewSession(backend: BackendContext, request: AuthRequest, issued: SdkSession): Promise<void> {
  const { source, writer, emit } = backend;
  const content = issuedContent(issued);
  const { user } = await verifyIssued(backend, content);
  if (!(await writer.fits(content, user.id))) throw new AuthError('session_too_large');
  await storeSession(backend, request, content);
  const { sessionId } = source.toStored(content);
  emit({ type: 'session_refreshed', userId: user.id, ...defined({ sessionId }) });
}

/**
 * Where a second factor is asked for. Beside a session cookie the URL says that it is the one of the sign-in that waits: without a word,
 * the page is that of another user's session.
 *
 * @param isWaiting whether a sign-in waits for it, and not the session itself
 */
export function verifyUrl(
  { settings }: BackendContext,
  request: AuthRequest,
  returnTo: string,
  isWaiting = true,
): string {
  // Whose session the cookie holds may take the backend to tell, and nothing here needs to wait for that.
  const isBesideSession = isWaiting && chunkNames(request.cookies, request.definition.cookieName).length > 0;
  return localUrl(request, settings.verifyPath, returnTo, isBesideSession ? { then: 'sign-in' } : {});
}

/**
 * Ends a session at the backend, which knows it by its access token: one that it would not take is renewed for this last call.
 *
 * @returns what it was renewed to
 * @throws {AuthError} where the backend could not be reached in time, or refused
 */
export async function endAtBackend(
  { supabase, settings }: BackendContext,
  scope: 'local' | 'global',
  { candidate, verdict, isAuthentic }: LeftSession<StoredContent>,
  allowance: Allowance,
): Promise<StoredContent | undefined> {
  const { access_token: accessToken, refresh_token: refreshToken } = candidate.content;
  const end = async (signal: AbortSignal): Promise<StoredContent | undefined> => {
    if (verdict === undefined || verdict.kind === 'invalid') return undefined;
    const isUsable = verdict.kind === 'live' && !isRenewalUrgent(verdict.session.claims, settings.now());
    if (isUsable && (await supabase.revoke(accessToken, scope, signal)) === 'revoked') return undefined;
    const renewal = await allowance.refresh(candidate, isAuthentic, () => supabase.refresh(refreshToken, signal));
    if (renewal.kind === 'unanswered') throw outOfTime();
    if (renewal.kind === 'refused') throw renewal.error;
    if (renewal.kind === 'ended') return undefined;
    await supabase.revoke(renewal.content.access_token, scope, signal);
    return renewal.content;
  };
  return withDeadline(end, settings.timeoutMs, outOfTime);
}

async function storeSession(
  backend: BackendContext,
  request: AuthRequest,
  content: StoredContent,
  further: readonly CookieWrite[] = [],
): Promise<void> {
  const { source, writer, resolver } = backend;
  const { sessionId, userId } = source.toStored(content);
  // A sign-out that ran at the same time wins.
  if ((await resolver.revocationOf(sessionId)) === 'signed_out') throw new AuthError('invalid_state');
  const writes = await writer.write(content, request.cookies);
  const { sessions, allowance } = await resolver.replace(request.req.headers.cookie, sessionId, request.peer);
  // In the background: they have ended here, whatever the backend says.
  for (const left of sessions) void endAtBackend(backend, 'local', left, allowance).catch(() => undefined);
  await endPendingOfOthers(backend, request, userId);
  request.writeCookies([...further, ...writes]);
}
