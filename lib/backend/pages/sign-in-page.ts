import { html, safeHref } from '../../core/html.ts';
import type { HtmlValue, Text } from '../../core/html.ts';
import { otherAccountUrl } from '../../http/page.ts';
import { emphasis, fillIn } from '../../http/page-text.ts';
import type { Reply } from '../../http/reply.ts';
import { field, focusOf, formAlert, formErrorOf, postForm, returnToOf, showPage, withReturnTo } from './parts.ts';
import type { FormState, PageRequest, Site } from './parts.ts';
import { addressForm } from './code-page.ts';
import { providerButtons } from './provider-buttons.ts';
import { englishText } from './text.ts';
import type { PagesTextKey } from './text.ts';

/** A button for each provider, and email and password or the address for a code. */
export function signInPage(site: Site, request: PageRequest, state: FormState): Reply {
  const { settings, text } = site;
  const { email } = state;
  const error = state.error && formErrorOf(state.error, text);
  const hasPasswords = settings.signInMethods.includes('password');
  // A visitor who can have the email sent again is not helped by another password.
  const canResend = state.error?.code === 'email_not_confirmed' && email !== undefined && email !== '';
  const focus = canResend ? undefined : focusOf(email, error);
  const resend = html`<button class="quiet" aria-describedby="form-error" autofocus>${text.resendButton}</button>`;
  const hidden = returnToOf(state);
  const forgotHref = withReturnTo(request.localPath(settings.forgotPath), state);
  const forgot = html`<a href="${safeHref(forgotHref)}">${text.toForgotLink}</a>`;
  const fields = html`${field({ name: 'email', type: 'email', label: text.email, autocomplete: 'username', value: email, error, hasFocus: focus === 'email' })}
${field({ name: 'password', type: 'password', label: text.password, autocomplete: 'current-password', aside: forgot, error, hasFocus: focus === 'password' })}
<button>${text.signInButton}</button>
${settings.signInMethods.includes('code') && html`<button class="quiet" formaction="${safeHref(request.localPath(settings.codePath))}" formnovalidate>${text.toCodeButton}</button>`}`;
  return showPage(site, request, {
    heading: signInHeading(site, request),
    lead: error === undefined && text.signInText,
    error: state.error,
    hasForm: true,
    content: html`${formAlert(site, request, error, canResend && postForm(request.localPath(settings.resendPath), { email, ...hidden }, resend))}
${providerButtons(site, request, state)}
${hasPasswords ? postForm(request.localPath(settings.loginPath), hidden, fields) : addressForm(site, request, state, error)}
${otherWays(site, request, state)}`,
  });
}

/** To single sign-on and to sign-up, where the options offer them. */
function otherWays({ settings, text }: Site, request: PageRequest, state: FormState): HtmlValue {
  const { signInMethods, signUp, sso, pages } = settings;
  const ssoHref = withReturnTo(request.localPath(settings.ssoPath), state);
  const signUpHref = withReturnTo(pages.signUp ?? request.localPath(settings.signupPath), state);
  return html`${sso && html`<p class="actions"><a href="${safeHref(ssoHref)}">${text.toSsoLink}</a></p>`}
${signUp && signInMethods.includes('password') && html`<p class="actions">${text.toSignUp} <a href="${safeHref(signUpHref)}">${text.toSignUpLink}</a></p>`}`;
}

/** Names the product, unless the application has words of its own for the heading without it. */
function signInHeading({ text }: Site, { definition: { brand } }: PageRequest): Text {
  const isOurs = (key: PagesTextKey): boolean => text[key].plain === englishText[key];
  if (brand.title === undefined || (isOurs('signInToHeading') && !isOurs('signInHeading'))) return text.signInHeading;
  return fillIn(text.signInToHeading, { title: brand.title });
}

/** Tells who is signed in, and leads on: back to where the visitor was going, or to the form. */
export function signedInPage(
  site: Site,
  request: PageRequest,
  { returnTo, account }: { readonly returnTo: string; readonly account: string | undefined },
): Reply {
  const { text } = site;
  const lead: HtmlValue = account !== undefined && fillIn(text.signedInAs, { account }, emphasis);
  return showPage(site, request, {
    heading: text.signedInHeading,
    lead,
    hasForm: false,
    content: html`<p class="actions"><a class="button" href="${safeHref(returnTo)}">${text.continueButton}</a>
<a href="${safeHref(otherAccountUrl(request, returnTo))}">${text.otherAccount}</a></p>`,
  });
}
