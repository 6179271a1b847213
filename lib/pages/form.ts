import { html, safeHref } from '../tools/html.ts';
import type { Html, HtmlValue, Text } from '../tools/html.ts';
import { eye } from './icons.ts';

/** An error with its place: at a field, or above the form where it concerns all of it. */
export interface FormError {
  /** Safe to show to anyone. */
  readonly message: Text;
  /** `form`, or the name of a field. */
  readonly field: string;
  /** Messages of single fields, by their names. */
  readonly at?: Readonly<Record<string, string>> | undefined;
  /** Seconds until a retry makes sense; shown in the page's language. */
  readonly retryAfter?: number | undefined;
  /** `next` where the visitor only has something to do or to wait for, `good` where something was done. Default: an error. */
  readonly tone?: 'next' | 'good';
}

/** What the visitor fills in. */
export interface Field {
  readonly name: string;
  readonly type: 'email' | 'password' | 'search' | 'text';
  /** For codes: the number of digits, each of which has a place, or `digits` where it is not known. */
  readonly code?: number | 'digits' | undefined;
  readonly label: Text;
  /** A link beside the label; it follows the field in tab order. */
  readonly aside?: Link | undefined;
  /** The `autocomplete` token of the HTML standard, for password managers and assistive technology. */
  readonly autocomplete:
    'username' | 'username webauthn' | 'email' | 'current-password' | 'new-password' | 'one-time-code' | 'off';
  readonly value?: string | undefined;
  /** Below it; the message of an error takes its place. */
  readonly hint?: Text | undefined;
  /** Of a password: the name of the button that shows it, which the page's script offers. */
  readonly reveal?: Text;
  /** Of a new password: the fewest characters, which password managers read. */
  readonly minLength?: number;
  /** Whether it has the first focus. */
  readonly hasFocus?: boolean | undefined;
  /** Whether it takes no input for now. */
  readonly isClosed?: boolean | undefined;
}

export interface Button {
  readonly label: Text;
  /** Default: the main button. */
  readonly look?: 'quiet' | 'link' | undefined;
  readonly icon?: Html;
  /** What is known of it, at its edge. */
  readonly note?: Text;
  /** What it says to the server, where a form has several. */
  readonly name?: string;
  readonly value?: string;
  /** The path that it posts to, where that is not the form's; the fields need not be filled in then. */
  readonly action?: string;
  readonly isClosed?: boolean;
  /** Whether it has the first focus. */
  readonly hasFocus?: boolean;
}

/** A form that posts to one of our routes. */
export interface Form {
  readonly part: 'form';
  /** The name under which the page as data lists its path, where it is not what the page is for. */
  readonly name?: string;
  readonly action: string;
  /** Whether it asks for a page, and changes nothing. Default: it posts. */
  readonly isSearch?: true;
  /** Sent back as they are; undefined values produce no field. */
  readonly hidden?: Readonly<Record<string, string | undefined>>;
  /** The account under whose name password managers store the new password. */
  readonly account?: string | undefined;
  readonly fields?: readonly (Field | false)[];
  readonly buttons: readonly Button[];
  /** `pair`: buttons of equal weight side by side. `aside`: a link among the page's links. */
  readonly look?: 'pair' | 'aside';
  /** Until when it can be sent again: the words stand in its place. */
  readonly wait?: Wait | undefined;
  /** Attributes of a form that the page's script shows and sends, and what stands below its button. */
  readonly scripted?: { readonly marks: Html; readonly after: HtmlValue };
}

/** A time that stands in a form's place until it can be sent. */
export interface Wait {
  readonly words: Text;
  /** The seconds after which the stylesheet shows the form; `undefined` where the visitor must come back. */
  readonly opensAfter: number | undefined;
}

/** A link to another page. */
export interface Link {
  readonly part: 'link';
  /** Under which the page as data lists it. */
  readonly name: string;
  readonly href: string;
  readonly label: Text;
  /** Default: one of the page's links, below its buttons. */
  readonly look?: 'button' | 'quiet';
  /** Of a button. */
  readonly icon?: Html;
  /** Of a button: what is known of it, at its edge. */
  readonly note?: Text;
  /** Words in front of it. */
  readonly before?: Text;
}

/** Whether it is on the page: a form that opens long after the page is not. */
export function isShown({ wait }: Form): boolean {
  return wait === undefined || wait.opensAfter !== undefined;
}

/** Tells the stylesheet that the form around it was sent. It has no name, so the browser does not send it. */
const sentMark: Html = html`<input type="checkbox" class="sent" hidden>\n`;

/** "or" in a form that is one of several ways. */
export interface Or {
  readonly label: Text;
  /** Whether it stands above the form's buttons, and hides with them. */
  readonly before: boolean;
  /** The same below them. */
  readonly after: boolean;
}

export function orOf(label: Text): Html {
  return html`<p class="or">${label}</p>`;
}

/** @param error of the page */
export function formOf(form: Form, error: FormError | undefined, or?: Or): Html {
  const { wait, look } = form;
  if (wait === undefined)
    return look === 'aside' ? html`<div class="actions">${markupOf(form, error)}</div>` : markupOf(form, error, or);
  const words = html`<p class="wait">${wait.words}</p>`;
  if (wait.opensAfter === undefined) return words;
  return html`<div class="resend in-${wait.opensAfter}">${words}\n${markupOf(form, error)}</div>`;
}

