import { html, safeHref } from '../../tools/html.ts';
import type { Html } from '../../tools/html.ts';
import { emphasis, fillIn } from '../../pages/texts.ts';
import type { Reply } from '../../http/reply.ts';
import { mailedBefore } from '../forms/attempts.ts';
import { addressFacts, addressForm } from '../pages/address.ts';
import { codeFields, emailField } from '../pages/field.ts';
import {
  backToSignIn,
  formAlert,
  formErrorOf,
  isClosedFor,
  postForm,
  returnToOf,
  showPage,
  withReturnTo,
} from '../pages/parts.ts';
import type { FormError, FormState, PageRequest, Site } from '../slots.ts';
import { openingOf, resendForm } from '../pages/resend.ts';
import type { Resend } from '../pages/resend.ts';

interface CodeState extends FormState {
  /** The field that the page asks for. */
  readonly step: 'address' | 'code';
  /** When another email can be sent, where one was just sent. */
  readonly resend?: Resend | undefined;
  /** When codes are accepted again, after too many wrong ones: also of the next email. */
  readonly codesOpen?: Resend | undefined;
}

/** Asks for the address, and then for the code that was sent to it. */
export function codePage(site: Site, request: PageRequest, state: CodeState): Reply {
  const { text } = site;
  const error = codeErrorOf(site, state);
  const isAddress = state.step === 'address';
  return showPage(site, request, {
    facts: {
      ...addressFacts(isAddress ? 'code_request' : 'code', request, state, site.settings.codePath),
      ...(!isAddress && { fields: ['code'] }),
    },
    heading: isAddress ? text.codeHeading : text.codeSentHeading,
    ...(isAddress ? {} : { emblem: 'envelope', leadRole: 'status' }),
    lead: isAddress
      ? text.codeText
      : !isClosed(state) && fillIn(text.emailCodeSentText, { email: state.email ?? '' }, emphasis),
    error: state.error,
    hasForm: true,
    isStep: true,
    content: html`${formAlert(site, request, error)}
${isAddress ? codeAddressForm(site, request, state, error) : codeForm(site, request, state, error)}
${codeLinks(site, request, state)}`,
  });
}

/** The form that requests a code; the sign-in page also shows it where passwords are off. */
export function codeAddressForm(
  site: Site,
  request: PageRequest,
  state: FormState & { readonly autocomplete?: 'username' | 'username webauthn' },
  error: FormError | undefined,
): Html {
  const address = emailField(site, { value: state.email, error, hasFocus: true }, state.autocomplete);
  return addressForm(request.localPath(site.settings.codePath), state, address, site.text.codeSendButton);
}

function codeForm(site: Site, request: PageRequest, state: CodeState, error: FormError | undefined): Html {
  const { text, settings } = site;
  const { email = '', resend, codesOpen } = state;
  const hidden = { email, ...returnToOf(state) };
  const action = request.localPath(settings.codePath);
  // A project configures six to ten digits.
  const fields = codeFields(site, {
    code: 'digits',
    error,
    isClosed: isClosed(state),
    label: text.signInButton,
  });
  return html`${postForm(action, { ...hidden, ...openingOf(resend) }, fields)}
<p class="hint">${text.mailHint}</p>
${resendForm(site, request, { action, hidden: { ...hidden, ...codesOpenOf(codesOpen) }, label: text.codeResendButton, resend })}`;
}

/** Whether the field takes no code: then the page asks for none. */
function isClosed(state: CodeState): boolean {
  return isClosedFor(state) || state.codesOpen !== undefined;
}

/** The hidden field by which the next email's page knows that its code is refused. */
const codesOpenOf = (codesOpen: Resend | undefined): { readonly codesAt?: string } =>
  codesOpen === undefined ? {} : { codesAt: String(codesOpen.opensAt) };

function codeLinks(site: Site, request: PageRequest, state: CodeState): Html {
  const other = withReturnTo(request.localPath(site.settings.codePath), state);
  const toOther = html`<p class="actions"><a href="${safeHref(other)}">${site.text.codeOtherAddress}</a></p>\n`;
  return html`${state.step === 'code' && toOther}${backToSignIn(site, request, state)}`;
}

/** Other limits, such as the backend's own, are not about wrong codes, nor is a refusal of `onSignIn`. */
function codeErrorOf({ text }: Site, { error, codesOpen }: CodeState): FormError | undefined {
  if (error === undefined) {
    return codesOpen && { message: text.codesLimited, field: 'form', tone: 'next', retryAfter: codesOpen.seconds };
  }
  // Until when stands in place of the button.
  if (error.reason === mailedBefore) return { message: text.codeEmailsLimited, field: 'form', tone: 'next' };
  return formErrorOf(error, text);
}
