import { html, textOf } from '../tools/html.ts';
import type { Text } from '../tools/html.ts';
import { defined } from '../tools/json.ts';
import { errorTable } from '../error-table.ts';
import type { AuthError, AuthErrorCode } from '../errors.ts';
import type { Emblem } from './icons.ts';
import { builtInPage } from './document.ts';
import type { Brand, Part } from './page.ts';
import { thisPage } from './form.ts';
import type { Link } from './form.ts';
import { duration, emphasis, fillIn, lines, sentences } from './texts.ts';
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
  /** Whether a developer has the cause in the terminal. */
  readonly isInTerminal: boolean;
  readonly stylesheet: string;
  readonly brand: Brand;
}

/** The error in plain words, with a next step. */
export function errorPage(parts: ErrorPageParts): Reply {
  const { error, stylesheet, brand } = parts;
  const { text } = brand;
  const { code } = error;
  const heading = headings[code] ?? headingByStatus(error.status);
  const next = nextStep(parts);
  return builtInPage({
    kind: 'error',
    status: error.status,
    links: linksOf(parts),
    failure: { code, message: isGeneral(error) ? text[code].plain : error.message },
    heading: text[heading],
    emblem: emblems[code] ?? emblemsByHeading[heading],
    isStep: heading === 'nextStepHeading',
    lead: explanation(parts),
    leadRole: 'alert',
    stylesheet,
    brand,
    parts: [next ?? homeLink(parts, 'button'), signsIn(parts) && homeLink(parts), reference(parts)],
  });
}

function homeLink({ home, brand }: ErrorPageParts, look?: 'button'): Link {
  return { part: 'link', name: 'home', href: home, label: brand.text.backHome, ...defined({ look }) };
}

/** What support asks for. */
function reference({ error, now, isInTerminal, brand }: ErrorPageParts): Part {
  const time = new Date(now).toISOString();
  const shown = `${time.slice(0, 16).replace('T', ' ')} UTC`;
  const markup = html`<p class="reference">${brand.text.forSupport} <span dir="ltr">${error.code} <time datetime="${time}">${shown}</time></span>${isInTerminal && html` ${brand.text.terminalSays}`}</p>`;
  return { part: 'markup', markup };
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
  sign_in_method_refused: 'signInFirstHeading',
  sign_in_not_fresh: 'signInFirstHeading',
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
function explanation({ error, account, hasSession, brand }: ErrorPageParts): Text {
  const { text, lang } = brand;
  const wait =
    error.retryAfter === undefined
      ? error.status === 503 && text.retrySoon
      : !isKeyRefused(error) && fillIn(text.retryIn, { time: duration(error.retryAfter, lang) });
  const kept = hasSession && error.code === 'provider_unavailable' && text.staySignedIn;
  const name = account?.name;
  const named = (account: string): Text => fillIn(text.signedInAs, { account }, emphasis);
  const bare = (account: string): Text => textOf(account, undefined, emphasis(account));
  return lines(
    sentences(wordsOf(error, text), kept, wait),
    name !== undefined && (account?.wasRefused === true ? bare(name) : named(name)),
  );
}

/** What is known of an outage: its `reason` says where the provider was reached, and did not do it. */
function wordsOf(error: AuthError, text: Brand['text']): Text {
  if (isKeyRefused(error)) return text.provider_refused;
  if (isBusy(error)) return text.providerBusy;
  return isGeneral(error) ? text[error.code] : textOf(error.message);
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
function nextStep(parts: ErrorPageParts): Link | undefined {
  const { error, account, signInUrl, canReload, retryUrl, brand } = parts;
  const { text, links } = brand;
  const link = (name: string, href: string, label: Text): Link => ({ part: 'link', name, href, label, look: 'button' });
  if (account !== undefined) return link('otherAccount', account.otherUrl, text.otherAccount);
  if ((error.code === 'provider_refused' || isKeyRefused(error)) && links.help !== undefined)
    return link('help', links.help, text.contactSupport);
  if (canReload) return link('retry', thisPage, text.tryAgainButton);
  if (retryUrl !== undefined) return link('retry', retryUrl, text.tryAgainButton);
  if (!signsIn(parts)) return undefined;
  return link('signIn', signInUrl, error.status >= 500 ? text.tryAgainButton : text.signInButton);
}
