import { html, safeHref } from '../tools/html.ts';
import type { Html, HtmlValue } from '../tools/html.ts';
import { page } from '../http/reply.ts';
import type { Reply } from '../http/reply.ts';
import { isShown } from './form.ts';
import { faviconUrl } from './favicon.ts';
import { emblemOf } from './icons.ts';
import type { Brand, Page, PageRequest } from './page.ts';
import { contentOf, partsOfPage } from './parts.ts';
import { emphasis, fillIn, initials } from './texts.ts';
import { themeColor } from './theme.ts';
import { pageView } from './view.ts';

/** A complete built-in page without inline script and style, under a strict CSP. */
export function builtInPage(shown: Page): Reply {
  return page(shown.status, document(shown), policyFor(shown), pageView(shown));
}

/** Bundlers rewrite a template that has it as one word. */
const endOfScript = html`</${'script'}>`;

function document(shown: Page): Html {
  const { heading, lead, leadRole, errorTitle, emblem, stylesheet, script, brand, tellsOrigin } = shown;
  const { title: name, logo, lang, dir } = brand;
  const icon = faviconUrl(stylesheet, brand);
  const title = errorTitle === undefined ? heading.plain : `${errorTitle.plain}: ${heading.plain}`;
  return html`<!doctype html>
<html lang="${lang}" dir="${dir}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<meta name="color-scheme" content="light dark">
${tellsOrigin === true && html`<meta name="referrer" content="same-origin">`}
<meta name="theme-color" content="${themeColor(brand, 'light')}" media="(prefers-color-scheme: light)">
<meta name="theme-color" content="${themeColor(brand, 'dark')}" media="(prefers-color-scheme: dark)">
<title${heading.lang !== undefined && html` lang="${heading.lang}"`}>${name === undefined || title.includes(name) ? title : `${title} · ${name}`}</title>
${icon !== undefined && html`<link rel="icon" href="${safeHref(icon)}">`}
<link rel="stylesheet" href="${safeHref(stylesheet)}">${script !== undefined && html`\n<script src="${safeHref(script.href)}" defer>${endOfScript}`}
</head>
<body>
<main>
<div class="head">
${(logo !== undefined || emblem === undefined) && mark(brand)}
${emblem !== undefined && emblemOf(emblem)}
<h1>${heading}</h1>
${nameLine(shown)}
${lead && lead.plain !== '' && html`<p class="lead"${leadRole !== undefined && html` role="${leadRole}"`}>${lead}</p>`}
</div>
${contentOf(shown)}</main>
${footer(shown)}
</body>
</html>
`;
}

/** The logo, else the name's first letter, in whose place an outcome's picture stands. */
function mark({ title, logo, logoDark }: Brand): HtmlValue {
  if (logo !== undefined) {
    const image = html`<img src="${safeHref(logo)}" alt="${title ?? ''}">`;
    return html`<div class="brand">${logoDark === undefined ? image : html`<picture><source srcset="${safeHref(logoDark)}" media="(prefers-color-scheme: dark)">${image}</picture>`}</div>`;
  }
  const letters = initials(title ?? '', 1);
  return letters !== '' && html`<div class="brand"><span class="mark" aria-hidden="true">${letters}</span></div>`;
}

/** The application's name below a heading that lacks it: who comes from an email sees whose page it is. */
function nameLine({ heading, isStep = false, brand: { title, text } }: Page): HtmlValue {
  if (title === undefined || heading.plain.includes(title)) return undefined;
  return html`<p class="app">${isStep ? fillIn(text.continueTo, { title }, emphasis) : emphasis(title)}</p>`;
}

function footer({ brand: { links, text }, links: said = {} }: Page): HtmlValue {
  // A page that names both in a sentence needs neither again below it.
  const isSaid = said['terms'] !== undefined && said['privacy'] !== undefined;
  const shown = (['terms', 'privacy', 'help'] as const).flatMap((name) => {
    const href = links[name];
    return href === undefined || (isSaid && name !== 'help')
      ? []
      : [html`<a href="${safeHref(href)}">${text[name]}</a>\n`];
  });
  return shown.length > 0 && html`<footer>\n${shown}</footer>`;
}

function policyFor(shown: Page): string {
  const { brand, formLeadsTo, script } = shown;
  const hasForm = partsOfPage(shown).some((part) => part.part === 'form' && isShown(part));
  return [
    "default-src 'none'",
    ...(script === undefined
      ? []
      : [
          `script-src ${source(script.url)}`,
          ...(script.calls.length > 0 ? [`connect-src ${script.calls.map(source).join(' ')}`] : []),
        ]),
    "style-src 'self'",
    `img-src ${imageSources(brand)}`,
    `form-action ${hasForm ? ["'self'", ...(formLeadsTo === undefined ? [] : [formLeadsTo])].join(' ') : "'none'"}`,
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
  const hidden = returnTo === '/' ? {} : { returnTo };
  return builtInPage({
    kind: 'sign_out',
    status: 200,
    heading: text.signOutHeading,
    lead: text.signOutText,
    values: { returnTo },
    stylesheet: request.stylesheetUrl,
    brand,
    parts: [
      { part: 'form', action, hidden, buttons: [{ label: text.signOutButton }] },
      { part: 'link', name: 'stay', href: request.urlOf(returnTo), label: text.stayButton, look: 'quiet' },
    ],
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
    kind: 'signing_out',
    status: 200,
    heading: text.signingOutHeading,
    lead: text.signingOutText,
    leadRole: 'status',
    stylesheet: request.stylesheetUrl,
    brand,
    parts: [{ part: 'link', name: 'continue', href: url, label: text.continueButton, look: 'button' }],
  });
  return { ...page, headers: { Refresh: `0; url=${url}` } };
}
