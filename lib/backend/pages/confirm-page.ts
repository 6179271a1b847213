import { html } from '../../core/html.ts';
import { builtInPage } from '../../http/pages/layout.ts';
import type { Reply } from '../../http/reply.ts';
import { formAlert, postForm, titleOf } from './parts.ts';
import type { ConfirmView } from './view.ts';

/** One button, for a person to press: programs that follow a mail's links do not. */
export function confirmPage(view: ConfirmView): Reply {
  const { text, action, tokenHash, type, returnTo } = view;
  return builtInPage({
    ...view,
    heading: text.confirmHeading,
    title: titleOf(text.confirmHeading, view),
    formAction: "'self'",
    content: html`${formAlert(view)}
<p>${text.confirmText}</p>
${postForm(action, { token_hash: tokenHash, type, returnTo }, html`<button>${text.confirmButton}</button>`)}`,
  });
}
