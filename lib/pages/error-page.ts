import { html, safeHref } from '../tools/html.ts';
import type { HtmlValue } from '../tools/html.ts';
import { errorTable } from '../error-table.ts';
import type { AuthError, AuthErrorCode } from '../errors.ts';
import type { Emblem } from './icons.ts';
import { builtInPage } from './page.ts';
import type { Brand } from './page.ts';
import { duration, emphasis, fillIn } from './texts.ts';
import type { SharedTextKey } from './texts.ts';
import type { Reply } from '../http/reply.ts';

export interface ErrorPageParts {
  readonly error: AuthError;
  readonly signInUrl: string;
  /** The account, if it is known, and the URL to sign in with another one, where that may help. */
  readonly account?:
    | {
        readonly name: string | undefined;
        /** Its sign-in was refused, so no one is signed in to it. */
        readonly wasRefused?: boolean;
        readonly otherUrl: string;
      }
    | undefined;
  /** Whether the browser holds a session, which an outage does not end. */
  readonly hasSession: boolean;
  /** Whether that session is known. */
  readonly isSignedIn: boolean;
  /** Whether a reload may succeed a moment later. */
  readonly canReload: boolean;
  /** The form's own URL, where an outage has lost the form. */
  readonly retryUrl: string | undefined;
  /** The application's start page. */
  readonly home: string;
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly stylesheet: string;
  readonly brand: Brand;
}

/** The error in plain words, with a next step. */
export function errorPage(parts: ErrorPageParts): Reply {
  const { error, home, now, stylesheet, brand } = parts;
  const { text } = brand;
  const time = new Date(now).toISOString();
  const { code } = error;
  const heading = headings[code] ?? headingByStatus(error.status);
  return builtInPage({
    status: error.status,
    facts: { kind: 'error', links: linksOf(parts) },
    failure: { code, message: isGeneral(error) ? text[code].plain : error.message },
    heading: text[heading],
    emblem: emblems[code] ?? emblemsByHeading[heading],
    isStep: heading === 'nextStepHeading',
    lead: explanation(parts),
    leadRole: 'alert',
    stylesheet,
    brand,
    content: html`<p class="actions">${actionLink(parts) ?? button(home, text.backHome)}${signsIn(parts) && html`<a href="${safeHref(home)}">${text.backHome}</a>`}</p>
<p class="reference" dir="ltr">${error.code} <time datetime="${time}">${time.slice(0, 16).replace('T', ' ')} UTC</time></p>`,
  });
}

type HeadingKey = Extract<SharedTextKey, `${string}Heading`>;

const headings: Partial<Record<AuthErrorCode, HeadingKey>> = {
  access_denied: 'canceledHeading',
  invalid_state: 'expiredHeading',
  code_rejected: 'expiredHeading',
  link_expired: 'usedLinkHeading',
  unauthenticated: 'signInFirstHeading',
  forbidden: 'forbiddenHeading',
  not_accepted: 'forbiddenHeading',
  organization_required: 'forbiddenHeading',
  not_a_member: 'forbiddenHeading',
  invitation_for_another_address: 'forbiddenHeading',
  invitation_invalid: 'usedLinkHeading',
  user_banned: 'forbiddenHeading',
  second_factor_required: 'nextStepHeading',
  phone_number_required: 'nextStepHeading',
  identity_check_required: 'nextStepHeading',
  sign_in_incomplete: 'nextStepHeading',
  sign_in_method_refused: 'nextStepHeading',
  sign_in_not_fresh: 'nextStepHeading',
  email_not_confirmed: 'nextStepHeading',
  provider_email_unverified: 'nextStepHeading',
  rate_limited: 'waitHeading',
};

function headingByStatus(status: number): HeadingKey {
  return status >= 500 ? 'unavailableHeading' : 'errorHeading';
}

