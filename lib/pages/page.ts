import type { IncomingMessage } from 'node:http';
import { withQuery } from '../tools/url.ts';
import type { Html, Text } from '../tools/html.ts';
import type { Form, FormError, Link } from './form.ts';
import type { Emblem } from './icons.ts';
import type { SharedTextKey, Texts } from './texts.ts';
import type { PageTheme } from './theme.ts';

/** Which of the built-in pages it is. A later version may have more. */
export type PageKind =
  | 'account'
  | 'address_change'
  | 'address_changed'
  | 'apps'
  | 'change_email'
  | 'change_email_sent'
  | 'code'
  | 'code_request'
  | 'confirm'
  | 'confirmation_sent'
  | 'consent'
  | 'disconnect_app'
  | 'enroll'
  | 'error'
  | 'factor_rejected'
  | 'factor_unavailable'
  | 'factors'
  | 'forgot'
  | 'forgot_sent'
  | 'link_expired'
  | 'link_provider'
  | 'mail_sent'
  | 'no_address'
  | 'organizations'
  | 'passkey_offer'
  | 'passkeys'
  | 'password'
  | 'please_sign_in'
  | 'remove_factor'
  | 'remove_passkey'
  | 'rename_passkey'
  | 'sign_in'
  | 'sign_out'
  | 'sign_up'
  | 'signed_in'
  | 'signing_out'
  | 'sso'
  | 'start_again'
  | 'switch_account'
  | 'to_app'
  | 'unlink_provider'
  | 'verify';

/** Links below every built-in page; root-relative or http(s) URLs. */
export interface PageLinks {
  readonly terms?: string | undefined;
  readonly privacy?: string | undefined;
  readonly help?: string | undefined;
}

/** The customization of the built-in pages. */
export interface Brand<TextKey extends string = SharedTextKey> {
  /** The application's name. */
  readonly title: string | undefined;
  /** A root-relative or http(s) URL of an image. */
  readonly logo: string | undefined;
  /** The same for the dark color scheme. */
  readonly logoDark: string | undefined;
  /** `#rgb` or `#rrggbb`. */
  readonly accent: string | undefined;
  readonly theme: PageTheme | undefined;
  /** BCP 47 tag of the language of the texts. */
  readonly lang: string;
  readonly dir: 'ltr' | 'rtl';
  readonly links: PageLinks;
  readonly text: Texts<TextKey>;
}

/** The brand in each language that the application has texts in. */
export interface Brands<TextKey extends string = SharedTextKey> {
  /** Whether there are several, of which `Accept-Language` picks one. */
  readonly arePicked: boolean;
  of(request: Pick<IncomingMessage, 'headers'>): Brand<TextKey>;
}

/** The parts of a request that every page uses. */
export interface PageRequest {
  readonly stylesheetUrl: string;
  /** In the language of the request. */
  readonly brand: Brand;
  /** The URL of a path that `returnTo` names. */
  urlOf(path: string): string;
}

interface SignInUrls {
  /** @param without parameters that it must not name */
  signInUrl(returnTo: string, without?: Readonly<Record<string, undefined>>): string;
}

/**
 * The sign-in page, which asks who signs in (OpenID Connect Core §3.1.2.1, `prompt=login`). A provider is not named again: it may sign
 * in its current account without a question.
 */
export function askingSignInUrl(
  request: SignInUrls,
  returnTo: string,
  without: Readonly<Record<string, undefined>> = {},
): string {
  const url = request.signInUrl(returnTo, { ...without, provider: undefined, prompt: undefined });
  return withQuery(url, { prompt: 'login' });
}

/** The sign-in page for another account than the current one, which is the one that a hint names. */
export function otherAccountUrl(request: SignInUrls, returnTo: string): string {
  return askingSignInUrl(request, returnTo, { login_hint: undefined });
}

