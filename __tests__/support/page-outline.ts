import { render } from '../../lib/tools/html.ts';
import type { Reply } from '../../lib/http/reply.ts';

const plain = (markup: string): string =>
  markup
    .replaceAll(/<[^>]+>/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim();

const attributeOf = (tag: string, name: string): string | undefined =>
  new RegExp(` ${name}="([^"]*)"`).exec(tag)?.[1]?.replaceAll('&amp;', '&').replaceAll('&quot;', '"');

const flagsOf = (tag: string, flags: readonly string[]): string[] =>
  flags.filter((flag) => new RegExp(` ${flag}\\b`).test(tag));

/** The purpose of an input, as browsers and screen readers see it. */
function inputOf(tag: string): string {
  const [name, type, value] = ['name', 'type', 'value'].map((of) => attributeOf(tag, of) ?? '');
  // It is neither shown nor sent.
  if (name === '') return '';
  if (type === 'hidden') return `  ${name}=${value}`;
  const told = ['autocomplete', 'inputmode', 'aria-describedby']
    .map((of) => attributeOf(tag, of))
    .filter((word) => word !== undefined);
  const flags = flagsOf(tag, ['hidden', 'disabled', 'autofocus', 'aria-invalid']);
  return `  ${name}: ${[type, ...told, ...flags].join(' ')}${value === '' ? '' : ` = ${value}`}`;
}

/** A button, what it sends, and whether another one is the main one. */
function buttonOf(tag: string, text: string): string {
  const sent = attributeOf(tag, 'name');
  const path = attributeOf(tag, 'formaction');
  const told = [
    ...(attributeOf(tag, 'class') === 'quiet' ? ['quiet'] : []),
    ...flagsOf(tag, ['disabled', 'autofocus']),
    ...(sent === undefined ? [] : [`${sent}=${attributeOf(tag, 'value')}`]),
    ...(path === undefined ? [] : [`to ${path}`]),
  ];
  return ['', ` [${text}]`, ...told].join(' ');
}

/** Where a form posts, and what the page's script does with it. */
function formOf(tag: string): string {
  const kind = attributeOf(tag, 'data-passkey');
  const script = kind === undefined ? '' : `, script: ${kind} ${attributeOf(tag, 'data-start')}`;
  return [
    `form to ${attributeOf(tag, 'action')}${script}`,
    ...flagsOf(tag, ['data-autofill', 'data-again', 'data-focus']),
  ].join(' ');
}

/** A page in the order in which it is read: title, heading, messages, fields, buttons, and where its forms and links lead. */
export function outlineOf({ status, body }: Reply): string[] {
  if (body?.kind !== 'page') throw new Error('not a page');
  const parts =
    /<(title|h[12]|label|button|a|span)\b([^>]*)>((?:(?!<\/\1>).)*)<\/\1>|<(p)\b([^>]*)>((?:(?!<\/p>|<a ).)*)(?:<\/p>|(?=<a ))|<(form|input|svg)\b([^>]*)>/gs;
  const lines = [...render(body.markup).matchAll(parts)].map((match) => {
    const [name = '', tag = '', inner = ''] = [
      match[1] ?? match[4] ?? match[7],
      match[2] ?? match[5] ?? match[8],
      match[3] ?? match[6],
    ];
    const text = plain(inner);
    if (name === 'form') return formOf(tag);
    if (name === 'input') return inputOf(tag);
    if (name === 'svg')
      return attributeOf(tag, 'aria-hidden') === 'true' ? '' : `picture: ${attributeOf(tag, 'aria-label')}`;
    // Hidden until the page's script shows it.
    if (name === 'button') return tag.endsWith(' hidden') ? '' : buttonOf(tag, text);
    if (name === 'a') return `${attributeOf(tag, 'aria-label') ?? text} → ${attributeOf(tag, 'href')}`;
    const role = attributeOf(tag, 'role');
    const kind = /^(?:p|span)$/.test(name) ? (role ?? attributeOf(tag, 'class') ?? 'text') : name;
    const isSeen = text === '' ? kind.startsWith('emblem') : kind !== 'brand';
    return isSeen ? `${kind}: ${text}` : '';
  });
  const policy = body.policy.includes("form-action 'self'") ? '' : ', no form may be sent';
  return [`${status}${policy}`, ...lines.filter((line) => line !== '')];
}

export const step = 'app: to continue to Northwind';
/** The lines of a page as it opens, and as it comes back with an error. */
export const page = (heading: string, ...lines: readonly string[]): string[] => [
  '200',
  `title: ${heading} · Northwind`,
  `h1: ${heading}`,
  step,
  ...lines,
];
/** The same for a page that is no step on the way into the application. */
export const ofAccount = (lines: readonly string[]): string[] =>
  lines.map((line) => (line === step ? 'app: Northwind' : line));
/** The same for a page with an outcome. */
export const withEmblem = (emblem: string, lines: readonly string[]): string[] =>
  lines.flatMap((line) => (line.startsWith('h1: ') ? [`${emblem}: `, line] : [line]));
export const refused = (status: string, heading: string, ...lines: readonly string[]): string[] => [
  status,
  `title: Error: ${heading} · Northwind`,
  `h1: ${heading}`,
  step,
  ...lines,
];
/** A page that only tells how something ended. */
export const outcome = (emblem: string, lines: readonly string[]): string[] => ofAccount(withEmblem(emblem, lines));
/** A page without a form. */
export const withoutForm = (lines: readonly string[]): string[] => lines.with(0, '200, no form may be sent');
/** A page of the account whose heading has a name, which has its own text direction. */
export const named = (lines: readonly string[]): string[] =>
  ofAccount(lines).map((line) => (line.startsWith('h1: ') ? line.replace('“', '“ ').replace('”', ' ”') : line));
