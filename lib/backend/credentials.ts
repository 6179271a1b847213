import { AuthError } from '../errors.ts';
import type { Fields } from '../http/body.ts';
import type { FormError, PagesText } from './pages/index.ts';

export interface Credentials {
  readonly email: string;
  readonly password: string;
  /** The answer to a captcha, under the name of whichever widget the application uses. */
  readonly captchaToken: string | undefined;
}

/** What is wrong with a form before the backend is asked: the field, and the error for clients that show no form. */
export class FormProblem extends AuthError {
  readonly field: FormError['field'];
  readonly text: keyof PagesText;

  constructor(field: FormError['field'], text: keyof PagesText, message: string) {
    super('invalid_request', { message });
    this.field = field;
    this.text = text;
  }
}

/** bcrypt reads no further, and GoTrue refuses more. */
const maxPasswordBytes = 72;

/** @throws {FormProblem} for what no account can have */
export function readCredentials(fields: Fields): Credentials {
  const email = readEmail(fields);
  const password = fields.get('password') ?? '';
  if (password === '') throw new FormProblem('password', 'passwordMissing', 'The password is missing.');
  return { email, password, captchaToken: readCaptchaToken(fields) };
}

/** @throws {FormProblem} */
export function readEmail(fields: Fields): string {
  const email = (fields.get('email') ?? '').trim();
  if (email === '') throw new FormProblem('email', 'emailMissing', 'The e-mail address is missing.');
  // Only what can be no address at all; the mail decides the rest.
  if (email.length > 320 || email.includes('..') || !/^[^\s\0-\x1f\x7f-\x9f@]+@[^\s\0-\x1f\x7f-\x9f@]+$/.test(email)) {
    throw new FormProblem('email', 'emailInvalid', 'The e-mail address is not valid.');
  }
  return email;
}

/** @throws {AuthError} `weak_password`, though it is the only way to be too strong */
export function refuseLongPassword({ password }: Credentials): void {
  if (Buffer.byteLength(password) <= maxPasswordBytes) return;
  throw new AuthError('weak_password', {
    message: `Passwords can be at most ${maxPasswordBytes} bytes long. Choose a shorter one.`,
  });
}

export function readCaptchaToken(fields: Fields): string | undefined {
  return fields.get('captchaToken') ?? fields.get('cf-turnstile-response') ?? fields.get('h-captcha-response');
}
