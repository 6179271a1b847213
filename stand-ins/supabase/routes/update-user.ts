import { GoTrueError } from '../errors.ts';
import { json, recordField, textField } from '../http.ts';
import type { Reply, StandInRequest } from '../http.ts';
import { changeEmail } from '../project.ts';
import type { Project } from '../project.ts';
import { checkEmail, userJson } from '../users.ts';
import type { User } from '../types.ts';
import { authenticate } from './authenticate.ts';
import { readChallengeOf, redirectOf } from './mail-request.ts';

type Session = NonNullable<ReturnType<Project['sessions']['find']>>;

const dayMs = 86_400_000;

/** `PUT /user`: a new password, a new address, other metadata. In the order in which GoTrue looks at them. */
export async function updateUser(project: Project, request: StandInRequest): Promise<Reply> {
  const { users, sessions, mails, switches } = project;
  const { user, session } = await authenticate(project, request);
  const { body } = request;
  const email = textField(body, 'email').toLowerCase();
  const password = typeof body['password'] === 'string' ? body['password'] : undefined;
  const isNewEmail = email !== '' && email !== user.email;

  if (email !== '') checkEmail(email);
  if (password !== undefined) users.checkPassword(password);
  if (body['app_metadata'] !== undefined) {
    throw new GoTrueError(403, 'not_admin', 'Updating app_metadata requires admin privileges');
  }
  checkAssurance(user, session, isNewEmail || (password ?? '') !== '');
  if (user.isAnonymous && (password ?? '') !== '' && email === '') {
    const message = 'Updating password of an anonymous user without an email or phone is not allowed';
    throw new GoTrueError(422, 'validation_failed', message);
  }
  if (user.isSsoUser && (isNewEmail || (password ?? '') !== '' || textField(body, 'nonce') !== '')) {
    const message = 'Updating email, phone, password of a SSO account only possible via SSO';
    throw new GoTrueError(422, 'user_sso_managed', message);
  }
  if (isNewEmail && users.find(email)) {
    throw new GoTrueError(422, 'email_exists', 'A user with this email address has already been registered');
  }
  if (password !== undefined) checkNewPassword(project, { user, session, body, password });

  if (password !== undefined) forgetMails(project, user);
  // One transaction: if the email cannot be sent, the password is not changed.
  if (isNewEmail && !(user.isAnonymous && switches.autoconfirm)) {
    await mails.takeTime();
    mails.sendEmailChange(user, email, redirectOf(project, request), readChallengeOf(request));
  }
  if (password !== undefined) {
    user.password = password;
    if (!user.providers.includes('email') && user.email !== '') user.providers.push('email');
    sessions.signOut(session.id, user.id, 'others');
  }
  user.metadata = { ...user.metadata, ...recordField(body, 'data') };
  if (isNewEmail && user.isAnonymous && switches.autoconfirm) {
    user.newEmail = email;
    changeEmail(project, user);
  }
  return json(200, userJson(user));
}

function checkAssurance(user: User, session: Session, isSensitive: boolean): void {
  if (!isSensitive || session.aal === 'aal2' || !user.factors.some(({ isVerified }) => isVerified)) return;
  const message = 'AAL2 session is required to update email or password when MFA is enabled.';
  throw new GoTrueError(401, 'insufficient_aal', message);
}

interface PasswordChange {
  readonly user: User;
  readonly session: Session;
  readonly body: StandInRequest['body'];
  readonly password: string;
}

function checkNewPassword({ switches, mails, now }: Project, change: PasswordChange): void {
  const { user, session, body, password } = change;
  if (switches.requireReauthentication && now() > session.createdAt + dayMs) {
    const nonce = textField(body, 'nonce');
    if (nonce === '') {
      throw new GoTrueError(400, 'reauthentication_needed', 'Password update requires reauthentication');
    }
    mails.spendNonce(user, nonce);
  }
  if (password === '' || user.password === undefined) return;
  const isRecovery = session.methods.some(({ method }) => ['otp', 'magiclink', 'recovery'].includes(method));
  if (switches.requireCurrentPassword && !isRecovery) {
    const current = textField(body, 'current_password');
    const message = 'Current password required when setting new password.';
    if (current === '') throw new GoTrueError(400, 'current_password_required', message);
    if (current !== user.password) throw new GoTrueError(400, 'current_password_invalid', message);
  }
  if (password === user.password) {
    throw new GoTrueError(422, 'same_password', 'New password should be different from the old password.');
  }
}

/** A new password invalidates every earlier link. */
function forgetMails({ mails }: Project, user: User): void {
  mails.clear(user);
  Object.assign(user, { confirmationSentAt: undefined, recoverySentAt: undefined });
  Object.assign(user, { emailChangeSentAt: undefined, reauthenticationSentAt: undefined });
}
