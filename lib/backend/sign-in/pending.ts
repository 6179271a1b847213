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
 * Sign-ins that need one more step. They are stored in their own HttpOnly cookie (`<cookieName>-pending`),
 * one per browser, for ten minutes. Only the adapter's own routes read it: no guard and no `getSession` does.
 * The browser's session stays until a complete sign-in replaces it.
 *
 *     await beginPending(backend, request, { kind: 'factor', issued, returnTo });   // then redirect to the page of the next step
 *     const waiting = await readPending(backend, request);                          // there: undefined when it is over
 *     const redirectTo = await completeSignIn(backend, request, session, waiting.returnTo);
 *     clearPending(backend, request);
 */

/** The missing step: a new password after a recovery or invitation link, or the second factor after the first. */
export type PendingKind = 'recovery' | 'factor';

/** A sign-in that the backend has accepted but that is not a session yet. */
export interface PendingSignIn {
  /** From an unsealed cookie: it selects a page, and grants nothing beyond the token. */
  readonly kind: PendingKind;
  /** For `supabase.call(request, work, { session: content })`. */
  readonly content: StoredContent;
  /** Built from the verified claims. */
  readonly session: BackendSession;
  /** Sanitized. */
  readonly returnTo: string;
  /** Whether the user has a second factor that this sign-in lacks: it is required first. */
  readonly needsFactor: boolean;
  /** Whether an attempt to set the new password got no answer, so that the backend may have set it. */
  readonly isUnanswered: boolean;
}

/** The backend's tokens for a sign-in that needs one more step. */
export interface NewPending extends Pick<PendingSignIn, 'kind' | 'returnTo'> {
  readonly issued: SdkSession;
  readonly isUnanswered?: boolean;
  /** Whether `admitPending` was called for it: a reused result is no new sign-in, and undoes no `endSession`. */
  readonly isAdmitted?: boolean;
}

/** Maximum bytes of the cookie. */
const maxPendingBytes = 8 * 1024;
/** Maximum bytes of the `Cookie` header with it: Node refuses requests with more than 16 KB of headers. */
const maxHeaderBytes = 14 * 1024;
/** Milliseconds by which the clocks of the backend and this process may differ. */
const skewMs = 5_000;
/** Maximum duplicates to check: a tossed cookie must not hide the real one, nor cause many backend calls. */
const maxTries = 4;

/**
 * Verifies the backend's tokens and stores them in place of any earlier pending sign-in.
 *
 * @throws {AuthError} `token_rejected`, `session_too_large` or `provider_unavailable`; nothing is stored then
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

/** Verifies tokens that the backend just issued: earlier `endSession` calls do not apply to them. @throws {AuthError} as `beginPending` */
export async function admitPending(backend: BackendContext, issued: SdkSession): Promise<void> {
  const { content } = await verifyPending(backend, issued);
  await beginSession(backend, content);
}

/** Records that an attempt to set the new password got no answer. */
export function markUnanswered(backend: BackendContext, request: AuthRequest, waiting: PendingSignIn): void {
  const value = encodePending({ ...waiting, isUnanswered: true });
  writePending(backend, request, writeChunks(cookieName(backend), value, request.cookies));
}

/** @throws {AuthError} `provider_unavailable` where only the backend can decide */
export async function readPending(backend: BackendContext, request: AuthRequest): Promise<PendingSignIn | undefined> {
  for (const stored of storedIn(backend, request)) {
    const session = await liveSession(backend, request, stored.content);
    // A token with both factors is not pending: such a cookie was forged.
    const isComplete = stored.kind === 'factor' && session?.claims['aal'] === 'aal2';
    if (session === undefined || isComplete) continue;
    return { ...stored, session, returnTo: request.returnTo(stored.returnTo) };
  }
  return undefined;
}

/** Deletes the cookie of a completed one. */
export function clearPending(backend: BackendContext, request: AuthRequest): void {
  const present = chunkNames(request.cookies, cookieName(backend));
  writePending(
    backend,
    request,
    present.map((name) => ({ name, value: undefined })),
  );
}

/** Deletes the cookie and ends its session at the backend. It never throws. */
export async function endPending(backend: BackendContext, request: AuthRequest): Promise<void> {
  clearPending(backend, request);
  const waiting = await readPending(backend, request).catch(() => undefined);
  if (waiting === undefined) return;
  await backend.resolver.revokeSession(backend.source.toStored(waiting.content));
  await discardIssued(backend, waiting.content);
}

/** The same, unless it belongs to this user. It never throws. */
export async function endPendingOfOthers(
  backend: BackendContext,
  request: AuthRequest,
  userId: string | undefined,
): Promise<void> {
  const waiting = await readPending(backend, request).catch(() => undefined);
  if (waiting?.session.user.id !== userId) await endPending(backend, request);
}

/** Ends an issued session that will not be used, at the backend. It never throws. */
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

/** Verifies tokens that the backend just issued. @throws {AuthError} `token_rejected` or `provider_unavailable` */
export async function verifyIssued({ source }: BackendContext, content: StoredContent): Promise<BackendSession> {
  const verdict = await source.verify(content, 'provider');
  if (verdict.kind === 'live' && verdict.session.adapter === 'backend') return verdict.session;
  throw new AuthError('token_rejected', { reason: verdictReason(verdict) });
}

/** Earlier `endSession` calls do not apply to it. */
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

/** Accepts only a token that the backend signed and issued within the last ten minutes, and that was not ended here. */
async function liveSession(
  { resolver, settings }: BackendContext,
  request: AuthRequest,
  content: StoredContent,
): Promise<BackendSession | undefined> {
  const client = clientFacts(request.req, request.peer);
  const session = await resolver.resolveBearer(content.access_token, client, true);
  // A token with `client_id` was issued to another application by the project's OAuth server.
  if (session?.adapter !== 'backend' || session.claims['client_id'] !== undefined) return undefined;
  const { iat = 0 } = session.claims;
  const isRecent = settings.now() - iat * 1000 < flowMaxAge * 1000 + skewMs;
  return isRecent ? session : undefined;
}

/** Whether the user has a verified factor that this sign-in lacks; the token itself does not list factors. */
export function needsFactor({ user, access_token: accessToken }: SdkSession): boolean {
  // A coordinator's data beside the tokens is not validated.
  const factors: unknown = (user as SdkSession['user'] | undefined)?.factors;
  const isEnrolled =
    Array.isArray(factors) && factors.some((factor) => isRecord(factor) && factor['status'] === 'verified');
  return isEnrolled && readToken(accessToken).claims['aal'] !== 'aal2';
}

type Stored = Omit<PendingSignIn, 'session'>;

/** The cookie's value; the testing kit also writes it. */
export function encodePending({ kind, content, returnTo, needsFactor: factor, isUnanswered }: Stored): string {
  return Buffer.from(JSON.stringify({ kind, returnTo, factor, isUnanswered, ...content })).toString('base64url');
}

/** The tokens and the other fields of a session cookie; the next step returns `user` again. */
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
