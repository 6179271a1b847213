import type { Session as SdkSession } from '@supabase/supabase-js';
import { cookieBytes, chunkNames, sessionCandidates, writeChunks } from '../../core/cookie-chunks.ts';
import type { CookieAttributes, CookieWrite } from '../../core/cookies.ts';
import { isRecord } from '../../core/json.ts';
import { AuthError } from '../../errors.ts';
import type { AuthRequest } from '../../http/auth-request.ts';
import { clientFacts } from '../../http/request.ts';
import type { SessionResolver } from '../../session/sessions.ts';
import { verdictReason } from '../../session/source.ts';
import { readToken } from '../../tokens/token.ts';
import type { BackendSession } from '../../types.ts';
import { parseContent } from '../session-cookie.ts';
import type { StoredContent } from '../session-cookie.ts';
import type { BackendSource } from '../session-source.ts';
import type { Supabase } from '../supabase.ts';
import { flowAttributes, flowMaxAge } from './flow-cookies.ts';

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

/**
 * Sign-ins that need one more step. They lie in an HttpOnly cookie of their own (`<cookieName>-pending`), one per browser and for ten
 * minutes, which only the adapter's own routes read: no guard and no `getSession` sees it, and the session of this browser stays as it is
 * until `signIn.complete` replaces it.
 *
 *     await pending.begin(request, { kind: 'factor', issued, returnTo });     // then redirect to the page of the next step
 *     const waiting = await pending.read(request);                             // there: undefined when it is over
 *     const redirectTo = await signIn.complete(request, session, waiting.returnTo);
 *     pending.clear(request);
 */
export interface PendingSignIns {
  /**
   * Verifies what the backend issued and keeps it, in place of what was pending before.
   *
   * @throws {AuthError} `token_rejected`, `session_too_large` or `provider_unavailable`; nothing is kept then
   */
  begin(
    request: AuthRequest,
    pending: Pick<PendingSignIn, 'kind' | 'returnTo'> & {
      readonly issued: SdkSession;
      readonly isUnanswered?: boolean;
      /** Whether `admit` was called for it: an answer that is used again is no new sign-in, and lifts no `endSession`. */
      readonly isAdmitted?: boolean;
    },
  ): Promise<void>;
  /** Verifies what the backend issued just now: no `endSession` that was called until now concerns it. @throws {AuthError} as `begin` */
  admit(issued: SdkSession): Promise<void>;
  /** Notes that a try to set the new password got no answer. */
  markUnanswered(request: AuthRequest, waiting: PendingSignIn): void;
  /** @throws {AuthError} `provider_unavailable` where it takes the backend to tell */
  read(request: AuthRequest): Promise<PendingSignIn | undefined>;
  /** Deletes the cookie of one that was completed. */
  clear(request: AuthRequest): void;
  /** Deletes the cookie and ends what it held at the backend. It never throws. */
  end(request: AuthRequest): Promise<void>;
  /** The same for what another user left in this browser. It never throws. */
  endOfOthers(request: AuthRequest, userId: string | undefined): Promise<void>;
}

