import type { IncomingMessage } from 'node:http';
import { html, safeHref } from '../tools/html.ts';
import { withQuery } from '../tools/url.ts';
import type { Html, HtmlValue, Text } from '../tools/html.ts';
import { emblemOf } from './icons.ts';
import type { Emblem } from './icons.ts';
import { emphasis, fillIn } from './texts.ts';
import type { SharedTextKey, Texts } from './texts.ts';
import type { Reply } from '../http/reply.ts';
import { pageView } from './view.ts';
import type { PageFacts } from './view.ts';
import { page } from '../http/reply.ts';

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

export interface PageParts {
  readonly status: number;
  /** The page as data. */
  readonly facts: PageFacts;
  /** Why it is shown, for the page as data. */
  readonly failure?: Parameters<typeof pageView>[3];
  readonly heading: Text;
  /** One soft line below the heading. */
  readonly lead?: HtmlValue;
  /** The ARIA role of the lead: `status` for an expected result, `alert` for a failure. */
  readonly leadRole?: 'status' | 'alert';
  /** Precedes the page's title after an error. */
  readonly errorTitle?: Text;
  /** The outcome as a picture, below the brand. */
  readonly emblem?: Emblem | undefined;
  /** Whether the page is a step on the way into the application. */
  readonly isStep?: boolean | undefined;
  readonly content: HtmlValue;
  readonly stylesheet: string;
  readonly brand: Brand;
  /** Allowed targets of the page's forms, including redirects (CSP3 §6.4.1); none without a form. */
  readonly formAction?: `'self'${'' | ` ${string}`}`;
  readonly script?: PageScript | undefined;
  /** Whether forms send their origin even where the response's `Referrer-Policy` hides it. */
  readonly tellsOrigin?: boolean;
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

/** A complete built-in page without inline script and style, under a strict CSP. */
export function builtInPage(parts: PageParts): Reply {
  const view = pageView(parts.heading.plain, parts.brand.lang, parts.facts, parts.failure);
  return page(parts.status, document(parts), policyFor(parts), view);
}

/** Bundlers rewrite a template that has it as one word. */
const endOfScript = html`</${'script'}>`;

function document(parts: PageParts): Html {
  const { heading, lead, leadRole, errorTitle, emblem, content, stylesheet, script, brand, tellsOrigin } = parts;
  const { title: name, logo, lang, dir } = brand;
  const title = errorTitle === undefined ? heading.plain : `${errorTitle.plain}: ${heading.plain}`;
  return html`<!doctype html>
<html lang="${lang}" dir="${dir}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<meta name="color-scheme" content="light dark">
${tellsOrigin === true && html`<meta name="referrer" content="same-origin">`}
<meta name="theme-color" content="#f4f5f7" media="(prefers-color-scheme: light)">
<meta name="theme-color" content="#0e1014" media="(prefers-color-scheme: dark)">
<title${heading.lang !== undefined && html` lang="${heading.lang}"`}>${name === undefined || title.includes(name) ? title : `${title} · ${name}`}</title>
${logo !== undefined && html`<link rel="icon" href="${safeHref(logo)}">`}
<link rel="stylesheet" href="${safeHref(stylesheet)}">${script !== undefined && html`\n<script src="${safeHref(script.href)}" defer>${endOfScript}`}
</head>
<body>
<main>
<div class="head">
${mark(brand)}
${emblem !== undefined && emblemOf(emblem)}
<h1>${heading}</h1>
${nameLine(parts)}
${isShown(lead) && html`<p class="lead"${leadRole !== undefined && html` role="${leadRole}"`}>${lead}</p>`}
</div>
${content}
</main>
${footer(brand)}
</body>
</html>
`;
}

/** The logo, else the name's first letter. */
function mark({ title, logo, logoDark }: Brand): HtmlValue {
  if (logo !== undefined) {
    const image = html`<img src="${safeHref(logo)}" alt="${title ?? ''}">`;
    return html`<p class="brand">${logoDark === undefined ? image : html`<picture><source srcset="${safeHref(logoDark)}" media="(prefers-color-scheme: dark)">${image}</picture>`}</p>`;
  }
  const letters = initials(title ?? '', 1);
  return letters !== '' && html`<p class="brand"><span class="mark" aria-hidden="true">${letters}</span></p>`;
}

/** The application's name below a heading that lacks it: who comes from an email sees whose page it is. */
function nameLine({ heading, isStep = false, brand: { title, text } }: PageParts): HtmlValue {
  if (title === undefined || heading.plain.includes(title)) return undefined;
  return html`<p class="app">${isStep ? fillIn(text.continueTo, { title }, emphasis) : emphasis(title)}</p>`;
}

/** Tells the stylesheet that the form around it was sent. It has no name, so the browser does not send it. */
export const sentMark: Html = html`<input type="checkbox" class="sent" hidden>\n`;

/** The first letter of a name, or of its first and its last word: "Organization 1" to "Organization 9" differ at the end. */
export function initials(name: string, count: 1 | 2): string {
  const words = name.split(/[^\p{L}\p{N}]/u).filter((word) => word !== '');
  const last = count === 2 && words.length > 1 ? words.slice(-1) : [];
  return [...words.slice(0, 1), ...last]
    .map((word) => String.fromCodePoint(word.codePointAt(0) ?? 0).toUpperCase())
    .join('');
}

function footer({ links, text }: Brand): HtmlValue {
  const shown = (['terms', 'privacy', 'help'] as const).flatMap((name) => {
    const href = links[name];
    return href === undefined ? [] : [html`<a href="${safeHref(href)}">${text[name]}</a>\n`];
  });
  return shown.length > 0 && html`<footer>\n${shown}</footer>`;
}

function isShown(value: HtmlValue): boolean {
  return value !== undefined && value !== null && value !== false && value.toString() !== '';
}

function policyFor({ brand, formAction, script }: PageParts): string {
  return [
    "default-src 'none'",
    ...(script === undefined
      ? []
      : [`script-src ${source(script.url)}`, `connect-src ${script.calls.map(source).join(' ')}`]),
    "style-src 'self'",
    `img-src ${imageSources(brand)}`,
    `form-action ${formAction ?? "'none'"}`,
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}

/** One URL in a policy, where a query is not allowed, and these two characters end a source (CSP3 §2.3.1). */
function source(url: string): string {
  const { origin, pathname } = new URL(safeHref(url));
  return origin + pathname.replaceAll(';', '%3B').replaceAll(',', '%2C');
}

/** The site itself, for its favicon, and the logos' origins. */
function imageSources({ logo, logoDark }: Brand): string {
  const origins = [logo, logoDark].flatMap((url) => {
    const origin = url === undefined || url.startsWith('/') ? undefined : URL.parse(safeHref(url))?.origin;
    return origin === undefined ? [] : [origin];
  });
  return ["'self'", ...new Set(origins)].join(' ');
}

/**
 * Asks for confirmation where a link started the sign-out: another site can plant a link, but its posts are refused.
 *
 * @param action the form's target
 * @param returnTo sanitized; the target after sign-out, and of "Stay signed in"
 */
export function signOutPage(request: PageRequest, action: string, returnTo: string): Reply {
  const { brand } = request;
  const { text } = brand;
  const stay = request.urlOf(returnTo);
  return builtInPage({
    status: 200,
    facts: { kind: 'sign_out', action, values: { returnTo }, links: { stay } },
    heading: text.signOutHeading,
    lead: text.signOutText,
    stylesheet: request.stylesheetUrl,
    brand,
    formAction: "'self'",
    content: html`<form method="post" action="${safeHref(action)}">
${returnTo !== '/' && html`<input type="hidden" name="returnTo" value="${returnTo}">`}
<button>${text.signOutButton}</button>
${sentMark}</form>
<p><a class="button quiet" href="${safeHref(stay)}">${text.stayButton}</a></p>`,
  });
}

/**
 * Continues to the provider's sign-out without a redirect. Browsers check a redirect after a form
 * post against the page's `form-action`, but not a `Refresh`.
 *
 * @param url absolute
 */
export function signingOutPage(request: PageRequest, url: string): Reply {
  const { brand } = request;
  const { text } = brand;
  const page = builtInPage({
    status: 200,
    facts: { kind: 'signing_out', links: { continue: url } },
    heading: text.signingOutHeading,
    lead: text.signingOutText,
    leadRole: 'status',
    stylesheet: request.stylesheetUrl,
    brand,
    content: html`<p><a class="button" href="${safeHref(url)}">${text.continueButton}</a></p>`,
  });
  return { ...page, headers: { Refresh: `0; url=${url}` } };
}
