import { textOf } from '../../tools/html.ts';
import type { Text } from '../../tools/html.ts';
import { withQuery } from '../../tools/url.ts';
import { buttonIcon, rowIcon } from '../../pages/icons.ts';
import { dated, fillIn, isolated } from '../../pages/texts.ts';
import type { AuthError } from '../../errors.ts';
import type { Choice } from '../../pages/page.ts';
import type { Reply } from '../../http/reply.ts';
import { ceremonyFallback, ceremonyForm, keyDrawing } from '../webauthn/page.ts';
import type { Passkey } from './passkeys.ts';
import {
  doneLink,
  formErrorOf,
  formValues,
  link,
  removalParts,
  returnToOf,
  showPage,
  withReturnTo,
} from '../pages/parts.ts';
import { pageScript } from '../pages/script-route.ts';
import type { FormState, PageRequest, Site } from '../slots.ts';

interface PasskeysState extends FormState {
  readonly passkeys: readonly Passkey[];
  readonly isAgain?: boolean;
}

/** The passkeys of an account, with links to rename and to remove each, and a button that adds one. */
export function passkeysPage(site: Site, request: PageRequest, state: PasskeysState): Reply {
  const { settings, text } = site;
  const { passkeys, isAgain } = state;
  const { lang } = request.brand;
  const path = settings.paths.passkeys;
  const urlOf = (passkey: Passkey, kind: 'rename' | 'remove'): string =>
    withQuery(request.localPath(path), { [kind]: passkey.id, ...returnToOf(state) });
  const choices = passkeys.map((passkey): Choice => ({
    name: nameOf(site, passkey),
    href: urlOf(passkey, 'rename'),
    icon: rowIcon(keyDrawing),
    details: [
      ...dated(text.passkeyAdded, passkey.createdAt, lang),
      ...dated(text.passkeyUsed, passkey.lastUsedAt, lang),
    ],
    actions: [
      { href: urlOf(passkey, 'rename'), label: text.renameLink },
      { href: urlOf(passkey, 'remove'), label: text.removeButton },
    ],
  }));
  const adding = { kind: 'create', path, hidden: returnToOf(state), isQuiet: false, isAgain } as const;
  return showPage(site, request, {
    kind: 'passkeys',
    values: formValues(state),
    heading: text.passkeysHeading,
    lead: text.passkeysText,
    error: state.error,
    problem: state.error && formErrorOf(state.error, text),
    script: pageScript(site, request, path),
    parts: [
      { part: 'list', choices },
      ceremonyFallback(site),
      ceremonyForm(site, request, { ...adding, label: text.addPasskeyButton }),
      doneLink(site, request, state),
    ],
  });
}

/** After a sign-in by password, for an account without a passkey. */
export function offerPage(site: Site, request: PageRequest, state: FormState): Reply {
  const { settings, text } = site;
  const add = withReturnTo(request.localPath(settings.paths.passkeys), state);
  return showPage(site, request, {
    kind: 'passkey_offer',
    values: formValues(state),
    heading: text.passkeyOfferHeading,
    lead: text.passkeysText,
    isStep: true,
    parts: [
      { ...link('add', add, text.addPasskeyButton, 'button'), icon: buttonIcon(keyDrawing) },
      link('continue', request.urlOf(state.returnTo), text.notNowLink, 'quiet'),
    ],
  });
}

/** Where the project has passkeys switched off: nothing can be done here. */
export function passkeysOffPage(
  site: Site,
  request: PageRequest,
  state: FormState & { readonly error: AuthError },
): Reply {
  const { text } = site;
  return showPage(site, request, {
    kind: 'passkeys',
    values: formValues(state),
    heading: text.passkeysHeading,
    emblem: 'notice',
    lead: text.passkeysOff,
    leadRole: 'alert',
    error: state.error,
    parts: [link('home', request.urlOf(request.home), text.backHome, 'button')],
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
  const action = request.localPath(settings.paths.passkeys);
  const value = state.name ?? passkey.name;
  const label = text.passkeyNameLabel;
  return showPage(site, request, {
    kind: 'rename_passkey',
    values: { returnTo: state.returnTo, rename: passkey.id, name: value },
    heading: fillIn(text.renameHeading, { passkey: nameOf(site, passkey).plain }, isolated),
    error: state.error,
    problem: state.error && formErrorOf(state.error, text),
    parts: [
      {
        part: 'form',
        action,
        hidden: { rename: passkey.id, ...returnToOf(state) },
        fields: [{ name: 'name', type: 'text', label, autocomplete: 'off', value, hasFocus: true }],
        buttons: [{ label: text.renameButton }],
      },
      link('cancel', withReturnTo(action, state), text.cancelLink),
    ],
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
  const action = request.localPath(settings.paths.passkeys);
  const asked = { remove: passkey.id, sure: 'yes' };
  const name = nameOf(site, passkey).plain;
  return showPage(site, request, {
    kind: 'remove_passkey',
    values: { returnTo: state.returnTo, ...asked, name },
    heading: fillIn(text.removeHeading, { factor: name }, isolated),
    lead: text.removePasskeyText,
    parts: removalParts(site, action, state, { asked, label: text.removeButton }),
  });
}

/** Whether a name has a character that is seen: marks of the text direction and the like are none. */
export function isVisible(name: string): boolean {
  return /[^\p{C}\p{Z}\p{M}\u115f\u1160\u3164\uffa0\u2800]/u.test(name);
}

function nameOf({ text }: Pick<Site, 'text'>, { name }: Pick<Passkey, 'name'>): Text {
  return isVisible(name) ? textOf(name) : text.passkeyName;
}
