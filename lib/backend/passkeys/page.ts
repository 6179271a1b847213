import { html, safeHref, textOf } from '../../tools/html.ts';
import type { Html, HtmlValue, Text } from '../../tools/html.ts';
import { withQuery } from '../../tools/url.ts';
import { fillIn, isolated } from '../../pages/texts.ts';
import type { AuthError } from '../../errors.ts';
import type { Reply } from '../../http/reply.ts';
import { ceremonyFallback, ceremonyForm, ceremonyScript } from '../webauthn/page.ts';
import type { Passkey } from './passkeys.ts';
import { field } from '../pages/field.ts';
import { formAlert, formErrorOf, formValues, postForm, returnToOf, showPage, withReturnTo } from '../pages/parts.ts';
import type { FormState, PageRequest, Site } from '../slots.ts';

interface PasskeysState extends FormState {
  readonly passkeys: readonly Passkey[];
  readonly isAgain?: boolean;
}

/** The passkeys of an account, with links to rename and to remove each, and a button that adds one. */
export function passkeysPage(site: Site, request: PageRequest, state: PasskeysState): Reply {
  const { settings, text } = site;
  const { passkeys, returnTo, isAgain } = state;
  const { passkeysPath: path } = settings;
  const link = (passkey: Passkey, kind: 'rename' | 'remove', label: Text): Html => {
    const href = withQuery(request.localPath(path), { [kind]: passkey.id, ...returnToOf(state) });
    return html`<a href="${safeHref(href)}" aria-label="${`${label.plain}: ${nameOf(site, passkey).plain}`}">${label}</a>`;
  };
  const row = (
    passkey: Passkey,
  ): Html => html`<li class="row two"><span class="name"><bdi>${nameOf(site, passkey)}</bdi>${datesOf(site, request, passkey)}</span> ${link(passkey, 'rename', text.renameLink)}
${link(passkey, 'remove', text.removeButton)}</li>\n`;
  const adding = {
    kind: 'create',
    path,
    hidden: returnToOf(state),
    label: text.addPasskeyButton,
    isQuiet: false,
  } as const;
  return showPage(site, request, {
    facts: {
      kind: 'passkeys',
      action: request.localPath(path),
      values: formValues(state),
      links: { done: request.urlOf(returnTo) },
      choices: passkeys.map((passkey) => ({
        name: nameOf(site, passkey).plain,
        href: withQuery(request.localPath(path), { rename: passkey.id, ...returnToOf(state) }),
      })),
    },
    heading: text.passkeysHeading,
    lead: text.passkeysText,
    error: state.error,
    hasForm: true,
    script: ceremonyScript(site, request, path),
    content: html`${formAlert(site, request, state.error && formErrorOf(state.error, text))}
${passkeys.length > 0 && html`<ul class="choices">\n${passkeys.map(row)}</ul>`}
${ceremonyFallback(site)}
${ceremonyForm(site, request, { ...adding, isAgain })}
<p class="actions"><a href="${safeHref(request.urlOf(returnTo))}">${text.doneLink}</a></p>`,
  });
}

/** Where the project has passkeys switched off: nothing can be done here. */
export function passkeysOffPage(
  site: Site,
  request: PageRequest,
  state: FormState & { readonly error: AuthError },
): Reply {
  const { text } = site;
  const home = request.urlOf(request.home);
  return showPage(site, request, {
    facts: { kind: 'passkeys', values: formValues(state), links: { home } },
    heading: text.passkeysHeading,
    emblem: 'notice',
    lead: text.passkeysOff,
    leadRole: 'alert',
    error: state.error,
    hasForm: false,
    content: html`<p><a class="button" href="${safeHref(home)}">${text.backHome}</a></p>`,
  });
}

/** One field, with the present name. */
export function renamePage(
  site: Site,
  request: PageRequest,
  state: FormState & { readonly passkey: Passkey; readonly name?: string | undefined },
): Reply {
  const { settings, text } = site;
  const { passkey } = state;
  const error = state.error && formErrorOf(state.error, text);
  const action = request.localPath(settings.passkeysPath);
  const name = field({
    name: 'name',
    type: 'text',
    label: text.passkeyNameLabel,
    autocomplete: 'off',
    value: state.name ?? passkey.name,
    error,
    hasFocus: true,
  });
  return showPage(site, request, {
    facts: {
      kind: 'rename_passkey',
      action,
      fields: ['name'],
      values: { returnTo: state.returnTo, rename: passkey.id, name: state.name ?? passkey.name },
      links: { cancel: withReturnTo(action, state) },
    },
    heading: fillIn(text.renameHeading, { passkey: nameOf(site, passkey).plain }, isolated),
    error: state.error,
    hasForm: true,
    content: html`${formAlert(site, request, error)}
${postForm(action, { rename: passkey.id, ...returnToOf(state) }, html`${name}\n<button>${text.renameButton}</button>`)}
<p class="actions"><a href="${safeHref(withReturnTo(action, state))}">${text.cancelLink}</a></p>`,
  });
}

/** Says what the removal means, and removes only by its own button. */
export function removePasskeyPage(
  site: Site,
  request: PageRequest,
  state: FormState & { readonly passkey: Passkey },
): Reply {
  const { settings, text } = site;
  const { passkey } = state;
  const action = request.localPath(settings.passkeysPath);
  const hidden = { remove: passkey.id, sure: 'yes', ...returnToOf(state) };
  return showPage(site, request, {
    facts: {
      kind: 'remove_passkey',
      action,
      values: { returnTo: state.returnTo, remove: passkey.id, sure: 'yes', name: nameOf(site, passkey).plain },
      links: { cancel: withReturnTo(action, state) },
    },
    heading: fillIn(text.removeHeading, { factor: nameOf(site, passkey).plain }, isolated),
    lead: text.removePasskeyText,
    hasForm: true,
    content: html`${postForm(action, hidden, html`<button>${text.removeButton}</button>`)}
<p class="actions"><a href="${safeHref(withReturnTo(action, state))}">${text.cancelLink}</a></p>`,
  });
}

/** Whether a name has a character that is seen: marks of the text direction and the like are none. */
export function isVisible(name: string): boolean {
  return /[^\p{C}\p{Z}\p{M}\u115f\u1160\u3164\uffa0\u2800]/u.test(name);
}

function nameOf({ text }: Pick<Site, 'text'>, { name }: Pick<Passkey, 'name'>): Text {
  return isVisible(name) ? textOf(name) : text.passkeyName;
}

/** When it was added and last used, each on its own line. */
function datesOf({ text }: Pick<Site, 'text'>, request: PageRequest, { createdAt, lastUsedAt }: Passkey): HtmlValue {
  const { lang } = request.brand;
  const format = new Intl.DateTimeFormat(lang, { dateStyle: 'medium', timeZone: 'UTC' });
  return [[text.passkeyAdded, createdAt] as const, [text.passkeyUsed, lastUsedAt] as const].map(([words, time]) => {
    const at = Date.parse(time);
    return !Number.isNaN(at) && html` <small>${fillIn(words, { date: format.format(at) })}</small>`;
  });
}
