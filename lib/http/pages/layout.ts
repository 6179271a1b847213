import { html, safeHref } from '../../core/html.ts';
import type { Html, HtmlValue } from '../../core/html.ts';
import type { Reply } from '../reply.ts';
import { page } from '../reply.ts';

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
  readonly content: HtmlValue;
  readonly stylesheet: string;
  readonly brand: Brand;
  /** Origins and schemes that the page's form may post to; none without a form. */
  readonly formAction?: "'self'";
}

/** A complete built-in page: no script, no inline style, and a policy that allows nothing else. */
export function builtInPage(parts: PageParts): Reply {
  return page(parts.status, document(parts), policyFor(parts));
}

function document({ heading, content, stylesheet, brand }: PageParts): Html {
  const { title, logo, lang = 'en' } = brand;
  return html`<!doctype html>
<html lang="${lang}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<meta name="color-scheme" content="light dark">
<title>${title === undefined ? heading : `${heading} · ${title}`}</title>
<link rel="stylesheet" href="${safeHref(stylesheet)}">
</head>
<body>
<main>
${(logo !== undefined || title !== undefined) && html`<p class="brand">${logo !== undefined && html`<img src="${safeHref(logo)}" alt="">`}${title !== undefined && html`<span>${title}</span>`}</p>`}
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
    `img-src ${imageSource(brand.logo)}`,
    `form-action ${formAction ?? "'none'"}`,
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}

function imageSource(logo: string | undefined): string {
  if (logo === undefined) return "'none'";
  return logo.startsWith('/') ? "'self'" : new URL(logo).origin;
}

