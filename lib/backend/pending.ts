import type { Session as SdkSession } from '@supabase/supabase-js';
import { cookieBytes, chunkNames, sessionCandidates, writeChunks } from '../core/cookie-chunks.ts';
import type { CookieWrite } from '../core/cookies.ts';
import { defined, isRecord, parseJson } from '../core/json.ts';
import { AuthError, isOutage } from '../errors.ts';
import type { AuthRequest } from '../http/auth-request.ts';
import { clientFacts } from '../http/message.ts';
import { beginSession, verifyIssued } from '../session/sign-in.ts';
import { isRenewalUrgent, readToken } from '../tokens/access-token.ts';
import type { Token } from '../tokens/access-token.ts';
import type { BackendSession } from '../types.ts';
import type { BackendContext } from './context.ts';
import { newestAmrTime, parseContent } from './session-cookie.ts';
import type { StoredContent } from './session-cookie.ts';
import { flowMaxAge } from './flow-cookies.ts';
import { needsFactor } from './factor-list.ts';
import { issuedContent } from './session-cookie.ts';

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

/**
 * The missing step: a new password after a recovery or invitation link, or the second factor after the first. A `change`
 * misses nothing: it is the sign-in with the current password whose change of it got no answer.
 */
export type PendingKind = 'recovery' | 'factor' | 'change';

