import type { Button, Field, FormError } from '../../pages/form.ts';
import { messageAt } from '../../pages/form.ts';
import type { Text } from '../../tools/html.ts';
import { fillIn } from '../../pages/texts.ts';
import type { Site } from '../slots.ts';

/** The field of a password that the account has. */
export function passwordField(
  { text }: Pick<Site, 'text'>,
  parts: Pick<Field, 'label' | 'aside' | 'hasFocus'> & { readonly name?: string },
): Field {
  return { name: 'password', type: 'password', autocomplete: 'current-password', reveal: text.showPassword, ...parts };
}

/** The field of a password that is chosen here. */
export function newPasswordField(site: Site, parts: Pick<Field, 'label' | 'hasFocus'>): Field {
  const minLength = site.passwordRule.minLength();
  const hint = fillIn(site.text.newPasswordHint, { count: String(minLength) });
  return { ...passwordField(site, parts), autocomplete: 'new-password', hint, minLength };
}

/** @param autocomplete `username` where the address already has an account; with `webauthn` where the page's script offers more than addresses there */
export function emailField(
  { text }: Pick<Site, 'text'>,
  parts: Pick<Field, 'value' | 'hint' | 'hasFocus'>,
  autocomplete: 'username' | 'username webauthn' | 'email' = 'username',
): Field {
  return { name: 'email', type: 'email', label: text.email, autocomplete, ...parts };
}

/**
 * For the digits of an email, a text message or an authenticator app, with the button below it.
 *
 * @param parts `isClosed` after too many wrong codes: neither takes anything, and the message says until when
 */
export function codeFields(
  { text }: Pick<Site, 'text'>,
  parts: Required<Pick<Field, 'code'>> & {
    readonly isClosed: boolean;
    readonly label: Text;
    readonly isQuiet?: boolean;
    /** Default: the first focus is here. */
    readonly hasFocus?: boolean;
  },
): { readonly fields: readonly [Field]; readonly buttons: readonly [Button] } {
  const { code, isClosed, label, isQuiet = false, hasFocus = true } = parts;
  const digits = {
    name: 'code',
    type: 'text',
    code,
    label: text.code,
    autocomplete: 'one-time-code',
    hasFocus,
    isClosed,
  } as const;
  return { fields: [digits], buttons: [{ label, look: isQuiet ? 'quiet' : undefined, isClosed }] };
}

/** The initial focus: the field with the error, else the first empty field. */
export function focusOf(email: string | undefined, error: FormError | undefined): string {
  if (error !== undefined && error.field !== 'form') return error.field;
  if (messageAt(error, 'email') !== undefined) return 'email';
  return email === undefined || email === '' ? 'email' : 'password';
}
