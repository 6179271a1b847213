import { html } from '../../tools/html.ts';
import type { Html, HtmlValue, Text } from '../../tools/html.ts';
import { fillIn } from '../../pages/texts.ts';
import type { FieldName } from '../forms/fields.ts';
import type { FormError, Site } from '../slots.ts';

interface FieldParts {
  readonly name: Exclude<FieldName, 'form'>;
  readonly type: 'email' | 'password' | 'text';
  /** For codes: `six` shows a place for each of six digits, `digits` has room for any number of them. */
  readonly code?: 'six' | 'digits' | undefined;
  readonly label: Text;
  /** Shown beside the label, such as a link; it follows the field in tab order. */
  readonly aside?: HtmlValue;
  /** The `autocomplete` token of the HTML standard, for password managers and assistive technology. */
  readonly autocomplete:
    'username' | 'username webauthn' | 'email' | 'current-password' | 'new-password' | 'one-time-code' | 'off';
  readonly value?: string | undefined;
  readonly hint?: Text | undefined;
  readonly error?: FormError | undefined;
  readonly hasFocus: boolean;
  /** Whether it takes no input for now. */
  readonly isClosed?: boolean | undefined;
}

/**
 * The longest code, with the spaces, hyphens and direction marks that people paste along. Digits of some scripts count as two characters; a
 * project configures six to ten digits for emails.
 */
const codeLength = { six: '14', digits: '24' } as const;

/** A labeled input; `aria-describedby` links it to its hint and its error. */
export function field(parts: FieldParts): Html {
  const { name, type, label, aside, hint, error, isClosed = false } = parts;
  const { inputmode, maxlength, ...look } = typingOf(parts);
  const message = error?.field === name ? error.message : messageAt(error, name);
  const isInvalid = message !== undefined;
  const hasHint = hint !== undefined && hint.plain !== '';
  const describedBy = [
    error?.field === 'form' && 'form-error',
    isInvalid && `${name}-error`,
    hasHint && `${name}-hint`,
  ].filter((id) => id !== false);
  const input = attributes({
    id: name,
    name,
    type,
    ...look,
    autocomplete: parts.autocomplete,
    // No browser capitalizes a password by itself, so the attribute means nothing there (HTML, "Autocapitalization").
    autocapitalize: type !== 'password' && 'none',
    spellcheck: 'false',
    inputmode,
    maxlength,
    value: parts.value,
    required: true,
    disabled: isClosed,
    'aria-invalid': isInvalid && 'true',
    'aria-describedby': describedBy.length > 0 && describedBy.join(' '),
    autofocus: parts.hasFocus && !isClosed,
  });
  return html`<div class="field">
<label for="${name}">${label}</label>
<input${input}>
${aside !== undefined && html`<p class="aside">${aside}</p>`}
${isInvalid && html`<p class="field-message" id="${name}-error">${message}</p>`}
${hasHint && html`<p class="hint" id="${name}-hint">${hint}</p>`}
</div>`;
}

/** What is typed: addresses and codes are left-to-right in every language. */
function typingOf({ type, code }: Pick<FieldParts, 'type' | 'code'>): Readonly<Record<string, string | undefined>> {
  if (code !== undefined) {
    const look = code === 'six' ? 'digits six' : 'digits';
    return { class: look, dir: 'ltr', inputmode: 'numeric', maxlength: codeLength[code] };
  }
  // Of the type `email`, browsers send no address with a direction mark in it, which many people copy along.
  return type === 'email' ? { type: 'text', dir: 'ltr', inputmode: 'email' } : {};
}

/** ` name="value"`, or ` name` where the value is `true`; nothing for `undefined` and `false`. */
function attributes(values: Readonly<Record<string, string | boolean | undefined>>): HtmlValue {
  return Object.entries(values).map(([name, value]) => {
    if (value === undefined || value === false) return undefined;
    return value === true ? html` ${name}` : html` ${name}="${value}"`;
  });
}

/** Below a field for a new password. */
export function passwordHint({ text, passwordRule }: Site): Text {
  return fillIn(text.newPasswordHint, { count: String(passwordRule.minLength()) });
}

type GivenField = Pick<FieldParts, 'value' | 'hint' | 'error' | 'hasFocus'>;

/** @param autocomplete `username` where the address already has an account; with `webauthn` where the page's script offers more than addresses there */
export function emailField(
  { text }: Pick<Site, 'text'>,
  parts: GivenField,
  autocomplete: 'username' | 'username webauthn' | 'email' = 'username',
): Html {
  return field({ name: 'email', type: 'email', label: text.email, autocomplete, ...parts });
}

/**
 * For the digits of an email, a text message or an authenticator app, with the button below it.
 *
 * @param parts `isClosed` after too many wrong codes: neither takes anything, and the message says until when
 */
export function codeFields(
  { text }: Pick<Site, 'text'>,
  parts: Required<Pick<FieldParts, 'code'>> & {
    readonly error: FormError | undefined;
    readonly isClosed: boolean;
    readonly label: Text;
    readonly isQuiet?: boolean;
  },
): Html {
  const { code, error, isClosed, label, isQuiet = false } = parts;
  const digits = field({
    name: 'code',
    type: 'text',
    code,
    label: text.code,
    autocomplete: 'one-time-code',
    error,
    hasFocus: true,
    isClosed,
  });
  return html`${digits}\n<button${isQuiet && html` class="quiet"`}${isClosed && html` disabled`}>${label}</button>`;
}

function messageAt(error: FormError | undefined, name: string): string | undefined {
  return error?.at !== undefined && Object.hasOwn(error.at, name) ? error.at[name] : undefined;
}

/** The initial focus: the field with the error, else the first empty field. */
export function focusOf(email: string | undefined, error: FormError | undefined): FieldName {
  if (error !== undefined && error.field !== 'form') return error.field;
  if (messageAt(error, 'email') !== undefined) return 'email';
  return email === undefined || email === '' ? 'email' : 'password';
}
