import { GoTrueError } from '../errors.ts';
import { json, redirect, textField } from '../http.ts';
import type { Reply, StandInRequest } from '../http.ts';
import { confirm } from '../project.ts';
import type { Project } from '../project.ts';
import { allowedRedirect, withParameters } from '../redirects.ts';
import type { User } from '../types.ts';
import type { OneTimeToken } from '../mails.ts';

/** `POST /verify` with a token hash: a session, in whatever browser. */
export async function verify(project: Project, { body }: StandInRequest): Promise<Reply> {
  const tokenHash = textField(body, 'token_hash');
  const type = textField(body, 'type');
  if (type === '') throw new GoTrueError(400, 'validation_failed', 'Verify requires a verification type');
  if (tokenHash === '' && textField(body, 'token') === '') {
    throw new GoTrueError(400, 'validation_failed', 'Verify requires either a token or a token hash');
  }
  if (tokenHash === '' || textField(body, 'email') !== '' || textField(body, 'token') !== '') {
    throw new GoTrueError(400, 'validation_failed', 'Only the token_hash and type should be provided');
  }
  const { user, token } = redeem(project, tokenHash, type);
  if (isFirstOfTwo(project, token)) return json(200, { code: '200', msg: firstOfTwo });
  return json(200, await project.sessions.issue(user, { method: 'otp' }));
}

/** `GET /verify`, the mail's own link: back to the application with a code (PKCE) or with tokens in the fragment. */
export async function followMailLink(project: Project, { url }: StandInRequest): Promise<Reply> {
  const query = (name: string) => url.searchParams.get(name) ?? '';
  const target = allowedRedirect(query('redirect_to'), project.siteUrl, project.redirectAllowList);
  try {
    const { user, token } = redeem(project, query('token'), query('type'));
    if (isFirstOfTwo(project, token)) return redirect(303, withParameters(target, { message: firstOfTwo }, 'both'));
    if (token.pkce) {
      const startedAt = token.kind === 'magiclink' ? project.now() : token.sentAt;
      const code = project.flows.issueCode(
        token.pkce,
        user.id,
        startedAt,
        token.kind === 'recovery' ? 'recovery' : 'otp',
      );
      return redirect(303, withParameters(target, { code }, 'query'));
    }
    const session = await project.sessions.issue(user, { method: 'otp' });
    const { access_token, refresh_token, expires_in, expires_at, token_type } = session;
    const fragment = { access_token, refresh_token, token_type, type: token.kind, sb: '' };
    const expiry = { expires_in: String(expires_in), expires_at: String(expires_at) };
    return redirect(303, withParameters(target, { ...fragment, ...expiry }, 'fragment'));
  } catch (error) {
    if (!(error instanceof GoTrueError)) throw error;
    // A link of a flow without PKCE has its error in the fragment alone, where no server sees it.
    const isPkce = query('token').startsWith('pkce_');
    const parameters = isPkce ? errorParameters(error) : { ...errorParameters(error), sb: '' };
    return redirect(303, withParameters(target, parameters, isPkce ? 'both' : 'fragment'));
  }
}

/** GoTrue's own words. */
const firstOfTwo = 'Confirmation link accepted. Please proceed to confirm link sent to the other email';

function isFirstOfTwo({ mails }: Project, { userId, kind }: OneTimeToken): boolean {
  return kind === 'email_change' && mails.hasOther(userId, kind);
}

/** GoTrue names an OAuth `error` for some statuses only; the code is always there. */
export function errorParameters({ status, code, message }: GoTrueError): Record<string, string> {
  const named: Record<number, string> = {
    400: 'invalid_request',
    401: 'unauthorized_client',
    403: 'access_denied',
    500: 'server_error',
    503: 'temporarily_unavailable',
  };
  const refusals = ['signup_disabled', 'user_banned', 'provider_email_needs_verification'];
  const error = refusals.includes(code) ? 'access_denied' : named[status];
  return { ...(error === undefined ? {} : { error }), error_code: code, error_description: message };
}

function redeem(project: Project, tokenHash: string, type: string): { user: User; token: OneTimeToken } {
  const token = project.mails.redeem(tokenHash, type);
  const user = project.users.get(token.userId);
  if (!user) throw new GoTrueError(403, 'otp_expired', 'Email link is invalid or has expired');
  if (user.banned) throw new GoTrueError(403, 'user_banned', 'User is banned');
  confirm(project, user);
  return { user, token };
}
