import { textOf } from '../../tools/html.ts';
import { emphasis, fillIn } from '../../pages/texts.ts';
import type { Form, FormError } from '../../pages/form.ts';
import type { Parts } from '../../pages/page.ts';
import type { Reply } from '../../http/reply.ts';
import { mailedBefore } from '../forms/attempts.ts';
import { addressForm } from '../pages/address.ts';
import { codeFields, emailField } from '../pages/field.ts';
import { openMail } from '../pages/mail-apps.ts';
import {
  backToSignIn,
  formErrorOf,
  formValues,
  isClosedFor,
  link,
  returnToOf,
  showPage,
  withReturnTo,
} from '../pages/parts.ts';
import type { FormState, PageRequest, Site } from '../slots.ts';
import { openingOf, reloadForm, resendForm } from '../pages/resend.ts';
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
  const { email = '' } = state;
  const shown = { error: state.error, problem: problemOf(site, state), values: formValues(state), isStep: true };
  if (state.step === 'address') {
    return showPage(site, request, {
      ...shown,
      kind: 'code_request',
      heading: text.codeHeading,
      lead: text.codeText,
      parts: [codeAddressForm(site, request, state), backToSignIn(site, request, state)],
    });
  }
  const other = withReturnTo(request.localPath(site.settings.paths.code), state);
  return showPage(site, request, {
    ...shown,
    kind: 'code',
    heading: text.codeSentHeading,
    emblem: 'envelope',
    leadRole: 'status',
    // The address alone where no code can be entered.
    lead: isClosed(state)
      ? textOf(email, undefined, emphasis(email))
      : fillIn(text.emailCodeSentText, { email }, emphasis),
    parts: [
      ...codeForms(site, request, state),
      link('otherAddress', other, text.codeOtherAddress),
      backToSignIn(site, request, state),
    ],
  });
}

/** The form that requests a code; the sign-in page also shows it where passwords are off. */
export function codeAddressForm(
  site: Site,
  request: PageRequest,
  state: FormState & { readonly autocomplete?: 'username' | 'username webauthn' },
): Form {
  const address = emailField(site, { value: state.email, hasFocus: true }, state.autocomplete);
  return addressForm(request.localPath(site.settings.paths.code), state, address, site.text.codeSendButton);
}

function codeForms(site: Site, request: PageRequest, state: CodeState): Parts {
  const { text, settings } = site;
  const { email = '', resend, codesOpen } = state;
  const hidden = { email, ...returnToOf(state) };
  const action = request.localPath(settings.paths.code);
  const { codeLength = 'digits' } = settings;
  const fields = codeFields(site, { code: codeLength, isClosed: isClosed(state), label: text.signInButton });
  const again = { ...hidden, ...codesOpenOf(codesOpen) };
  return [
    { part: 'form', action, hidden: { ...hidden, ...openingOf(resend) }, ...fields },
    openMail(site, email),
    !isClosed(state) && { part: 'hint', text: text.mailHint },
    resendForm(site, request, { name: 'resend', action, hidden: again, label: text.codeResendButton, resend }),
    isClosed(state) && reloadForm(site, { action, hidden: { ...again, ...openingOf(resend) } }),
  ];
}

/** Whether the field takes no code: then the page asks for none. */
function isClosed(state: CodeState): boolean {
  return isClosedFor(state) || state.codesOpen !== undefined;
}

/** The hidden field by which the next email's page knows that its code is refused. */
const codesOpenOf = (codesOpen: Resend | undefined): { readonly codesAt?: string } =>
  codesOpen === undefined ? {} : { codesAt: String(codesOpen.opensAt) };

/** Other limits, such as the backend's own, are not about wrong codes, nor is a refusal of `onSignIn`. */
function problemOf({ text }: Site, { error, codesOpen }: CodeState): FormError | undefined {
  if (error === undefined) {
    return codesOpen && { message: text.codesLimited, field: 'form', tone: 'next', retryAfter: codesOpen.seconds };
  }
  // Until when stands in place of the button.
  if (error.reason === mailedBefore) return { message: text.codeEmailsLimited, field: 'form', tone: 'next' };
  return formErrorOf(error, text);
}
