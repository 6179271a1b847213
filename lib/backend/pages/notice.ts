import type { Text } from '../../tools/html.ts';
import type { AuthError } from '../../errors.ts';
import { isShown } from '../../pages/form.ts';
import type { Form, Link } from '../../pages/form.ts';
import type { PageKind, Parts } from '../../pages/page.ts';
import { emphasis, fillIn } from '../../pages/texts.ts';
import type { Reply } from '../../http/reply.ts';
import { addressForm } from './address.ts';
import { emailField } from './field.ts';
import { openMail } from './mail-apps.ts';
import { backToSignIn, forgotLink, formValues, link, returnToOf, showPage, withReturnTo } from './parts.ts';
import type { FormState, PageRequest, Site } from '../slots.ts';
import { openingOf, reloadForm, resendForm } from './resend.ts';
import type { Resend } from './resend.ts';
import type { PagesTextKey } from './text.ts';

/** What the page after an email was requested says, by what the email is for. */
export interface SentNotice {
  readonly kind: PageKind;
  readonly heading: PagesTextKey;
  readonly text: PagesTextKey;
  /** Where its button asks for the email again. */
  readonly path: string;
  /** Whether someone who has an account already may need a new password. */
  readonly offersForgot?: true;
}

/** The data of that page: the same for every address. */
export interface MailNotice extends SentNotice {
  readonly email: string;
  readonly returnTo: string;
}

/** "Check your email", and a button that sends it again once it can. @param error why none was sent this time: then the page claims none */
export function mailPage(
  site: Site,
  request: PageRequest,
  { error, ...notice }: MailNotice & { readonly resend: Resend | undefined; readonly error?: AuthError | undefined },
): Reply {
  const { text } = site;
  const { email, kind, path, resend, offersForgot } = notice;
  const hidden = { email, ...returnToOf(notice) };
  const action = request.localPath(path);
  const again = resendForm(site, request, { action, hidden, label: text.resendButton, resend });
  const shown =
    error === undefined
      ? ({ heading: text[notice.heading], emblem: 'envelope', lead: mailWords(site, notice) } as const)
      : ({ heading: text.waitHeading, emblem: 'clock', lead: text.codeEmailsLimited } as const);
  return showPage(site, request, {
    kind,
    values: formValues(notice),
    ...shown,
    leadRole: 'status',
    error,
    isStep: true,
    parts: [
      error === undefined && openMail(site, email),
      again,
      error !== undefined &&
        !isShown(again) &&
        reloadForm(site, { action, hidden: { ...hidden, ...openingOf(resend) } }),
      error === undefined && { part: 'hint', text: text.mailHint },
      ...(offersForgot === undefined ? [backToSignIn(site, request, notice)] : waysIn(site, request, notice)),
    ],
  });
}

/** The text of the same notice. */
export function mailWords({ text }: Pick<Site, 'text'>, notice: Pick<MailNotice, 'text' | 'email'>): Text {
  return fillIn(text[notice.text], { email: notice.email }, emphasis);
}

/** After an email's link or an OAuth provider, where the browser is not signed in. */
export function pleaseSignInPage(site: Site, request: PageRequest, returnTo: string): Reply {
  const { text } = site;
  return showPage(site, request, {
    kind: 'please_sign_in',
    values: { returnTo },
    heading: text.pleaseSignInHeading,
    emblem: 'clock',
    lead: text.pleaseSignInText,
    leadRole: 'status',
    parts: [signIn(site, request, { returnTo }), forgotLink(site, request, { returnTo })],
  });
}

/** A password link that is invalid or expired, with a button to request a new one. */
export function linkExpiredPage(site: Site, request: PageRequest, state: FormState): Reply {
  const { text } = site;
  const forgot = forgotLink(site, request, state)?.href ?? request.signInUrl(state.returnTo);
  return expiredLinkPage(site, request, state, {
    lead: text.linkExpiredText,
    parts: [link('forgot', forgot, text.newLinkButton, 'button'), backToSignIn(site, request, state)],
  });
}

