import { html, safeHref } from '../../tools/html.ts';
import type { Html, HtmlValue, Text } from '../../tools/html.ts';
import { otherAccountUrl } from '../../pages/page.ts';
import { emphasis, fillIn, isolated } from '../../pages/texts.ts';
import type { PageFacts } from '../../pages/view.ts';
import type { Reply } from '../../http/reply.ts';
import { codeAddressForm } from '../email-code/page.ts';
import { providerButtons, providerChoices } from '../oauth/buttons.ts';
import { ceremonyFallback, ceremonyForm, ceremonyScript } from '../webauthn/page.ts';
import { offers } from '../options.ts';
import { emailField, field, focusOf } from './field.ts';
import {
  forgotLink,
  formAlert,
  formErrorOf,
  formValues,
  postForm,
  returnToOf,
  showPage,
  withReturnTo,
} from './parts.ts';
import type { FormState, PageRequest, Site } from './parts.ts';
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
  const hasPasswords = offers(settings, 'password');
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
${offers(settings, 'code') && html`<button class="quiet" formaction="${safeHref(request.localPath(settings.codePath))}" formnovalidate>${text.toCodeButton}</button>`}`;
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
${hasPasswords ? postForm(request.localPath(settings.loginPath), hidden, fields) : offers(settings, 'code') && codeAddressForm(site, request, { ...state, autocomplete }, error)}
${offersPasskeys(site) && passkeyForm(site, request, state)}
${otherWays(site, request, state)}`,
  });
}

const offersPasskeys = ({ settings }: Site): boolean => offers(settings, 'passkey');

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
  const { signUp, sso, pages } = settings;
  const ssoHref = withReturnTo(request.localPath(settings.ssoPath), state);
  const signUpHref = withReturnTo(pages.signUp ?? request.localPath(settings.signupPath), state);
  return html`${sso && html`<p><a class="button quiet" href="${safeHref(ssoHref)}">${text.toSsoLink}</a></p>`}
${signUp && offers(settings, 'password') && html`<p class="actions">${text.toSignUp} <a href="${safeHref(signUpHref)}">${text.toSignUpLink}</a></p>`}`;
}

/** Names the product, unless the application overrides only the heading without a title. */
function signInHeading({ text }: Site, { brand }: PageRequest): Text {
  const isOurs = (key: PagesTextKey): boolean => text[key].plain === englishText[key];
  if (brand.title === undefined || (isOurs('signInToHeading') && !isOurs('signInHeading'))) return text.signInHeading;
  return fillIn(text.signInToHeading, { title: brand.title }, isolated);
}

/** The sign-in page as data. @param canResend whether the account still needs the email that confirms its address */
function signInFacts(site: Site, request: PageRequest, state: FormState, canResend: boolean): PageFacts {
  const { settings } = site;
  const { signUp, sso, pages } = settings;
  const [hasPasswords, hasCodes] = [offers(settings, 'password'), offers(settings, 'code')];
  const to = (path: string): string => withReturnTo(request.localPath(path), state);
  return {
    kind: 'sign_in',
    action:
      hasPasswords || hasCodes ? request.localPath(hasPasswords ? settings.loginPath : settings.codePath) : undefined,
    fields: [...(hasPasswords || hasCodes ? ['email'] : []), ...(hasPasswords ? ['password'] : [])],
    values: formValues(state),
    links: {
      forgot: hasPasswords && to(settings.forgotPath),
      signUp:
        signUp !== false && hasPasswords && withReturnTo(pages.signUp ?? request.localPath(settings.signupPath), state),
      sso: sso && to(settings.ssoPath),
      code: hasCodes && to(settings.codePath),
      resend: canResend && request.localPath(settings.resendPath),
      passkey: offers(settings, 'passkey') && request.localPath(settings.passkeyPath),
    },
    choices: providerChoices(site, request, state),
  };
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
