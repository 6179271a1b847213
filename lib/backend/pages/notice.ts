import { html, safeHref } from '../../tools/html.ts';
import type { Html, Text } from '../../tools/html.ts';
import type { AuthError } from '../../errors.ts';
import { emphasis, fillIn } from '../../pages/texts.ts';
import type { PageKind } from '../../pages/view.ts';
import type { Reply } from '../../http/reply.ts';
import { addressForm } from './address.ts';
import { emailField } from './field.ts';
import { backToSignIn, forgotLink, forgotUrl, formValues, returnToOf, showPage, withReturnTo } from './parts.ts';
import type { FormState, PageRequest, Site } from '../slots.ts';
import { hasResendForm, resendForm } from './resend.ts';
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
  { error, ...notice }: MailNotice & { readonly resend: Resend; readonly error?: AuthError },
): Reply {
  const { text } = site;
  const { email, kind, path, resend, returnTo, offersForgot } = notice;
  const forgot = offersForgot && forgotUrl(site, request, notice);
  const action = request.localPath(path);
  const again = { action, hidden: { email, ...returnToOf(notice) }, label: text.resendButton, resend };
  const shown =
    error === undefined
      ? ({ heading: text[notice.heading], emblem: 'envelope', lead: mailWords(site, notice) } as const)
      : ({ heading: text.waitHeading, emblem: 'clock', lead: text.codeEmailsLimited } as const);
  return showPage(site, request, {
    facts: {
      kind,
      action,
      values: formValues(notice),
      links: { signIn: request.signInUrl(returnTo), forgot },
    },
    ...shown,
    leadRole: 'status',
    error,
    hasForm: hasResendForm(resend),
    isStep: true,
    content: html`${resendForm(site, request, again)}
${error === undefined && html`<p class="hint">${text.mailHint}</p>`}
${forgot === undefined ? backToSignIn(site, request, notice) : waysIn(site, request, notice)}`,
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
    facts: {
      kind: 'please_sign_in',
      values: { returnTo },
      links: {
        signIn: request.signInUrl(returnTo),
        forgot: forgotUrl(site, request, { returnTo }),
      },
    },
    heading: text.pleaseSignInHeading,
    emblem: 'clock',
    hasForm: false,
    lead: text.pleaseSignInText,
    leadRole: 'status',
    content: html`${actionLink(request.signInUrl(returnTo), text.signInButton)}
${site.ways.forgot !== undefined && html`<p class="actions">${forgotLink(site, request, { returnTo })}</p>`}`,
  });
}

/** A password link that is invalid or expired, with a button to request a new one. */
export function linkExpiredPage(site: Site, request: PageRequest, state: FormState): Reply {
  const { text } = site;
  const signIn = request.signInUrl(state.returnTo);
  const forgotHref = forgotUrl(site, request, state) ?? signIn;
  return expiredLinkPage(site, request, state, {
    lead: text.linkExpiredText,
    links: { forgot: forgotHref, signIn },
    content: html`<p class="actions"><a class="button" href="${safeHref(forgotHref)}">${text.newLinkButton}</a>
<a href="${safeHref(signIn)}">${text.backToSignIn}</a></p>`,
  });
}

/** A link that signs in or confirms an address, and is invalid or expired: with a button that sends a new one. */
export function newLinkPage(site: Site, request: PageRequest, state: FormState): Reply {
  const { text, ways } = site;
  const { code, resend } = ways;
  const forgot = forgotUrl(site, request, state);
  const codeHref = code === undefined ? undefined : withReturnTo(request.localPath(code), state);
  const isForm = codeHref === undefined && resend !== undefined;
  const action = isForm ? request.localPath(resend) : undefined;
  return showPage(site, request, {
    facts: {
      kind: 'link_expired',
      ...(action !== undefined && { action, fields: ['email'] }),
      values: formValues(state),
      links: { code: codeHref, forgot, signIn: request.signInUrl(state.returnTo) },
    },
    heading: text.linkExpiredHeading,
    emblem: 'clock',
    error: state.error,
    hasForm: isForm,
    lead: text.link_expired,
    leadRole: 'alert',
    content: html`${codeHref !== undefined && actionLink(codeHref, text.newLinkButton)}
${action !== undefined && addressForm(action, state, emailField(site, { value: state.email, error: undefined, hasFocus: true }, 'email'), text.newLinkButton)}
${waysIn(site, request, state)}`,
  });
}

