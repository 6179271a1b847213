import { html, textOf } from '../tools/html.ts';
import type { Html, HtmlValue, Text } from '../tools/html.ts';
import { errorTable } from '../error-table.ts';
import type { AuthErrorCode } from '../errors.ts';
import type { Session } from '../types.ts';

type Messages = Readonly<Record<AuthErrorCode, string>>;

const messages = Object.fromEntries(
  Object.entries(errorTable).map(([code, { message }]) => [code, message]),
) as Messages;

/** The texts of both adapters' pages, in English: errors by code, the chooser, sign-out. `{…}` is a placeholder for a value. */
export const sharedText = {
  ...messages,
  // The headings of these pages already state the cause.
  access_denied: 'Try again, or choose another way to sign in.',
  authorization_expired: 'This request has expired, was answered before, or belongs to another account.',
  invalid_state: 'It was used already, took too long, or started in another browser. Please try again.',
  provider_refused: 'Something is wrong on our side. Please contact support.',
  provider_unavailable: 'We can’t reach the sign-in service right now.',
  rate_limited: 'Too many attempts.',
  unauthenticated: 'You’re signed out, or your session has ended.',

  /** In place of `provider_unavailable` where the provider has answered that it limits this app. */
  providerBusy: 'Sign-in is busy right now.',
  errorHeading: 'Something went wrong',
  canceledHeading: 'Sign-in was canceled',
  expiredHeading: 'Your sign-in expired',
  usedLinkHeading: 'This link doesn’t work anymore',
  signInFirstHeading: 'Sign in to continue',
  forbiddenHeading: 'You don’t have access',
  nextStepHeading: 'One more step',
  waitHeading: 'Please wait',
  unavailableHeading: 'Sign-in is unavailable',
  /** In front of the page's title when something went wrong: it is what a screen reader says first. */
  errorTitle: 'Error',
  /** `{time}` is a length of time in the page's language, such as "12 minutes". */
  retryIn: 'Try again in {time}.',
  retrySoon: 'Please try again in a moment.',
  /** Where the browser has a session, of which an outage tells nothing. */
  staySignedIn: 'This won’t sign you out.',
  tryAgainButton: 'Try again',
  signInButton: 'Sign in',
  continueButton: 'Continue',
  contactSupport: 'Contact support',
  /** In front of the code and the time below an error. */
  forSupport: 'For support:',
  /** Below it, in development, where the terminal has told the cause. */
  terminalSays: 'The terminal says why.',
  backHome: 'Back to home',
  signedInAs: 'Signed in as {account}',
  otherAccount: 'Use another account',
  /** Below the heading of a page on the way into the application. `{title}` is `pages.title`. */
  continueTo: 'to continue to {title}',

  chooserHeading: 'Choose an organization',
  chooserText: 'You belong to more than one organization.',
  /** Above the organization that this browser chose last. */
  chooserLast: 'Last used',
  /** The name of the list of letters, for screen readers. */
  chooserLetters: 'Organizations by letter',
  /** The label of the field in which people search a long list. */
  chooserSearch: 'Find an organization',
  searchButton: 'Search',
  /** `{words}` is what was searched for. */
  chooserNone: 'No organization matches “{words}”.',
  chooserAll: 'Show all organizations',

  signOutHeading: 'Sign out?',
  signOutText: 'You’ll be signed out on this device.',
  signOutButton: 'Sign out',
  stayButton: 'Stay signed in',
  signingOutHeading: 'Signing you out',
  signingOutText: 'If nothing happens, choose Continue.',

  terms: 'Terms',
  privacy: 'Privacy',
  help: 'Help',
} satisfies Record<string, string>;

export type SharedTextKey = keyof typeof sharedText;

/** A complete set of texts. */
export type Texts<Key extends string> = Readonly<Record<Key, Text>>;

/** The application's own texts in one language. */
export type OwnTexts<Key extends string> = Readonly<Partial<Record<Key, string | undefined>>>;

/** The application's own texts, with English defaults that are marked as English where the page has another language. */
export function createTexts<Key extends string>(
  english: Readonly<Record<Key, string>>,
  given?: OwnTexts<NoInfer<Key>>,
  lang = 'en',
): Texts<Key> {
  const otherLanguage = /^en(?:-|$)/i.test(lang) ? undefined : 'en';
  const entries = (Object.keys(english) as Key[]).map((key) => {
    const own = given?.[key];
    return [key, own === undefined ? textOf(english[key], otherLanguage) : textOf(own)];
  });
  return Object.fromEntries(entries) as Texts<Key>;
}

