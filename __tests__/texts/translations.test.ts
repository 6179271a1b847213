import { globSync, readFileSync } from 'node:fs';
import { b2bAuth, backendAuth } from 'express-auth-adapters';
import type { Translation } from 'express-auth-adapters';
import { ar } from 'express-auth-adapters/texts/ar';
import { de } from 'express-auth-adapters/texts/de';
import { es } from 'express-auth-adapters/texts/es';
import { fr } from 'express-auth-adapters/texts/fr';
import { it as italian } from 'express-auth-adapters/texts/it';
import { ja } from 'express-auth-adapters/texts/ja';
import { nl } from 'express-auth-adapters/texts/nl';
import { pl } from 'express-auth-adapters/texts/pl';
import { pt } from 'express-auth-adapters/texts/pt';
import { zh } from 'express-auth-adapters/texts/zh';
import { englishText } from '../../lib/backend/pages/text.ts';
import type { PagesTextKey } from '../../lib/backend/pages/text.ts';
import { backendTextKeys } from '../../lib/pages/backend-text-keys.ts';
import { sharedText } from '../../lib/pages/texts.ts';
import { render } from '../../lib/tools/html.ts';
import { everyPageState } from '../support/built-in-pages.ts';

const translations: Readonly<Record<string, Translation>> = { ar, de, es, fr, it: italian, ja, nl, pl, pt, zh };
const languages = Object.keys(translations);
const keys = Object.keys(englishText) as PagesTextKey[];

const b2b = { clientId: 'client_1', apiKey: 'sk_test_1', cookiePassword: 'x'.repeat(32) };
const backend = { url: 'https://project.supabase.co', anonKey: 'sb_publishable_abcdefghijklmnopqrstuv' };

const valuesIn = (text: string): string[] => (text.match(/\{\w+\}/g) ?? []).sort();

/** Of two digits or more: Japanese writes 6 where English writes "six". */
const numbersIn = (text: string): string[] => text.match(/\d{2,}/g) ?? [];

/** Words that a language has in common with English. */
const sameWords =
  /^(?:Code|Email|Error|Menu|Name|Passkeys?|Password|Privacy|Single [Ss]ign-[Oo]n|Standard|application\/json.*)$/;

/** Marks for which a language has its own, or that French sets apart by no-break spaces. A dot may stand within an address. */
const foreignMarks: Readonly<Record<string, RegExp>> = {
  ar: /[,;?]/,
  fr: /«(?!\u202f)|(?<!\u202f)[»?!;]|(?<!\u00a0):/,
  ja: /[,;:?!()]|\.(?!\w)/,
  zh: /[,;:?!()]|\.(?!\w)/,
};

it('every translation of lib/texts is tested here', () => {
  expect(
    globSync('lib/texts/*.ts')
      .map((path) => path.slice('lib/texts/'.length, -'.ts'.length))
      .sort(),
  ).toEqual(languages);
});

it('the list of texts that only the backend adapter has is complete', () => {
  expect([...backendTextKeys].sort()).toEqual(keys.filter((key) => !(key in sharedText)).sort());
});

describe.each(languages)('%s', (language) => {
  const translation = translations[language]!;

  it('has every text, in the order of the English ones, and no other', () => {
    expect(Object.keys(translation)).toEqual(keys);
  });

  it('fills in the same values', () => {
    const wrong = keys.filter((key) => valuesIn(translation[key]).join() !== valuesIn(englishText[key]).join());
    expect(wrong).toEqual([]);
  });

  it('names the same numbers, such as limits', () => {
    const wrong = keys.filter((key) => numbersIn(translation[key]).join() !== numbersIn(englishText[key]).join());
    expect(wrong).toEqual([]);
  });

  it('leaves no text in English', () => {
    const same = keys.filter((key) => translation[key] === englishText[key] && !sameWords.test(translation[key]));
    expect(same).toEqual([]);
  });

  it('has typographic quotes, and no space at either end', () => {
    const wrong = keys.filter((key) => /['"`]|^\s|\s$|\s{2}|\.\.\./.test(translation[key]));
    expect(wrong).toEqual([]);
  });

  it('has the punctuation of the language', () => {
    const wrong = keys.filter((key) => foreignMarks[language]?.test(translation[key]) === true);
    expect(wrong).toEqual([]);
  });

  it('is taken by both adapters, also with a text replaced', () => {
    const pages = { lang: language, text: { ...translation, signInButton: 'Go' } };
    expect(() => b2bAuth({ ...b2b, pages })).not.toThrow();
    expect(() => backendAuth({ ...backend, pages })).not.toThrow();
  });

  it('leaves nothing on any built-in page that a screen reader would take for English', () => {
    const pages = Object.entries(everyPageState({ lang: language, text: translation })).flatMap(([name, { body }]) => {
      const markup = body?.kind === 'page' ? render(body.markup) : '';
      // One state is that of an application without any options.
      return markup.includes(`<html lang="${language}"`) ? [{ name, markup }] : [];
    });
    expect(pages.length).toBeGreaterThan(40);
    const english = pages.filter(({ markup }) => markup.includes('lang="en"'));
    expect(english.map(({ name }) => name)).toEqual([]);
  });
});

it('the name of an application has its own text direction in Arabic sentences', () => {
  const title = 'Acme, Inc.';
  const around = Object.values(everyPageState({ title, lang: 'ar', text: ar })).flatMap(({ body }) => {
    const [, shown = ''] = body?.kind === 'page' ? render(body.markup).split('<body>') : [];
    return [...shown.matchAll(/(<[^<>]*>)?([^<>]*)Acme, Inc\./g)].map(([, tag, before]) => `${tag}${before}`);
  });
  expect(new Set(around)).toEqual(new Set(['<bdi>', '<strong dir="auto">']));
});

it('a name that is no text is refused, also beside a translation', () => {
  const pages = { text: { ...de, singInButton: 'Los' } };
  expect(() => b2bAuth({ ...b2b, pages })).toThrow(/text\.singInButton is not an option; did you mean signInButton\?/);
  expect(() => backendAuth({ ...backend, pages })).toThrow(/did you mean signInButton\?/);
});

it('docs/pages.md lists the languages', () => {
  const page = readFileSync('docs/pages.md', 'utf8');
  for (const language of languages) expect(page).toContain(`\`${language}\``);
});
