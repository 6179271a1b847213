import { cookieBytes, chunkNames, sessionCandidates, writeChunks } from '../../tools/cookie-chunks.ts';
import type { CookieWrite } from '../../tools/cookies.ts';
import { defined, isRecord, parseJson } from '../../tools/json.ts';
import { AuthError } from '../../errors.ts';
import type { AuthRequest } from '../../http/request.ts';
import { clientFacts } from '../../http/message.ts';
import { isRenewalUrgent, readToken } from '../../session/jwt.ts';
import type { OnceAnswer } from '../../session/refresh/ask-once.ts';
import type { Token } from '../../session/jwt.ts';
import type { BackendSession } from '../../types.ts';
import type { BackendContext } from '../context.ts';
import type { Step } from '../slots.ts';
import { newestAmrTime, parseContent } from '../supabase/session-cookie.ts';
import type { StoredContent } from '../supabase/session-cookie.ts';
import { flowMaxAge } from '../../http/cookie-jar.ts';

/**
 * A sign-in that the backend has accepted but that is not a session yet. It is stored in its own HttpOnly cookie
 * (`<cookieName>-pending`), one per browser, for ten minutes. Only the adapter's own routes read it: no guard and no `getSession`
 * does. The browser's session stays until a complete sign-in replaces it.
 */
export interface PendingSignIn {
  /** In this order, at least one. From an unsealed cookie: believed only where the token's `amr` proves such a sign-in. */
  readonly needs: readonly Step[];
  /** Whether an attempt to set the new password got no answer, so that the backend may have set it. */
  readonly tried?: boolean | undefined;
  /** For `supabase.call(request, work, { session: content })`. */
  readonly content: StoredContent;
  /** Built from the verified claims. */
  readonly session: BackendSession;
  /** Sanitized. */
  readonly returnTo: string;
}

/** Maximum bytes of the cookie. */
const maxPendingBytes = 8 * 1024;
/** Maximum bytes of the `Cookie` header with it: Node refuses requests with more than 16 KB of headers. */
const maxHeaderBytes = 14 * 1024;
/** Milliseconds by which the clocks of the backend and this process may differ. */
const skewMs = 5_000;
/** Maximum duplicates to check: a tossed cookie must not hide the real one, nor cause many backend calls. */
const maxTries = 4;

/** Stores it in place of any earlier one. @throws {AuthError} `session_too_large`; nothing is stored then */
export async function beginPending(
  backend: BackendContext,
  request: AuthRequest,
  pending: Stored & { readonly userId: string },
): Promise<void> {
  const text = encodePending(pending);
  const bytes = cookieBytes(writeChunks(cookieName(backend), text, request.cookies));
  const present = Buffer.byteLength(request.req.headers.cookie ?? '');
  if (bytes > maxPendingBytes || bytes + present > maxHeaderBytes) {
    await backend.supabase.discard(pending.content);
    throw new AuthError('session_too_large');
  }
  const { sessionId } = backend.source.toStored(pending.content);
  await endPendingUnless(backend, request, ({ claims }) => backend.source.factsOf(claims).sessionId === sessionId);
  writePending(backend, request, text);
}

/** Records that an attempt to set the new password got no answer. */
export function markTried(backend: BackendContext, request: AuthRequest, pending: PendingSignIn): void {
  storePending(backend, request, { ...pending, tried: true });
}

function storePending(backend: BackendContext, request: AuthRequest, pending: Stored): void {
  writePending(backend, request, encodePending(pending));
}

/** @throws {AuthError} `provider_unavailable` where only the backend can decide */
export async function readPending(
  backend: BackendContext,
  request: AuthRequest,
  tries = maxTries,
): Promise<PendingSignIn | undefined> {
  for await (const pending of livePending(backend, request, tries)) {
    if (await request.accepts(pending.session)) return pending;
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
    if (live === undefined) continue;
    const hasFactor = live.session.claims['aal'] === 'aal2';
    const needs = stored.needs.filter((step) => step !== 'factor' || !hasFactor);
    // A sign-in that needs nothing is not pending: such a cookie was forged.
    if (needs.length === 0) continue;
    const pending = { ...stored, ...live, needs, returnTo: request.returnTo(stored.returnTo) };
    // First, because a renewal has spent the former token.
    if (live.content !== stored.content) storePending(backend, request, pending);
    yield pending;
  }
}

/** Whether the browser has sent one, also one that is over. */
export function holdsPending(backend: BackendContext, { cookies }: AuthRequest): boolean {
  const name = cookieName(backend);
  return [...cookies.keys()].some((each) => each === name || each.startsWith(`${name}.`));
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
  await endPendingUnless(backend, request, ({ user }) => user.id === userId);
}

