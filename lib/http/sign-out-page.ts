import { html, safeHref } from '../core/html.ts';
import { builtInPage } from './page.ts';
import type { PageRequest } from './page.ts';
import type { Reply } from './reply.ts';

/**
 * Asks for confirmation where a link started the sign-out: another site can plant a link, but its posts are refused.
 *
 * @param action the form's target
 * @param returnTo sanitized; the target after sign-out, and of "Stay signed in"
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
 * Continues to the provider's sign-out without a redirect. Browsers check a redirect after a form
 * post against the page's `form-action`, but not a `Refresh`.
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
