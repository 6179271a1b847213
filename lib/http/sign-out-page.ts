import { html, safeHref } from '../core/html.ts';
import { builtInPage } from './page.ts';
import type { PageRequest } from './page.ts';
import type { Reply } from './reply.ts';

/**
 * Asks first, where a sign-out was started by a link: links can be planted, a post from elsewhere is refused.
 *
 * @param action where the button's form posts to
 * @param returnTo sanitized; where the visitor goes afterwards, and where "Stay signed in" leads
 */
export function signOutPage(request: PageRequest, action: string, returnTo: string): Reply {
  const { brand } = request.definition;
  const { text } = brand;
  return builtInPage({
    status: 200,
    heading: text.signOutHeading,
    lead: text.signOutText,
    stylesheet: request.stylesheetUrl,
    brand,
    formAction: "'self'",
    content: html`<form method="post" action="${safeHref(action)}">
${returnTo !== '/' && html`<input type="hidden" name="returnTo" value="${returnTo}">`}
<button>${text.signOutButton}</button>
</form>
<p><a class="button quiet" href="${safeHref(returnTo)}">${text.stayButton}</a></p>`,
  });
}

/**
 * Leads on to the provider's sign-out without a redirect. Browsers check a redirect after a form post against the `form-action` of
 * the form's page, and let a `Refresh` pass.
 *
 * @param url absolute
 */
export function signingOutPage(request: PageRequest, url: string): Reply {
  const { brand } = request.definition;
  const { text } = brand;
  const page = builtInPage({
    status: 200,
    heading: text.signingOutHeading,
    lead: text.signingOutText,
    leadRole: 'status',
    stylesheet: request.stylesheetUrl,
    brand,
    content: html`<p class="actions"><a class="button" href="${safeHref(url)}">${text.continueButton}</a></p>`,
  });
  return { ...page, headers: { Refresh: `0; url=${url}` } };
}
