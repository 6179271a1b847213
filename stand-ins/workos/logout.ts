import { problemPage, signedOutPage } from './pages.ts';
import { json, redirect } from './replies.ts';
import type { Reply } from './replies.ts';
import type { Sessions } from './sessions.ts';

export interface LogoutContext {
  readonly sessions: Pick<Sessions, 'end'>;
  /** Sign-out redirects; the first is the target of a sign-out without `return_to`. */
  readonly logoutReturnTos: readonly string[];
}

/** `GET /user_management/sessions/logout`. https://workos.com/docs/reference/authkit/logout */
export function logout(query: URLSearchParams, { sessions, logoutReturnTos }: LogoutContext): Reply {
  const sessionId = query.get('session_id');
  if (!sessionId) return problemPage({ title: 'No session', text: 'The request carries no session_id.' });
  // First, so that the user is signed out even if the redirect target is invalid.
  sessions.end(sessionId);
  const returnTo = query.get('return_to') ?? logoutReturnTos[0];
  if (returnTo === undefined) return signedOutPage();
  if (logoutReturnTos.some((registered) => isSameUrl(registered, returnTo))) return redirect(returnTo);
  const text = 'The session has ended. To send people back, register exactly this one as a sign-out redirect:';
  return problemPage({ title: 'Sign-out redirect not registered', text, value: returnTo, backTo: returnTo });
}

export interface RevokeContext {
  readonly sessions: Pick<Sessions, 'end' | 'isActive'>;
  readonly apiKey: string;
}

/** `POST /user_management/sessions/revoke`. https://workos.com/docs/reference/authkit/session/revoke */
export function revoke(
  sessionId: unknown,
  authorization: string | undefined,
  { sessions, apiKey }: RevokeContext,
): Reply {
  if (authorization !== `Bearer ${apiKey}`) return json(401, { message: 'Unauthorized' });
  if (typeof sessionId !== 'string' || !sessions.isActive(sessionId)) {
    return json(404, { code: 'entity_not_found', message: `Session not found: '${String(sessionId)}'.` });
  }
  sessions.end(sessionId);
  return json(200, {});
}

/** `GET /user_management/users/:id/sessions`. https://workos.com/docs/reference/authkit/session/list */
export function listSessions(
  userId: string,
  authorization: string | undefined,
  { sessions, apiKey }: { readonly sessions: Pick<Sessions, 'listOf'>; readonly apiKey: string },
): Reply {
  if (authorization !== `Bearer ${apiKey}`) return json(401, { message: 'Unauthorized' });
  return json(200, { object: 'list', data: sessions.listOf(userId), list_metadata: { before: null, after: null } });
}

/** `http://localhost:3000` and `http://localhost:3000/` are one URL in two spellings. */
function isSameUrl(one: string, other: string): boolean {
  return URL.canParse(other) && new URL(one).href === new URL(other).href;
}
