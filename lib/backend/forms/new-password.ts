import { isRecord } from '../../tools/json.ts';
import { AuthError } from '../../errors.ts';
import type { AuthErrorOptions } from '../../errors.ts';
import type { Fields } from '../../http/body.ts';
import { FormProblem, readPassword } from './fields.ts';

/** bcrypt ignores further bytes, and GoTrue refuses longer passwords. */
const maxPasswordBytes = 72;
/** Where neither the option nor a refusal of the backend says another: the least that NIST SP 800-63B-4 §3.1.1.2 allows. */
const usualMinLength = 8;

/** The shortest password that the project accepts, in characters, as far as this process knows it. */
export interface PasswordRule {
  minLength(): number;
  /** Remembers the length that a refusal of the backend names. */
  learn(refusal: AuthError | undefined): void;
}

/** @param given the option `passwordMinLength`, which overrides what refusals say */
export function createPasswordRule(given: number | undefined): PasswordRule {
  let learned: number | undefined;
  return {
    minLength: () => given ?? learned ?? usualMinLength,
    learn(refusal) {
      if (!(refusal instanceof FormProblem) || refusal.text !== 'passwordTooShort') return;
      const length = Number(refusal.values['count']);
      if (length >= 1 && length <= maxPasswordBytes) learned = length;
    },
  };
}

/**
 * @param minLength the option `passwordMinLength`; without it the backend alone decides
 * @throws {FormProblem} `weak_password` where it is too short or too long, `invalid_request` where it is missing
 */
export function readNewPassword(fields: Fields, minLength = 1): string {
  const password = readPassword(fields);
  if (Buffer.byteLength(password) > maxPasswordBytes) {
    const message = 'This password is too long. Choose a shorter one.';
    throw new FormProblem('password', 'passwordTooLong', message, { code: 'weak_password' });
  }
  // As people count: one for each code point.
  if (Array.from(password).length < minLength) throw tooShort(minLength);
  return password;
}

function tooShort(minLength: number, options: AuthErrorOptions = {}): FormProblem {
  const count = String(minLength);
  const message = `This password is too short. Use at least ${count} characters.`;
  const more = { ...options, code: 'weak_password', values: { count } } as const;
  return new FormProblem('password', 'passwordTooShort', message, more);
}

/** What GoTrue's reasons mean, the most important first. */
const weaknesses = [
  ['pwned', 'passwordInBreach', 'This password has appeared in a data breach. Choose another one.'],
  ['length', 'passwordTooShort', 'This password is too short. Choose a longer one.'],
  [
    'characters',
    'passwordTooSimple',
    'This password needs more kinds of characters. Use lowercase and uppercase letters, digits and symbols.',
  ],
] as const;

/**
 * GoTrue's refusal of a password. It names its reasons, and the shortest length only in its message.
 *
 * @param error the SDK's error
 */
export function weakPassword(error: unknown, options: AuthErrorOptions): AuthError {
  const { reasons, message } = isRecord(error) ? error : {};
  const known = weaknesses.find(([reason]) => Array.isArray(reasons) && reasons.includes(reason));
  if (known === undefined) return new AuthError('weak_password', options);
  const [reason, text, words] = known;
  if (reason !== 'length') return new FormProblem('password', text, words, { ...options, code: 'weak_password' });
  const [, length] = /\bat least (\d{1,3}) characters\b/.exec(typeof message === 'string' ? message : '') ?? [];
  return length === undefined
    ? new AuthError('weak_password', { ...options, message: words })
    : tooShort(Number(length), options);
}