export interface PendingParts {
  readonly cookieName: string;
  readonly sameSite: CookieAttributes['sameSite'];
  readonly source: BackendSource;
  readonly supabase: Supabase;
  readonly resolver: Pick<SessionResolver<StoredContent>, 'beginSession' | 'revokeSession' | 'resolveBearer'>;
  readonly timeoutMs: number;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** Bytes of the cookie. */
const maxPendingBytes = 8 * 1024;
/** Bytes of the `Cookie` header with it: Node ends requests with more than 16 KB of headers. */
const maxHeaderBytes = 14 * 1024;
/** Milliseconds by which the clocks of the backend and this process may differ. */
const skewMs = 5_000;
/** Duplicates that are tried: a tossed cookie must not hide the real one, nor buy many questions. */
const maxTries = 4;

export function createPendingSignIns(parts: PendingParts): PendingSignIns {
  const { source, supabase, resolver, timeoutMs, now } = parts;
  const name = `${parts.cookieName}-pending`;
  const attributes = { ...flowAttributes(parts.sameSite), httpOnly: true };

  function write(request: AuthRequest, writes: readonly CookieWrite[]): void {
    request.writeCookies(writes.map((each) => ({ ...each, attributes })));
  }

  function clear(request: AuthRequest): void {
    write(
      request,
      chunkNames(request.cookies, name).map((present) => ({ name: present, value: undefined })),
    );
  }

  function storedIn({ cookies }: AuthRequest): readonly Stored[] {
    const { values } = sessionCandidates(cookies, name, (text) => parse(text) !== undefined);
    return values.flatMap((text) => parse(text) ?? []).slice(0, maxTries);
  }

  /** Only a token that the backend signed and issued within the last ten minutes counts, and that was not ended here. */
  async function liveSession(content: StoredContent, request: AuthRequest): Promise<BackendSession | undefined> {
    const client = clientFacts(request.req, request.peer);
    const session = await resolver.resolveBearer(content.access_token, client, true);
    // A token of the project's OAuth server speaks for another application.
    if (session?.adapter !== 'backend' || session.claims['client_id'] !== undefined) return undefined;
    const { iat = 0 } = session.claims;
    const isRecent = now() - iat * 1000 < flowMaxAge * 1000 + skewMs;
    return isRecent ? session : undefined;
  }

  async function endAtBackend(content: StoredContent): Promise<void> {
    const signal = AbortSignal.timeout(timeoutMs);
    await supabase.revoke(content.access_token, 'local', signal).catch(() => undefined);
  }

  /** @throws {AuthError} `token_rejected` or `provider_unavailable` */
  async function verify(issued: SdkSession): Promise<{ content: StoredContent; userId: string }> {
    const content = pendingContent(issued);
    if (content === undefined) throw new AuthError('token_rejected');
    const verdict = await source.verify(content, 'provider');
    if (verdict.kind !== 'live') throw new AuthError('token_rejected', { reason: verdictReason(verdict) });
    return { content, userId: verdict.session.user.id };
  }

  function beginSession(content: StoredContent): Promise<unknown> {
    const facts = source.toStored(content);
    return resolver.beginSession(facts, facts.beganAt);
  }

  async function endOfOthers(request: AuthRequest, userId: string | undefined): Promise<void> {
    const waiting = await read(request).catch(() => undefined);
    if (waiting?.session.user.id !== userId) await end(request);
  }

  async function read(request: AuthRequest): Promise<PendingSignIn | undefined> {
    for (const stored of storedIn(request)) {
      const session = await liveSession(stored.content, request);
      // A token with both factors waits for no second one: such a cookie was made by hand.
      const isComplete = stored.kind === 'factor' && session?.claims['aal'] === 'aal2';
      if (session === undefined || isComplete) continue;
      return { ...stored, session, returnTo: request.returnTo(stored.returnTo) };
    }
    return undefined;
  }

  async function end(request: AuthRequest): Promise<void> {
    clear(request);
    const waiting = await read(request).catch(() => undefined);
    if (waiting === undefined) return;
    await resolver.revokeSession(source.toStored(waiting.content));
    await endAtBackend(waiting.content);
  }

  return {
    read,
    clear,
    markUnanswered(request, waiting) {
      write(request, writeChunks(name, encodePending({ ...waiting, isUnanswered: true }), request.cookies));
    },
    async admit(issued) {
      await beginSession((await verify(issued)).content);
    },
    async begin(request, { kind, issued, returnTo, isUnanswered = false, isAdmitted = false }) {
      const { content, userId } = await verify(issued);
      const stored = { kind, content, returnTo, needsFactor: needsFactor(issued), isUnanswered };
      const writes = writeChunks(name, encodePending(stored), request.cookies);
      const bytes = cookieBytes(writes);
      const present = Buffer.byteLength(request.req.headers.cookie ?? '');
      if (bytes > maxPendingBytes || bytes + present > maxHeaderBytes) {
        await endAtBackend(content);
        throw new AuthError('session_too_large');
      }
      if (!isAdmitted) await beginSession(content);
      await endOfOthers(request, userId);
      write(request, writes);
    },
    end,
    endOfOthers,
  };
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
function pendingContent(issued: unknown): StoredContent | undefined {
  const content = parseContent(issued);
  if (content === undefined) return undefined;
  const { access_token, refresh_token, expires_at } = content;
  return { access_token, refresh_token, ...(expires_at === undefined ? {} : { expires_at }), token_type: 'bearer' };
}

function parse(text: string): Stored | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'));
    const content = pendingContent(value);
    if (!isRecord(value) || content === undefined) return undefined;
    const { kind, returnTo, factor, isUnanswered } = value;
    if (kind !== 'recovery' && kind !== 'factor') return undefined;
    return {
      kind,
      content,
      returnTo: typeof returnTo === 'string' ? returnTo : '/',
      needsFactor: factor === true,
      isUnanswered: isUnanswered === true,
    };
  } catch {
    return undefined;
  }
}
