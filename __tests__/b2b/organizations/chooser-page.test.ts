import { chooserPage, longListFrom } from '../../../lib/b2b/organizations/chooser-page.ts';
import { render } from '../../../lib/tools/html.ts';
import type { PagesOptions } from '../../../lib/pages/options.ts';
import { demoUsers, startB2bApp } from '../../support/b2b-app.ts';
import type { B2bApp } from '../../support/b2b-app.ts';
import { requestOf } from '../../support/built-in-pages.ts';
import type { Answer, Visitor } from '../../support/visitor.ts';

function markupFor(names: readonly string[], pages: PagesOptions = {}, last?: string): string {
  const choices = names.map((name) => ({ name, href: `/callback?organization_id=${name}`, isLast: name === last }));
  const { body } = chooserPage(requestOf(pages), choices, '/login');
  if (body?.kind !== 'page') throw new Error('not a page');
  return render(body.markup);
}

/** Headings, letters and names from top to bottom. */
function outlineOf(markup: string): string[] {
  const parts = markup.matchAll(/<h2[^>]*>([^<]+)<|<a href="(#[^"]+)">([^<]+)<|<span class="name"><bdi>([^<]+)</g);
  return [...parts].map(([, heading, anchor, letter, name]) => {
    if (heading !== undefined) return `== ${heading}`;
    return anchor === undefined ? String(name) : `${letter} → ${anchor}`;
  });
}

const many = [
  'Zeta',
  'acme',
  'Éclair',
  '42 Networks',
  'Acme 10',
  'Acme 9',
  'Emma',
  'Globex',
  'Hooli',
  'Initech',
  'Umbrella',
];

describe('the page of the organizations', () => {
  it('is a plain list in the given order with fewer than twelve', () => {
    expect(many).toHaveLength(longListFrom - 1);
    expect(outlineOf(markupFor(many, {}, 'Globex'))).toEqual(many);
  });

  it('has twelve in the order of the language', () => {
    const sorted = ['42 Networks', 'acme', 'Acme 9', 'Acme 10', 'Éclair', 'Emma', 'Globex', 'Hooli', 'Initech'];
    // With fewer than two names for each letter, headings would only make the page longer.
    expect(outlineOf(markupFor([...many, 'Wayne']))).toEqual([...sorted, 'Umbrella', 'Wayne', 'Zeta']);
  });

  it('has letters with anchors where each has two names or more, taken together', () => {
    const names = [...many, 'Wayne', 'Zorg', 'Wonka', 'Hall', 'Intel', 'Uber', 'Gala'];
    expect(outlineOf(markupFor(names.slice(0, -1)))).toHaveLength(17);
    expect(outlineOf(markupFor(names))).toEqual([
      ...['# → #letter-0', 'A → #letter-1', 'E → #letter-2', 'G → #letter-3', 'H → #letter-4', 'I → #letter-5'],
      ...['U → #letter-6', 'W → #letter-7', 'Z → #letter-8'],
      ...[
        '== #',
        '42 Networks',
        '== A',
        'acme',
        'Acme 9',
        'Acme 10',
        '== E',
        'Éclair',
        'Emma',
        '== G',
        'Gala',
        'Globex',
      ],
      ...['== H', 'Hall', 'Hooli', '== I', 'Initech', 'Intel', '== U', 'Uber', 'Umbrella', '== W', 'Wayne', 'Wonka'],
      ...['== Z', 'Zeta', 'Zorg'],
    ]);
  });

  it.each([
    ['en', ['A', 'L', 'O']],
    ['pl', ['A', 'L', 'Ł', 'O']],
    ['da', ['A', 'L', 'O', 'Æ', 'Ø']],
  ])('has a letter of its own in %s where the language has one', (lang, letters) => {
    const names = ['Acme', 'Ægir', 'Æther', 'Argo', 'Labs', 'Łódź', 'Łuk', 'Luna', 'Odin', 'Øst', 'Østerbro', 'Éon'];
    const markup = markupFor(names, { lang });
    const shown = [...markup.matchAll(/<a href="#letter-\d+">([^<]+)</g)].map(([, letter]) => letter);
    expect(shown.filter((letter) => letter !== 'E')).toEqual(letters);
  });

  it('has the last used one on top, too, and names the letters for screen readers', () => {
    const names = [...many, 'Wayne', 'Zorg', 'Wonka', 'Hall', 'Intel', 'Uber', 'Gala'];
    const markup = markupFor(names, { lang: 'de', text: { chooserLast: 'Zuletzt' } }, 'Globex');
    expect(outlineOf(markup).slice(0, 3)).toEqual(['== Zuletzt', 'Globex', '# → #letter-0']);
    const short = markupFor([...many, 'Wayne'], {}, 'Globex');
    expect(outlineOf(short).slice(0, 3)).toEqual(['== Last used', 'Globex', '42 Networks']);
    expect(outlineOf(markup).filter((line) => line === 'Globex')).toHaveLength(2);
    expect(markup).toContain('<nav class="letters" aria-label="Organizations by letter">');
  });

  it('needs no letters where all names begin with the same', () => {
    const names = Array.from({ length: 60 }, (_, index) => `Organization ${index + 1}`);
    const outline = outlineOf(markupFor(names));
    expect([outline.length, outline[0], outline[2]]).toEqual([61, '== O', 'Organization 2']);
    expect(markupFor(names)).not.toContain('<nav');
  });

  it('shows the initials of the first and the last word, as names may begin alike', () => {
    const named = ['Acme', 'Team number 1', 'Team number 2', 'Initech & Sons', '«Éclair» Paris', '…'];
    const markup = markupFor([...named, '42 Networks 14']);
    const marks = [...markup.matchAll(/<span class="mark" aria-hidden="true">([^<]*)<\/span><span class="name">/g)];
    expect(marks.map(([, letters]) => letters)).toEqual(['A', 'T1', 'T2', 'IS', 'ÉP', '', '4N']);
  });

  it('escapes names, which also make the letters', () => {
    const markup = markupFor([...many, '<b>x</b>', '𝒲ild']);
    expect(markup).toContain('&lt;b&gt;x&lt;/b&gt;');
    expect(markup).not.toContain('<b>x');
  });
});

