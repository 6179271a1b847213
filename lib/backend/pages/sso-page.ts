import { html, safeHref } from '../../core/html.ts';
import type { Reply } from '../../http/reply.ts';
import { field, formAlert, formErrorOf, postForm, returnToOf, showPage } from './parts.ts';
import type { FormState, PageRequest, Site } from './parts.ts';

/** Asks for the address whose domain names the organization. */
export function ssoPage(site: Site, request: PageRequest, state: FormState): Reply {
  const { text, settings } = site;
  const shown = state.error && formErrorOf(state.error, text);
  const error = state.error?.code === 'sso_unavailable' && shown ? { ...shown, field: 'email' as const } : shown;
  const address = { name: 'email', type: 'email', label: text.email, autocomplete: 'username' } as const;
  const fields = html`${field({ ...address, value: state.email, hint: text.ssoHint, error, hasFocus: true })}
<button>${text.ssoButton}</button>`;
  return showPage(site, request, {
    heading: text.ssoHeading,
    error: state.error,
    hasForm: true,
    // The answer is a redirect to the identity provider, which only the project knows. One without https is a stand-in.
    formLeadsTo: settings.url.startsWith('https:') ? 'https:' : 'https: http:',
    content: html`${formAlert(site, request, error)}
${postForm(request.localPath(settings.ssoPath), returnToOf(state), fields)}
<p class="actions"><a href="${safeHref(request.signInUrl(state.returnTo))}">${text.backToSignIn}</a></p>`,
  });
}
