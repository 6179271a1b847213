import type { Session as SdkSession } from '@supabase/supabase-js';
import { cookieBytes, chunkNames, sessionCandidates, writeChunks } from '../../core/cookie-chunks.ts';
import type { CookieWrite } from '../../core/cookies.ts';
import { defined, isRecord, parseJson } from '../../core/json.ts';
import { AuthError } from '../../errors.ts';
import type { AuthRequest } from '../../http/auth-request.ts';
import { clientFacts } from '../../http/message.ts';
import { verdictReason } from '../../session/source.ts';
import { readToken } from '../../tokens/access-token.ts';
import type { BackendSession } from '../../types.ts';
import type { BackendContext } from '../context.ts';
import { parseContent } from '../session-cookie.ts';
import type { StoredContent } from '../session-cookie.ts';
import { flowMaxAge } from './flow-cookies.ts';

/**
 * Sign-ins that need one more step. They lie in an HttpOnly cookie of their own (`<cookieName>-pending`), one per browser and for ten
 * minutes, which only the adapter's own routes read: no guard and no `getSession` sees it, and the session of this browser stays as it is
 * until a complete sign-in replaces it.
 *
 *     await beginPending(backend, request, { kind: 'factor', issued, returnTo });   // then redirect to the page of the next step
 *     const waiting = await readPending(backend, request);                          // there: undefined when it is over
 *     const redirectTo = await completeSignIn(backend, request, session, waiting.returnTo);
 *     clearPending(backend, request);
 */

/** What is still to come: a new password after a recovery or invitation link, or the second factor after the first. */
export type PendingKind = 'recovery' | 'factor';

/** A sign-in that the backend has accepted and that is no session yet. */
export interface PendingSignIn {
  /** As the unsealed cookie says: it chooses a page, and grants nothing that the token itself does not. */
  readonly kind: PendingKind;
  /** For `supabase.call(request, work, { session: content })`. */
  readonly content: StoredContent;
  /** Made of the verified claims. */
  readonly session: BackendSession;
  /** Sanitized. */
  readonly returnTo: string;
  /** Whether the user has a second factor that this sign-in has not given yet: it is asked for first. */
  readonly needsFactor: boolean;
  /** Whether a try to set the new password got no answer, so that the backend may have it already. */
  readonly isUnanswered: boolean;
}

/** What the backend issued for a sign-in that needs one more step. */
export interface NewPending extends Pick<PendingSignIn, 'kind' | 'returnTo'> {
  readonly issued: SdkSession;
  readonly isUnanswered?: boolean;
  /** Whether `admitPending` was called for it: an answer that is used again is no new sign-in, and lifts no `endSession`. */
  readonly isAdmitted?: boolean;
}

/** Bytes of the cookie. */
const maxPendingBytes = 8 * 1024;
/** Bytes of the `Cookie` header with it: Node ends requests with more than 16 KB of headers. */
const maxHeaderBytes = 14 * 1024;
/** Milliseconds by which the clocks of the backend and this process may differ. */
const skewMs = 5_000;
/** Duplicates that are tried: a tossed cookie must not hide the real one, nor buy many questions. */
const maxTries = 4;

/**
 * Verifies what the backend issued and keeps it, in place of what was pending before.
 *
 * @throws {AuthError} `token_rejected`, `session_too_large` or `provider_unavailable`; nothing is kept then
 */
export async function beginPending(backend: BackendContext, request: AuthRequest, pending: NewPending): Promise<void> {
  const { kind, issued, returnTo, isUnanswered = false, isAdmitted = false } = pending;
  const { content, userId } = await verifyPending(backend, issued);
  const stored = { kind, content, returnTo, needsFactor: needsFactor(issued), isUnanswered };
  const writes = writeChunks(cookieName(backend), encodePending(stored), request.cookies);
  const bytes = cookieBytes(writes);
  const present = Buffer.byteLength(request.req.headers.cookie ?? '');
  if (bytes > maxPendingBytes || bytes + present > maxHeaderBytes) {
    await discardIssued(backend, content);
    throw new AuthError('session_too_large');
  }
  if (!isAdmitted) await beginSession(backend, content);
  await endPendingOfOthers(backend, request, userId);
  writePending(backend, request, writes);
}

/** Verifies what the backend issued just now: no `endSession` that was called until now concerns it. @throws {AuthError} as `beginPending` */
export async function admitPending(backend: BackendContext, issued: SdkSession): Promise<void> {
  const { content } = await verifyPending(backend, issued);
  await beginSession(backend, content);
}

/** Notes that a try to set the new password got no answer. */
export function markUnanswered(backend: BackendContext, request: AuthRequest, waiting: PendingSignIn): void {
  const value = encodePending({ ...waiting, isUnanswered: true });
  writePending(backend, request, writeChunks(cookieName(backend), value, request.cookies));
}

/** @throws {AuthError} `provider_unavailable` where it takes the backend to tell */
export async function readPending(backend: BackendContext, request: AuthRequest): Promise<PendingSignIn | undefined> {
  for (const stored of storedIn(backend, request)) {
    const session = await liveSession(backend, request, stored.content);
    // A token with both factors waits for no second one: such a cookie was made by hand.
    const isComplete = stored.kind === 'factor' && session?.claims['aal'] === 'aal2';
    if (session === undefined || isComplete) continue;
    return { ...stored, session, returnTo: request.returnTo(stored.returnTo) };
  }
  return undefined;
}

