import { html, render, textOf } from '../../lib/tools/html.ts';
import type { Text } from '../../lib/tools/html.ts';
import { builtInPage, signingOutPage, signOutPage } from '../../lib/pages/document.ts';
import type { Form, Link } from '../../lib/pages/form.ts';
import type { List, Page, Parts } from '../../lib/pages/page.ts';
import { contentOf, partsOfPage } from '../../lib/pages/parts.ts';
import { createBrands } from '../../lib/pages/options.ts';
import type { PagesOptions } from '../../lib/pages/options.ts';
import { initials, sentences, sharedText } from '../../lib/pages/texts.ts';
import type { BuiltInPage } from '../../lib/pages/view.ts';
import type { Reply } from '../../lib/http/reply.ts';

interface Shown {
  readonly status: number;
  readonly headers: Reply['headers'];
  readonly markup: string;
  /** What is in the element of this name. */
  readonly head: string;
  readonly policy: string;
  readonly view: BuiltInPage;
}

function read({ status, headers, body }: Reply): Shown {
  if (body?.kind !== 'page') throw new Error('no page');
  const markup = render(body.markup);
  const [, head = ''] = /<head>\n(.*)\n<\/head>/s.exec(markup) ?? [];
  return { status, headers, markup, head, policy: body.policy, view: body.view };
}

const brandOf = (pages: PagesOptions) => createBrands(sharedText, pages).of({ headers: {} });

function show(parts: Partial<Page> = {}, pages: PagesOptions = {}): Shown {
  const reply = builtInPage({
    status: 200,
    kind: 'mail_sent',
    heading: textOf('Check your email'),
    parts: [{ part: 'markup', markup: html`<p>We sent a link.</p>` }],
    stylesheet: '/auth/pages.css?v=1',
    brand: brandOf(pages),
    ...parts,
  });
  return read(reply);
}

const plainHead = `<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<meta name="color-scheme" content="light dark">

<meta name="theme-color" content="#ffffff" media="(prefers-color-scheme: light)">
<meta name="theme-color" content="#16191f" media="(prefers-color-scheme: dark)">
<title>Check your email</title>

<link rel="stylesheet" href="/auth/pages.css?v=1">`;

const script = {
  href: '/auth/passkeys.js?v=2',
  url: 'https://northwind.example/auth/passkeys.js?v=2',
  calls: ['https://northwind.example/auth/passkeys', 'https://abc.supabase.co/auth/v1/passkeys'],
};

describe('a built-in page', () => {
  it('has nothing but what it was given', () => {
    const { head, markup, policy } = show();
    expect(head).toBe(plainHead);
    expect(markup).toContain(`<body>
<main>
<div class="head">


<h1>Check your email</h1>


</div>
<p>We sent a link.</p>
</main>

</body>
</html>
`);
    expect(policy).toBe(
      "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'",
    );
  });

  it('says first in its title that something went wrong', () => {
    expect(show({ errorTitle: textOf('Error') }).head).toContain('<title>Error: Check your email</title>');
    expect(show({ errorTitle: textOf('Error') }, { title: 'Northwind' }).head).toContain(
      '<title>Error: Check your email · Northwind</title>',
    );
  });

  it('tells forms to send their origin only where it is asked to', () => {
    const referrer = '<meta name="referrer" content="same-origin">';
    const color = '<meta name="color-scheme" content="light dark">';
    expect(show({ tellsOrigin: true }).head).toBe(plainHead.replace(`${color}\n`, `${color}\n${referrer}`));
    expect(show({ tellsOrigin: false }).head).toBe(plainHead);
  });

  it('has the logo as its icon', () => {
    expect(show({}, { logo: '/logo.svg' }).head).toContain(
      '</title>\n<link rel="icon" href="/logo.svg">\n<link rel="stylesheet"',
    );
  });

  it('shows the application’s name below a heading that lacks it, and as a step on the way there', () => {
    const lineOf = (parts: Partial<Page>, title?: string): string | undefined =>
      /<p class="app">.*<\/p>/.exec(show(parts, { title }).markup)?.[0];
    const name = '<strong dir="auto">Northwind</strong>';
    expect(lineOf({}, 'Northwind')).toBe(`<p class="app">${name}</p>`);
    expect(lineOf({ isStep: false }, 'Northwind')).toBe(`<p class="app">${name}</p>`);
    expect(lineOf({ isStep: true }, 'Northwind')).toBe(`<p class="app">to continue to ${name}</p>`);
    expect(lineOf({ heading: textOf('Sign in to Northwind') }, 'Northwind')).toBeUndefined();
    expect(lineOf({}, '')).toBeUndefined();
    expect(lineOf({})).toBeUndefined();
  });
});

