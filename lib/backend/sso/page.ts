import type { Reply } from '../../http/reply.ts';
import { addressForm } from '../pages/address.ts';
import { emailField } from '../pages/field.ts';
import { backToSignIn, formErrorOf, formValues, showPage } from '../pages/parts.ts';
import type { FormState, PageRequest, Site } from '../slots.ts';

/** Asks for the address whose domain names the organization. */
export function ssoPage(site: Site, request: PageRequest, state: FormState): Reply {
  const { text, settings } = site;
  const shown = state.error && formErrorOf(state.error, text);
  // On other pages this error comes from `onSignIn`, and there is no email field to show it at.
  const problem = state.error?.code === 'sso_unavailable' && shown ? { ...shown, field: 'email' } : shown;
  const address = emailField(site, { value: state.email, hint: text.ssoHint, hasFocus: true });
  return showPage(site, request, {
    kind: 'sso',
    values: formValues(state),
    heading: text.ssoHeading,
    lead: text.ssoText,
    error: state.error,
    problem,
    isStep: true,
    // The response redirects to the identity provider, which only the project knows. A project without https is a stand-in.
    formLeadsTo: settings.url.startsWith('https:') ? 'https:' : 'https: http:',
    parts: [
      addressForm(request.localPath(settings.paths.sso), state, address, text.ssoButton),
      backToSignIn(site, request, state),
    ],
  });
}
