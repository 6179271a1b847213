import { allowsFormRedirect } from '../tools/content-security-policy.ts';
import { defined } from '../tools/json.ts';
import type { AuthRequest } from '../http/request.ts';
import { redirectOrJson } from '../http/reply.ts';
import type { Reply } from '../http/reply.ts';
import type { AuthRoute } from '../http/router.ts';
import { signingOutPage, signOutPage } from '../pages/document.ts';
import { withSignOutHook } from '../http/sign-out-hook.ts';
import type { Allowance } from '../session/allowance.ts';
import type { EndedSession } from '../session/sign-out.ts';
import type { SessionSource, StoredSession } from '../session/source.ts';
import type { B2bContext } from './context.ts';
import { classifyFailure } from './provider-errors.ts';
import type { SealedSession } from './seal.ts';

/** In the query of a post from the built-in page, whose CSP allows no redirect to another site. */
const fromPage = 'from=page';

/**
 * `POST /logout`: clears the local cookie, then redirects to the provider's logout URL, which needs
 * no API call. A GET asks first, because another site can plant a link.
 */
export function signOutRoute(context: B2bContext): AuthRoute {
  const { settings, source, provider, resolver, flows, emit } = context;

  return {
    path: settings.logoutPath,
    option: 'logoutPath',
    get: (request) => signOutPage(request, `${request.localPath(settings.logoutPath)}?${fromPage}`, request.home),
    post: (request) => withSignOutHook(request, settings.onSignOut, false, () => signOut(request)),
  };

  async function signOut(request: AuthRequest): Promise<Reply> {
    const { sessions, cookies, allowance } = await resolver.signOut(request.req.headers.cookie, request.peer);
    request.writeCookies([...cookies, ...(await flows.cancelAll(request.cookies))]);
    for (const { candidate } of sessions) emit({ type: 'signed_out', ...subjectOf(candidate) });
    const sessionId = await visibleSession(source, sessions, allowance);
    // The browser can be redirected through only one sign-out.
    const others = new Set(sessions.flatMap(({ candidate }) => candidate.sessionId ?? []));
    others.delete(sessionId ?? '');
    for (const other of others) resolver.background.run(revokeQuietly(context, other));
    const home = returnUrl(request, settings.logoutReturnTo);
    const destination = sessionId === undefined ? home : await provider.logoutUrl(sessionId, home);
    const canRedirect = request.wantsJson || [destination, home].every((url) => canFormGoTo(request, url));
    return canRedirect ? redirectOrJson(request, destination) : signingOutPage(request, destination);
  }
}

/** Runs in the background and never rejects: the session has already ended here. */
export async function revokeQuietly(
  { provider, explain }: Pick<B2bContext, 'provider' | 'explain'>,
  sessionId: string,
): Promise<void> {
  try {
    await provider.revokeSession(sessionId);
  } catch (error) {
    explain('ended here, but not at the provider: %s', String(error));
  }
}

/**
 * The same for `endSession`, so that AuthKit continues no session that has ended here. A session that WorkOS does not know, or has ended, is no failure.
 */
export async function revokeEnded(
  { provider, emit }: Pick<B2bContext, 'provider' | 'emit'>,
  sessionId: string,
): Promise<void> {
  try {
    await provider.revokeSession(sessionId);
  } catch (error) {
    const failure = classifyFailure(error);
    if (isStatus(error, 404) || failure.kind === 'refused') return;
    const code = failure.kind === 'misconfigured' ? 'provider_refused' : 'provider_unavailable';
    const reason =
      failure.kind === 'unavailable' ? failure.reason : failure.kind === 'unanswered' ? 'unanswered' : undefined;
    emit({ type: 'revocation_failed', code, ...defined({ reason }), sessionId });
  }
}

function isStatus(error: unknown, status: number): boolean {
  return typeof error === 'object' && error !== null && 'status' in error && error.status === status;
}

/** The session that the user saw: the first live one, as for every other request. */
async function visibleSession(
  source: SessionSource<SealedSession>,
  sessions: readonly EndedSession<SealedSession>[],
  allowance: Allowance,
): Promise<string | undefined> {
  const [first, ...others] = sessions.filter(({ candidate }) => candidate.sessionId !== undefined);
  // A single session needs no verification, and so no keys, which may be unavailable.
  if (others.length > 0) {
    for (const { candidate } of sessions) if (await isLive(source, candidate, allowance)) return candidate.sessionId;
  }
  return first?.candidate.sessionId;
}

async function isLive(
  source: SessionSource<SealedSession>,
  { content, token }: StoredSession<SealedSession>,
  allowance: Allowance,
): Promise<boolean> {
  try {
    return (await source.verify(content, allowance, token)).kind === 'live';
  } catch {
    return false;
  }
}

function subjectOf({ content, sessionId }: StoredSession<SealedSession>): { userId: string; sessionId?: string } {
  return { userId: content.user.id, ...defined({ sessionId }) };
}

/** Checks the CSP of this response, which the form's page probably has as well. */
function canFormGoTo({ res, query, origin }: AuthRequest, url: string): boolean {
  const header = res.getHeader('content-security-policy');
  const policies = header === undefined ? [] : [header].flat().map(String);
  const page = query.toString() === fromPage ? ["form-action 'self'"] : [];
  return allowsFormRedirect([...policies, ...page], url, origin);
}

/** The provider requires an absolute URL. */
function returnUrl(request: AuthRequest, logoutReturnTo: string | undefined): string {
  return new URL(logoutReturnTo ?? '/', request.definition.frontendOrigin ?? request.origin).href;
}
