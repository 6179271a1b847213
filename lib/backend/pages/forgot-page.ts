import { html, safeHref } from '../../core/html.ts';
import type { Reply } from '../../http/reply.ts';
import { field, formAlert, formErrorOf, postForm, returnToOf, showPage } from './parts.ts';
import type { FormState, PageRequest, Site } from './parts.ts';

/** Asks for the address to which a link for a new password is sent. */
export function forgotPage(site: Site, request: PageRequest, state: FormState): Reply {
  const { settings, text } = site;
  const { email } = state;
  const error = state.error && formErrorOf(state.error, text);
  const fields = html`${field({ name: 'email', type: 'email', label: text.email, autocomplete: 'username', value: email, error, hasFocus: true })}
<button>${text.forgotButton}</button>`;
  return showPage(site, request, {
    heading: text.forgotHeading,
    lead: text.forgotText,
    error: state.error,
    hasForm: true,
    content: html`${formAlert(site, request, error)}
${postForm(request.localPath(settings.forgotPath), returnToOf(state), fields)}
<p class="actions"><a href="${safeHref(request.signInUrl(state.returnTo))}">${text.backToSignIn}</a></p>`,
  });
}
