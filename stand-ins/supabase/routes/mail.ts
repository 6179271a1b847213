import { randomBytes } from 'node:crypto';
import { GoTrueError } from '../errors.ts';
import { json, textField } from '../http.ts';
import type { Reply, StandInRequest } from '../http.ts';
import type { Project } from '../project.ts';
import { checkEmail, isEmail } from '../users.ts';
import { authenticate } from './authenticate.ts';
import { checkCaptcha } from './captcha.ts';
import { readChallengeOf, redirectOf, takeTime } from './mail-request.ts';
import { sendText } from './phone.ts';
import { signup } from './signup.ts';

/** `POST /recover`: 200 `{}`, known or not. */
export async function recover(project: Project, request: StandInRequest): Promise<Reply> {
  const { switches, users, mails } = project;
  checkCaptcha(switches, request.body);
  if (switches.emailProviderDisabled) {
    throw new GoTrueError(400, 'email_provider_disabled', 'Email logins are disabled');
  }
  const email = textField(request.body, 'email');
  if (email === '') throw new GoTrueError(400, 'validation_failed', 'Password recovery requires an email');
  checkEmail(email);
  const challenge = readChallengeOf(request);
  await takeTime(project, email);
  const user = users.find(email);
  if (user) await mails.send(user, 'recovery', redirectOf(project, request), challenge);
  return json(200, {});
}

/** `POST /otp` with an address: a sign-in mail, or the confirmation of a new user. */
export async function otp(project: Project, request: StandInRequest): Promise<Reply> {
  const { switches, users, mails } = project;
  const { body } = request;
  checkCaptcha(switches, body);
  const email = textField(body, 'email');
  if (email !== '' && textField(body, 'phone') !== '') {
    throw new GoTrueError(400, 'validation_failed', 'Only an email address or phone number should be provided');
  }
  const challenge = readChallengeOf(request);
  // GoTrue looks up the user before it validates the address: `{"email":"no-address","create_user":false}` is also a 422.
  if (body['create_user'] === false && email !== '' && (!isEmail(email) || !users.find(email))) {
    throw new GoTrueError(422, 'otp_disabled', 'Signups not allowed for otp');
  }
  if (email === '') {
    if (textField(body, 'phone') === '') {
      throw new GoTrueError(400, 'validation_failed', 'One of email or phone must be set');
    }
    if (switches.phoneProvider) return sendText(project, request);
    throw new GoTrueError(400, 'phone_provider_disabled', 'Unsupported phone provider');
  }
  if (switches.emailProviderDisabled) {
    throw new GoTrueError(422, 'email_provider_disabled', 'Email logins are disabled');
  }
  checkEmail(email);
  if (users.find(email)?.confirmedAt === undefined) {
    // A random password that satisfies every rule.
    const password = `Aa1-${randomBytes(24).toString('base64url')}`;
    await signup(project, { ...request, body: { ...body, password } });
    if (!switches.autoconfirm) return json(200, {});
  } else await takeTime(project, email);
  const user = users.find(email);
  if (user) await mails.send(user, 'magiclink', redirectOf(project, request), challenge);
  return json(200, {});
}

/** `GET /reauthenticate`: six digits by mail, for a new password. */
export async function reauthenticate(project: Project, request: StandInRequest): Promise<Reply> {
  const { user } = await authenticate(project, request);
  if (user.email === '') {
    const message = 'Reauthentication requires the user to have an email or a phone number';
    throw new GoTrueError(400, 'validation_failed', message);
  }
  if (user.confirmedAt === undefined) {
    throw new GoTrueError(422, 'email_not_confirmed', 'Please verify your email first.');
  }
  await project.mails.send(user, 'reauthentication', project.siteUrl);
  return json(200, {});
}