/** A link that signs in or confirms an address, and is invalid or expired: with a button that sends a new one. */
export function newLinkPage(site: Site, request: PageRequest, state: FormState): Reply {
  return expiredLinkPage(site, request, state, {
    lead: site.text.link_expired,
    parts: [newLink(site, request, state), ...waysIn(site, request, state)],
  });
}

function newLink(site: Site, request: PageRequest, state: FormState): Form | Link | undefined {
  const { text, ways } = site;
  const { code, resend } = ways;
  const { newLinkButton } = text;
  if (code !== undefined) return link('code', withReturnTo(request.localPath(code), state), newLinkButton, 'button');
  if (resend === undefined) return undefined;
  const address = emailField(site, { value: state.email, hasFocus: true }, 'email');
  return addressForm(request.localPath(resend), state, address, newLinkButton);
}

/** A guest's link, which is invalid or expired: a sign-up again sends a new one, and a sign-in would lose the guest's data. */
export function guestLinkExpiredPage(site: Site, request: PageRequest, state: FormState): Reply {
  const { signUp } = site.ways;
  if (signUp === undefined) return changeLinkExpiredPage(site, request, state);
  const { text } = site;
  const href = withReturnTo(request.localPath(signUp), state);
  const parts = [link('signUp', href, text.newLinkButton, 'button')];
  return expiredLinkPage(site, request, state, { lead: text.link_expired, parts });
}

/** One of the links that confirm a changed address, which is invalid or expired. The other one may still work. */
export function changeLinkExpiredPage(site: Site, request: PageRequest, state: FormState): Reply {
  return expiredLinkPage(site, request, state, {
    lead: site.text.changeLinkExpiredText,
    parts: [signIn(site, request, state)],
  });
}

/** A link of an email that is invalid or expired. */
function expiredLinkPage(
  site: Site,
  request: PageRequest,
  state: FormState,
  shown: { readonly lead: Text; readonly parts: Parts },
): Reply {
  return showPage(site, request, {
    kind: 'link_expired',
    values: formValues(state),
    heading: site.text.linkExpiredHeading,
    emblem: 'clock',
    error: state.error,
    leadRole: 'alert',
    ...shown,
  });
}

/** The first of the two links that confirm a changed address was opened. */
export function otherLinkPage(site: Site, request: PageRequest, returnTo: string): Reply {
  const { text } = site;
  return showPage(site, request, {
    kind: 'address_change',
    values: { returnTo },
    heading: text.otherLinkHeading,
    emblem: 'envelope',
    lead: text.otherLinkText,
    leadRole: 'status',
    parts: [goOn(site, request, returnTo)],
  });
}

/** Both links were opened, and the browser is not signed in to the account whose address has changed. */
export function addressChangedPage(
  site: Site,
  request: PageRequest,
  { returnTo, isSignedIn }: { readonly returnTo: string; readonly isSignedIn: boolean },
): Reply {
  const { text } = site;
  return showPage(site, request, {
    kind: 'address_changed',
    values: { returnTo },
    heading: text.addressChangedHeading,
    emblem: 'check',
    lead: text.addressChangedText,
    leadRole: 'status',
    parts: [isSignedIn ? goOn(site, request, returnTo) : signIn(site, request, { returnTo })],
  });
}

/** For someone who has an account already: to sign in, or to get a new password. */
function waysIn(site: Site, request: PageRequest, state: Pick<FormState, 'returnTo'>): Parts {
  const { href } = signIn(site, request, state);
  return [link('signIn', href, site.text.signInButton), forgotLink(site, request, state)];
}

function signIn({ text }: Site, request: PageRequest, { returnTo }: Pick<FormState, 'returnTo'>): Link {
  return link('signIn', request.signInUrl(returnTo), text.signInButton, 'button');
}

/** To where the visitor was on the way. */
export function goOn({ text }: Site, request: PageRequest, returnTo: string): Link {
  return link('continue', request.urlOf(returnTo), text.continueButton, 'button');
}