/** Deletes the cookie of one that was completed. */
export function clearPending(backend: BackendContext, request: AuthRequest): void {
  const present = chunkNames(request.cookies, cookieName(backend));
  writePending(
    backend,
    request,
    present.map((name) => ({ name, value: undefined })),
  );
}

/** Deletes the cookie and ends what it held at the backend. It never throws. */
export async function endPending(backend: BackendContext, request: AuthRequest): Promise<void> {
  clearPending(backend, request);
  const waiting = await readPending(backend, request).catch(() => undefined);
  if (waiting === undefined) return;
  await backend.resolver.revokeSession(backend.source.toStored(waiting.content));
  await discardIssued(backend, waiting.content);
}

/** The same for what another user left in this browser. It never throws. */
export async function endPendingOfOthers(
  backend: BackendContext,
  request: AuthRequest,
  userId: string | undefined,
): Promise<void> {
  const waiting = await readPending(backend, request).catch(() => undefined);
  if (waiting?.session.user.id !== userId) await endPending(backend, request);
}

/** Ends what was issued and will not be used: the backend need not keep it. It never throws. */
export async function discardIssued(
  { supabase, settings }: BackendContext,
  { access_token: accessToken }: Pick<SdkSession, 'access_token'>,
): Promise<void> {
  await supabase.revoke(accessToken, 'local', AbortSignal.timeout(settings.timeoutMs)).catch(() => undefined);
}

/** @throws {AuthError} `token_rejected` */
export function issuedContent(issued: SdkSession): StoredContent {
  const content = parseContent(issued);
  if (content === undefined) throw new AuthError('token_rejected');
  return content;
}

/** Verifies what the backend issued just now. @throws {AuthError} `token_rejected` or `provider_unavailable` */
export async function verifyIssued({ source }: BackendContext, content: StoredContent): Promise<BackendSession> {
  const verdict = await source.verify(content, 'provider');
  if (verdict.kind === 'live' && verdict.session.adapter === 'backend') return verdict.session;
  throw new AuthError('token_rejected', { reason: verdictReason(verdict) });
}

/** No `endSession` that was called until now concerns it. */
export function beginSession({ source, resolver }: BackendContext, content: StoredContent): Promise<unknown> {
  const facts = source.toStored(content);
  return resolver.beginSession(facts, facts.beganAt);
}

async function verifyPending(
  backend: BackendContext,
  issued: SdkSession,
): Promise<{ readonly content: StoredContent; readonly userId: string }> {
  const content = pendingContent(issuedContent(issued));
  const { user } = await verifyIssued(backend, content);
  return { content, userId: user.id };
}

function cookieName({ settings }: BackendContext): string {
  return `${settings.cookieName}-pending`;
}

function writePending({ flows }: BackendContext, request: AuthRequest, writes: readonly CookieWrite[]): void {
  request.writeCookies(writes.map((each) => ({ ...each, attributes: flows.attributes })));
}

function storedIn(backend: BackendContext, { cookies }: AuthRequest): readonly Stored[] {
  const { values } = sessionCandidates(cookies, cookieName(backend), (text) => parse(text) !== undefined);
  return values.flatMap((text) => parse(text) ?? []).slice(0, maxTries);
}

/** Only a token that the backend signed and issued within the last ten minutes counts, and that was not ended here. */
async function liveSession(
  { resolver, settings }: BackendContext,
  request: AuthRequest,
  content: StoredContent,
): Promise<BackendSession | undefined> {
  const client = clientFacts(request.req, request.peer);
  const session = await resolver.resolveBearer(content.access_token, client, true);
  // A token of the project's OAuth server speaks for another application.
  if (session?.adapter !== 'backend' || session.claims['client_id'] !== undefined) return undefined;
  const { iat = 0 } = session.claims;
  const isRecent = settings.now() - iat * 1000 < flowMaxAge * 1000 + skewMs;
  return isRecent ? session : undefined;
}

/** Whether the user has a verified factor that this sign-in has not given; the token itself does not say. */
export function needsFactor({ user, access_token: accessToken }: SdkSession): boolean {
  // Nothing checks what a coordinator hands on beside the tokens.
  const factors: unknown = (user as SdkSession['user'] | undefined)?.factors;
  const isEnrolled =
    Array.isArray(factors) && factors.some((factor) => isRecord(factor) && factor['status'] === 'verified');
  return isEnrolled && readToken(accessToken).claims['aal'] !== 'aal2';
}

type Stored = Omit<PendingSignIn, 'session'>;

/** The cookie's value; the testing kit writes it, too. */
export function encodePending({ kind, content, returnTo, needsFactor: factor, isUnanswered }: Stored): string {
  return Buffer.from(JSON.stringify({ kind, returnTo, factor, isUnanswered, ...content })).toString('base64url');
}

/** The tokens, and what a session cookie needs beside them; `user` comes again with the next step. */
function pendingContent({ access_token, refresh_token, expires_at }: StoredContent): StoredContent {
  return { access_token, refresh_token, ...defined({ expires_at }), token_type: 'bearer' };
}

function parse(text: string): Stored | undefined {
  const value = parseJson(Buffer.from(text, 'base64url').toString('utf8'));
  const content = parseContent(value);
  if (!isRecord(value) || content === undefined) return undefined;
  const { kind, returnTo, factor, isUnanswered } = value;
  if (kind !== 'recovery' && kind !== 'factor') return undefined;
  return {
    kind,
    content: pendingContent(content),
    returnTo: typeof returnTo === 'string' ? returnTo : '/',
    needsFactor: factor === true,
    isUnanswered: isUnanswered === true,
  };
}
