import type { Answer, Visitor } from './visitor.ts';

/** What a person without script sees: a page, or where the browser was sent outside of the application. */
export interface Sight {
  /** The page's URL. */
  readonly url: string;
  readonly page: Answer;
  /** Outside of the application; the request for it was not made. */
  readonly away?: URL;
}

/** Follows redirects and `Refresh` within the application, as a browser does. */
async function follow(visitor: Visitor, url: string, first: Answer): Promise<Sight> {
  let [at, page] = [url, first];
  for (let hops = 0; hops < 10; hops += 1) {
    const next = page.location || /url=(.*)/.exec(String(page.headers['refresh'] ?? ''))?.[1];
    if (next === undefined) return { url: at, page };
    const target = new URL(next, at);
    if (target.origin !== new URL(url).origin) return { url: at, page, away: target };
    at = target.href;
    page = await visitor.get(at, { headers: { ...navigation, 'sec-fetch-site': 'same-origin' } });
  }
  throw new Error(`${url} leads on without end`);
}

const navigation = { accept: 'text/html', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' };

/** @param url absolute; a link of another site leads there */
export async function open(visitor: Visitor, url: string): Promise<Sight> {
  return follow(visitor, url, await visitor.get(url, { headers: { ...navigation, 'sec-fetch-site': 'cross-site' } }));
}

/** Follows the link with this accessible name. */
export async function click(visitor: Visitor, { url, page }: Sight, name: string): Promise<Sight> {
  const link = elements(page.text, 'a').find(({ marks, text }) => (marks['aria-label'] ?? text) === name);
  if (link?.marks['href'] === undefined) throw new Error(`${url} has no link "${name}": ${textOf(page.text)}`);
  const target = new URL(link.marks['href'], url).href;
  return follow(visitor, target, await visitor.get(target, { headers: navigation }));
}

/** Fills in the form of the button with this text, and presses it. */
export async function press(
  visitor: Visitor,
  { url, page }: Sight,
  button: string,
  fields: Readonly<Record<string, string>> = {},
): Promise<Sight> {
  const found = elements(page.text, 'form').flatMap((form) =>
    elements(form.inner, 'button').flatMap((each) => (each.text === button ? [{ form, pressed: each.marks }] : [])),
  )[0];
  if (found === undefined) throw new Error(`${url} has no button "${button}": ${textOf(page.text)}`);
  const { form, pressed } = found;
  const inputs = [...form.inner.matchAll(/<input\b[^>]*>/g)].map(([tag]) => attributes(tag));
  const given = inputs.filter(({ type }) => type === 'hidden').map(({ name = '', value = '' }) => [name, value]);
  const missing = Object.keys(fields).filter((name) => !inputs.some((input) => input['name'] === name));
  if (missing.length > 0) throw new Error(`${url} has no field ${missing.join(', ')}`);
  const sent = [
    ...given,
    ...Object.entries(fields),
    ...(pressed['name'] ? [[pressed['name'], pressed['value'] ?? '']] : []),
  ];
  const target = new URL(form.marks['action'] ?? url, url);
  const answer = await visitor.post(target.href, {
    headers: {
      ...navigation,
      'content-type': 'application/x-www-form-urlencoded',
      origin: target.origin,
      'sec-fetch-site': 'same-origin',
    },
    body: new URLSearchParams(sent as [string, string][]).toString(),
  });
  return follow(visitor, target.href, answer);
}

/**
 * Allows what an app asks for, as a person who has signed in or signs in first.
 *
 * @param url the consent page's, absolute
 * @returns the address of the app to which the browser is sent
 */
export async function allowInPages(
  visitor: Visitor,
  { email, password }: { readonly email: string; readonly password: string },
  url: string,
): Promise<URL> {
  let sight = await open(visitor, url);
  if (sight.url.includes('/auth/login')) sight = await press(visitor, sight, 'Sign in', { email, password });
  if (sight.away === undefined) sight = await press(visitor, sight, 'Allow');
  if (sight.away === undefined)
    throw new Error(`The app got no answer: ${sight.page.status} ${textOf(sight.page.text)}`);
  return sight.away;
}

/** Disconnects an app in the list of connected apps. @param origin the application's */
export async function disconnectInPages(visitor: Visitor, origin: string, app: string): Promise<Sight> {
  const list = await open(visitor, `${origin}/oauth/apps`);
  const question = await click(visitor, list, `Disconnect: ${app}`);
  return press(visitor, question, 'Disconnect');
}

interface Found {
  readonly marks: Readonly<Record<string, string>>;
  readonly inner: string;
  readonly text: string;
}

function elements(page: string, name: string): readonly Found[] {
  return [...page.matchAll(new RegExp(`<${name}\\b([^>]*)>([\\s\\S]*?)</${name}>`, 'g'))].map(
    ([, marks = '', inner = '']) => ({
      marks: attributes(marks),
      inner,
      text: textOf(inner),
    }),
  );
}

function attributes(tag: string): Record<string, string> {
  return Object.fromEntries(
    [...tag.matchAll(/([\w-]+)="([^"]*)"/g)].map(([, name = '', value = '']) => [name, decode(value)]),
  );
}

function textOf(markup: string): string {
  return decode(markup.replace(/<svg[\s\S]*?<\/svg>|<[^>]*>/g, ' '))
    .replace(/\s+/g, ' ')
    .trim();
}

function decode(text: string): string {
  const named: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"' };
  return text.replace(/&(?:#(\d+)|(\w+));/g, (whole, code?: string, name = '') =>
    code === undefined ? (named[name] ?? whole) : String.fromCodePoint(Number(code)),
  );
}
