import { html, safeHref } from '../core/html.ts';
import type { Html, HtmlValue } from '../core/html.ts';
import type { Reply } from './reply.ts';
import { page } from './reply.ts';

/** What an application puts on the built-in pages to make them its own. */
export interface Brand {
  /** Shown above every page and in its `<title>`. */
  readonly title?: string | undefined;
  /** A root-relative or https URL of an image. */
  readonly logo?: string | undefined;
  /** BCP 47 language tag of the texts. */
  readonly lang?: string | undefined;
}

export interface PageParts {
  readonly status: number;
  readonly heading: string;
  /** What the tab says, where it is more than the heading. */
  readonly title?: string;
  /** A picture above the heading; it decorates and says nothing. */
  readonly emblem?: Html;
  readonly content: HtmlValue;
  readonly stylesheet: string;
  readonly brand: Brand;
  /** Where the page's forms may post to; nowhere without a form. */
  readonly formAction?: "'self'";
}

/** A complete built-in page: no script, no inline style, and a policy that allows nothing else. */
export function builtInPage(parts: PageParts): Reply {
  return page(parts.status, document(parts), policyFor(parts));
}

function document({ heading, title = heading, emblem, content, stylesheet, brand }: PageParts): Html {
  const { title: name, logo, lang = 'en' } = brand;
  return html`<!doctype html>
<html lang="${lang}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<meta name="color-scheme" content="light dark">
<title>${name === undefined ? title : `${title} · ${name}`}</title>
<link rel="stylesheet" href="${safeHref(stylesheet)}">
</head>
<body>
${(logo !== undefined || name !== undefined) && html`<header class="brand">${logo !== undefined && html`<img src="${safeHref(logo)}" alt="">`}${name !== undefined && html`<span>${name}</span>`}</header>`}
<main>
${emblem !== undefined && html`<p class="emblem" aria-hidden="true">${emblem}</p>`}
<h1>${heading}</h1>
${content}
</main>
</body>
</html>
`;
}

function policyFor({ brand, formAction }: PageParts): string {
  return [
    "default-src 'none'",
    "style-src 'self'",
    `img-src ${imageSources(brand.logo)}`,
    `form-action ${formAction ?? "'none'"}`,
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}

/** The site's own images, for its favicon, and the logo's origin. */
function imageSources(logo: string | undefined): string {
  const origin = logo === undefined || logo.startsWith('/') ? undefined : URL.parse(safeHref(logo))?.origin;
  return origin === undefined ? "'self'" : `'self' ${origin}`;
}
