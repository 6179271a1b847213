import { html, safeHref, textOf } from '../../core/html.ts';
import { withQuery } from '../../core/url.ts';
import type { Html, HtmlValue, Text } from '../../core/html.ts';
import { errorTable } from '../../error-table.ts';
import type { AuthError } from '../../errors.ts';
import type { AuthRequest } from '../../http/auth-request.ts';
import { builtInPage } from '../../http/page.ts';
import type { Brand } from '../../http/page.ts';
import type { Reply } from '../../http/reply.ts';
import { FormProblem } from '../forms.ts';
import type { FieldName } from '../forms.ts';
import type { BackendOptions } from '../options.ts';
import { duration, fillIn } from '../../http/page-text.ts';
import type { PagesText } from './text.ts';

/** What pages show of the adapter. */
export interface Site {
  readonly settings: BackendOptions;
  readonly text: PagesText;
}

/** What pages need of a request: complete URLs, with mount path and base path. */
export interface PageRequest extends Pick<AuthRequest, 'localPath' | 'signInUrl' | 'home' | 'stylesheetUrl'> {
  readonly definition: { readonly brand: Brand };
}

/** What every form knows when it is shown, for the first time or again. */
export interface FormState {
  /** Sanitized; travels on as a hidden field and in links to other forms. */
  readonly returnTo: string;
  /** As it was typed; kept, so that it need not be typed twice. There is no such field for the password. */
  readonly email?: string | undefined;
  /** Why the form is shown again; it decides on the page's status. */
  readonly error?: AuthError | undefined;
}

/** A complete page: its status, `Retry-After` and title follow from `error`. */
export function showPage(
  { text }: Pick<Site, 'text'>,
  request: PageRequest,
  page: {
    readonly heading: Text;
    /** One soft line below the heading. */
    readonly lead?: HtmlValue;
    /** `status` where the line is what the visitor waits for. */
    readonly leadRole?: 'status' | 'alert';
    readonly content: HtmlValue;
    /** Whether the page has a form that posts to a route of ours. */
    readonly hasForm: boolean;
    /** Where its answer may lead, where that is not this site. */
    readonly formLeadsTo?: 'https:' | 'https: http:' | undefined;
    /** A picture in place of the logo; it decorates and says nothing. */
    readonly emblem?: Html | undefined;
    readonly error?: AuthError | undefined;
  },
): Reply {
  const { error, hasForm, formLeadsTo, ...parts } = page;
  const formAction = formLeadsTo === undefined ? ("'self'" as const) : (`'self' ${formLeadsTo}` as const);
  const reply = builtInPage({
    ...parts,
    status: error?.status ?? 200,
    // What a screen reader says first.
    ...(error && { errorTitle: text.errorTitle }),
    stylesheet: request.stylesheetUrl,
    brand: request.definition.brand,
    ...(hasForm ? { formAction } : {}),
  });
  if (error?.retryAfter === undefined) return reply;
  return { ...reply, headers: { 'Retry-After': String(Math.max(1, Math.ceil(error.retryAfter))) } };
}

/** The field for links and forms; `/` is the default, so it is left out of URLs. */
export function returnToOf({ returnTo }: Pick<FormState, 'returnTo'>): { readonly returnTo?: string } {
  return returnTo === '/' ? {} : { returnTo };
}

/** A link to another page of ours, with the way back to where the visitor was going. */
export function withReturnTo(href: string, state: Pick<FormState, 'returnTo'>): string {
  return withQuery(href, returnToOf(state));
}

/** A form that posts to a route of ours; values that are missing send no field. */
export function postForm(
  action: string,
  hidden: Readonly<Record<string, string | undefined>>,
  content: HtmlValue,
): Html {
  const inputs = Object.entries(hidden).map(
    ([name, value]) => value !== undefined && html`<input type="hidden" name="${name}" value="${value}">\n`,
  );
  return html`<form method="post" action="${safeHref(action)}">
${inputs}${content}
</form>`;
}

/** A failure, placed where it belongs: at a field, or above the form where it concerns all of it. */
export interface FormError {
  /** Safe to show to anyone. */
  readonly message: Text;
  readonly field: FieldName;
  /** Seconds until another try makes sense; said in the page's language. */
  readonly retryAfter?: number | undefined;
}

const fieldOf: Readonly<Record<string, FieldName>> = {
  weak_password: 'password',
  same_password: 'password',
  current_password_wrong: 'currentPassword',
  email_in_use: 'email',
  code_wrong: 'code',
};

/**
 * A failure as a form shows it: in the page's own words, at the field it is about. A message that was written for this very
 * failure (a sign-in hook, or the backend's reasons against a password) goes before the general one.
 */
