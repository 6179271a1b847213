import { AuthError } from '../errors.ts';
import type { Fields } from '../http/body.ts';
import type { AuthRequest } from '../http/auth-request.ts';
import type { PagesText } from './pages/text.ts';

/** The fields that a message can stand beside; `form` is all of them. */
export type FieldName = 'email' | 'password' | 'currentPassword' | 'code' | 'form';

/** What is wrong with a form before the backend is asked: the field, and the error for clients that show no form. */
export class FormProblem extends AuthError {
  readonly field: FieldName;
  readonly text: keyof PagesText;

  constructor(field: FieldName, text: keyof PagesText, message: string) {
    super('invalid_request', { message });
    this.field = field;
    this.text = text;
  }
}

/** bcrypt reads no further, and GoTrue refuses more. */
const maxPasswordBytes = 72;

/** Where to go afterwards, made safe: from the form, else from the query. */
export function readReturnTo(request: AuthRequest, fields?: Fields): string {
  return request.returnTo(fields?.get('returnTo') ?? request.query.get('returnTo'));
}

/** @throws {FormProblem} for what is no address */
export function readEmail(fields: Fields): string {
  const email = (fields.get('email') ?? '').trim();
  if (email === '') throw new FormProblem('email', 'emailMissing', 'The email address is missing.');
  // Only what can be no address at all; the mail decides the rest.
  if (email.length > 320 || email.includes('..') || !/^[^\s\0-\x1f\x7f-\x9f@]+@[^\s\0-\x1f\x7f-\x9f@]+$/.test(email)) {
    throw new FormProblem('email', 'emailInvalid', 'The email address is not valid.');
  }
  return email;
}

/** @throws {FormProblem} where it is missing */
export function readPassword(fields: Fields): string {
  const password = fields.get('password') ?? '';
  if (password === '') throw new FormProblem('password', 'passwordMissing', 'The password is missing.');
  return password;
}

/** The digits of an email, however they were grouped. @throws {FormProblem} for what can be no code */
export function readEmailCode(fields: Fields): string {
  const code = (fields.get('code') ?? '').replaceAll(/[\s-]/g, '');
  // A project chooses between six and ten.
  if (/^\d{6,10}$/.test(code)) return code;
  throw new FormProblem('code', 'emailCodeMissing', 'The code is missing, or is not one of six to ten digits.');
}

/** @throws {AuthError} `weak_password`, though it is the only way to be too strong; {FormProblem} where it is missing */
export function readNewPassword(fields: Fields): string {
  const password = readPassword(fields);
  if (Buffer.byteLength(password) <= maxPasswordBytes) return password;
  throw new AuthError('weak_password', {
    message: `Passwords can be at most ${maxPasswordBytes} bytes long. Choose a shorter one.`,
  });
}

/** Six digits, however they were grouped. @throws {FormProblem} for anything else */
export function readCode(fields: Fields): string {
  const code = (fields.get('code') ?? '').replace(/[\s-]/g, '');
  if (code === '') throw new FormProblem('code', 'codeMissing', 'The code is missing.');
  if (!/^\d{6}$/.test(code)) throw new AuthError('code_wrong', { reason: 'malformed' });
  return code;
}

/** The answer to a captcha, under the name of whichever widget the application uses, as the SDK takes it. */
export function readCaptcha(fields: Fields): { readonly captchaToken?: string } {
  const captchaToken =
    fields.get('captchaToken') ?? fields.get('cf-turnstile-response') ?? fields.get('h-captcha-response');
  return captchaToken === undefined ? {} : { captchaToken };
}