/** A page: HTML and the page as data are made of it. */
export interface Page {
  readonly kind: PageKind;
  readonly status: number;
  readonly heading: Text;
  /** One soft line below the heading. */
  readonly lead?: Text | false | undefined;
  /** The ARIA role of the lead: `status` for an expected result, `alert` for a failure. */
  readonly leadRole?: 'status' | 'alert' | undefined;
  /** Precedes the page's title after an error. */
  readonly errorTitle?: Text;
  /** Why it is shown, for the page as data. */
  readonly failure?: { readonly code: string; readonly message: string; readonly fields?: FormError['at'] };
  /** What is shown at the form or at a field. */
  readonly error?: FormError | undefined;
  /** What resolves the error, beside its words. */
  readonly remedy?: Parts;
  /** The outcome as a picture, below the brand. */
  readonly emblem?: Emblem | undefined;
  /** Whether the page is a step on the way into the application. */
  readonly isStep?: boolean | undefined;
  readonly parts: Parts;
  /** For the page as data: what was entered and what the form sends back, without what no visitor needs to see again. */
  readonly values?: Readonly<Record<string, string | undefined>>;
  /** For the page as data: the name of the way in that is marked as the last one. */
  readonly lastUsed?: string | undefined;
  /** For the page as data: links that no part of the page names. */
  readonly links?: Readonly<Record<string, string | false | undefined>>;
  readonly stylesheet: string;
  readonly brand: Brand;
  /** The sources of a CSP that the form's response may redirect to, where it leaves this site, such as `https:` (CSP3 §6.4.1). */
  readonly formLeadsTo?: string | undefined;
  readonly script?: PageScript | undefined;
  /** Whether forms send their origin even where the response's `Referrer-Policy` hides it. */
  readonly tellsOrigin?: boolean | undefined;
}

/** The only script of a page. It improves a page that also works without it. */
export interface PageScript {
  /** Its path, with a hash in the query. */
  readonly href: string;
  /** The absolute URL of the path: the policy allows exactly this file. */
  readonly url: string;
  /** The absolute URLs that it calls. */
  readonly calls: readonly string[];
}

/** What a page consists of below its heading, from top to bottom. */
export type Part =
  | Form
  | Link
  | List
  /** The letters of the lists after it. */
  | { readonly part: 'letters'; readonly label: Text; readonly letters: readonly string[] }
  | Ways
  | { readonly part: 'hint'; readonly text: Text }
  /** For browsers without a script, or without what the script needs. */
  | { readonly part: 'fallback'; readonly text: Text }
  /** A numbered list: a sentence, and what belongs to it. */
  | { readonly part: 'steps'; readonly steps: readonly { readonly text: Text; readonly parts: Parts }[] }
  /** What no other page has. Visitors fill in and follow nothing in it. */
  | { readonly part: 'markup'; readonly markup: Html };

/** Several ways to do the same thing, each with its parts. Where the main one and quiet ones meet, "or" stands between them. */
export interface Ways {
  readonly part: 'ways';
  readonly or: Text;
  readonly ways: readonly Parts[];
}

/** A condition may leave out a part. */
export type Parts = readonly (Part | false | undefined)[];

/** What the visitor chooses from. */
export interface List {
  readonly part: 'list';
  readonly choices: readonly Choice[];
  /** Above it; a letter leads to it. */
  readonly heading?: { readonly text: Text | string; readonly id?: string };
  /** `buttons`: one below the other. `icons`: side by side, with their names for those who point at them or hear them. Default: rows. */
  readonly look?: 'buttons' | 'icons';
}

export interface Choice {
  readonly name: Text;
  readonly href: string;
  /** The words of its button, where that says more than the name. */
  readonly label?: Text;
  /** In front of the name. */
  readonly icon?: Html | undefined;
  /** Of a button: what is known of it, at its edge. */
  readonly note?: Text;
  /** Of a button: whether it is the main one of its page. */
  readonly isMain?: boolean;
  /** Below the name, each on its own line. */
  readonly details?: readonly Text[];
  /** Longer words, below all of it over the whole width. Only of a row with `actions`. */
  readonly about?: Text;
  /** What can be done with it, at the end of its row. Default: the row itself leads to `href`. */
  readonly actions?: readonly { readonly href: string; readonly label: Text }[];
}
