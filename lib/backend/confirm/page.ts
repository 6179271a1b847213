import { html, textOf } from '../../tools/html.ts';
import type { Text } from '../../tools/html.ts';
import { defined } from '../../tools/json.ts';
import { emphasis, fillIn, isolated } from '../../pages/texts.ts';
import type { Reply } from '../../http/reply.ts';
import { backToSignIn, formErrorOf, formValues, returnToOf, showPage } from '../pages/parts.ts';
import type { FormState, PageRequest, Site } from '../slots.ts';
import type { PagesText } from '../pages/text.ts';

/** The data of an email's link. */
interface ConfirmState extends FormState {
  /** Posted as `token_hash`. */
  readonly tokenHash: string;
  readonly type: string;
}

/** One button for a person to press; programs that follow an email's links do not press it. */
export function confirmPage(site: Site, request: PageRequest, state: ConfirmState): Reply {
  const { tokenHash, type, error } = state;
  const { heading, words, label } = purposeOf(type, site.text);
  return showPage(site, request, {
    kind: 'confirm',
    // The link's token is in the request, and in nothing that is easily logged.
    values: { ...formValues(state), type },
    heading,
    lead: words,
    error,
    problem: error && formErrorOf(error, site.text),
    isStep: true,
    parts: [
      {
        part: 'form',
        action: request.localPath(site.settings.paths.confirm),
        hidden: { token_hash: tokenHash, type, ...returnToOf(state) },
        buttons: [{ label }],
      },
      error !== undefined && backToSignIn(site, request, state),
    ],
  });
}

/** The texts for the purpose of the link. `email` may confirm a new account or be a magic link: both confirm the address and sign in. */
function purposeOf(
  type: string,
  text: PagesText,
): { readonly heading: Text; readonly words: Text; readonly label: Text } {
  switch (type) {
    case 'magiclink':
      return { heading: text.magicLinkHeading, words: text.magicLinkText, label: text.magicLinkButton };
    case 'recovery':
      return { heading: text.recoveryHeading, words: text.recoveryText, label: text.recoveryButton };
    case 'invite':
      return { heading: text.inviteHeading, words: text.inviteText, label: text.inviteButton };
    case 'email_change':
      return { heading: text.emailChangeHeading, words: text.emailChangeText, label: text.emailChangeButton };
    default:
      return { heading: text.confirmHeading, words: text.confirmText, label: text.confirmButton };
  }
}

/** A link of another account than the one that the browser is signed in to. */
interface SwitchState extends FormState {
  /** The link's account. */
  readonly account: { readonly id: string; readonly name: string };
  /** The browser's account; `undefined` where it has been signed out meanwhile. */
  readonly signedInAs: string | undefined;
}

/** Asks before a link's sign-in replaces another user's session, and names both. */
export function switchPage(site: Site, request: PageRequest, state: SwitchState): Reply {
  const { settings, text } = site;
  const { account, signedInAs, error } = state;
  const names = { other: account.name, ...defined({ account: signedInAs }) };
  const goOn = fillIn(text.switchButton, names, isolated);
  const stay = signedInAs === undefined ? text.cancelLink : fillIn(text.stayAsButton, names, isolated);
  // One element each, so that words and name wrap as one text.
  const asOne = (label: Text): Text => textOf(label.plain, undefined, html`<span>${label}</span>`);
  return showPage(site, request, {
    kind: 'switch_account',
    values: { ...formValues(state), account: account.id, email: account.name, signedInAs },
    heading: signedInAs === undefined ? text.magicLinkHeading : text.switchHeading,
    lead: fillIn(signedInAs === undefined ? text.switchAloneText : text.switchText, names, emphasis),
    error,
    problem: error && formErrorOf(error, text),
    parts: [
      {
        part: 'form',
        action: request.localPath(settings.paths.confirm),
        hidden: returnToOf(state),
        // Of equal weight: the link may be a stranger's.
        buttons: [
          { label: asOne(goOn), look: 'quiet', name: 'account', value: account.id },
          { label: asOne(stay), look: 'quiet', name: 'stay', value: 'yes' },
        ],
      },
    ],
  });
}
