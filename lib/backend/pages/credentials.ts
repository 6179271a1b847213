import { html, safeHref } from '../../tools/html.ts';
import type { Html, HtmlValue, Text } from '../../tools/html.ts';
import { otherAccountUrl } from '../../pages/page.ts';
import { emphasis, fillIn, isolated } from '../../pages/texts.ts';
import type { Reply } from '../../http/reply.ts';
import { FormProblem } from '../fields.ts';
import { mailedBefore } from '../throttle/index.ts';
import { codeFields, emailField, field, focusOf } from './field.ts';
import {
  backToSignIn,
  forgotLink,
  formAlert,
  formErrorOf,
  formValues,
  isClosedFor,
  otherAccount,
  postForm,
  returnToOf,
  showPage,
  withReturnTo,
} from './parts.ts';
import type { FormError, FormState, PageRequest, Site } from './parts.ts';
import { ceremonyFallback, ceremonyForm, ceremonyScript } from '../passkeys/page.ts';
import { providerButtons, providerChoices } from '../oauth/buttons.ts';
import { openingOf, resendForm } from './resend.ts';
import type { Resend } from './resend.ts';
import { addressFacts, signInFacts } from './form-facts.ts';
import { englishText } from './text.ts';
import type { PagesTextKey } from './text.ts';

interface SignInState extends FormState {
  /** Whether the script asks for the passkey at once, because the answer before came too late. */
  readonly isAgain?: boolean;
}

/** A button for each provider, email and password or the email field for a code, and a passkey. */
export function signInPage(site: Site, request: PageRequest, state: SignInState): Reply {
  const { settings, text } = site;
  const { email } = state;
  const hasPasswords = settings.signInMethods.includes('password');
  const shown = state.error && formErrorOf(state.error, text);
  // Beside the field to correct, not above the buttons of the providers.
  const isWrong = hasPasswords && state.error?.code === 'invalid_credentials';
  const error = isWrong && shown ? { ...shown, field: 'password' as const } : shown;
  // A visitor who needs the confirmation email again does not need the password field.
  const canResend = state.error?.code === 'email_not_confirmed' && email !== undefined && email !== '';
  const focus = canResend ? undefined : focusOf(email, error);
  const resend = html`<button class="quiet" aria-describedby="form-error" autofocus>${text.resendButton}</button>`;
  const hidden = returnToOf(state);
  const forgot = forgotLink(site, request, state);
  const autocomplete = usernameOf(site);
  const fields = html`${emailField(site, { value: email, error, hasFocus: focus === 'email' }, autocomplete)}
${field({ name: 'password', type: 'password', label: text.password, autocomplete: 'current-password', aside: forgot, error, hasFocus: focus === 'password' })}
<button>${text.signInButton}</button>
${settings.signInMethods.includes('code') && html`<button class="quiet" formaction="${safeHref(request.localPath(settings.codePath))}" formnovalidate>${text.toCodeButton}</button>`}`;
  return showPage(site, request, {
    facts: signInFacts(site, request, state, canResend),
    heading: signInHeading(site, request),
    lead: error === undefined && text.signInText,
    error: state.error,
    hasForm: true,
    isStep: true,
    ...(offersPasskeys(site) && { script: ceremonyScript(site, request, settings.passkeyPath) }),
    content: html`${formAlert(site, request, error, canResend && postForm(request.localPath(settings.resendPath), { email, ...hidden }, resend))}
${providerButtons(site, request, state)}
${hasPasswords ? postForm(request.localPath(settings.loginPath), hidden, fields) : settings.signInMethods.includes('code') && codeAddressForm(site, request, { ...state, autocomplete }, error)}
${offersPasskeys(site) && passkeyForm(site, request, state)}
${otherWays(site, request, state)}`,
  });
}

const offersPasskeys = ({ settings }: Site): boolean => settings.signInMethods.includes('passkey');

/** Browsers offer passkeys in the field with `webauthn` (HTML §4.10.18.7.1), once the page's script asks for one. */
function usernameOf(site: Site): 'username' | 'username webauthn' {
  return offersPasskeys(site) ? 'username webauthn' : 'username';
}

/** The main button where there is no other form, which then needs a script. */
function passkeyForm(site: Site, request: PageRequest, state: SignInState): Html {
  const { settings, text } = site;
  const isAlone = settings.signInMethods.length === 1;
  return html`${isAlone && ceremonyFallback(site)}${ceremonyForm(site, request, {
    kind: 'get',
    path: settings.passkeyPath,
    hidden: returnToOf(state),
    label: text.passkeyButton,
    isQuiet: !isAlone,
    hasAutofill: !isAlone,
    isAgain: state.isAgain,
  })}`;
}

