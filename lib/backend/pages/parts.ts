import { html, safeHref } from '../../core/html.ts';
import { withQuery } from '../../core/url.ts';
import type { Html, HtmlValue } from '../../core/html.ts';
import { fillIn } from './text.ts';
import type { FormError, PageView, ProviderButton } from './view.ts';

/** A link to another page of ours, with the way back to where the visitor was going. */
export function withReturnTo(href: string, returnTo: string | undefined): string {
  return returnTo === undefined ? href : withQuery(href, { returnTo });
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

export interface FieldParts {
  readonly name: 'email' | 'password';
  readonly type: 'email' | 'password';
  readonly label: string;
  /** The purpose, by the field names of the HTML standard, so that password managers and people with them find their way. */
  readonly autocomplete: 'username' | 'email' | 'current-password' | 'new-password';
  readonly value?: string | undefined;
  readonly hint?: string | undefined;
  readonly error?: FormError | undefined;
  readonly hasFocus: boolean;
}

/** A labelled input; its hint and the message about it are tied to it for those who cannot see them stand together. */
export function field({ name, type, label, autocomplete, value, hint, error, hasFocus }: FieldParts): Html {
  const isInvalid = error?.field === name;
  const described = [
    error?.field === 'form' && 'form-error',
    isInvalid && `${name}-error`,
    hint !== undefined && `${name}-hint`,
  ].filter((id) => id !== false);
  return html`<div class="field">
<label for="${name}">${label}</label>
<input id="${name}" name="${name}" type="${type}" autocomplete="${autocomplete}" autocapitalize="none" spellcheck="false"${type === 'email' && html` inputmode="email"`}${value !== undefined && html` value="${value}"`} required${isInvalid && html` aria-invalid="true"`}${described.length > 0 && html` aria-describedby="${described.join(' ')}"`}${hasFocus && html` autofocus`}>
${isInvalid && html`<p class="field-message" id="${name}-error">${error.message}</p>`}
${hint !== undefined && html`<p class="hint" id="${name}-hint">${hint}</p>`}
</div>`;
}

/** What concerns the whole form, above it; `extra` is a way out of it. */
export function formAlert(view: PageView & { readonly error?: FormError | undefined }, extra?: HtmlValue): HtmlValue {
  const { error, text, brand } = view;
  if (error?.field !== 'form') return undefined;
  const wait =
    error.retryAfter === undefined ? '' : ` ${fillIn(text.retryIn, { time: duration(error.retryAfter, brand.lang) })}`;
  return html`<div class="message bad">
<p id="form-error" role="alert">${error.message}${wait}</p>
${extra}
</div>`;
}

export function providerButtons(providers: readonly ProviderButton[], text: PageView['text']): HtmlValue {
  if (providers.length === 0) return undefined;
  const buttons = providers.map(
    ({
      label,
      href,
    }) => html`<li><a class="button quiet" href="${safeHref(href)}">${fillIn(text.continueWith, { provider: label })}</a></li>
`,
  );
  return html`<p class="or">${text.or}</p>
<ul class="choices">
${buttons}</ul>`;
}

/** Where typing starts: at the field with the error, else at the first that is empty. */
export function focusOf(email: string | undefined, error: FormError | undefined): 'email' | 'password' {
  if (error !== undefined && error.field !== 'form') return error.field;
  return email === undefined || email === '' ? 'email' : 'password';
}

/** Prefixes a page's title where something went wrong. */
export function titleOf(heading: string, view: PageView & { readonly error?: FormError | undefined }): string {
  return view.error === undefined ? heading : `${view.text.errorTitle}: ${heading}`;
}

/** "40 seconds", "12 minutes": rounded up, as being told a second too little costs another attempt. */
export function duration(seconds: number, lang = 'en'): string {
  const isShort = seconds <= 90;
  const count = Math.max(1, Math.ceil(isShort ? seconds : seconds / 60));
  const options = { style: 'unit', unit: isShort ? 'second' : 'minute', unitDisplay: 'long' } as const;
  return new Intl.NumberFormat(isLanguageTag(lang) ? lang : 'en', options).format(count);
}

function isLanguageTag(lang: string): boolean {
  try {
    return Intl.getCanonicalLocales(lang).length > 0;
  } catch {
    return false;
  }
}
