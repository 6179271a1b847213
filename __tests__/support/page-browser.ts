import { createVisitor } from './visitor.ts';
import type { Answer, Visitor } from './visitor.ts';

export interface PageLink {
  readonly href: string;
  readonly label: string;
}

export interface PageForm {
  readonly action: string;
  /** Every input's name with its value. */
  readonly fields: Readonly<Record<string, string>>;
}

/** A browser without script: a cookie jar per site, and only the links and forms that a page has. It follows every redirect. */
export interface PageBrowser {
  readonly at: { readonly url: string; readonly answer: Answer };
  /** The application's cookies. */
  readonly jar: Visitor;
  open(url: string): Promise<Answer>;
  post(
    url: string,
    form: Readonly<Record<string, string>>,
    further?: Readonly<Record<string, string>>,
  ): Promise<Answer>;
  /** The page's links; an empty `href` loads the page again. */
  links(): readonly PageLink[];
  forms(): readonly PageForm[];
  /** Submits the first form that has all of these fields. */
  submit(fields: Readonly<Record<string, string>>): Promise<Answer>;
  /** Another browser with the same cookies, on the same page. */
  fork(): PageBrowser;
}

type Jars = Map<string, Visitor>;

/** @param origin the application's */
export function createPageBrowser(origin: string, jars: Jars = new Map(), start?: PageBrowser['at']): PageBrowser {
  const headers = { accept: 'text/html', 'content-type': 'application/x-www-form-urlencoded' };
  let at = start;

  function jarOf(url: string): Visitor {
    const site = new URL(url).origin;
    const jar = jars.get(site) ?? createVisitor(site);
    jars.set(site, jar);
    return jar;
  }

  async function follow(url: string, answer: Answer, hops = 0): Promise<Answer> {
    at = { url, answer };
    const refresh = String(answer.headers['refresh'] ?? '').replace(/^0; url=/, '');
    const next = answer.location === '' ? refresh : answer.location;
    if (next === '') return answer;
    if (hops === 10) throw new Error(`A loop of redirects at ${next}`);
    return follow(next, await jarOf(next).get(next, { headers: { accept: headers.accept } }), hops + 1);
  }

  const browser: PageBrowser = {
    get at() {
      if (at === undefined) throw new Error('the browser has opened nothing');
      return at;
    },
    jar: jarOf(origin),
    async open(path) {
      const url = new URL(path, at?.url ?? origin).href;
      return follow(url, await jarOf(url).get(url, { headers: { accept: headers.accept } }));
    },
    async post(path, form, further = {}) {
      const url = new URL(path, at?.url ?? origin).href;
      const body = new URLSearchParams(form).toString();
      return follow(url, await jarOf(url).post(url, { headers: { ...headers, ...further }, body }));
    },
    links: () => linksIn(browser.at.answer.text),
    forms: () => formsIn(browser.at.answer.text),
    submit(fields) {
      const form = browser.forms().find((each) => Object.keys(fields).every((name) => name in each.fields));
      if (form === undefined) {
        throw new Error(`No form has ${Object.keys(fields).join(', ')}: ${browser.at.answer.text}`);
      }
      return browser.post(form.action, { ...form.fields, ...fields });
    },
    fork() {
      const copies: Jars = new Map();
      for (const [site, { cookies }] of jars) {
        const copy = createVisitor(site);
        for (const [name, value] of cookies) copy.cookies.set(name, value);
        copies.set(site, copy);
      }
      return createPageBrowser(origin, copies, at);
    },
  };
  return browser;
}

function linksIn(text: string): readonly PageLink[] {
  return [...text.matchAll(/<a\b([^>]*)>([\s\S]*?)<\/a>/g)].flatMap(([, tag = '', inside = '']) => {
    const href = attribute(tag, 'href');
    return href === undefined ? [] : [{ href, label: inside.replaceAll(/<[^>]*>/g, '').trim() }];
  });
}

function formsIn(text: string): readonly PageForm[] {
  return [...text.matchAll(/<form\b([^>]*)>([\s\S]*?)<\/form>/g)].map(([, tag = '', inside = '']) => {
    const inputs = [...inside.matchAll(/<input\b([^>]*)>/g)];
    const fields = inputs.map(([, input = '']) => [attribute(input, 'name') ?? '', attribute(input, 'value') ?? '']);
    return { action: attribute(tag, 'action') ?? '', fields: Object.fromEntries(fields) };
  });
}

function attribute(tag: string, name: string): string | undefined {
  const value = new RegExp(` ${name}="([^"]*)"`).exec(tag)?.[1];
  return value
    ?.replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&');
}
