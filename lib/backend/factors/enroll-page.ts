import { html } from '../../tools/html.ts';
import type { Html } from '../../tools/html.ts';
import type { Reply } from '../../http/reply.ts';
import type { Enrollment } from './factors.ts';
import { problemOf } from './page.ts';
import { codeFields } from '../pages/field.ts';
import { formValues, isClosedFor, link, returnToOf, showPage } from '../pages/parts.ts';
import type { FormState, PageRequest, Site } from '../slots.ts';

/** Three steps: an app, the QR code or the same secret as text, and the first code. */
export function enrollPage(
  site: Site,
  request: PageRequest,
  state: FormState & { readonly enrollment: Enrollment; readonly picture: Html },
): Reply {
  const { settings, text } = site;
  const { factorId, secret, uri } = state.enrollment;
  const action = request.localPath(settings.paths.enroll);
  // The page opens at its heading: the picture comes before the code.
  const hasFocus = state.error !== undefined;
  const isClosed = isClosedFor(state);
  const problem = problemOf(site, state);
  const fields = codeFields(site, { code: 6, isClosed: false, label: text.enrollButton, hasFocus });
  const words = html`${state.picture}
<p class="hint">${text.enrollSecretText}</p>
<p class="secret"><code dir="ltr">${secret.replace(/(.{4})(?=.)/g, '$1 ')}</code></p>`;
  const cancel = link('cancel', action, text.cancelLink);
  const confirming = { part: 'form', action, hidden: { factorId, uri, ...returnToOf(state) }, ...fields } as const;
  return showPage(site, request, {
    kind: 'enroll',
    // Without the new factor's secret, which belongs in no template's data: it is shown by the built-in page.
    values: { ...formValues(state), factorId },
    heading: text.enrollHeading,
    error: state.error,
    // Another secret has attempts of its own, so no one has to wait.
    problem: isClosed && problem !== undefined ? { ...problem, retryAfter: undefined } : problem,
    parts: [
      !isClosed && {
        part: 'steps',
        steps: [
          { text: text.enrollAppText, parts: [] },
          { text: text.enrollScanText, parts: [{ part: 'markup', markup: words }] },
          { text: text.enrollCodeText, parts: [confirming, cancel] },
        ],
      },
      isClosed && {
        part: 'form',
        name: 'startAgain',
        action,
        hidden: returnToOf(state),
        buttons: [{ label: text.startAgainButton }],
      },
      isClosed && cancel,
    ],
  });
}