/**
 * Replaces `{name}` by values in a single pass, so that a value cannot contain another placeholder.
 *
 * @param show how markup shows a value of this name; default: escaped text
 */
export function fillIn(
  text: Text,
  values: Readonly<Record<string, string>>,
  show?: (value: string, name: string) => Html,
): Text {
  const shown: HtmlValue[] = [];
  const plain = text.plain.split(/(\{\w+\})/).map((part) => {
    const value =
      Object.hasOwn(values, part.slice(1, -1)) && part.startsWith('{') ? values[part.slice(1, -1)] : undefined;
    shown.push(value === undefined || show === undefined ? (value ?? part) : show(value, part.slice(1, -1)));
    return value ?? part;
  });
  return textOf(plain.join(''), text.lang, shown);
}

/** An address or a name in a sentence: emphasized, with its own text direction. */
export function emphasis(value: string): Html {
  return html`<strong dir="auto">${value}</strong>`;
}

/** A name within a heading or a list: with its own text direction, and otherwise like the words around it. */
export function isolated(name: string): Html {
  return html`<bdi>${name}</bdi>`;
}

/** Texts one after the other. */
export function sentences(...texts: readonly (Text | false | undefined)[]): Text {
  const shown = texts.filter((text) => text !== false && text !== undefined);
  return shown.slice(1).reduce((before, text) => joined([before, text], gapAfter(before)), shown[0] ?? textOf(''));
}

/** What stands between this sentence and the next one: nothing in Chinese and Japanese. */
const gapAfter = ({ plain }: Text): string => (/[。！？]$/u.test(plain) ? '' : ' ');

/** Words with a day for `{date}`, which stays in one line; none where the time is none. @param time as the backend tells it */
export function dated(words: Text, time: string, lang: string): readonly Text[] {
  const at = Date.parse(time);
  if (Number.isNaN(at)) return [];
  const date = new Intl.DateTimeFormat(lang, { dateStyle: 'medium', timeZone: 'UTC' }).format(at);
  const day = new Date(at).toISOString().slice(0, 10);
  return [fillIn(words, { date }, (shown) => html`<time datetime="${day}">${shown}</time>`)];
}

/** Short texts in one line. */
export const dotted = (...texts: readonly Text[]): Text => joined(texts, ' · ');

/** Texts below each other. */
export function lines(...texts: readonly (Text | false | undefined)[]): Text {
  const shown = texts.filter((text) => text !== false && text !== undefined);
  return joined(shown, ' ', html`<br>`);
}

/** @param between in the plain text, and in the markup unless that has something else */
function joined(texts: readonly Text[], between: string, tag: HtmlValue = between): Text {
  const markup = texts.map((text, index) => [index > 0 && tag, text]);
  return textOf(texts.map(({ plain }) => plain).join(between), undefined, markup);
}

/** The name by which users recognize their account. */
export function accountName({ user }: Session): string | undefined {
  return user.email ?? ('phone' in user ? user.phone : undefined);
}

/** "40 seconds", "12 minutes": rounded up, because a retry one second early costs another attempt. */
export function duration(seconds: number, lang = 'en'): string {
  const isShort = seconds <= 90;
  const count = Math.max(1, Math.ceil(isShort ? seconds : seconds / 60));
  const options = { style: 'unit', unit: isShort ? 'second' : 'minute', unitDisplay: 'long' } as const;
  return new Intl.NumberFormat(lang, options).format(count);
}

const rightToLeft = new Set(['Adlm', 'Arab', 'Hebr', 'Mand', 'Nkoo', 'Rohg', 'Syrc', 'Thaa']);

/** The direction of a language's usual script, such as right to left for `ar`, `fa`, `he`, `ur` and `az-Arab`. */
export function directionOf(lang: string): 'ltr' | 'rtl' {
  return rightToLeft.has(new Intl.Locale(lang).maximize().script ?? '') ? 'rtl' : 'ltr';
}

/**
 * The first letter of a name, or of its first and its last word: "Organization 1" to "Organization 9" differ at the end. Two digits would be
 * a number that the name lacks, so after a first one the last word counts that begins with a letter.
 */
export function initials(name: string, count: 1 | 2): string {
  const [first = '', ...others] = name.split(/[^\p{L}\p{N}]/u).filter((word) => word !== '');
  const isNumber = /^\p{N}/u.test(first);
  const last = count === 2 ? others.findLast((word) => !isNumber || /^\p{L}/u.test(word)) : undefined;
  return [first, last ?? '']
    .filter((word) => word !== '')
    .map((word) => String.fromCodePoint(word.codePointAt(0) ?? 0).toUpperCase())
    .join('');
}
