import { html, safeHref } from '../../core/html.ts';
import type { Reply } from '../../http/reply.ts';
import { field, focusOf, formAlert, formErrorOf, postForm, returnToOf, showPage } from './parts.ts';
import type { FormState, PageRequest, Site } from './parts.ts';
import { providerButtons } from './provider-buttons.ts';

/** A button for each provider, email and a new password. */
export function signUpPage(site: Site, request: PageRequest, state: FormState): Reply {
  const { settings, text } = site;
  const { email } = state;
  const error = state.error && formErrorOf(state.error, text);
  const focus = focusOf(email, error);
  const hint = text.newPasswordHint;
  const fields = html`${field({ name: 'email', type: 'email', label: text.email, autocomplete: 'email', value: email, error, hasFocus: focus === 'email' })}
${field({ name: 'password', type: 'password', label: text.password, autocomplete: 'new-password', hint, error, hasFocus: focus === 'password' })}
<button>${text.signUpButton}</button>`;
  return showPage(site, request, {
    heading: text.signUpHeading,
    error: state.error,
    hasForm: true,
    content: html`${formAlert(site, request, error)}
${providerButtons(site, request, state)}
${postForm(request.localPath(settings.signupPath), returnToOf(state), fields)}
<p class="actions">${text.toSignIn} <a href="${safeHref(request.signInUrl(state.returnTo))}">${text.toSignInLink}</a></p>`,
  });
}
