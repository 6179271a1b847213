import { html, safeHref } from '../../core/html.ts';
import type { Reply } from '../../http/reply.ts';
import { postForm, returnToOf, showPage } from './parts.ts';
import type { FormState, PageRequest, Site } from './parts.ts';

/** Asks first, where a sign-out was started by a link: links can be planted, a post from elsewhere is refused. */
export function signOutPage(site: Site, request: PageRequest, state: Pick<FormState, 'returnTo'>): Reply {
  const { settings, text } = site;
  const action = request.localPath(settings.logoutPath);
  return showPage(site, request, {
    heading: text.signOutHeading,
    hasForm: true,
    content: html`<p>${text.signOutText}</p>
${postForm(action, returnToOf(state), html`<button>${text.signOutButton}</button>`)}
<p><a class="button quiet" href="${safeHref(state.returnTo)}">${text.stayButton}</a></p>`,
  });
}
