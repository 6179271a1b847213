import { html, safeHref } from '../../core/html.ts';
import type { Html } from '../../core/html.ts';
import { builtInPage } from '../../http/page.ts';
import type { Reply } from '../../http/reply.ts';
import { postForm, withReturnTo } from './parts.ts';
import { fillIn } from './text.ts';
import type { NoticeView } from './view.ts';

/** What has happened, and the one thing to do next. */
export function noticePage(view: NoticeView): Reply {
  const { text } = view;
  const signInHref = safeHref(withReturnTo(view.signInHref, view.returnTo));
  const [heading, content] = ((): readonly [heading: string, content: Html] => {
    switch (view.kind) {
      case 'confirmation_sent':
        return [text.confirmationSentHeading, mailContent(view, text.confirmationSentText, signInHref)];
      case 'mail_sent':
        return [text.mailSentHeading, mailContent(view, text.mailSentText, signInHref)];
      case 'please_sign_in':
        return [text.pleaseSignInHeading, plainContent(text.pleaseSignInText, signInHref, text.signInButton)];
      case 'other_link':
        return [
          text.otherLinkHeading,
          plainContent(text.otherLinkText, safeHref(view.returnTo ?? '/'), text.continueButton),
        ];
      case 'signed_out':
        return [text.signedOutHeading, plainContent(text.signedOutText, signInHref, text.signInButton)];
    }
  })();
  const isAboutMail = view.kind === 'confirmation_sent' || view.kind === 'mail_sent';
  const hasForm = isAboutMail && view.resendAction !== undefined;
  // A tick is for what is certain.
  const emblem = isAboutMail ? envelope : view.kind === 'signed_out' ? tick : undefined;
  return builtInPage({
    ...view,
    heading,
    ...(emblem && { emblem }),
    content,
    ...(hasForm ? { formAction: "'self'" as const } : {}),
  });
}

const envelope = html`<svg viewBox="0 0 24 24"><rect x="3" y="5" width="18" height="14" rx="2.5"/><path d="m4 7 8 6 8-6"/></svg>`;
const tick = html`<svg viewBox="0 0 24 24"><path d="m5 12.5 4.5 4.5L19 7.5"/></svg>`;

type MailView = Extract<NoticeView, { readonly email: string }>;

function mailContent({ email, resendAction, returnTo, text }: MailView, words: string, signInHref: string): Html {
  const again = html`<button class="quiet">${text.resendButton}</button>`;
  return html`<p role="status">${fillIn(words, { email })}</p>
<p class="hint">${text.mailHint}</p>
${resendAction !== undefined && postForm(resendAction, { email, returnTo }, again)}
<p class="actions"><a href="${signInHref}">${text.backToSignIn}</a></p>`;
}

function plainContent(words: string, href: string, label: string): Html {
  return html`<p role="status">${words}</p>
<p><a class="button" href="${href}">${label}</a></p>`;
}