function markupOf(form: Form, error: FormError | undefined, or?: Or): Html {
  const { action, hidden = {}, account, look, scripted } = form;
  const shown = fieldsOf(form);
  const inputs = Object.entries(hidden).map(
    ([name, value]) => value !== undefined && html`<input type="hidden" name="${name}" value="${value}">\n`,
  );
  const username =
    account !== undefined &&
    html`<input type="text" name="username" autocomplete="username" value="${account}" hidden>\n`;
  const word = or && html`${orOf(or.label)}\n`;
  const buttons = form.buttons.map((button, index, all) => {
    // The first quiet one after the main one.
    const isOther = button.look === 'quiet' && index > 0 && all[index - 1]?.look === undefined;
    return html`${isOther && word}${buttonOf(button)}\n`;
  });
  const kind = form.isSearch === true ? html`method="get" role="search"` : html`method="post"`;
  return html`<form ${kind} action="${safeHref(action)}"${scripted?.marks}>
${inputs}${username}${shown.map((field) => html`${fieldOf(field, error, field === shown.at(-1))}\n`)}${or?.before === true && word}${look === 'pair' ? html`<div class="pair">\n${buttons}</div>\n` : buttons}${scripted === undefined ? sentMark : scripted.after}${or?.after === true && word}</form>`;
}

function buttonOf({ label, look, icon, note, name, value, action, isClosed = false, hasFocus = false }: Button): Html {
  const marks = attributes({
    class: look,
    name,
    value,
    formaction: action && safeHref(action),
    formnovalidate: action !== undefined,
    disabled: isClosed,
    // It mends what the message above it says.
    'aria-describedby': hasFocus && 'form-error',
    autofocus: hasFocus,
  });
  return html`<button${marks}>${icon}${label}${noteOf(note)}</button>`;
}

/**
 * The longest code, with the spaces, hyphens and direction marks that people paste along. Digits of some scripts count as two characters; a
 * project configures six to ten digits for emails.
 */
const lengthOf = (code: number | 'digits'): number => (code === 'digits' ? 24 : 2 * code + 2);

/** A labeled input; `aria-describedby` links it to its hint and its error. */
function fieldOf(field: Field, error: FormError | undefined, isLast: boolean): Html {
  const { name, type, label, aside, hint, isClosed = false } = field;
  const { inputmode, maxlength, ...look } = typingOf(field);
  const message = messageAt(error, name);
  const isInvalid = message !== undefined;
  const hasHint = !isInvalid && hint !== undefined && hint.plain !== '';
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
    autocomplete: field.autocomplete,
    // No browser capitalizes a password by itself, so the attribute means nothing there (HTML, "Autocapitalization").
    autocapitalize: type !== 'password' && 'none',
    spellcheck: 'false',
    inputmode,
    enterkeyhint: isLast ? 'go' : 'next',
    maxlength,
    // No standard; Safari and 1Password make passwords by it.
    passwordrules: field.minLength !== undefined && `minlength: ${field.minLength};`,
    value: field.value,
    required: type !== 'search',
    disabled: isClosed,
    'aria-invalid': isInvalid && 'true',
    'aria-describedby': describedBy.length > 0 && describedBy.join(' '),
    autofocus: field.hasFocus === true && !isClosed,
  });
  return html`<div class="field">
<label for="${name}">${label}</label>
<input${input}>
${revealOf(field)}
${aside !== undefined && html`<p class="aside">${anchor(aside)}</p>`}
${isInvalid && html`<p class="field-message" id="${name}-error">${message}</p>`}
${hasHint && html`<p class="hint" id="${name}-hint">${hint}</p>`}
</div>`;
}

/** Hidden until the page's script shows it. */
function revealOf({ name, reveal }: Field): HtmlValue {
  return (
    reveal !== undefined &&
    html`<button type="button" class="reveal" aria-pressed="false" aria-controls="${name}" hidden>${eye}<span>${reveal}</span></button>`
  );
}

/** The fields that the visitor fills in. */
export function fieldsOf({ fields = [] }: Pick<Form, 'fields'>): readonly Field[] {
  return fields.filter((field) => field !== false);
}

/** The message that belongs to a field. */
export function messageAt(error: FormError | undefined, name: string): Text | string | undefined {
  if (error?.field === name) return error.message;
  return error?.at !== undefined && Object.hasOwn(error.at, name) ? error.at[name] : undefined;
}

/** What is typed: addresses and codes are left-to-right in every language. */
function typingOf({ type, code }: Pick<Field, 'type' | 'code'>): Readonly<Record<string, string | undefined>> {
  if (code !== undefined) {
    const look = code === 'digits' ? code : `digits places of-${code}`;
    return { class: look, dir: 'ltr', inputmode: 'numeric', maxlength: String(lengthOf(code)) };
  }
  if (type === 'search') return { dir: 'auto', maxlength: '100' };
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

/** The `href` of a link that loads its page again, with its query. */
export const thisPage = '';

/** With a space, because it belongs to the button's name. */
export function noteOf(note: Text | undefined): HtmlValue {
  return note && html` <small>${note}</small>`;
}

/** The link itself. @param classes of the element */
export function anchor(
  { href, label, icon, note }: Pick<Link, 'href' | 'label' | 'icon' | 'note'>,
  classes?: string,
): Html {
  const mark = classes !== undefined && html` class="${classes}"`;
  return html`<a${mark} href="${href === thisPage ? thisPage : safeHref(href)}">${icon}${label}${noteOf(note)}</a>`;
}
