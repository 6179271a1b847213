import { html } from '../../core/html.ts';
import { builtInPage } from '../../http/page.ts';
import type { Reply } from '../../http/reply.ts';
import { formAlert, postForm, titleOf } from './parts.ts';
import type { ConfirmView } from './view.ts';

/** One button, for a person to press: programs that follow a mail's links do not. */
export function confirmPage(view: ConfirmView): Reply {
  const { action, tokenHash, type, returnTo } = view;
  const { heading, words, label } = purposeOf(view);
  return builtInPage({
    ...view,
    heading,
    title: titleOf(heading, view),
    formAction: "'self'",
    content: html`${formAlert(view)}
<p>${words}</p>
${postForm(action, { token_hash: tokenHash, type, returnTo }, html`<button>${label}</button>`)}`,
  });
}

/** What the link is for. `email` may be a new account's or a magic link: both confirm the address and sign in. */
function purposeOf({ type, text }: ConfirmView): {
  readonly heading: string;
  readonly words: string;
  readonly label: string;
} {
  switch (type) {
    case 'magiclink':
      return { heading: text.magicLinkHeading, words: text.magicLinkText, label: text.magicLinkButton };
    case 'invite':
      return { heading: text.inviteHeading, words: text.inviteText, label: text.inviteButton };
    case 'email_change':
      return { heading: text.emailChangeHeading, words: text.emailChangeText, label: text.emailChangeButton };
    default:
      return { heading: text.confirmHeading, words: text.confirmText, label: text.confirmButton };
  }
}
