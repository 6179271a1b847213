import type { Request } from 'express';
import type { Session as SdkSession } from '@supabase/supabase-js';
import { withDeadline } from '../../core/deadline.ts';
import { AuthError } from '../../errors.ts';
import type { AuthRequest } from '../../http/auth-request.ts';
import type { Allowance } from '../../session/allowance.ts';
import type { LeftSession } from '../../session/sign-out.ts';
import type { Emit } from '../../session/events.ts';
import { verdictReason } from '../../session/source.ts';
import type { SessionResolver } from '../../session/sessions.ts';
import type { SessionWriter } from '../../session/session-writer.ts';
import type { CookieWrite } from '../../core/cookies.ts';
import type { BackendSession } from '../../types.ts';
import { outOfTime } from '../connection.ts';
import { endAtBackend } from '../end-at-backend.ts';
import type { OnBackendSignIn } from '../option-schema.ts';
import { parseContent } from '../session-cookie.ts';
import type { StoredContent } from '../session-cookie.ts';
import type { BackendSource } from '../session-source.ts';
import type { Supabase } from '../supabase.ts';
import { needsFactor } from './pending.ts';
import type { PendingSignIns } from './pending.ts';
import { verifyUrl } from './start-flow.ts';

export interface SignInParts {
  readonly pending: PendingSignIns;
  readonly verifyPath: string;
  readonly source: BackendSource;
  readonly writer: SessionWriter<StoredContent>;
  readonly resolver: SessionResolver<StoredContent>;
  readonly supabase: Supabase;
  readonly onSignIn?: OnBackendSignIn | undefined;
  readonly emit: Emit;
  readonly timeoutMs: number;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** A verified sign-in that `onSignIn` accepted and that fits a cookie. */
export interface SignedIn {
  readonly content: StoredContent;
  readonly session: BackendSession;
  readonly redirectTo: string;
}

export interface SignIn {
  /**
   * Verifies and stores; where the user has a second factor, it waits for that instead.
   *
   * @returns where to go next
   * @throws {AuthError} as its two halves do
   */
  complete(request: AuthRequest, issued: SdkSession, returnTo: string): Promise<string>;
  /**
   * Verifies what the backend issued, asks the hook, and looks at the size; no cookie is written yet.
   *
   * @throws {AuthError} `token_rejected`, `session_too_large`, `provider_unavailable`, or what the hook throws; there is no session then
   */
  verifySignIn(request: AuthRequest, issued: SdkSession, returnTo: string): Promise<SignedIn>;
  /** Keeps a first factor until the second one is given. @returns where that is asked for @throws {AuthError} as `pending.begin` does */
  awaitFactor(
    request: AuthRequest,
    issued: SdkSession,
    returnTo: string,
    further?: { readonly isAdmitted: boolean },
  ): Promise<string>;
  /** Stores newer tokens of the session that the browser has. It is no new sign-in, so the hook is not asked. @throws {AuthError} */
  renew(request: AuthRequest, issued: SdkSession): Promise<void>;
  /** Ends what was issued and will not be used: the backend need not keep it. */
  discard(issued: Pick<SdkSession, 'access_token'>): Promise<void>;
  /** Stores an admitted session in place of whatever session there was. */
  storeSession(
    request: AuthRequest,
    signedIn: Pick<SignedIn, 'content'>,
    further?: readonly CookieWrite[],
  ): Promise<void>;
}

export function createSignIn(parts: SignInParts): SignIn {
  const { source, writer, resolver, supabase, emit } = parts;

  async function discard({ access_token: accessToken }: Pick<SdkSession, 'access_token'>): Promise<void> {
    await supabase.revoke(accessToken, 'local', AbortSignal.timeout(parts.timeoutMs)).catch(() => undefined);
  }

  return {
    discard,
    async awaitFactor(request, issued, returnTo, further) {
      await parts.pending.begin(request, { kind: 'factor', issued, returnTo, ...further });
      return verifyUrl(parts, request, returnTo);
    },
    async renew(request, issued) {
      const content = parseContent(issued);
      if (content === undefined) throw new AuthError('token_rejected');
      const { user } = await verifyIssued(source, content);
      if (!(await writer.fits(content, user.id))) throw new AuthError('session_too_large');
      await this.storeSession(request, { content });
      emit({ type: 'session_refreshed', userId: user.id, ...sessionIdOf(source, content) });
    },
    async complete(request, issued, returnTo) {
      if (needsFactor(issued)) return this.awaitFactor(request, issued, returnTo);
      const signedIn = await this.verifySignIn(request, issued, returnTo);
      await this.storeSession(request, signedIn);
      return signedIn.redirectTo;
    },
    async verifySignIn(request, issued, returnTo) {
      const content = parseContent(issued);
      if (content === undefined) throw new AuthError('token_rejected');
      const session = await verifyIssued(source, content);
      try {
        if (!(await writer.fits(content, session.user.id))) throw new AuthError('session_too_large');
        const answer = await parts.onSignIn?.({ session, req: request.req as Request, returnTo });
        const redirectTo = request.returnTo(answer?.redirectTo ?? returnTo, returnTo);
        const facts = source.toStored(content);
        await resolver.beginSession(facts, facts.beganAt);
        emit({ type: 'signed_in', userId: session.user.id, ...sessionIdOf(source, content) }, request.startedAt);
        return { content, session, redirectTo };
      } catch (error) {
        await discard(content);
        throw error;
      }
    },
    async storeSession(request, { content }, further = []) {
      const { sessionId, userId } = source.toStored(content);
      // A sign-out that ran at the same time wins.
      if ((await resolver.revocationOf(sessionId)) === 'signed_out') throw new AuthError('invalid_state');
      const writes = await writer.write(content, request.cookies);
      const replaced = await resolver.replace(request.req.headers.cookie, sessionId, request.peer);
      for (const left of replaced.sessions) void endReplaced(parts, left, replaced.allowance);
      await parts.pending.endOfOthers(request, userId);
      request.writeCookies([...further, ...writes]);
    },
  };
}

async function verifyIssued(source: BackendSource, content: StoredContent): Promise<BackendSession> {
  const verdict = await source.verify(content, 'provider');
  if (verdict.kind === 'live' && verdict.session.adapter === 'backend') return verdict.session;
  throw new AuthError('token_rejected', { reason: verdictReason(verdict) });
}

/** In the background, and never rejects: it has ended here, whatever the backend says. */
async function endReplaced(parts: SignInParts, left: LeftSession<StoredContent>, allowance: Allowance): Promise<void> {
  const work = (signal: AbortSignal) => endAtBackend({ ...parts, scope: 'local' }, left, allowance, signal);
  await withDeadline(work, parts.timeoutMs, outOfTime).catch(() => undefined);
}

function sessionIdOf(source: BackendSource, content: StoredContent): { readonly sessionId?: string } {
  const { sessionId } = source.toStored(content);
  return sessionId === undefined ? {} : { sessionId };
}
