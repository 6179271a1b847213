import { html, safeHref } from '../../tools/html.ts';
import type { Html } from '../../tools/html.ts';
import type { Reply } from '../../http/reply.ts';
import type { Enrollment } from './factors.ts';
import { codeErrorOf } from './page.ts';
import { codeFields } from '../pages/field.ts';
import { formAlert, formValues, isClosedFor, postForm, returnToOf, showPage } from '../pages/parts.ts';
import type { FormState, PageRequest, Site } from '../slots.ts';

/** Three steps: an app, the QR code or the same secret as text, and the first code. */
export function enrollPage(
  site: Site,
  request: PageRequest,
  state: FormState & { readonly enrollment: Enrollment; readonly picture: Html },
): Reply {
  const { settings, text } = site;
  const { factorId, secret, uri } = state.enrollment;
  const error = codeErrorOf(site, state);
  const fields = codeFields(site, { code: 'six', error, isClosed: isClosedFor(state), label: text.enrollButton });
  const action = request.localPath(settings.enrollPath);
  return showPage(site, request, {
    // Without the new factor's secret, which belongs in no template's data: it is shown by the built-in page.
    facts: {
      kind: 'enroll',
      action,
      fields: ['code'],
      values: { ...formValues(state), factorId },
      links: { cancel: action },
    },
    heading: text.enrollHeading,
    error: state.error,
    hasForm: true,
    content: html`${formAlert(site, request, error)}
<ol class="steps">
<li><p>${text.enrollAppText}</p></li>
<li><p>${text.enrollScanText}</p>
${state.picture}
<p class="hint">${text.enrollSecretText}</p>
<p class="secret"><code dir="ltr">${secret.replace(/(.{4})(?=.)/g, '$1 ')}</code></p></li>
<li><p>${text.enrollCodeText}</p>
${postForm(action, { factorId, uri, ...returnToOf(state) }, fields)}</li>
</ol>
<p class="actions"><a href="${safeHref(action)}">${text.cancelLink}</a></p>`,
  });
}