describe('the line below the heading', () => {
  const leadOf = (parts: Partial<Page>): string | undefined => /<p class="lead".*/.exec(show(parts).markup)?.[0];

  it.each<[string, Text | false | undefined]>([
    ['undefined', undefined],
    ['false', false],
    ['an empty text of the application', textOf('')],
  ])('is absent for %s', (_what, lead) => {
    expect(leadOf({ lead, leadRole: 'alert' })).toBeUndefined();
  });

  it('has a role only where it is given one', () => {
    expect(leadOf({ lead: textOf('Soon.') })).toBe('<p class="lead">Soon.</p>');
    expect(leadOf({ lead: textOf('Soon', undefined, html`<b>Soon</b>`), leadRole: 'status' })).toBe(
      '<p class="lead" role="status"><b>Soon</b></p>',
    );
  });
});

describe('the script of a page', () => {
  it('is loaded after the page, and its file and what it calls are all that the policy allows', () => {
    const { head, policy } = show({ script });
    expect(head).toBe(`${plainHead}\n<script src="/auth/passkeys.js?v=2" defer></script>`);
    expect(policy).toBe(
      "default-src 'none'; script-src https://northwind.example/auth/passkeys.js; connect-src https://northwind.example/auth/passkeys https://abc.supabase.co/auth/v1/passkeys; style-src 'self'; img-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'",
    );
  });

  it('ends no directive of the policy with its path', () => {
    const odd = 'https://northwind.example/a;b,c;d,e/passkeys.js';
    expect(show({ script: { ...script, url: odd, calls: [odd] } }).policy).toContain(
      '; script-src https://northwind.example/a%3Bb%2Cc%3Bd%2Ce/passkeys.js; connect-src https://northwind.example/a%3Bb%2Cc%3Bd%2Ce/passkeys.js; ',
    );
  });
});

describe('the images that the policy allows', () => {
  it.each<[PagesOptions, string]>([
    [{ logo: 'https://cdn.example/' }, "'self' https://cdn.example"],
    [{ logo: '/logos/' }, "'self'"],
    [{ logo: '/logo.svg', logoDark: 'https://cdn.example/dark.svg' }, "'self' https://cdn.example"],
    [{ logo: 'https://cdn.example/logo.svg', logoDark: 'https://cdn.example/dark.svg' }, "'self' https://cdn.example"],
    [{ logo: 'https://' }, "'self'"],
    [{ logo: 'logo.svg' }, "'self'"],
  ])('for %j are those of %s', (pages, sources) => {
    expect(show({}, pages).policy).toContain(`; img-src ${sources}; `);
  });
});

it.each<[string, 1 | 2, string]>([
  ['Northwind Traders', 1, 'N'],
  ['Northwind Traders', 2, 'NT'],
  ['Acme', 2, 'A'],
  ['Organization 1', 2, 'O1'],
  ['Route 66 Diner of Amarillo', 2, 'RA'],
  ['42networks', 2, '4'],
  ['42 Networks', 2, '4N'],
  ['42 Networks 14', 2, '4N'],
  ['7 11', 2, '7'],
  ['(the) – "best"', 2, 'TB'],
  ['éclair & sons', 2, 'ÉS'],
  ['𝒜cme', 1, '𝒜'],
  ['–', 2, ''],
  ['', 1, ''],
])('the initials of %j, %i at most, are %j', (name, count, letters) => {
  expect(initials(name, count)).toBe(letters);
});

describe('the pages of sign-out', () => {
  const request = { stylesheetUrl: '/auth/pages.css', brand: brandOf({}), urlOf: (path: string) => path };

  it('ask in a form that posts to this site alone, and lead back where the visitor was', () => {
    const { status, markup, policy, view } = read(signOutPage(request, '/logout?from=page', '/account?tab=1'));
    expect(status).toBe(200);
    expect(markup).toContain(`<form method="post" action="/logout?from=page">
<input type="hidden" name="returnTo" value="/account?tab=1">
<button>Sign out</button>
<input type="checkbox" class="sent" hidden>
</form>
<p><a class="button quiet" href="/account?tab=1">Stay signed in</a></p>`);
    expect(policy).toContain("; form-action 'self'; ");
    expect(view).toMatchObject({
      kind: 'sign_out',
      action: '/logout?from=page',
      values: { returnTo: '/account?tab=1' },
      links: { stay: '/account?tab=1' },
    });
  });

  it('ask without a field where the start page follows', () => {
    const { markup } = read(signOutPage(request, '/logout', '/'));
    expect(markup).toContain('<form method="post" action="/logout">\n<button>Sign out</button>');
  });

  it('go on to the provider without a redirect, with a link where nothing happens', () => {
    const url = 'https://api.workos.example/logout?session_id=session_1&return_to=%2F';
    const { status, headers, markup, policy, view } = read(signingOutPage(request, url));
    expect([status, headers]).toEqual([200, { Refresh: `0; url=${url}` }]);
    expect(markup).toContain('<p class="lead" role="status">If nothing happens, choose Continue.</p>');
    expect(markup).toContain(`<p><a class="button" href="${url.replace('&', '&amp;')}">Continue</a></p>`);
    expect(policy).toContain("; form-action 'none'; ");
    expect(view).toMatchObject({ kind: 'signing_out', title: 'Signing you out', links: { continue: url } });
  });
});

