import { html, safeHref } from '../../core/html.ts';
import type { Html, HtmlValue } from '../../core/html.ts';
import type { Reply } from '../../http/reply.ts';
import type { Enrollment, Factor } from '../account/factors.ts';
import { field, formAlert, formErrorOf, postForm, returnToOf, showPage } from './parts.ts';
import type { FormState, PageRequest, Site } from './parts.ts';
import { factorName } from './verify-page.ts';

/** The second factors of an account, a button to remove each, and one to add an authenticator app. */
export function factorsPage(
  site: Site,
  request: PageRequest,
  state: FormState & { readonly factors: readonly Factor[] },
): Reply {
  const { settings, text } = site;
  const { factors, returnTo } = state;
  const action = request.localPath(settings.enrollPath);
  const row = (factor: Factor): Html => {
    const name = html`<bdi>${factorName(site, factor)}</bdi>${dateOf(factor, request)}`;
    const button = html`<button><span class="name">${name}</span> ${text.removeButton}</button>`;
    return html`<li>${postForm(action, { remove: factor.id, ...returnToOf(state) }, button)}</li>\n`;
  };
  return showPage(site, request, {
    heading: text.factorsHeading,
    lead: factors.length === 0 ? text.factorsEmptyText : text.factorsText,
    error: state.error,
    hasForm: true,
    content: html`${formAlert(site, request, state.error && formErrorOf(state.error, text))}
${factors.length > 0 && html`<ul class="choices">\n${factors.map(row)}</ul>`}
${postForm(action, returnToOf(state), html`<button>${text.addAppButton}</button>`)}
<p class="actions"><a href="${safeHref(returnTo)}">${text.doneLink}</a></p>`,
  });
}

/** The QR code for the app, the same as text, and the field for the first code. */
export function enrollPage(
  site: Site,
  request: PageRequest,
  state: FormState & { readonly enrollment: Enrollment; readonly picture: Html },
): Reply {
  const { settings, text } = site;
  const { factorId, secret, uri } = state.enrollment;
  const error = state.error && formErrorOf(state.error, text);
  const code = field({
    name: 'code',
    type: 'text',
    inputmode: 'numeric',
    label: text.code,
    autocomplete: 'one-time-code',
    error,
    hasFocus: true,
  });
  const action = request.localPath(settings.enrollPath);
  return showPage(site, request, {
    heading: text.enrollHeading,
    lead: text.enrollScanText,
    error: state.error,
    hasForm: true,
    content: html`${formAlert(site, request, error)}
${state.picture}
<p class="hint">${text.enrollSecretText}</p>
<p class="secret"><code dir="ltr">${secret.replace(/(.{4})(?=.)/g, '$1 ')}</code></p>
${postForm(action, { factorId, uri, ...returnToOf(state) }, html`${code}\n<button>${text.enrollButton}</button>`)}
<p class="actions"><a href="${safeHref(action)}">${text.cancelLink}</a></p>`,
  });
}

/** In a line of its own: beside a name of another script it would be torn apart. */
function dateOf({ createdAt }: Factor, request: PageRequest): HtmlValue {
  const time = Date.parse(createdAt);
  if (Number.isNaN(time)) return undefined;
  const { lang } = request.definition.brand;
  return html` <small>${new Intl.DateTimeFormat(lang, { dateStyle: 'medium', timeZone: 'UTC' }).format(time)}</small>`;
}