async function endPendingUnless(
  backend: BackendContext,
  request: AuthRequest,
  isKept: (session: BackendSession) => boolean,
): Promise<void> {
  const pending = await readPending(backend, request, Infinity).catch(() => undefined);
  if (pending === undefined || !isKept(pending.session)) await endPending(backend, request);
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
  { needs, content }: Stored,
): Promise<Live | undefined> {
  const { resolver, settings } = backend;
  const { claims } = readToken(content.access_token);
  // Also before the token is verified, so that an old one causes no call.
  if (!isRecent(backend, needs, claims, true)) return undefined;
  const client = clientFacts(request.req, request.peer);
  const session = await resolver.resolveBearer(content.access_token, client, { takesStale: true });
  // Also one that may expire before the backend reads it.
  const isDue = typeof claims['exp'] === 'number' && isRenewalUrgent(claims, settings.now());
  const live = isDue ? await renewPending(backend, request, content) : { session, content };
  // A token with `client_id` was issued to another application by the project's OAuth server.
  if (live?.session?.adapter !== 'backend' || live.session.claims['client_id'] !== undefined) return undefined;
  const verified = live.session.claims;
  if (!isRecent(backend, needs, verified, true)) return undefined;
  if (!isRecent(backend, needs, verified) && !(await isMailboxProven(backend, verified))) return undefined;
  // It came in a cookie, as `accept` was told when the sign-in began.
  return { session: Object.freeze({ ...live.session, credential: 'cookie' as const }), content: live.content };
}

async function renewPending({ resolver }: BackendContext, request: AuthRequest, content: StoredContent) {
  const renewed = await resolver.renewStored(content, clientFacts(request.req, request.peer));
  return renewed && { session: renewed.session, content: contentOf(renewed.stored.content) };
}

/** Whether its ten minutes are not over. @param isProven as for `signInTime` */
export function isRecent(
  { settings }: BackendContext,
  needs: readonly Step[],
  claims: Token['claims'],
  isProven = false,
): boolean {
  const signedInAt = signInTime(needs, claims, isProven);
  return signedInAt !== undefined && settings.now() - signedInAt * 1000 < flowMaxAge * 1000 + skewMs;
}

/**
 * What GoTrue writes into `amr` for an email's link or code: `otp` for each of them at `POST /verify`, and the kind of the link
 * where the link led to a code for the callback. So the token of an emailed sign-in code looks like that of a recovery link; it
 * proves the same, that the visitor reads the account's email now. A code by SMS is `otp`, too: where the account has a phone number,
 * `otp` alone proves nothing.
 */
const mailMethods: ReadonlySet<unknown> = new Set(['recovery', 'invite', 'otp', 'magiclink']);

/**
 * The sign-in from which the ten minutes count; `iat` would be the last refresh. In seconds since the epoch; `undefined` without proof of one.
 *
 * @param isProven whether the mailbox is proven by other means than `amr`, so that each `otp` counts
 */
export function signInTime(needs: readonly Step[], claims: Token['claims'], isProven = false): number | undefined {
  if (!needs.includes('password')) return newestAmrTime(claims);
  const amr: readonly unknown[] = Array.isArray(claims['amr']) ? claims['amr'] : [];
  const mayBeText = !isProven && (claims['phone'] ?? '') !== '';
  const isOfMail = (method: unknown): boolean => mailMethods.has(method) && !(mayBeText && method === 'otp');
  return newestAmrTime({ amr: amr.filter((entry) => isRecord(entry) && isOfMail(entry['method'])) });
}

/**
 * Notes, for the ten minutes of a pending sign-in, that an email's link has just started this session: the cookie is not sealed and
 * cannot say it. It is kept in this process and at the coordinator.
 */
export async function proveMailbox(backend: BackendContext, claims: Token['claims']): Promise<void> {
  await askMailbox(backend, claims, { kind: 'renewed', text: 'proven' });
}

async function isMailboxProven(backend: BackendContext, claims: Token['claims']): Promise<boolean> {
  return (await askMailbox(backend, claims, { kind: 'ended', reason: 'unknown' })).kind === 'renewed';
}

/** @returns the first answer for the session */
async function askMailbox({ resolver, source }: BackendContext, claims: Token['claims'], answer: OnceAnswer) {
  const { sessionId } = source.factsOf(claims);
  if (sessionId === undefined) return { kind: 'ended', reason: 'unknown' } as const;
  return resolver.askOnce(['mailbox', sessionId], () => Promise.resolve(answer));
}

type Stored = Omit<PendingSignIn, 'session'>;

/** The cookie's value; the testing kit also writes it. */
export function encodePending({ needs, tried, content, returnTo }: Stored): string {
  const value = { needs, ...(tried === true ? { tried } : {}), returnTo, ...contentOf(content) };
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

/** The tokens and the other fields of a session cookie; the next step returns `user` again. */
function contentOf({ access_token, refresh_token, expires_at }: StoredContent): StoredContent {
  return { access_token, refresh_token, ...defined({ expires_at }), token_type: 'bearer' };
}

/** @returns `undefined` also for the form of an older version, whose sign-in starts again */
function parse(text: string): Stored | undefined {
  const value = parseJson(Buffer.from(text, 'base64url').toString('utf8'));
  const content = parseContent(value);
  if (!isRecord(value) || content === undefined) return undefined;
  const { needs: given, tried, returnTo } = value;
  const needs = lists.find((list) => JSON.stringify(list) === JSON.stringify(given));
  if (needs === undefined) return undefined;
  return {
    needs,
    tried: tried === true,
    content: contentOf(content),
    returnTo: typeof returnTo === 'string' ? returnTo : '/',
  };
}

const completed: readonly (readonly Step[])[] = [['factor'], ['password'], ['factor', 'password']];
const lists: readonly (readonly Step[])[] = [
  ...completed,
  ...[[], ...completed].map((list) => ['account', ...list] as const),
];
