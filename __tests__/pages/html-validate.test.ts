import { HtmlValidate, StaticConfigLoader } from 'html-validate';
import type { ConfigData } from 'html-validate';
import { render } from '../../lib/tools/html.ts';
import { ar } from '../../lib/texts/ar.ts';
import { everyPageState } from '../support/built-in-pages.ts';

const rules: NonNullable<ConfigData['rules']> = {
  // Prettier writes it so, and HTML takes both.
  'doctype-style': ['error', { style: 'lowercase' }],
  // Our stylesheet and script are of the page's own origin, which could change the hash as well.
  'require-sri': ['error', { target: 'crossorigin' }],
  // Without a type, a button sends its form (HTML, "The button element"), and each of ours does so.
  'no-implicit-button-type': 'off',
  // It is about search results, and no page is in one; the long titles contain names that others chose.
  'long-title': 'off',
};
const presets = ['recommended', 'document', 'standard', 'a11y'].map((name) => `html-validate:${name}`);
const checker = new HtmlValidate(new StaticConfigLoader({ root: true, elements: ['html5'], extends: presets, rules }));

const links = { terms: '/terms', privacy: '/privacy', help: '/help' };
const looks = {
  branded: everyPageState({ title: 'Northwind', logo: '/logo.svg', logoDark: 'https://cdn.example/dark.svg', links }),
  'right to left': everyPageState({ title: 'نورثويند', lang: 'ar', text: ar }),
};

describe.each(Object.entries(looks))('%s', (_, states) => {
  it.each(Object.entries(states))('html-validate finds no fault in the page "%s"', (_, { body }) => {
    const markup = body?.kind === 'page' ? render(body.markup) : '';
    const messages = checker.validateStringSync(markup).results.flatMap((result) => result.messages);
    const lines = markup.split('\n');
    expect(messages.map(({ ruleId, message, line }) => [ruleId, message, lines[line - 1]])).toEqual([]);
  });
});
