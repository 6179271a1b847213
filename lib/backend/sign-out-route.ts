import { readFields } from '../http/body.ts';
import type { AuthRequest } from '../http/auth-request.ts';
import { redirectOrJson } from '../http/reply.ts';
import type { Reply } from '../http/reply.ts';
import { header, isPrefetch } from '../http/request.ts';
import type { AuthRoute } from '../http/router.ts';
import { isRenewalUrgent } from '../tokens/access-token.ts';
import { withDeadline } from '../core/deadline.ts';
import type { Allowance } from '../session/allowance.ts';
import type { LeftSession } from '../session/sign-out.ts';
import type { Emit, Explain } from '../session/events.ts';
import type { SessionResolver } from '../session/sessions.ts';
import type { StoredSession } from '../session/source.ts';
import { outOfTime } from './supabase.ts';
import type { BackendCalls } from './supabase.ts';
import type { StoredContent } from './session-cookie.ts';
import { signOutPage } from './pages/index.ts';
import type { BackendSource } from './session-source.ts';
import type { Views } from './views.ts';

export interface SignOutParts {
  readonly path: string;
  readonly scope: 'local' | 'global';
  readonly views: Views;
  readonly calls: BackendCalls;
  readonly source: BackendSource;
  readonly resolver: SessionResolver<StoredContent>;
  readonly timeoutMs: number;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly emit: Emit;
  readonly explain: Explain;
}

/** `/auth/logout`: the local session ends whatever happens; then the backend is told, as far as it can be reached in time. */
export function signOutRoute(parts: SignOutParts): AuthRoute {
  const { source, resolver, emit, explain } = parts;

  async function signOut(request: AuthRequest): Promise<void> {
    const { sessions, cookies, allowance } = await resolver.signOut(request.req.headers.cookie, request.peer);
    request.writeCookies(cookies);
    await Promise.all(sessions.map((left) => endSession(left, allowance)));
  }

  async function endSession(left: LeftSession<StoredContent>, allowance: Allowance): Promise<void> {
    let subject = left.isAuthentic ? subjectOf(left.candidate) : undefined;
    try {
      const work = (signal: AbortSignal) => endAtBackend(parts, left, allowance, signal);
      const renewed = await withDeadline(work, parts.timeoutMs, outOfTime);
      if (renewed !== undefined) subject ??= subjectOf(source.toStored(renewed));
    } catch (error) {
      explain('signed out here, but not at the backend: %s', String(error));
    }
    // A token without proof names no person who could have signed out.
    if (subject !== undefined) emit({ type: 'signed_out', ...subject });
  }

  async function leave(request: AuthRequest, status: 302 | 303, returnTo: string): Promise<Reply> {
    await signOut(request);
    return redirectOrJson(request, returnTo, status);
  }

  return {
    path: parts.path,
    option: 'logoutPath',
    get(request) {
      const returnTo = request.returnTo(request.query.get('returnTo'));
      if (isMeant(request)) return leave(request, 302, returnTo);
      // Where it signs out, the answer depends on `Accept`.
      request.isNegotiated = true;
      return signOutPage(parts.views.signOut(request, returnTo));
    },
    async post(request) {
      const fields = await readFields(request.req, request.res);
      return leave(request, 303, request.returnTo(fields.get('returnTo') ?? request.query.get('returnTo')));
    },
  };
}

/**
 * The backend knows a session by its access token, so one that it would not take is renewed for this last call.
 *
 * @returns what it was renewed to
 */
export async function endAtBackend(
  { calls, scope, now }: Pick<SignOutParts, 'calls' | 'scope' | 'now'>,
  { candidate, verdict, isAuthentic }: LeftSession<StoredContent>,
  allowance: Allowance,
  signal: AbortSignal,
): Promise<StoredContent | undefined> {
  const { access_token: accessToken, refresh_token: refreshToken } = candidate.content;
  if (verdict === undefined || verdict.kind === 'invalid') return undefined;
  const isUsable = verdict.kind === 'live' && !isRenewalUrgent(verdict.session.claims, now());
  if (isUsable && (await calls.revoke(accessToken, scope, signal)) === 'revoked') return undefined;
  const renewal = await allowance.refresh(candidate, isAuthentic, () => calls.refresh(refreshToken, signal));
  if (renewal.kind === 'unanswered') throw outOfTime();
  if (renewal.kind === 'refused') throw renewal.error;
  if (renewal.kind === 'ended') return undefined;
  await calls.revoke(renewal.content.access_token, scope, signal);
  return renewal.content;
}

/** Whose session a genuine token belongs to. */
function subjectOf({ token, sessionId }: StoredSession<StoredContent>): { userId?: string; sessionId?: string } {
  const userId = token?.claims['sub'];
  return {
    ...(typeof userId === 'string' ? { userId } : {}),
    ...(sessionId === undefined ? {} : { sessionId }),
  };
}

/** Whether a GET was asked for by this site or by the visitor, and not by a link elsewhere, an image or a browser's guess. */
function isMeant(request: AuthRequest): boolean {
  const { req } = request;
  if (req.method !== 'GET' || isPrefetch(req)) return false;
  const site = header(req, 'sec-fetch-site');
  const mode = header(req, 'sec-fetch-mode');
  if (site === undefined) return hasOwnReferrer(request);
  return (site === 'same-origin' || site === 'none') && mode !== 'no-cors';
}

/** Where a browser sends no Fetch Metadata (plain http on a network), the link must have been on a page of this site. */
function hasOwnReferrer({ req, origin }: AuthRequest): boolean {
  const from = header(req, 'origin') ?? header(req, 'referer');
  return from !== undefined && URL.parse(from)?.origin === origin;
}
