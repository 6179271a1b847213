import type { Request } from 'express';
import type { Session as SdkSession } from '@supabase/supabase-js';
import { chunkNames } from '../core/cookie-chunks.ts';
import type { CookieWrite } from '../core/cookies.ts';
import { withDeadline } from '../core/deadline.ts';
import { defined } from '../core/json.ts';
import { AuthError, isOutage } from '../errors.ts';
import type { AuthRequest } from '../http/auth-request.ts';
import type { Allowance } from '../session/allowance.ts';
import { placeSession, prepareSignIn as prepare, refuseLarge, verifyIssued } from '../session/sign-in.ts';
import type { EndedSession } from '../session/sign-out.ts';
import { isRenewalUrgent } from '../tokens/access-token.ts';
import { outOfTime } from './connection.ts';
import type { BackendContext } from './context.ts';
import { localUrl } from './forms.ts';
import type { StoredContent } from './session-cookie.ts';
import { needsFactor } from './factor-list.ts';
import { issuedContent } from './session-cookie.ts';
import { beginPending, endPendingOfOthers } from './pending.ts';
import type { NewPending, PendingKind } from './pending.ts';

/**
 * A sign-in that is ready to store. Preparing it calls `onSignIn` and writes no cookie, so that
 * requests that share one, such as those of a double click, each store it.
 */
export type PreparedSignIn =
  /** Verified, accepted by `onSignIn`, and small enough for cookies. */
  | { readonly kind: 'session'; readonly content: StoredContent; readonly redirectTo: string }
  /** A new password or the second factor is required first. */
  | NewPending;

/** The backend's tokens and their purpose. */
export interface Issued {
  readonly issued: SdkSession;
  readonly returnTo: string;
  /**
   * Default: `factor` where the user has a second factor that this sign-in lacks, else `session`. Given as `session`, it completes a
   * pending sign-in, which can be tried again after an outage.
   */
  readonly kind?: PendingKind | 'session' | undefined;
}

/**
 * The first half of a sign-in: verifies the tokens, checks the size, asks `accept` and calls the hook.
 *
 * @throws {AuthError} `token_rejected`, `session_too_large`, `not_accepted`, `provider_unavailable`, or the hook's error; no session is created then
 */
export async function prepareSignIn(
  backend: BackendContext,
  request: AuthRequest,
  { issued, returnTo, kind: given }: Issued,
): Promise<PreparedSignIn> {
  request.errorReturnTo = returnTo;
  const kind = given ?? (needsFactor(issued) ? 'factor' : 'session');
  if (kind !== 'session') return { kind, issued, returnTo };
  const content = issuedContent(issued);
  try {
    const { redirectTo } = await prepare(backend, request, content, {
      returnTo,
      hook: async (session) => {
        const answer = await backend.settings.onSignIn?.({ session, req: request.req as Request, returnTo });
        return answer?.redirectTo;
      },
    });
    return { kind, content, redirectTo };
  } catch (error) {
    if (given === undefined || !isOutage(error)) await backend.supabase.discard(content);
    throw error;
  }
}

/**
 * The second half: stores the session in place of any earlier one, or stores the pending sign-in.
 *
 * @param further cookies to write as well
 * @returns the next URL
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

/** Both halves. @returns the next URL @throws {AuthError} as its halves */
export async function completeSignIn(
  backend: BackendContext,
  request: AuthRequest,
  issued: SdkSession,
  returnTo: string,
): Promise<string> {
  return storeSignIn(backend, request, await prepareSignIn(backend, request, { issued, returnTo }));
}

/** Stores newer tokens of the browser's session. It is no new sign-in, so the hook does not run. @throws {AuthError} */
export async function renewSession(backend: BackendContext, request: AuthRequest, issued: SdkSession): Promise<void> {
  const content = issuedContent(issued);
  const session = await verifyIssued(backend, content);
  await refuseLarge(backend, content, session);
  await storeSession(backend, request, content);
  const { sessionId } = backend.source.toStored(content);
  backend.emit({ type: 'session_refreshed', userId: session.user.id, ...defined({ sessionId }) });
}

/**
 * The URL that asks for a second factor. Where a session cookie exists, `then` names the pending
 * sign-in; without it, the page is for the session if that belongs to another user.
 *
 * @param isWaiting whether it is for a pending sign-in, and not for the session
 */
export function verifyUrl(
  { settings }: BackendContext,
  request: AuthRequest,
  returnTo: string,
  isWaiting = true,
): string {
  // To identify the cookie's session may need a call to the backend, and this redirect must not wait for it.
  const isBesideSession = isWaiting && chunkNames(request.cookies, request.definition.cookieName).length > 0;
  return localUrl(request, settings.verifyPath, returnTo, isBesideSession ? { then: 'sign-in' } : {});
}

/**
 * Ends a session at the backend, which identifies it by its access token. A token that the backend would not accept is refreshed first.
 *
 * @returns the content after the refresh, if there was one
 * @throws {AuthError} where the backend did not answer in time, or refused
 */
export async function endAtBackend(
  { supabase, settings }: BackendContext,
  scope: 'local' | 'global',
  { candidate, verdict, isAuthentic }: EndedSession<StoredContent>,
  allowance: Allowance,
): Promise<StoredContent | undefined> {
  const { access_token: accessToken, refresh_token: refreshToken } = candidate.content;
  const end = async (signal: AbortSignal): Promise<StoredContent | undefined> => {
    if (verdict === undefined || verdict.kind === 'invalid') return undefined;
    const isUsable = verdict.kind === 'live' && !isRenewalUrgent(verdict.session.claims, settings.now());
    if (isUsable && (await supabase.revoke(accessToken, scope, signal)) === 'revoked') return undefined;
    const renewal = await allowance.refresh(candidate, isAuthentic, () => supabase.refresh(refreshToken, signal));
    if (renewal.kind === 'unanswered') throw outOfTime();
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
  const writes = await placeSession(backend, request, content, {
    refuseEnded: async (sessionId) => {
      if ((await backend.resolver.revocationOf(sessionId)) !== undefined) throw new AuthError('invalid_state');
    },
    endLeft: (left, allowance) => endAtBackend(backend, 'local', left, allowance).catch(() => undefined),
  });
  await endPendingOfOthers(backend, request, backend.source.toStored(content).userId);
  request.writeCookies([...further, ...writes]);
}
