import { GoTrueError } from '../errors.ts';
import { json, recordField, textField } from '../http.ts';
import type { Reply, StandInRequest } from '../http.ts';
import { confirm } from '../project.ts';
import type { Project } from '../project.ts';
import { checkEmail, obfuscatedUserJson, userJson } from '../users.ts';
import type { User } from '../types.ts';
import { checkCaptcha } from './captcha.ts';
import { readChallengeOf, redirectOf, takeTime } from './mail-request.ts';

/** `POST /signup`. */
export async function signup(project: Project, request: StandInRequest): Promise<Reply> {
  const { switches, users, sessions } = project;
  const { body } = request;
  checkCaptcha(switches, body);
  const isAnonymous = textField(body, 'email') === '' && textField(body, 'phone') === '';
  if (isAnonymous && !switches.anonymousUsers) {
    throw new GoTrueError(422, 'anonymous_provider_disabled', 'Anonymous sign-ins are disabled');
  }
  if (switches.signupDisabled) {
    throw new GoTrueError(422, 'signup_disabled', 'Signups not allowed for this instance');
  }
  if (isAnonymous) {
    const user = users.addAnonymous(recordField(body, 'data'));
    return json(200, await sessions.issue(user, { method: 'anonymous' }));
  }
  if (switches.emailProviderDisabled) {
    throw new GoTrueError(400, 'email_provider_disabled', 'Email signups are disabled');
  }
  const email = textField(body, 'email');
  const password = textField(body, 'password');
  users.checkNewCredentials(email, password);
  readChallengeOf(request);
  await takeTime(project, email);

  const existing = users.find(email);
  if (existing?.confirmedAt !== undefined) {
    if (switches.autoconfirm) throw new GoTrueError(422, 'user_already_exists', 'User already registered');
    return json(200, obfuscatedUserJson(email, users.isoNow(), recordField(body, 'data')));
  }
  // The hook runs for new users only. The error has GoTrue's code and the hook's own text.
  if (!existing && switches.newUsersRefused) throw new GoTrueError(403, 'unknown', 'Only for members of the choir.');
  // An unconfirmed user's password is kept: the address is not proven yet.
  const user = existing ?? users.add({ email, password, confirmed: false, metadata: recordField(body, 'data') });
  // "user_metadata":{"email":"…","email_verified":false,"phone_verified":false,"sub":"…"}, also without any data
  if (!existing)
    user.metadata = { ...user.metadata, email, email_verified: false, phone_verified: false, sub: user.id };
  if (switches.autoconfirm) {
    confirm(project, user);
    return json(200, await sessions.issue(user));
  }
  try {
    await sendConfirmation(project, request, user);
  } catch (error) {
    // One transaction with the email: if it fails, the user is not created.
    if (!existing) users.remove(user.id);
    throw error;
  }
  return json(200, userJson(user));
}

/** `POST /resend`: does not reveal which addresses exist. */
export async function resend(project: Project, request: StandInRequest): Promise<Reply> {
  const { body } = request;
  checkCaptcha(project.switches, body);
  if (textField(body, 'type') !== 'signup') {
    const message = 'Missing one of these types: signup, email_change, sms, phone_change';
    throw new GoTrueError(400, 'validation_failed', message);
  }
  if (textField(body, 'email') === '') {
    throw new GoTrueError(400, 'validation_failed', 'Type provided requires an email address');
  }
  if (project.switches.emailProviderDisabled) {
    throw new GoTrueError(400, 'email_provider_disabled', 'Email logins are disabled');
  }
  checkEmail(textField(body, 'email'));
  await takeTime(project, textField(body, 'email'));
  const user = project.users.find(textField(body, 'email'));
  if (user && user.confirmedAt === undefined) await sendConfirmation(project, request, user);
  return json(200, {});
}

async function sendConfirmation(project: Project, request: StandInRequest, user: User): Promise<void> {
  await project.mails.send(user, 'signup', redirectOf(project, request), readChallengeOf(request));
}
