import { errorTable } from '../../errors.ts';
import type { AuthError } from '../../errors.ts';
import type { PagesText } from './text.ts';
import type { FormError } from './view.ts';

const fieldOf: Readonly<Record<string, FormError['field']>> = { weak_password: 'password', email_in_use: 'email' };

/**
 * A failure as a form shows it: in the page's own words, at the field it is about. A message that was written for this very
 * failure (a sign-in hook, or the backend's reasons against a password) goes before the general one.
 */
export function formErrorOf(error: AuthError, text: PagesText): FormError {
  const { code, retryAfter } = error;
  const isGeneral = error.message === errorTable[code].message;
  const message = isGeneral && code in text ? text[code as keyof PagesText & typeof code] : error.message;
  return { message, field: fieldOf[code] ?? 'form', ...(retryAfter === undefined ? {} : { retryAfter }) };
}
