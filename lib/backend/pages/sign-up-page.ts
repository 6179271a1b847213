import { html, safeHref } from '../../core/html.ts';
import { builtInPage } from '../../http/page.ts';
import type { Reply } from '../../http/reply.ts';
import { field, focusOf, formAlert, postForm, providerButtons, titleOf, withReturnTo } from './parts.ts';
import type { SignUpView } from './view.ts';

/** The same for a new account. */
export function signUpPage(view: SignUpView): Reply {
  const { text, email, error, returnTo } = view;
  const focus = focusOf(email, error);
  const hint = text.newPasswordHint === '' ? undefined : text.newPasswordHint;
  const fields = html`${field({ name: 'email', type: 'email', label: text.email, autocomplete: 'email', value: email, error, hasFocus: focus === 'email' })}
${field({ name: 'password', type: 'password', label: text.password, autocomplete: 'new-password', hint, error, hasFocus: focus === 'password' })}
<button>${text.signUpButton}</button>`;
  return builtInPage({
    ...view,
    heading: text.signUpHeading,
    title: titleOf(text.signUpHeading, view),
    formAction: "'self'",
    content: html`${formAlert(view)}
${postForm(view.action, { returnTo }, fields)}
${providerButtons(view.providers, text)}
<p class="actions">${text.toSignIn} <a href="${safeHref(withReturnTo(view.signInHref, returnTo))}">${text.toSignInLink}</a></p>`,
  });
}
