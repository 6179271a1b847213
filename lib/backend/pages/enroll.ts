import { html, safeHref } from '../../core/html.ts';
import type { Html } from '../../core/html.ts';
import type { Reply } from '../../http/reply.ts';
import type { Enrollment } from '../factors.ts';
import { codeErrorOf } from './factors.ts';
import { codeFields, formAlert, isClosedFor, postForm, returnToOf, showPage } from './parts.ts';
import type { FormState, PageRequest, Site } from './parts.ts';

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

/** Modules of quiet zone around the code (ISO/IEC 18004 §5.3.8). */
const quietZone = 4;

/**
 * A QR code as inline SVG: it needs no image and no style, so it works under a strict CSP. It stays
 * dark on light in every color scheme, because scanners need that.
 *
 * @param label the accessible name for screen readers
 */
export async function qrCode(text: string, label: string): Promise<Html> {
  const { encode } = await import('uqr');
  const { data, size } = encode(text, { ecc: 'M', border: quietZone });
  const path = data
    .flatMap((row, y) => runsOf(row).map(([x, length]) => `M${x} ${y}h${length}v1h-${length}z`))
    .join('');
  return html`<svg class="qr" viewBox="0 0 ${size} ${size}" width="208" height="208" role="img" aria-label="${label}" shape-rendering="crispEdges"><rect width="${size}" height="${size}" fill="#fff"/><path d="${path}" fill="#000"/></svg>`;
}

/** The dark stretches of a row, each with its start and length. */
function runsOf(row: readonly boolean[]): readonly (readonly [start: number, length: number])[] {
  const runs: [number, number][] = [];
  row.forEach((isDark, x) => {
    const last = runs.at(-1);
    if (!isDark) return;
    if (last !== undefined && last[0] + last[1] === x) last[1] += 1;
    else runs.push([x, 1]);
  });
  return runs;
}
