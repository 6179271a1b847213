import { accepts } from '../loopback.ts';
import type { OnLoopback } from '../loopback.ts';
import { problemPage, signedOutPage } from './pages.ts';
import { json, redirect } from './replies.ts';
import type { Reply } from './replies.ts';
import type { Sessions } from './sessions.ts';

export interface LogoutContext {
  readonly sessions: Pick<Sessions, 'end'>;
  /** Sign-out redirects; the first is the target of a sign-out without `return_to`. */
  readonly logoutReturnTos: string[];
  readonly onLogoutReturnTo: OnLoopback | undefined;
}

/** `GET /user_management/sessions/logout`. https://workos.com/docs/reference/authkit/logout */
export function logout(query: URLSearchParams, context: LogoutContext): Reply {
  const { sessions, logoutReturnTos, onLogoutReturnTo } = context;
  const sessionId = query.get('session_id');
  if (!sessionId) return problemPage({ title: 'No session', text: 'The request carries no session_id.' });
  // First, so that the user is signed out even if the redirect target is invalid.
  sessions.end(sessionId);
  const returnTo = query.get('return_to') ?? logoutReturnTos[0];
  if (returnTo === undefined) return signedOutPage();
  const isRegistered = logoutReturnTos.some((registered) => isSameUrl(registered, returnTo));
  if (isRegistered || accepts(logoutReturnTos, returnTo, onLogoutReturnTo)) return redirect(returnTo);
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

/** `http://localhost:3000` and `http://localhost:3000/` are one URL in two spellings. */
function isSameUrl(one: string, other: string): boolean {
  return URL.canParse(other) && new URL(one).href === new URL(other).href;
}