/** A sign-in that the backend has accepted but that is not a session yet. */
export interface PendingSignIn {
  /** From an unsealed cookie, and believed only where the token's `amr` proves such a sign-in (`signInTime`). */
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
 * @throws {AuthError} `token_rejected`, `session_too_large`, `not_accepted` or `provider_unavailable`; nothing is stored then
 */
export async function beginPending(backend: BackendContext, request: AuthRequest, pending: NewPending): Promise<void> {
  const { kind, issued, returnTo, isUnanswered = false, isAdmitted = false } = pending;
  const { content, session } = await verifyPending(backend, request, pending);
  const text = encodePending({ kind, content, returnTo, needsFactor: needsFactor(issued), isUnanswered });
  const bytes = cookieBytes(writeChunks(cookieName(backend), text, request.cookies));
  const present = Buffer.byteLength(request.req.headers.cookie ?? '');
  if (bytes > maxPendingBytes || bytes + present > maxHeaderBytes) {
    await backend.supabase.discard(content);
    throw new AuthError('session_too_large');
  }
  if (!isAdmitted) await beginSession(backend, session);
  await endPendingOfOthers(backend, request, session.user.id);
  writePending(backend, request, text);
}

/** Verifies tokens that the backend just issued: earlier `endSession` calls do not apply to them. @throws {AuthError} as `beginPending` */
export async function admitPending(
  backend: BackendContext,
  request: AuthRequest,
  pending: Pick<NewPending, 'kind' | 'issued'>,
): Promise<void> {
  const { session } = await verifyPending(backend, request, pending);
  await beginSession(backend, session);
}

/** Records that an attempt to set the new password got no answer. */
export function markUnanswered(backend: BackendContext, request: AuthRequest, waiting: PendingSignIn): void {
  storePending(backend, request, { ...waiting, isUnanswered: true });
}

function storePending(backend: BackendContext, request: AuthRequest, waiting: PendingSignIn): void {
  writePending(backend, request, encodePending(waiting));
}

/** @throws {AuthError} `provider_unavailable` where only the backend can decide */
export async function readPending(
  backend: BackendContext,
  request: AuthRequest,
  tries = maxTries,
): Promise<PendingSignIn | undefined> {
  for await (const waiting of livePending(backend, request, tries)) {
    if (await request.accepts(waiting.session)) return waiting;
  }
  return undefined;
}

/**
 * Those of the cookies, whether or not `accept` lets them in.
 *
 * @param tries how many of the stored ones are checked; a sign-out checks each of them (16 at most)
 * @throws {AuthError} as `readPending`
 */
async function* livePending(
  backend: BackendContext,
  request: AuthRequest,
  tries: number,
): AsyncGenerator<PendingSignIn, void> {
  for (const stored of storedIn(backend, request).slice(0, tries)) {
    const live = await request.waits.count(liveSession(backend, request, stored));
    // A token with both factors is not pending: such a cookie was forged.
    const isComplete = stored.kind === 'factor' && live?.session.claims['aal'] === 'aal2';
    if (live === undefined || isComplete) continue;
    const waiting = { ...stored, ...live, returnTo: request.returnTo(stored.returnTo) };
    // First, because a renewal has spent the former token.
    if (live.content !== stored.content) storePending(backend, request, waiting);
    yield waiting;
  }
}

/** Deletes the cookie of a completed one. */
export function clearPending(backend: BackendContext, request: AuthRequest): void {
  writePending(backend, request, undefined);
}

/** Deletes the cookie and ends its session at the backend. It never throws, and needs no answer of `accept`. */
export async function endPending(backend: BackendContext, request: AuthRequest): Promise<void> {
  try {
    for await (const { content } of livePending(backend, request, Infinity)) {
      await backend.resolver.revokeSession(backend.source.toStored(content));
      await backend.supabase.discard(content);
    }
  } catch (error) {
    backend.explain('a pending sign-in was not ended at the backend: %s', String(error));
  }
  // Afterward, because reading it may renew it.
  clearPending(backend, request);
}

/** The same, unless it belongs to this user. It never throws. */
export async function endPendingOfOthers(
  backend: BackendContext,
  request: AuthRequest,
  userId: string | undefined,
): Promise<void> {
  const waiting = await readPending(backend, request, Infinity).catch(() => undefined);
  if (waiting?.session.user.id !== userId) await endPending(backend, request);
}

async function verifyPending(
  backend: BackendContext,
  request: AuthRequest,
  { kind, issued }: Pick<NewPending, 'kind' | 'issued'>,
): Promise<{ readonly content: StoredContent; readonly session: BackendSession }> {
  const content = pendingContent(issuedContent(issued));
  const session = await verifyIssued(backend, content);
  try {
    // No later request would find it, and the person would be sent from page to page.
    if (kind !== 'change' && signInTime(kind, session.claims) === undefined) {
      throw new AuthError('token_rejected', { reason: 'amr' });
    }
    await request.refuseUnaccepted(session);
  } catch (refusal) {
    // With both factors, it is a pending sign-in that goes on, and that its cookie still holds.
    if (session.claims['aal'] !== 'aal2' || !isOutage(refusal)) await backend.supabase.discard(content);
    throw refusal;
  }
  return { content, session };
}

function cookieName({ settings }: BackendContext): string {
  return `${settings.cookieName}-pending`;
}

/** @param text `undefined` deletes the cookie */
function writePending(backend: BackendContext, request: AuthRequest, text: string | undefined): void {
  const name = cookieName(backend);
  // This response may already write a renewed one, in more chunks than the request has.
  const present = new Map([...request.cookies, ...request.written.map((write) => [write.name, ['']] as const)]);
  const writes: readonly CookieWrite[] =
    text === undefined
      ? chunkNames(present, name).map((chunk) => ({ name: chunk, value: undefined }))
      : writeChunks(name, text, present);
  request.writeCookies(writes.map((each) => ({ ...each, attributes: backend.flows.attributes })));
}

function storedIn(backend: BackendContext, { cookies }: AuthRequest): readonly Stored[] {
  const { values } = sessionCandidates(cookies, cookieName(backend), (text) => parse(text) !== undefined);
  return values.flatMap((text) => parse(text) ?? []);
}

type Live = Pick<PendingSignIn, 'session' | 'content'>;

/**
 * Accepts only tokens of a sign-in of the last ten minutes that was not ended here. They are renewed like a session's:
 * a project's tokens may live for less than the ten minutes.
 */
async function liveSession(
  backend: BackendContext,
  request: AuthRequest,
  { kind, content }: Stored,
): Promise<Live | undefined> {
  const { resolver, settings } = backend;
  const { claims } = readToken(content.access_token);
  // Also before the token is verified, so that an old one causes no call.
  if (!isRecent(backend, kind, claims)) return undefined;
  const client = clientFacts(request.req, request.peer);
  const session = await resolver.resolveBearer(content.access_token, client, true);
  // Also one that may expire before the backend reads it.
  const isDue = typeof claims['exp'] === 'number' && isRenewalUrgent(claims, settings.now());
  const live = isDue ? await renewPending(backend, request, content) : { session, content };
  // A token with `client_id` was issued to another application by the project's OAuth server.
  if (live?.session?.adapter !== 'backend' || live.session.claims['client_id'] !== undefined) return undefined;
  if (!isRecent(backend, kind, live.session.claims)) return undefined;
  // It came in a cookie, as `accept` was told when the sign-in began.
  return { session: Object.freeze({ ...live.session, credential: 'cookie' as const }), content: live.content };
}

async function renewPending({ resolver }: BackendContext, request: AuthRequest, content: StoredContent) {
  const renewed = await resolver.renewStored(content, clientFacts(request.req, request.peer));
  return renewed && { session: renewed.session, content: pendingContent(renewed.stored.content) };
}

function isRecent({ settings }: BackendContext, kind: PendingKind, claims: Token['claims']): boolean {
  const signedInAt = signInTime(kind, claims);
  return signedInAt !== undefined && settings.now() - signedInAt * 1000 < flowMaxAge * 1000 + skewMs;
}

/**
 * What GoTrue writes into `amr` for an email's link or code: `otp` for each of them at `POST /verify`, and the kind of the link
 * where the link led to a code for the callback. So the token of an emailed sign-in code looks like that of a recovery link; it
 * proves the same, that the visitor reads the account's email now.
 */
const mailMethods: ReadonlySet<unknown> = new Set(['recovery', 'invite', 'otp', 'magiclink']);

/** The sign-in from which the ten minutes count; `iat` would be the last refresh. In seconds since the epoch. */
function signInTime(kind: PendingKind, claims: Token['claims']): number | undefined {
  if (kind === 'factor') return newestAmrTime(claims);
  const isMeant = (method: unknown): boolean => (kind === 'recovery' ? mailMethods.has(method) : method === 'password');
  const amr: readonly unknown[] = Array.isArray(claims['amr']) ? claims['amr'] : [];
  return newestAmrTime({ amr: amr.filter((entry) => isRecord(entry) && isMeant(entry['method'])) });
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
  if (kind !== 'recovery' && kind !== 'factor' && kind !== 'change') return undefined;
  return {
    kind,
    content: pendingContent(content),
    returnTo: typeof returnTo === 'string' ? returnTo : '/',
    needsFactor: factor === true,
    isUnanswered: isUnanswered === true,
  };
}