/** A button for single sign-on and a link to sign-up, where the options enable them. */
function otherWays({ settings, text }: Site, request: PageRequest, state: FormState): HtmlValue {
  const { signInMethods, signUp, sso, pages } = settings;
  const ssoHref = withReturnTo(request.localPath(settings.ssoPath), state);
  const signUpHref = withReturnTo(pages.signUp ?? request.localPath(settings.signupPath), state);
  return html`${sso && html`<p><a class="button quiet" href="${safeHref(ssoHref)}">${text.toSsoLink}</a></p>`}
${signUp && signInMethods.includes('password') && html`<p class="actions">${text.toSignUp} <a href="${safeHref(signUpHref)}">${text.toSignUpLink}</a></p>`}`;
}

/** Names the product, unless the application overrides only the heading without a title. */
function signInHeading({ text }: Site, { brand }: PageRequest): Text {
  const isOurs = (key: PagesTextKey): boolean => text[key].plain === englishText[key];
  if (brand.title === undefined || (isOurs('signInToHeading') && !isOurs('signInHeading'))) return text.signInHeading;
  return fillIn(text.signInToHeading, { title: brand.title }, isolated);
}

/** Shows the signed-in account, with links to continue or to sign in with another account. */
export function signedInPage(
  site: Site,
  request: PageRequest,
  { returnTo, account }: { readonly returnTo: string; readonly account: string | undefined },
): Reply {
  const { text } = site;
  const lead: HtmlValue = account !== undefined && fillIn(text.signedInAs, { account }, emphasis);
  return showPage(site, request, {
    facts: {
      kind: 'signed_in',
      values: { email: account, returnTo },
      links: { continue: returnTo, otherAccount: otherAccountUrl(request, returnTo) },
    },
    heading: text.signedInHeading,
    emblem: 'check',
    lead,
    hasForm: false,
    content: html`<p class="actions"><a class="button" href="${safeHref(returnTo)}">${text.continueButton}</a>
<a href="${safeHref(otherAccountUrl(request, returnTo))}">${text.otherAccount}</a></p>`,
  });
}

/** Provider buttons, email and a new password. */
export function signUpPage(site: Site, request: PageRequest, state: FormState): Reply {
  const { settings, text } = site;
  const { email } = state;
  const error = state.error && formErrorOf(state.error, text);
  const focus = focusOf(email, error);
  const hint = passwordHint(site);
  const fields = html`${emailField(site, { value: email, error, hasFocus: focus === 'email' }, 'email')}
${field({ name: 'password', type: 'password', label: text.password, autocomplete: 'new-password', hint, error, hasFocus: focus === 'password' })}
<button>${text.signUpButton}</button>`;
  return showPage(site, request, {
    facts: {
      kind: 'sign_up',
      action: request.localPath(settings.signupPath),
      fields: ['email', 'password'],
      values: formValues(state),
      links: { signIn: request.signInUrl(state.returnTo) },
      choices: providerChoices(site, request, state),
    },
    heading: text.signUpHeading,
    error: state.error,
    hasForm: true,
    isStep: true,
    content: html`${formAlert(site, request, error)}
${providerButtons(site, request, state)}
${postForm(request.localPath(settings.signupPath), returnToOf(state), fields)}
<p class="actions">${text.toSignIn} <a href="${safeHref(request.signInUrl(state.returnTo))}">${text.toSignInLink}</a></p>`,
  });
}

function passwordHint({ text, passwordRule }: Site): Text {
  return fillIn(text.newPasswordHint, { count: String(passwordRule.minLength()) });
}

/** Asks for the address to which a link for a new password is sent. */
export function forgotPage(site: Site, request: PageRequest, state: FormState): Reply {
  const { settings, text } = site;
  const error = state.error && formErrorOf(state.error, text);
  const address = emailField(site, { value: state.email, error, hasFocus: true });
  return showPage(site, request, {
    facts: addressFacts('forgot', request, state, settings.forgotPath),
    heading: text.forgotHeading,
    lead: text.forgotText,
    error: state.error,
    hasForm: true,
    isStep: true,
    content: html`${formAlert(site, request, error)}
${addressForm(request.localPath(settings.forgotPath), state, address, text.forgotButton)}
${backToSignIn(site, request, state)}`,
  });
}

