import { randomUUID } from 'node:crypto';
import { GoTrueError } from '../errors.ts';
import { json, redirect, textField } from '../http.ts';
import type { Reply, StandInRequest } from '../http.ts';
import { changeEmail, confirm } from '../project.ts';
import type { Project } from '../project.ts';
import { withParameters } from '../redirects.ts';
import type { User } from '../types.ts';
import type { OneTimeToken } from '../mails.ts';
import { isEmail } from '../users.ts';
import { verifyText } from './phone.ts';

/** `POST /verify` with a token hash, or with an address and the six digits of its mail: a session, in whatever browser. */
export async function verify(project: Project, request: StandInRequest): Promise<Reply> {
  const { body } = request;
  if (project.switches.phoneProvider && textField(body, 'type') === 'sms') return verifyText(project, request);
  const [type, token] = [textField(body, 'type'), readToken(project, body)];
  const user = redeem(project, token, type);
  if (user === 'one of two') return json(200, { code: '200', msg: firstOfTwo });
  return json(200, await project.sessions.issue(user, { method: 'otp' }));
}

/** @throws GoTrueError */
function readToken({ mails, users }: Project, body: StandInRequest['body']): OneTimeToken {
  const field = (name: string) => textField(body, name);
  const [type, tokenHash, token, email] = [field('type'), field('token_hash'), field('token'), field('email')];
  if (type === '') throw new GoTrueError(400, 'validation_failed', 'Verify requires a verification type');
  if ((token === '') === (tokenHash === '')) {
    throw new GoTrueError(400, 'validation_failed', 'Verify requires either a token or a token hash');
  }
  if (tokenHash !== '') {
    if (email !== '' || field('phone') !== '' || field('redirect_to') !== '') {
      throw new GoTrueError(400, 'validation_failed', 'Only the token_hash and type should be provided');
    }
    if (!mailTypes.includes(type)) throw new GoTrueError(400, 'validation_failed', 'Invalid email verification type');
    return mails.byHash(tokenHash, type);
  }
  if ((email === '') === (field('phone') === '')) {
    const message = 'Only an email address or phone number should be provided on verify';
    throw new GoTrueError(400, 'validation_failed', message);
  }
  // The stand-in's project has no phone provider, so a phone has no codes.
  if (email === '') throw new GoTrueError(403, 'otp_expired', 'Token has expired or is invalid');
  if (!isEmail(email)) throw new GoTrueError(422, 'validation_failed', 'Invalid email format');
  // GoTrue checks the ban before the code.
  if (users.find(email)?.banned === true) throw new GoTrueError(403, 'user_banned', 'User is banned');
  return mails.byCode(email, token, type);
}

const mailTypes = ['email', 'signup', 'invite', 'recovery', 'magiclink', 'email_change'];

/** `GET /verify`, the mail's own link: back to the application with a code (PKCE) or with tokens in the fragment. */
export async function followMailLink(project: Project, { url }: StandInRequest): Promise<Reply> {
  const query = (name: string) => url.searchParams.get(name) ?? '';
  const target = project.redirectTo(query('redirect_to'));
  try {
    const type = query('type');
    const token = project.mails.byHash(query('token'), type);
    const user = redeem(project, token, type);
    if (user === 'one of two') return redirect(303, withParameters(target, { message: firstOfTwo }, 'both'));
    if (token.pkce) {
      const startedAt = type === 'magiclink' ? project.now() : token.sentAt;
      const code = project.flows.issueCode(token.pkce, user.id, startedAt, methods[type] ?? type);
      return redirect(303, withParameters(target, { code }, 'query'));
    }
    const session = await project.sessions.issue(user, { method: 'otp' });
    const { access_token, refresh_token, expires_in, expires_at, token_type } = session;
    const fragment = { access_token, refresh_token, token_type, type, sb: '' };
    const expiry = { expires_in: String(expires_in), expires_at: String(expires_at) };
    return redirect(303, withParameters(target, { ...fragment, ...expiry }, 'fragment'));
  } catch (error) {
    if (!(error instanceof GoTrueError)) throw error;
    // A link of a flow without PKCE has its error only in the fragment, which servers do not receive.
    const isPkce = query('token').startsWith('pkce_');
    const parameters = isPkce ? errorParameters(error) : { ...errorParameters(error), sb: '' };
    return redirect(303, withParameters(target, parameters, isPkce ? 'both' : 'fragment'));
  }
}

/** GoTrue's own text. */
const firstOfTwo = 'Confirmation link accepted. Please proceed to confirm link sent to the other email';

/** The `amr` method of a session that an email's own link starts. */
const methods: Readonly<Record<string, string>> = { signup: 'email/signup' };

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

/** Spends the token and performs its email's action. @throws GoTrueError */
function redeem(project: Project, token: OneTimeToken, type: string): User | 'one of two' {
  const { mails, users } = project;
  const user = users.get(token.userId);
  if (!user) throw new GoTrueError(403, 'otp_expired', 'Email link is invalid or has expired');
  if (user.banned) throw new GoTrueError(403, 'user_banned', 'User is banned');
  const hasOther = type === 'email_change' && mails.hasOther(token);
  // One transaction: where the change fails, the link stays unused.
  if (type === 'email_change' && !hasOther) changeEmail(project, user);
  mails.spend(token);
  if (hasOther) return 'one of two';
  // GoTrue gives an invited user a random password.
  if (token.tokenClass === 'confirmation' && user.invitedAt !== undefined && user.password === undefined) {
    Object.assign(user, { password: randomUUID(), confirmationSentAt: undefined });
  }
  confirm(project, user);
  mails.clear(user);
  return user;
}