describe('several ways', () => {
  const brand = brandOf({});
  const form = (...looks: readonly ('main' | 'quiet')[]): Form => ({
    part: 'form',
    action: '/send',
    buttons: looks.map((look) => ({ label: textOf(look), ...(look === 'quiet' && { look }) })),
  });
  const scripted = (look: 'main' | 'quiet'): Form => ({
    ...form(look),
    scripted: { marks: html` data-passkey="get" hidden`, after: html`<div role="alert"></div>` },
  });
  const main = form('main');
  const list: List = { part: 'list', look: 'buttons', choices: [{ name: textOf('provider'), href: '/p' }] };
  const rows: List = { part: 'list', choices: [{ name: textOf('provider'), href: '/p' }] };
  const quiet: Link = { part: 'link', name: 'sso', href: '/sso', label: textOf('quiet'), look: 'quiet' };
  const words: Parts = [{ part: 'link', name: 'signUp', href: '/new', label: textOf('words') }];

  /** What stands one below the other; `(…)` is a form that only a script shows. */
  function orderOf(...ways: readonly Parts[]): string {
    const markup = render(contentOf({ parts: [{ part: 'ways', or: textOf('or'), ways }], brand, error: undefined }));
    return [...markup.matchAll(/<form[^>]* hidden>|<\/form>|>(or|main|quiet|provider|words)</g)]
      .map(([tag, word]) => word ?? (tag.startsWith('</') ? ')' : '('))
      .join(' ')
      .replaceAll(/(?<!\([^)]*) \)/g, '');
  }

  it.each<[string, string, readonly Parts[]]>([
    ['quiet ways, then the main one', 'provider or main', [[list], [main]]],
    ['the main way, then quiet ones', 'main or quiet', [[main], [quiet]]],
    ['the main way between quiet ones', 'provider or main or quiet', [[list], [main], [quiet], words].slice(0, 3)],
    ['quiet ways alone', 'provider quiet', [[list], [quiet]]],
    ['one way alone', 'main', [[], [main], [undefined, false]]],
    ['the main way, then links below the buttons', 'main words', [[main], words]],
    ['a form with both', 'main or quiet quiet', [[form('main', 'quiet')], [quiet]]],
    ['the main way, then rows', 'main or provider', [[main], [rows]]],
    ['the main way, then what only a script shows', 'main ( or quiet )', [[main], [scripted('quiet')]]],
    ['the same beside what is always there', 'main or ( quiet ) quiet', [[main], [scripted('quiet')], [quiet]]],
    ['the same after a quiet one', 'main or quiet ( quiet )', [[form('main', 'quiet')], [scripted('quiet')]]],
    ['a main way that only a script shows', '( main or ) quiet', [[scripted('main')], [form('quiet')]]],
    ['quiet ways, then that one', 'provider ( or main )', [[list], [scripted('main')]]],
  ])(
    'puts "or" where the main way and quiet ones meet, and hides it with what a script shows: %s',
    (_name, order, ways) => {
      expect(orderOf(...ways)).toBe(order);
    },
  );

  it('puts no "or" between buttons of other pages', () => {
    const parts = [main, quiet, form('main', 'quiet')];
    expect(render(contentOf({ parts, brand, error: undefined }))).not.toContain('class="or"');
  });

  it('knows the parts of each way as those of the page', () => {
    expect(
      partsOfPage({
        parts: [{ part: 'ways', or: textOf('or'), ways: [[list], [main, false], words] }],
        error: undefined,
      }),
    ).toEqual([list, main, ...words]);
  });
});

it.each([
  ['It failed.', 'Try again.', 'It failed. Try again.'],
  ['失敗しました。', '5 分後にお試しください。', '失敗しました。5 分後にお試しください。'],
  ['失败了！', '请重试。', '失败了！请重试。'],
])('two sentences stand as the language has them: %s', (first, second, both) => {
  expect(sentences(textOf(first), undefined, textOf(second)).plain).toBe(both);
  expect(render(html`${sentences(textOf(first), textOf(second))}`)).toBe(both);
});
