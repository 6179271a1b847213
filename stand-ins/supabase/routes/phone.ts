import { randomInt } from 'node:crypto';
import { GoTrueError } from '../errors.ts';
import { json, textField } from '../http.ts';
import type { Reply, StandInRequest } from '../http.ts';
import type { Project } from '../project.ts';

/** `POST /otp` with a phone number: the text message of a sign-in, for a new user, too. */
export function sendText({ users, factors, phoneCodes }: Project, { body }: StandInRequest): Reply {
  const phone = textField(body, 'phone').replace('+', '');
  if (!/^[1-9]\d{6,14}$/.test(phone)) {
    throw new GoTrueError(422, 'validation_failed', 'Invalid phone number format (E.164 required)');
  }
  if (!users.findPhone(phone)) {
    if (body['create_user'] === false) throw new GoTrueError(422, 'otp_disabled', 'Signups not allowed for otp');
    users.addPhone(phone);
  }
  const code = String(randomInt(1_000_000)).padStart(6, '0');
  phoneCodes.set(phone, code);
  factors.texts.push({ to: phone, code });
  return json(200, { message_id: '' });
}

/** `POST /verify` with `type: 'sms'`. A code works once. */
export async function verifyText({ users, sessions, phoneCodes }: Project, { body }: StandInRequest): Promise<Reply> {
  const phone = textField(body, 'phone').replace('+', '');
  const user = users.findPhone(phone);
  const code = phoneCodes.get(phone);
  if (!user || code === undefined || code !== textField(body, 'token')) {
    throw new GoTrueError(403, 'otp_expired', 'Token has expired or is invalid');
  }
  phoneCodes.delete(phone);
  return json(200, await sessions.issue(user, { method: 'otp' }));
}
