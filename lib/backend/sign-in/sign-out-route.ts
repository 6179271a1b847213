import { defined } from '../../tools/json.ts';
import { readFields } from '../../http/body.ts';
import type { AuthRequest } from '../../http/request.ts';
import { otherAccountUrl } from '../../pages/page.ts';
import { redirectOrJson } from '../../http/reply.ts';
import type { Reply } from '../../http/reply.ts';
import { clientFacts, header, isPrefetch } from '../../http/message.ts';
import { signOutPage } from '../../pages/document.ts';
import { withSignOutHook } from '../../http/sign-out-hook.ts';
import type { AuthRoute } from '../../http/router.ts';
import type { Allowance } from '../../session/allowance.ts';
import type { EndedSession } from '../../session/sign-out.ts';
import type { SessionFacts } from '../../session/ended/record.ts';
import type { BackendSession } from '../../types.ts';
import type { BackendContext } from '../context.ts';
import { readReturnTo, wantsOtherAccount } from '../forms/forms.ts';
import type { StoredContent } from '../supabase/session-cookie.ts';
import { endPending } from './pending.ts';
import { endAtBackend, endOthersHere } from './sign-out.ts';

/** @returns a function that always ends the session here, or all of the user's, then at the backend if that answers in time */
export function createSignOut(backend: BackendContext) {
  const { settings, source, resolver, emit, explain } = backend;

  /**
   * @param current the session as it was just resolved: where that renewed it, the cookies' tokens are spent
   * @param overId of a session that has ended at the backend
   */
  async function signOut(request: AuthRequest, current: BackendSession | null, overId?: string): Promise<void> {
    const live = await liveTokens(backend, request, current);
    const { sessions, cookies, allowance } = await resolver.signOut(request.req.headers.cookie, request.peer);
    request.writeCookies(cookies);
    const ended = sessions.map((left) => {
      const isOver = overId !== undefined && left.candidate.sessionId === overId;
      return endSession(newest(source, left, current), isOver ? undefined : allowance, live);
    });
    await Promise.all([endPending(backend, request), ...ended]);
  }

  /**
   * @param allowance `undefined` where it has ended at the backend
   * @param live `liveTokens`; for any other the backend decides whether it may end the user's other sessions
   */
  async function endSession(
    left: EndedSession<StoredContent>,
    allowance: Allowance | undefined,
    live: ReadonlySet<string>,
  ) {
    const scope = settings.signOutScope;
    const isLive = left.isAuthentic && live.has(left.candidate.content.access_token);
    let subject = left.isAuthentic ? subjectOf(left.candidate) : undefined;
    if (isLive) await endOthersHere(backend, scope, left.candidate);
    try {
      const renewed = allowance && (await endAtBackend(backend, scope, left, allowance));
      if (renewed !== undefined && !isLive) {
        const proven = source.toStored(renewed);
        subject ??= subjectOf(proven);
        await endOthersHere(backend, scope, proven);
      }
    } catch (error) {
      explain('signed out here, but not at the backend: %s', String(error));
    }
    // A token that is not authentic does not identify the user who signs out.
    if (subject !== undefined) emit({ type: 'signed_out', ...subject });
  }

  return (request: AuthRequest, status: 302 | 303, returnTo: string, overId?: string): Promise<Reply> => {
    // Ending others takes a token that works: that of the cookie may be spent.
    const isLookedUp = settings.signOutScope !== 'local';
    return withSignOutHook(request, settings.onSignOut, isLookedUp, async (session) => {
      await signOut(request, session, overId);
      return redirectOrJson(request, returnTo, status);
    });
  };
}

/** `/auth/logout`. */
export function signOutRoute(backend: BackendContext): AuthRoute {
  const { settings } = backend;
  const leave = createSignOut(backend);
  return {
    path: settings.logoutPath,
    option: 'logoutPath',
    get(request) {
      const returnTo = readReturnTo(request);
      if (isMeant(request)) return leave(request, 302, returnTo);
      return signOutPage(request, request.localPath(settings.logoutPath), returnTo);
    },
    async post(request) {
      const fields = await readFields(request.req, request.res);
      const returnTo = readReturnTo(request, fields);
      const isOtherAccount = wantsOtherAccount(request, fields);
      return leave(request, 303, isOtherAccount ? otherAccountUrl(request, returnTo) : returnTo);
    },
  };
}

/** A session with the tokens that were just resolved. */
function newest(
  source: BackendContext['source'],
  left: EndedSession<StoredContent>,
  current: BackendSession | null,
): EndedSession<StoredContent> {
  const content = current === null ? undefined : source.contentOf(current);
  if (current === null || content === undefined || left.candidate.sessionId !== current.claims['session_id'])
    return left;
  return { candidate: { ...left.candidate, content }, verdict: { kind: 'live', session: current }, isAuthentic: true };
}

/** The tokens of sessions that are not over. A copy of another one proves that its user signed in once, and may end no other session. */
async function liveTokens(
  { settings, source, resolver }: BackendContext,
  request: AuthRequest,
  current: BackendSession | null,
): Promise<ReadonlySet<string>> {
  const live = new Set(current === null ? [] : [current.accessToken]);
  if (settings.signOutScope === 'local') return live;
  const read = await source.read(request.cookies);
  const client = clientFacts(request.req, request.peer);
  for (const { access_token: token } of read.kind === 'stored' ? read.candidates.map(({ content }) => content) : []) {
    const session = await resolver.resolveBearer(token, client, { takesStale: true }).catch(() => undefined);
    if (session !== undefined) live.add(token);
  }
  return live;
}

function subjectOf({ userId, sessionId }: SessionFacts): { userId?: string; sessionId?: string } {
  return defined({ userId, sessionId });
}

/** Whether this site or the user caused the GET, not a link elsewhere, an image or a prefetch. */
function isMeant(request: AuthRequest): boolean {
  const { req } = request;
  if (req.method !== 'GET' || isPrefetch(req)) return false;
  const site = header(req, 'sec-fetch-site');
  const mode = header(req, 'sec-fetch-mode');
  if (site === undefined) return hasOwnReferrer(request);
  return (site === 'same-origin' || site === 'none') && mode !== 'no-cors';
}

/** Where a browser sends no Fetch Metadata (plain http on a network), the link must be on a page of this site. */
function hasOwnReferrer({ req, origin }: AuthRequest): boolean {
  const from = header(req, 'origin') ?? header(req, 'referer');
  return from !== undefined && URL.parse(from)?.origin === origin;
}