describe('the search', () => {
  const nordic = ['Østerbro', 'Ægir', 'Đakovo', 'Ðorri', 'Œuvre', 'Þingvellir', 'Ħamrun', 'STRAẞE', 'Aəro'];
  const names = [...many, 'Straße AG', 'Κόσμος', 'Łódź Labs', 'İstanbul Ilgaz', 'Acme (Labs)', ...nordic];
  const searched = (words: string, pages: PagesOptions = {}): string => {
    const choices = names.map((name) => ({ name, href: `/callback?organization_id=${name}` }));
    const { body } = chooserPage(requestOf(pages), choices, '/login', { action: '/callback', state: 'a1', words });
    return body?.kind === 'page' ? render(body.markup) : '';
  };
  const foundBy = (words: string): string[] => outlineOf(searched(words));

  it.each([
    ['ACME', ['acme', 'Acme (Labs)', 'Acme 9', 'Acme 10']],
    ['eclair', ['Éclair']],
    ['ÉCLAIR', ['Éclair']],
    ['strasse', ['STRAẞE', 'Straße AG']],
    ['straße ag', ['Straße AG']],
    ['lodz', ['Łódź Labs']],
    ['ŁÓDŹ', ['Łódź Labs']],
    ['łódź', ['Łódź Labs']],
    ['osterbro', ['Østerbro']],
    ['øST', ['Østerbro']],
    ['aegir', ['Ægir']],
    ['djakovo', []],
    ['dako', ['Đakovo']],
    ['dorri', ['Ðorri']],
    ['oeuvre', ['Œuvre']],
    ['thing', ['Þingvellir']],
    ['hamrun', ['Ħamrun']],
    ['aero', ['Aəro']],
    ['κόσ', ['Κόσμος']],
    ['istanbul ılgaz', ['İstanbul Ilgaz']],
    ['lab acme', ['Acme (Labs)']],
    ['  acme   10 ', ['Acme 10']],
    ['.', []],
    ['acme zeta', []],
    ['%', []],
  ])('for %j ignores case, accents and the order of words', (words, expected) => {
    expect(foundBy(words)).toEqual(expected);
  });

  it('says where nothing matches, and leads back to the whole list', () => {
    const markup = searched('<b>&"x');
    expect(markup).toContain('No organization matches “<bdi>&lt;b&gt;&amp;&quot;x</bdi>”.');
    expect(markup).toContain('value="&lt;b&gt;&amp;&quot;x"');
    expect(markup).toContain('href="/callback?state=a1"');
    expect(markup).toContain('Show all organizations');
  });

  it('takes at most 100 characters, and only blanks are no search', () => {
    const markup = searched('y'.repeat(5_000));
    expect(markup).toContain(`“<bdi>${'y'.repeat(100)}</bdi>”`);
    expect(foundBy(' \n ')).toEqual(outlineOf(searched('')));
  });

  it('is a form for GET that posts nothing, with twelve organizations or more', () => {
    expect(searched('')).toContain(
      '<form method="get" role="search" action="/callback">\n<input type="hidden" name="state" value="a1">\n',
    );
    expect(markupFor(many)).not.toContain('<form');
  });
});

