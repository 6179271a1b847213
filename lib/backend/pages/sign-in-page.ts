import { html, safeHref } from '../../core/html.ts';
import type { Reply } from '../../http/reply.ts';
import { field, focusOf, formAlert, formErrorOf, postForm, returnToOf, showPage, withReturnTo } from './parts.ts';
import type { FormState, PageRequest, Site } from './parts.ts';
import { providerButtons } from './provider-buttons.ts';

/** E-mail and password, and a button for each provider. */
export function signInPage(site: Site, request: PageRequest, state: FormState): Reply {
  const { settings, text } = site;
  const { email } = state;
  const error = state.error && formErrorOf(state.error, text);
  // A visitor who can have the email sent again is not helped by another password.
  const canResend = state.error?.code === 'email_not_confirmed' && email !== undefined && email !== '';
  const focus = canResend ? undefined : focusOf(email, error);
  const resend = html`<button class="quiet" aria-describedby="form-error" autofocus>${text.resendButton}</button>`;
  const hidden = returnToOf(state);
  const signUpHref = settings.pages.signUp ?? request.localPath(settings.signupPath);
  const forgotHref = withReturnTo(request.localPath(settings.forgotPath), state);
  const forgot = html`<a href="${safeHref(forgotHref)}">${text.toForgotLink}</a>`;
  const fields = html`${field({ name: 'email', type: 'email', label: text.email, autocomplete: 'username', value: email, error, hasFocus: focus === 'email' })}
${field({ name: 'password', type: 'password', label: text.password, autocomplete: 'current-password', aside: forgot, error, hasFocus: focus === 'password' })}
<button>${text.signInButton}</button>`;
  return showPage(site, request, {
    heading: text.signInHeading,
    error: state.error,
    hasForm: true,
    content: html`${formAlert(site, request, error, canResend && postForm(request.localPath(settings.resendPath), { email, ...hidden }, resend))}
${postForm(request.localPath(settings.loginPath), hidden, fields)}
${providerButtons(site, request, state)}
<p class="actions">${text.toSignUp} <a href="${safeHref(withReturnTo(signUpHref, state))}">${text.toSignUpLink}</a></p>`,
  });
}
