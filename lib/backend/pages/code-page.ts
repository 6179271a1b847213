import { html, safeHref } from '../../core/html.ts';
import type { Html } from '../../core/html.ts';
import type { Reply } from '../../http/reply.ts';
import { duration, emphasis, fillIn } from '../../http/page-text.ts';
import { field, formAlert, formErrorOf, postForm, returnToOf, showPage, withReturnTo } from './parts.ts';
import type { FormError, FormState, PageRequest, Site } from './parts.ts';

export interface CodeState extends FormState {
  /** What the page asks for. */
  readonly step: 'address' | 'code';
  /** Seconds until another email can be sent, where one was sent just now. */
  readonly resendIn?: number | undefined;
  /** What was limited, where `error` is `rate_limited`. */
  readonly limited?: 'emails' | 'codes' | undefined;
}

/** Asks for the address, and then for the code that was sent to it. */
export function codePage(site: Site, request: PageRequest, state: CodeState): Reply {
  const { text } = site;
  const error = errorOf(site, state);
  const isAddress = state.step === 'address';
  return showPage(site, request, {
    heading: isAddress ? text.codeHeading : text.codeSentHeading,
    lead: !isAddress && fillIn(text.emailCodeSentText, { email: state.email ?? '' }, emphasis),
    leadRole: 'status',
    error: state.error,
    hasForm: true,
    content: html`${formAlert(site, request, error)}
${isAddress ? addressForm(site, request, state, error) : codeForm(site, request, state, error)}
${links(site, request, state)}`,
  });
}

/** The form that has a code sent; also the sign-in page's where there are no passwords. */
export function addressForm(site: Site, request: PageRequest, state: FormState, error: FormError | undefined): Html {
  const { text, settings } = site;
  const { email } = state;
  const address = { name: 'email', type: 'email', label: text.email, autocomplete: 'username' } as const;
  const fields = html`${field({ ...address, value: email, error, hasFocus: true })}
<button>${text.codeSendButton}</button>`;
  return postForm(request.localPath(settings.codePath), returnToOf(state), fields);
}

function codeForm(site: Site, request: PageRequest, state: CodeState, error: FormError | undefined): Html {
  const { text, settings } = site;
  const { email = '', resendIn } = state;
  const hidden = { email, ...returnToOf(state) };
  const action = request.localPath(settings.codePath);
  const code = {
    name: 'code',
    type: 'text',
    inputmode: 'numeric',
    label: text.code,
    autocomplete: 'one-time-code',
  } as const;
  const fields = html`${field({ ...code, error, hasFocus: true })}
<button>${text.signInButton}</button>`;
  const time = resendIn === undefined ? undefined : duration(resendIn, request.definition.brand.lang);
  return html`${postForm(action, hidden, fields)}
<p class="hint">${text.mailHint}${time !== undefined && html` ${fillIn(text.codeResendIn, { time })}`}</p>
${postForm(action, hidden, html`<button class="quiet">${text.codeResendButton}</button>`)}`;
}

function links({ text, settings }: Site, request: PageRequest, state: CodeState): Html {
  const other = withReturnTo(request.localPath(settings.codePath), state);
  const toOther = html`<p class="actions"><a href="${safeHref(other)}">${text.codeOtherAddress}</a></p>\n`;
  const back = safeHref(request.signInUrl(state.returnTo));
  return html`${state.step === 'code' && toOther}<p class="actions"><a href="${back}">${text.backToSignIn}</a></p>`;
}

function errorOf({ text }: Site, { error, limited }: CodeState): FormError | undefined {
  if (error === undefined) return undefined;
  const shown = formErrorOf(error, text);
  if (error.code === 'code_wrong') return { ...shown, field: 'code' };
  if (error.code !== 'rate_limited' || limited === undefined) return shown;
  return { ...shown, message: limited === 'emails' ? text.codeEmailsLimited : text.codesLimited };
}
