import { html, safeHref } from '../../core/html.ts';
import type { HtmlValue } from '../../core/html.ts';
import { builtInPage } from '../../http/page.ts';
import type { Reply } from '../../http/reply.ts';
import { field, focusOf, formAlert, postForm, providerButtons, titleOf, withReturnTo } from './parts.ts';
import type { SignInView } from './view.ts';

/** E-mail and password, and a button for each provider. */
export function signInPage(view: SignInView): Reply {
  const { text, email, error, returnTo } = view;
  // A visitor who can have the email sent again is not helped by another password.
  const focus = canResend(view) ? undefined : focusOf(email, error);
  const fields = html`${field({ name: 'email', type: 'email', label: text.email, autocomplete: 'username', value: email, error, hasFocus: focus === 'email' })}
${field({ name: 'password', type: 'password', label: text.password, autocomplete: 'current-password', error, hasFocus: focus === 'password' })}
<button>${text.signInButton}</button>`;
  return builtInPage({
    ...view,
    heading: text.signInHeading,
    title: titleOf(text.signInHeading, view),
    formAction: "'self'",
    content: html`${notice(view)}${alert(view)}
${postForm(view.action, { returnTo }, fields)}
${providerButtons(view.providers, text)}
<p class="actions">${text.toSignUp} <a href="${safeHref(withReturnTo(view.signUpHref, returnTo))}">${text.toSignUpLink}</a></p>`,
  });
}

function canResend({ offerResend, email }: SignInView): boolean {
  return offerResend === true && email !== undefined && email !== '';
}

function alert(view: SignInView): HtmlValue {
  const { text, email, returnTo } = view;
  if (!canResend(view)) return formAlert(view);
  const button = html`<button class="quiet" aria-describedby="form-error" autofocus>${text.resendButton}</button>`;
  return formAlert(view, postForm(view.resendAction, { email, returnTo }, button));
}

function notice({ notice: kind, text }: SignInView): HtmlValue {
  if (kind === undefined) return undefined;
  const words = {
    signed_out: `${text.signedOutHeading}.`,
    mail_sent: text.mailSentNotice,
  };
  return html`<p class="message good" role="status">${words[kind]}</p>`;
}