const emblemsByHeading: Partial<Record<HeadingKey, Emblem>> = {
  errorHeading: 'warning',
  canceledHeading: 'notice',
  expiredHeading: 'clock',
  usedLinkHeading: 'clock',
  signInFirstHeading: 'lock',
  forbiddenHeading: 'lock',
  nextStepHeading: 'notice',
  waitHeading: 'clock',
  unavailableHeading: 'warning',
};

const emblems: Partial<Record<AuthErrorCode, Emblem>> = {
  email_not_confirmed: 'envelope',
  provider_email_unverified: 'envelope',
};

/** The message, the waiting time and the signed-in account. A message for this specific failure takes precedence over the general one. */
function explanation({ error, account, hasSession, brand }: ErrorPageParts): HtmlValue {
  const { text, lang } = brand;
  const wait =
    error.retryAfter === undefined
      ? error.status === 503 && text.retrySoon
      : !isKeyRefused(error) && fillIn(text.retryIn, { time: duration(error.retryAfter, lang) });
  const kept = hasSession && error.code === 'provider_unavailable' && text.staySignedIn;
  const name = account?.name;
  const named = (account: string): HtmlValue => fillIn(text.signedInAs, { account }, emphasis);
  const signedIn = name !== undefined && html`<br>${account?.wasRefused === true ? emphasis(name) : named(name)}`;
  return html`${wordsOf(error, text)}${kept && html` ${kept}`}${wait && html` ${wait}`}${signedIn}`;
}

/** What is known of an outage: its `reason` says where the provider was reached, and did not do it. */
function wordsOf(error: AuthError, text: Brand['text']): HtmlValue {
  if (isKeyRefused(error)) return text.provider_refused;
  if (isBusy(error)) return text.providerBusy;
  return isGeneral(error) ? text[error.code] : error.message;
}

/** Waiting does not help then. The session is kept, so it counts as an outage. */
export function isKeyRefused({ code, reason }: AuthError): boolean {
  return code === 'provider_unavailable' && reason === 'provider_refused';
}

/** Whether the provider was reached, and limits the app. */
export function isBusy({ code, reason }: AuthError): boolean {
  return code === 'provider_unavailable' && reason === 'rate_limited';
}

function isGeneral({ message, code }: AuthError): boolean {
  return message === errorTable[code].message;
}

function linksOf({ signInUrl, account, home, brand }: ErrorPageParts): Readonly<Record<string, string | undefined>> {
  return { signIn: signInUrl, otherAccount: account?.otherUrl, home, help: brand.links.help };
}

/** Failures that no sign-in mends: those who meet them are signed in, or would meet them again. */
const besideSignIn: ReadonlySet<AuthErrorCode> = new Set([
  'action_failed',
  'authorization_expired',
  'redirect_refused',
]);

/** Where too much was asked for, or something else than a form asks, someone who is signed in stays so. */
const besideMembers: ReadonlySet<AuthErrorCode> = new Set(['rate_limited', 'invalid_request']);

function signsIn({ error: { code }, isSignedIn }: ErrorPageParts): boolean {
  return !besideSignIn.has(code) && !(isSignedIn && besideMembers.has(code));
}

/** The single next step; it links to support where only the operators can help. `undefined` where there is none but the start page. */
function actionLink(parts: ErrorPageParts): HtmlValue {
  const { error, account, signInUrl, canReload, retryUrl, brand } = parts;
  const { text, links } = brand;
  if (account !== undefined) return button(account.otherUrl, text.otherAccount);
  if ((error.code === 'provider_refused' || isKeyRefused(error)) && links.help !== undefined)
    return button(links.help, text.contactSupport);
  if (canReload) return html`<a class="button" href="">${text.tryAgainButton}</a>\n`;
  if (retryUrl !== undefined) return button(retryUrl, text.tryAgainButton);
  if (!signsIn(parts)) return undefined;
  return button(signInUrl, error.status >= 500 ? text.tryAgainButton : text.signInButton);
}

function button(url: string, label: HtmlValue): HtmlValue {
  return html`<a class="button" href="${safeHref(url)}">${label}</a>\n`;
}
