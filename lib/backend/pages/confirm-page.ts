import { html } from '../../core/html.ts';
import type { Text } from '../../core/html.ts';
import type { Reply } from '../../http/reply.ts';
import { formAlert, formErrorOf, postForm, returnToOf, showPage } from './parts.ts';
import type { FormState, PageRequest, Site } from './parts.ts';
import type { PagesText } from './text.ts';

/** What a mail's link carries. */
export interface ConfirmState extends FormState {
  /** Posted as `token_hash`. */
  readonly tokenHash: string;
  readonly type: string;
}

/** One button, for a person to press: programs that follow a mail's links do not. */
export function confirmPage(site: Site, request: PageRequest, state: ConfirmState): Reply {
  const { tokenHash, type, error } = state;
  const { heading, words, label } = purposeOf(type, site.text);
  const hidden = { token_hash: tokenHash, type, ...returnToOf(state) };
  return showPage(site, request, {
    heading,
    lead: words,
    error,
    hasForm: true,
    content: html`${formAlert(site, request, error && formErrorOf(error, site.text))}
${postForm(request.localPath(site.settings.confirmPath), hidden, html`<button>${label}</button>`)}`,
  });
}

/** What the link is for. `email` may be a new account's or a magic link: both confirm the address and sign in. */
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
