import { GoTrueError } from '../errors.ts';
import { json, textField } from '../http.ts';
import type { Reply, StandInRequest } from '../http.ts';
import type { Project } from '../project.ts';
import { checkCaptcha } from './captcha.ts';
import { idTokenGrant } from './id-token.ts';

/** `POST /token?grant_type=` password, refresh_token, pkce or id_token. */
export async function token(project: Project, request: StandInRequest): Promise<Reply> {
  const { body } = request;
  switch (request.url.searchParams.get('grant_type') ?? '') {
    case 'password':
      return passwordGrant(project, request);
    case 'refresh_token':
      return json(200, await project.sessions.refresh(textField(body, 'refresh_token')));
    case 'pkce':
      return pkceGrant(project, request);
    case 'id_token':
      return idTokenGrant(project, request);
    default:
      throw new GoTrueError(400, 'invalid_credentials', 'unsupported_grant_type');
  }
}

async function passwordGrant({ switches, users, sessions }: Project, { body }: StandInRequest): Promise<Reply> {
  checkCaptcha(switches, body);
  if (switches.emailProviderDisabled) {
    throw new GoTrueError(422, 'email_provider_disabled', 'Email logins are disabled');
  }
  const email = textField(body, 'email');
  const password = textField(body, 'password');
  if (email === '') throw new GoTrueError(400, 'validation_failed', 'missing email or phone');
  const user = users.find(email);
  if (user?.password === undefined) throw new GoTrueError(400, 'invalid_credentials', 'Invalid login credentials');
  if (user.banned) throw new GoTrueError(400, 'user_banned', 'User is banned');
  if (user.password !== password) throw new GoTrueError(400, 'invalid_credentials', 'Invalid login credentials');
  if (user.confirmedAt === undefined) throw new GoTrueError(400, 'email_not_confirmed', 'Email not confirmed');
  // A strong password returns "weak_password":null.
  return json(200, { ...(await sessions.issue(user)), weak_password: null, ...users.weakPassword(password) });
}

async function pkceGrant({ flows, users, sessions }: Project, { body }: StandInRequest): Promise<Reply> {
  const { userId, signInMethod } = flows.exchange(textField(body, 'auth_code'), textField(body, 'code_verifier'));
  const user = users.get(userId);
  if (!user) throw new GoTrueError(403, 'user_not_found', 'User not found');
  if (user.banned) throw new GoTrueError(403, 'user_banned', 'User is banned');
  const session = await sessions.issue(user, { method: signInMethod });
  const providerTokens = { provider_token: 'provider-token', provider_refresh_token: 'provider-refresh-token' };
  return json(200, signInMethod === 'oauth' ? { ...session, ...providerTokens } : session);
}