export function formErrorOf(error: AuthError, text: PagesText): FormError {
  if (error instanceof FormProblem) return { message: text[error.text], field: error.field };
  const { code, retryAfter } = error;
  const isGeneral = error.message === errorTable[code].message;
  const message = isGeneral ? text[code] : textOf(error.message);
  return { message, field: fieldOf[code] ?? 'form', retryAfter };
}

interface FieldParts {
  readonly name: Exclude<FieldName, 'form'>;
  readonly type: 'email' | 'password' | 'text';
  /** Which keyboard a phone shows; default: by `type`. `numeric` is for codes, which are shown as digits. */
  readonly inputmode?: 'numeric';
  readonly label: Text;
  /** Beside the label, such as a link; the keyboard comes to it after the field. */
  readonly aside?: HtmlValue;
  /** The purpose, by the field names of the HTML standard, so that password managers and people with them find their way. */
  readonly autocomplete: 'username' | 'email' | 'current-password' | 'new-password' | 'one-time-code';
  readonly value?: string | undefined;
  readonly hint?: Text | undefined;
  readonly error?: FormError | undefined;
  readonly hasFocus: boolean;
}

/** A labeled input; its hint and the message about it are tied to it for those who cannot see them stand together. */
export function field(parts: FieldParts): Html {
  const { name, type, inputmode = type === 'email' ? type : undefined, label, aside, hint, error } = parts;
  const isInvalid = error?.field === name;
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
    class: inputmode === 'numeric' && 'digits',
    // Addresses and codes are written from left to right in every language.
    dir: inputmode !== undefined && 'ltr',
    autocomplete: parts.autocomplete,
    autocapitalize: 'none',
    spellcheck: 'false',
    inputmode,
    value: parts.value,
    required: true,
    'aria-invalid': isInvalid && 'true',
    'aria-describedby': describedBy.length > 0 && describedBy.join(' '),
    autofocus: parts.hasFocus,
  });
  return html`<div class="field">
<label for="${name}">${label}</label>
<input${input}>
${aside !== undefined && html`<p class="aside">${aside}</p>`}
${isInvalid && html`<p class="field-message" id="${name}-error">${error.message}</p>`}
${hasHint && html`<p class="hint" id="${name}-hint">${hint}</p>`}
</div>`;
}

/** ` name="value"`, or ` name` where the value is `true`; nothing for what is missing or `false`. */
function attributes(values: Readonly<Record<string, string | boolean | undefined>>): HtmlValue {
  return Object.entries(values).map(([name, value]) => {
    if (value === undefined || value === false) return undefined;
    return value === true ? html` ${name}` : html` ${name}="${value}"`;
  });
}

type GivenField = Pick<FieldParts, 'value' | 'hint' | 'error' | 'hasFocus'>;

/** @param autocomplete `username` where the address has an account already */
export function emailField(
  { text }: Pick<Site, 'text'>,
  parts: GivenField,
  autocomplete: 'username' | 'email' = 'username',
): Html {
  return field({ name: 'email', type: 'email', label: text.email, autocomplete, ...parts });
}

/** For the digits of an email, a text message or an authenticator app. */
export function codeField({ text }: Pick<Site, 'text'>, error: FormError | undefined): Html {
  return field({
    name: 'code',
    type: 'text',
    inputmode: 'numeric',
    label: text.code,
    autocomplete: 'one-time-code',
    error,
    hasFocus: true,
  });
}

/** What concerns the whole form, above it; `extra` is a way out of it. */
export function formAlert(
  { text }: Pick<Site, 'text'>,
  request: PageRequest,
  error: FormError | undefined,
  extra?: HtmlValue,
): HtmlValue {
  if (error?.field !== 'form') return undefined;
  const { lang } = request.definition.brand;
  const wait = error.retryAfter !== undefined && fillIn(text.retryIn, { time: duration(error.retryAfter, lang) });
  return html`<div class="message bad">
<p id="form-error" role="alert">${error.message}${wait && html` ${wait}`}</p>
${extra}
</div>`;
}

/** Where typing starts: at the field with the error, else at the first that is empty. */
export function focusOf(email: string | undefined, error: FormError | undefined): FieldName {
  if (error !== undefined && error.field !== 'form') return error.field;
  return email === undefined || email === '' ? 'email' : 'password';
}

export function forgotLink({ settings, text }: Site, request: PageRequest, state: Pick<FormState, 'returnTo'>): Html {
  const href = withReturnTo(request.localPath(settings.forgotPath), state);
  return html`<a href="${safeHref(href)}">${text.toForgotLink}</a>`;
}

export function backToSignIn({ text }: Site, request: PageRequest, { returnTo }: Pick<FormState, 'returnTo'>): Html {
  return html`<p class="actions"><a href="${safeHref(request.signInUrl(returnTo))}">${text.backToSignIn}</a></p>`;
}
