import { html, safeHref } from '../../core/html.ts';
import { builtInPage } from '../../http/page.ts';
import type { Reply } from '../../http/reply.ts';
import { postForm } from './parts.ts';
import type { SignOutView } from './view.ts';

/** Asks first, where a sign-out was started by a link: links can be planted, a post from elsewhere is refused. */
export function signOutPage(view: SignOutView): Reply {
  const { text, action, returnTo, stayHref } = view;
  return builtInPage({
    ...view,
    heading: text.signOutHeading,
    formAction: "'self'",
    content: html`<p>${text.signOutText}</p>
${postForm(action, { returnTo }, html`<button>${text.signOutButton}</button>`)}
<p><a class="button quiet" href="${safeHref(stayHref)}">${text.stayButton}</a></p>`,
  });
}
