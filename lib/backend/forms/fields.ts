import { foldCase } from '../../tools/paths/request-path.ts';
import { defined } from '../../tools/json.ts';
import { AuthError } from '../../errors.ts';
import type { AuthErrorCode, AuthErrorOptions } from '../../errors.ts';
import type { Fields } from '../../http/body.ts';
import type { PagesText } from '../pages/text.ts';

/** The fields that a message can belong to; `form` means the whole form. */
export type FieldName = 'email' | 'password' | 'currentPassword' | 'code' | 'name' | 'form';

interface FormProblemOptions extends AuthErrorOptions {
  readonly code?: AuthErrorCode;
  readonly values?: Readonly<Record<string, string>>;
}

/** A form error with a text and a field of its own, and the error for clients without a form. */
export class FormProblem extends AuthError {
  readonly field: FieldName;
  readonly text: keyof PagesText;
  /** For the placeholders of the text. */
  readonly values: Readonly<Record<string, string>>;

  constructor(
    field: FieldName,
    text: keyof PagesText,
    message: string,
    { code = 'invalid_request', values = {}, ...options }: FormProblemOptions = {},
  ) {
    super(code, { ...options, message });
    this.field = field;
    this.text = text;
    this.values = values;
  }
}

/** Fields that name an account or its domain. A password manager fills in `username`. */
const addresses: ReadonlySet<string> = new Set(['email', 'domain', 'username']);
/** What cannot be seen, such as direction marks and zero-width spaces, which people copy along. */
const invisible = /\p{Default_Ignorable_Code_Point}/gu;

/** The fields as they are meant: addresses as the eye reads them. Supabase knows no address with anything else in it. */
export function asMeant(fields: Fields): Fields {
  return new Map(
    [...fields].map(([name, text]) => [name, addresses.has(name) ? text.replaceAll(invisible, '').trim() : text]),
  );
}

/** @throws {FormProblem} where it is not an email address */
export function readEmail(fields: Fields): string {
  const email = (fields.get('email') ?? '').trim();
  if (email === '') throw new FormProblem('email', 'emailMissing', 'The email address is missing.');
  // Rejects only what cannot be an address; sending the email decides the rest.
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

/**
 * The digits of a code, of whatever script or width, without blanks, hyphens and what cannot be seen. Each script has its ten digits in
 * a row, beginning with zero (Unicode 17 §4.6).
 */
export function digitsOf(fields: Fields): string {
  const digitOf = (digit: string): string => {
    const at = digit.codePointAt(0) ?? 0;
    let value = 0;
    while (/^\p{Nd}$/u.test(String.fromCodePoint(at - value - 1))) value += 1;
    return String(value % 10);
  };
  const code = (fields.get('code') ?? '').normalize('NFKC').replaceAll(invisible, '');
  return code.replaceAll(/[\s\p{Dash}]/gu, '').replaceAll(/\p{Nd}/gu, digitOf);
}

/** The captcha response, under the field name of any supported widget, in the SDK's form. */
export function readCaptcha(fields: Fields): { readonly captchaToken?: string } {
  const captchaToken =
    fields.get('captchaToken') ?? fields.get('cf-turnstile-response') ?? fields.get('h-captcha-response');
  return defined({ captchaToken });
}

/**
 * For `catch`: maps one refusal of the backend to this form's error code and rethrows every other error.
 *
 * @param isMeant whether the error is that refusal
 */
export function rethrowAs(code: AuthErrorCode, isMeant: (refusal: AuthError) => boolean): (error: unknown) => never {
  return (error) => {
    if (!(error instanceof AuthError) || !isMeant(error)) throw error;
    throw new AuthError(code, { cause: error.cause, reason: error.reason });
  };
}

/**
 * GoTrue's codes for an address that it refuses. A form that was checked here has no other malformed field. The code
 * `email_address_not_authorized` is none of them: GoTrue gives it only for addresses that it sends mail to, so it would tell who has an account.
 */
export const badAddress = ['validation_failed', 'email_address_invalid'];

/** For `catch`: GoTrue's refusal of an address belongs to the field of the address. */
export function asBadAddress(error: unknown): never {
  if (!(error instanceof AuthError) || !badAddress.includes(error.reason ?? '')) throw error;
  const { cause, reason } = error;
  throw new FormProblem('email', 'emailRefused', 'Enter a valid email address.', { cause, reason });
}

/**
 * Folds all spellings that the backend treats as one address. GoTrue lowers each character separately (Go's `ToLower`:
 * `İ` is `i`, a final sigma is `σ`); JavaScript looks at a character's neighbors. This folds more than GoTrue: a shared
 * count costs a few attempts, but two counts for one address would double an attacker's attempts.
 */
export function foldAccount(account: string): string {
  const withoutDots = (text: string): string => text.normalize('NFKD').replaceAll('\u0307', '');
  // Lower case first, because `foldCase` starts with upper case; `ẞ` and `ß` become equal that way.
  return withoutDots(foldCase(withoutDots(account.trim()).toLowerCase()));
}

const fieldsOf: Readonly<Record<string, FieldName>> = {
  weak_password: 'password',
  same_password: 'password',
  current_password_wrong: 'currentPassword',
  email_in_use: 'email',
  code_wrong: 'code',
};

/** The field that an error concerns, where it is one. */
export function fieldOf(code: AuthErrorCode): FieldName | undefined {
  return fieldsOf[code];
}

/**
 * The backend's refusal of a field that was not sent has no place on the page, and would not be seen: it says no more than that it did not
 * work. Of an address in use the page also speaks elsewhere, where `onSignIn` says so.
 */
export function placed(error: AuthError, fields: Fields): AuthError {
  const field = error instanceof FormProblem ? undefined : fieldOf(error.code);
  if (field === undefined || fields.has(field)) return error;
  const { code, message, cause, reason } = error;
  if (code === 'email_in_use') return new FormProblem('form', code, message, { code, cause, ...defined({ reason }) });
  return reason === undefined ? error : new AuthError('action_failed', { cause, reason });
}
