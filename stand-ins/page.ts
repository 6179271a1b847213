import { createHash } from 'node:crypto';
import { style } from './style.ts';

/** A response of either stand-in. */
export interface PageReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface HostedPage {
  /** Default: 200. */
  readonly status?: number;
  readonly title: string;
  /** Whose page it would be: `WorkOS`, `Google`. */
  readonly owner: string;
  /** HTML. */
  readonly content: string;
}

/** A page with one inline style sheet, allowed by its hash, and no script. */
export function hostedPage({ status = 200, title, owner, content }: HostedPage): PageReply {
  const styleHash = createHash('sha256').update(style).digest('base64');
  return {
    status,
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
      // No form-action: the redirect after a button crosses origins, and Chromium applies the form's policy to it.
      'content-security-policy': `default-src 'none'; style-src 'sha256-${styleHash}'; img-src 'self'; base-uri 'none'; frame-ancestors 'none'`,
      'referrer-policy': 'no-referrer',
    },
    body: `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)} · ${escapeHtml(owner)} stand-in</title>
<link rel="icon" href="${picturePath(owner)}">
<style>${style}</style>
</head>
<body>
<p class="notice"><strong>Local stand-in.</strong> This is not ${escapeHtml(owner)}. No password is checked, and nothing leaves this machine.</p>
<main>
<h1>${escapeHtml(title)}</h1>
${content}
</main>
</body>
</html>
`,
  };
}

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"'`]/g, (character) => `&#${character.charCodeAt(0)};`);
}

export const cancelButton = '<button class="plain" name="decision" value="cancel" formnovalidate>Cancel</button>';

export interface PersonButton {
  /** The form's field and its value. */
  readonly field: readonly [name: string, value: string];
  readonly name: string;
  /** Below the name. */
  readonly detail: string;
  readonly isSuggested?: boolean;
}

/** The people of a page, each with a picture and a button that signs in as that person. */
export function personList(people: readonly PersonButton[]): string {
  const items = people.map(
    ({ field: [field, value], name, detail, isSuggested }) =>
      `<li><button name="${field}" value="${escapeHtml(value)}"${isSuggested === true ? ' class="suggested" autofocus' : ''}>
<img src="${picturePath(name)}" alt="" width="36" height="36"><strong>${escapeHtml(name)}</strong><span>${escapeHtml(detail)}</span></button></li>`,
  );
  return `<ul class="people">\n${items.join('\n')}\n</ul>`;
}

/** The path of a person's picture, at each stand-in. */
export function picturePath(name: string): string {
  const initials = name.match(/(?<!\p{L})\p{L}/gu) ?? ['?'];
  return `/picture/${encodeURIComponent(initials.slice(0, 2).join('').toUpperCase())}`;
}

/** The initials on a color of their own, for a path of {@link picturePath}; undefined for any other path. */
export function picture(path: string): PageReply | undefined {
  const [, encoded] = /^\/picture\/([\w%?]{1,40})$/.exec(path) ?? [];
  if (encoded === undefined) return undefined;
  const hue = Buffer.from(encoded).reduce((sum, byte) => sum + byte * 47, 0) % 360;
  return {
    status: 200,
    headers: { 'content-type': 'image/svg+xml', 'cache-control': 'max-age=3600' },
    body: `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 72 72"><rect width="72" height="72" fill="hsl(${hue} 45% 38%)"/><text x="36" y="46" fill="#fff" font-family="sans-serif" font-size="28" text-anchor="middle">${escapeHtml(decode(encoded))}</text></svg>`,
  };
}

/** Of a path's part; empty where it cannot be read. */
export function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return '';
  }
}
