import { html, render } from '../../lib/tools/html.ts';
import { accountName, createTexts, directionOf, duration, emphasis, fillIn, isolated } from '../../lib/pages/texts.ts';
import type { BackendUser, Session } from '../../lib/types.ts';
import { bareSession } from '../support/bare-request.ts';

const english = { hello: 'Hello {name}, {name}.', bye: 'Bye.' };

describe('texts', () => {
  it('are the application’s own, and English if it has none', () => {
    const text = createTexts(english, { bye: 'Tschüss.', hello: undefined }, 'de');
    expect(text.bye.plain).toBe('Tschüss.');
    expect(render(html`<p>${text.bye}</p>`)).toBe('<p>Tschüss.</p>');
    expect(render(html`<p>${text.hello}</p>`)).toBe('<p><span lang="en" dir="ltr">Hello {name}, {name}.</span></p>');
    expect(text.hello.plain).toBe('Hello {name}, {name}.');
  });

  it.each(['en', 'en-GB', 'EN'])('are not marked on a page in English: %s', (lang) => {
    expect(render(createTexts(english, {}, lang).bye)).toBe('Bye.');
  });

  it('are not marked where the page has the default language', () => {
    expect(render(createTexts(english).bye)).toBe('Bye.');
  });

  // Mende, Slave, and English as a part of another language's tag.
  it.each(['men', 'den', 'de-x-en'])(
    'are marked on a page in a language whose tag only ends like English: %s',
    (lang) => {
      expect(render(createTexts(english, {}, lang).bye)).toBe('<span lang="en" dir="ltr">Bye.</span>');
    },
  );

  it('have values for names in braces, and for no other words', () => {
    const { hello } = createTexts(english, { hello: '"name" or {name}' });
    expect(fillIn(hello, { name: 'Ada' }).plain).toBe('"name" or Ada');
    expect(fillIn(createTexts(english, { bye: '"name"' }).bye, { name: 'Ada' }).plain).toBe('"name"');
  });

  it('are escaped, as are values, and a value with another placeholder stays as it is', () => {
    const { hello } = createTexts(english, { hello: '<b>{name}</b> {constructor}' });
    const filled = fillIn(hello, { name: '{other}<i>', other: 'x' });
    expect(filled.plain).toBe('<b>{other}<i></b> {constructor}');
    expect(render(filled)).toBe('&lt;b&gt;{other}&lt;i&gt;&lt;/b&gt; {constructor}');
  });

  it('keep their language around a value, which may be emphasized', () => {
    const { hello } = createTexts(english, {}, 'ar');
    const filled = fillIn(hello, { name: 'أمل' }, emphasis);
    expect(render(filled)).toBe(
      '<span lang="en" dir="ltr">Hello <strong dir="auto">أمل</strong>, <strong dir="auto">أمل</strong>.</span>',
    );
  });
});

it('isolates the text direction of a name, and escapes it', () => {
  expect(render(isolated('<b>'))).toBe('<bdi>&lt;b&gt;</bdi>');
});

describe('the name of an account', () => {
  const nameOf = (user: Partial<BackendUser>): string | undefined =>
    accountName({ ...bareSession, adapter: 'backend', user: { id: 'user_1', ...user } } as Session);

  it.each<[Partial<BackendUser>, string | undefined]>([
    [{ email: 'ada@example.com', phone: '4915112345678' }, 'ada@example.com'],
    [{ phone: '4915112345678' }, '4915112345678'],
    [{}, undefined],
  ])('of %j is %j', (user, name) => expect(nameOf(user)).toBe(name));
});

it.each([
  ['ar', 'rtl'],
  ['fa-IR', 'rtl'],
  ['he', 'rtl'],
  ['ur', 'rtl'],
  ['ckb', 'rtl'],
  ['yi', 'rtl'],
  ['az-Arab', 'rtl'],
  ['ar-Latn', 'ltr'],
  ['en', 'ltr'],
  ['de-AT', 'ltr'],
  ['ja', 'ltr'],
] as const)('a page in %s has the direction %s', (lang, direction) => expect(directionOf(lang)).toBe(direction));

it.each([
  [0, '1 second'],
  [1, '1 second'],
  [29.2, '30 seconds'],
  [90, '90 seconds'],
  [91, '2 minutes'],
  [899, '15 minutes'],
])('formats %d seconds as %s', (seconds, words) => expect(duration(seconds)).toBe(words));