describe('the organization that was chosen last', () => {
  let app: B2bApp;
  beforeAll(async () => {
    app = await startB2bApp();
  });
  afterAll(() => app.close());

  const userOf = (count: number) => {
    const organizations = Array.from({ length: count }, (_, index) => ({
      id: `org_01${String.fromCharCode(65 + index)}`,
      name: `${String.fromCharCode(65 + index)} Company`,
    }));
    const user = { ...demoUsers.personal, id: `user_01MANY${count}`, organizations };
    app.workos.users.set(user.id, user);
    return user;
  };
  const lastCookie = (visitor: Visitor) =>
    [...visitor.cookies].find(([name]) => name.endsWith('b2b-session-organization'));

  async function choose(visitor: Visitor, count: number, id: string): Promise<{ chooser: Answer; done: Answer }> {
    const start = await visitor.get('/login?prompt=login&returnTo=/dashboard');
    const chooser = await visitor.get((await app.workos.authorize(start.location, { user: userOf(count) })).href);
    const links = [...chooser.text.matchAll(/href="([^"]*organization_id=[^"]*)"/g)].map(([, href = '']) => href);
    const link = links.find((href) => href.endsWith(`organization_id=${id}`)) ?? '';
    return { chooser, done: await visitor.get(link.replaceAll('&amp;', '&')) };
  }

  it('is on top of a long list the next time, from a cookie that no script reads', async () => {
    const visitor = app.visitor();
    const first = await choose(visitor, 14, 'org_01K');
    expect(first.done.status).toBe(303);
    expect(first.chooser.text).not.toContain('Last used');
    const line = first.done.setCookies.find((each) => each.includes('-organization='));
    for (const attribute of ['HttpOnly', 'SameSite=Lax', 'Max-Age=31536000']) expect(line).toContain(attribute);
    const second = await choose(visitor, 14, 'org_01B');
    expect(outlineOf(second.chooser.text).slice(0, 2)).toEqual(['== Last used', 'K Company']);
    const third = await choose(visitor, 14, 'org_01B');
    expect(outlineOf(third.chooser.text).slice(0, 2)).toEqual(['== Last used', 'B Company']);
  });

  it('is not kept for a short list', async () => {
    const visitor = app.visitor();
    expect((await choose(visitor, 11, 'org_01B')).done.status).toBe(303);
    expect(lastCookie(visitor)).toBeUndefined();
  });

  it('is ignored where it is not offered, whatever the cookie says', async () => {
    const visitor = app.visitor();
    await choose(visitor, 14, 'org_01K');
    const [name = ''] = lastCookie(visitor) ?? [];
    for (const value of ['org_01SOMEBODYELSES', '"><script>', '']) {
      visitor.cookies.set(name, value);
      const { chooser, done } = await choose(visitor, 14, 'org_01A');
      expect(chooser.text).not.toMatch(/Last used|<script/);
      expect(done.status).toBe(303);
    }
  });
});
