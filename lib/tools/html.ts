/**
 * Markup that is safe to send. Only the `html` tag creates it: the private field cannot be copied
 * by an object of the same shape, so parsed JSON never passes as safe.
 */
class SafeHtml {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  static isSafe(value: unknown): value is SafeHtml {
    return typeof value === 'object' && value !== null && #text in value;
  }

  toString(): string {
    return this.#text;
  }
}

export type Html = SafeHtml;

/** A text of a page: markup where a template uses it, and `plain` for titles, attributes and JSON. */
class SafeText extends SafeHtml {
  readonly plain: string;
  /** Its language, where it differs from the page's. */
  readonly lang: string | undefined;

  constructor(markup: string, plain: string, lang: string | undefined) {
    super(markup);
    this.plain = plain;
    this.lang = lang;
  }
}

export type Text = SafeText;

/**
 * @param lang a left-to-right language other than the page's, which the markup then names (WCAG 2.2 §3.1.2)
 * @param content how a template shows it; default: the text itself, escaped
 */
export function textOf(plain: string, lang?: string, content: HtmlValue = plain): Text {
  const markup = lang === undefined || plain === '' ? content : html`<span lang="${lang}" dir="ltr">${content}</span>`;
  return new SafeText(markupOf(markup), plain, lang);
}

/** The values allowed in `${…}`; `undefined`, `null` and `false` render nothing, so that `condition && html…` works. */
export type HtmlValue = Html | string | number | false | null | undefined | readonly HtmlValue[];

/**
 * A template whose values are escaped for text and for quoted attributes. Always quote attributes; never interpolate into
 * `<script>`, `<style>` or an event handler, which no escaping makes safe; URLs go through `safeHref`.
 *
 * @example html`<a href="${safeHref(url)}" title="${title}">${items.map((item) => html`<b>${item}</b>`)}</a>`
 */
export function html(strings: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  const [head = '', ...tails] = strings;
  return new SafeHtml(tails.reduce((text, tail, index) => text + markupOf(values[index]) + tail, head));
}

/** The markup as a string, for the response body. */
export function render(markup: Html): string {
  return markup.toString();
}

/**
 * A URL that is safe in `href`, `src` or `action`: root-relative on this origin, or http(s). Any
 * other value (`javascript:`, `data:`, `//host`, a relative path) becomes `#`. The result is
 * normalized by the WHATWG parser, so a browser reads the same URL despite tabs and backslashes.
 */
export function safeHref(url: string): string {
  const nowhere = '#';
  if (/^https?:\/\//i.test(url)) return URL.parse(url)?.href ?? nowhere;
  if (!url.startsWith('/')) return nowhere;
  const base = 'http://origin.invalid';
  const parsed = URL.parse(url, base);
  if (parsed?.origin !== base) return nowhere;
  const path = parsed.href.slice(base.length);
  // `/.//host` is on this origin, but serialized as `//host` it is not.
  return path.startsWith('//') ? nowhere : path;
}

function markupOf(value: HtmlValue): string {
  if (value === undefined || value === null || value === false) return '';
  if (SafeHtml.isSafe(value)) return value.toString();
  if (isList(value)) return value.map(markupOf).join('');
  return escape(String(value));
}

function isList(value: HtmlValue): value is readonly HtmlValue[] {
  return Array.isArray(value);
}

function escape(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;')
    .replaceAll('`', '&#96;');
}