/** Asks only for an address. */
export function addressForm(action: string, state: FormState, address: Html, button: Text): Html {
  return postForm(action, returnToOf(state), html`${address}\n<button>${button}</button>`);
}

/** Asks for a new password for the account `email`. After an email's link it does not ask for the current password. */
export function passwordPage(
  site: Site,
  request: PageRequest,
  state: FormState & { readonly asksCurrent: boolean },
): Reply {
  const { settings, text } = site;
  const { asksCurrent, email = '' } = state;
  const error = state.error && formErrorOf(state.error, text);
  const mayBeSaved = state.error instanceof FormProblem && state.error.text === 'passwordMaybeSaved';
  const focus = error?.field === 'password' ? 'password' : 'currentPassword';
  const hint = passwordHint(site);
  const current =
    asksCurrent &&
    field({
      name: 'currentPassword',
      type: 'password',
      label: text.currentPassword,
      autocomplete: 'current-password',
      aside: forgotLink(site, request, state),
      error,
      hasFocus: focus === 'currentPassword',
    });
  // Password managers store the new password under this name.
  const username = html`<input type="text" name="username" autocomplete="username" value="${email}" hidden>`;
  const fields = html`${username}
${current}
${field({ name: 'password', type: 'password', label: text.newPassword, autocomplete: 'new-password', hint, error, hasFocus: focus === 'password' || !asksCurrent })}
<button>${text.passwordButton}</button>`;
  return showPage(site, request, {
    facts: {
      kind: 'password',
      action: request.localPath(settings.passwordPath),
      fields: [...(asksCurrent ? ['currentPassword'] : []), 'password'],
      values: formValues(state),
      links: {
        forgot: asksCurrent && withReturnTo(request.localPath(settings.forgotPath), state),
        signIn: mayBeSaved && otherAccountUrl(request, state.returnTo),
      },
    },
    heading: text.passwordHeading,
    lead: email !== '' && fillIn(text.passwordFor, { email }, emphasis),
    error: state.error,
    hasForm: true,
    isStep: !asksCurrent,
    content: html`${formAlert(site, request, error)}
${postForm(request.localPath(settings.passwordPath), returnToOf(state), fields)}
${mayBeSaved && html`<p class="actions"><a href="${safeHref(otherAccountUrl(request, state.returnTo))}">${text.backToSignIn}</a></p>\n`}${otherAccount(site, request, state)}`,
  });
}

interface CodeState extends FormState {
  /** The field that the page asks for. */
  readonly step: 'address' | 'code';
  /** When another email can be sent, where one was just sent. */
  readonly resend?: Resend | undefined;
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
    lead: isAddress ? text.codeText : fillIn(text.emailCodeSentText, { email: state.email ?? '' }, emphasis),
    error: state.error,
    hasForm: true,
    isStep: true,
    content: html`${formAlert(site, request, error)}
${isAddress ? codeAddressForm(site, request, state, error) : codeForm(site, request, state, error)}
${codeLinks(site, request, state)}`,
  });
}

/** The form that requests a code; the sign-in page also shows it where passwords are off. */
function codeAddressForm(
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
  const { email = '', resend } = state;
  const hidden = { email, ...returnToOf(state) };
  const action = request.localPath(settings.codePath);
  // A project configures six to ten digits.
  const fields = codeFields(site, { code: 'digits', error, isClosed: isClosedFor(state), label: text.signInButton });
  return html`${postForm(action, { ...hidden, ...openingOf(resend) }, fields)}
<p class="hint">${text.mailHint}</p>
${resendForm(site, request, { action, hidden, label: text.codeResendButton, resend })}`;
}

function codeLinks(site: Site, request: PageRequest, state: CodeState): Html {
  const other = withReturnTo(request.localPath(site.settings.codePath), state);
  const toOther = html`<p class="actions"><a href="${safeHref(other)}">${site.text.codeOtherAddress}</a></p>\n`;
  return html`${state.step === 'code' && toOther}${backToSignIn(site, request, state)}`;
}

/** Other limits, such as the backend's own, are not about wrong codes, nor is a refusal of `onSignIn`. */
function codeErrorOf({ text }: Site, { error }: CodeState): FormError | undefined {
  if (error === undefined) return undefined;
  const shown = formErrorOf(error, text);
  // Until when stands in place of the button.
  if (error.reason === mailedBefore) return { message: text.codeEmailsLimited, field: 'form', tone: 'next' };
  return isClosedFor({ error }) ? { ...shown, message: text.codesLimited } : shown;
}