/** A guest's link, which is invalid or expired: a sign-up again sends a new one, and a sign-in would lose the guest's data. */
export function guestLinkExpiredPage(site: Site, request: PageRequest, state: FormState): Reply {
  const { signUp } = site.ways;
  if (signUp === undefined) return changeLinkExpiredPage(site, request, state);
  const { text } = site;
  const href = withReturnTo(request.localPath(signUp), state);
  const content = actionLink(href, text.newLinkButton);
  return expiredLinkPage(site, request, state, { lead: text.link_expired, links: { signUp: href }, content });
}

/** One of the links that confirm a changed address, which is invalid or expired. The other one may still work. */
export function changeLinkExpiredPage(site: Site, request: PageRequest, state: FormState): Reply {
  const { text } = site;
  const signIn = request.signInUrl(state.returnTo);
  const content = actionLink(signIn, text.signInButton);
  return expiredLinkPage(site, request, state, { lead: text.changeLinkExpiredText, links: { signIn }, content });
}

/** A link of an email that is invalid or expired, without a form. */
function expiredLinkPage(
  site: Site,
  request: PageRequest,
  state: FormState,
  {
    lead,
    links,
    content,
  }: { readonly lead: Text; readonly links: Readonly<Record<string, string>>; readonly content: Html },
): Reply {
  return showPage(site, request, {
    facts: { kind: 'link_expired', values: formValues(state), links },
    heading: site.text.linkExpiredHeading,
    emblem: 'clock',
    error: state.error,
    hasForm: false,
    lead,
    leadRole: 'alert',
    content,
  });
}

/** The first of the two links that confirm a changed address was opened. */
export function otherLinkPage(site: Site, request: PageRequest, returnTo: string): Reply {
  const { text } = site;
  const next = request.urlOf(returnTo);
  return showPage(site, request, {
    facts: { kind: 'address_change', values: { returnTo }, links: { continue: next } },
    heading: text.otherLinkHeading,
    emblem: 'envelope',
    hasForm: false,
    lead: text.otherLinkText,
    leadRole: 'status',
    content: actionLink(next, text.continueButton),
  });
}

/** Both links were opened, and the browser is not signed in to the account whose address has changed. */
export function addressChangedPage(
  site: Site,
  request: PageRequest,
  { returnTo, isSignedIn }: { readonly returnTo: string; readonly isSignedIn: boolean },
): Reply {
  const { text } = site;
  const signIn = request.signInUrl(returnTo);
  const next = request.urlOf(returnTo);
  return showPage(site, request, {
    facts: {
      kind: 'address_changed',
      values: { returnTo },
      links: isSignedIn ? { continue: next } : { signIn },
    },
    heading: text.addressChangedHeading,
    emblem: 'check',
    hasForm: false,
    lead: text.addressChangedText,
    leadRole: 'status',
    content: isSignedIn ? actionLink(next, text.continueButton) : actionLink(signIn, text.signInButton),
  });
}

/** For someone who has an account already: to sign in, or to get a new password. */
function waysIn(site: Site, request: PageRequest, state: Pick<FormState, 'returnTo'>): Html {
  const signIn = html`<a href="${safeHref(request.signInUrl(state.returnTo))}">${site.text.signInButton}</a>`;
  const forgot = site.ways.forgot !== undefined && html`\n<p class="actions">${forgotLink(site, request, state)}</p>`;
  return html`<p class="actions">${signIn}</p>${forgot}`;
}

function actionLink(href: string, label: Text): Html {
  return html`<p><a class="button" href="${safeHref(href)}">${label}</a></p>`;
}
