import { jest } from '@jest/globals';
import { readFileSync } from 'node:fs';
import type { BrowserContext, Page } from 'playwright-core';
import { render } from '../../lib/tools/html.ts';
import { stylesheet } from '../../lib/pages/style.ts';
import { ar } from '../../lib/texts/ar.ts';
import { de } from '../../lib/texts/de.ts';
import { sendReply } from '../../lib/http/reply.ts';
import type { Reply } from '../../lib/http/reply.ts';
import { launchBrowser } from '../support/browser.ts';
import type { TestBrowser } from '../support/browser.ts';
import { everyPageState } from '../support/built-in-pages.ts';
import { serve } from '../support/servers.ts';
import type { RunningServer } from '../support/servers.ts';

/** A second opinion beside axe: the engine of IBM's accessibility checker, with its rules for WCAG 2.2. */

// Chromium is slow on a busy machine.
jest.setTimeout(60_000);

const engine = readFileSync('node_modules/accessibility-checker-engine/ace.js', 'utf8');

/** A finding that fails, or that asks a person to look. */
interface Finding {
  readonly rule: string;
  readonly message: string;
  readonly markup: string;
}

/** What the engine says of these pages and is not so, or what a person has looked at. */
const exceptions: readonly { readonly rule: string; readonly of: RegExp; readonly because: string }[] = [
  {
    rule: 'form_submit_button_exists',
    of: /^<form /,
    because: 'it asks for type="submit"; a button without a type submits its form (HTML, "The button element")',
  },
  {
    rule: 'aria_form_label_unique',
    of: /^<form /,
    because: 'a form without a name is no landmark (HTML-AAM, "form"), so two of them need no names',
  },
  {
    rule: 'aria_landmark_name_unique',
    of: /^<form /,
    because: 'the same',
  },
  {
    rule: 'style_focus_visible',
    of: /^<(?:a|button|input)[ >]/,
    because: 'it asks to look; pages-axe.test.ts measures the ring of each control',
  },
  {
    rule: 'style_color_misuse',
    of: /^<link /,
    because: 'it asks to look; each color repeats what words and a sign say',
  },
  {
    rule: 'style_highcontrast_visible',
    of: /^<link /,
    because: 'it asks to look; pages-axe.test.ts looks at forced colors',
  },
  {
    rule: 'text_block_heading',
    of: /^<div class="brand">/,
    because: 'it takes the letter in place of a logo for a heading; the heading names the application',
  },
  {
    rule: 'input_fields_grouped',
    of: /^<input /,
    because: 'it wants a group in a form; these fields are all that their form asks for',
  },
  {
    rule: 'text_sensory_misuse',
    of: /^<p id="code-error" class="field-message">/,
    because: 'the code that "isn’t right" is wrong, and not on the left',
  },
];

const languages: Readonly<Record<string, Readonly<Record<string, Reply>>>> = {
  en: everyPageState({ title: 'Northwind', logo: '/logo.svg', links: { terms: '/terms', privacy: '/privacy' } }),
  de: everyPageState({ title: 'Nordwind', lang: 'de', text: de }),
  ar: everyPageState({ title: 'نورثويند', lang: 'ar', text: ar }),
};

let server: RunningServer;
let browser: TestBrowser;
let context: BrowserContext;
let page: Page;
beforeAll(async () => {
  server = await serve((req, res) => {
    const [text, type] = req.url?.startsWith('/auth/pages.css') === true ? [stylesheet, 'text/css'] : ['', 'text/html'];
    sendReply({ req, res }, { status: 200, body: { kind: 'asset', text, type } });
  });
  browser = await launchBrowser();
  context = await browser.newContext({ viewport: { width: 390, height: 800 } });
  page = await context.newPage();
  await page.goto(server.origin);
  await page.evaluate(`${engine}; globalThis.ace = ace;`);
});
afterAll(async () => {
  await browser.close();
  await server.close();
});

async function findings(markup: string, colorScheme: 'light' | 'dark'): Promise<readonly Finding[]> {
  await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
  await page.setContent(markup);
  // What the pages' script shows.
  await page.evaluate(
    "document.querySelectorAll('form[data-passkey], .reveal').forEach((element) => { element.hidden = false; })",
  );
  return page.evaluate<
    readonly Finding[]
  >(`new ace.Checker().check(document, ['WCAG_2_2']).then(({ results }) => results
    .filter(({ value: [, outcome] }) => outcome !== 'PASS')
    .map(({ ruleId: rule, message, snippet: markup }) => ({ rule, message, markup })))`);
}

const excused = new Set<string>();

describe.each(Object.entries(languages))('in %s', (_lang, states) => {
  it.each(Object.entries(states))('IBM’s engine finds no fault in the page "%s"', async (_name, { body }) => {
    const markup = body?.kind === 'page' ? render(body.markup) : '';
    const found = [...(await findings(markup, 'light')), ...(await findings(markup, 'dark'))];
    const faults = found.filter(({ rule, markup }) => {
      const exception = exceptions.find((each) => each.rule === rule && each.of.test(markup));
      if (exception !== undefined) excused.add(exception.rule);
      return exception === undefined;
    });
    expect(faults).toEqual([]);
  });
});

it('no exception is left over', () => {
  expect(exceptions.map(({ rule }) => rule).filter((rule) => !excused.has(rule))).toEqual([]);
});

it('the engine finds faults where there are some', async () => {
  const broken =
    '<!doctype html><html lang="en"><title>x</title><main><img src="x.png"><input name="a"><p style="color:#ddd">Pale</p></main>';
  const rules = (await findings(broken, 'light')).map(({ rule }) => rule);
  expect(rules).toEqual(expect.arrayContaining(['img_alt_valid', 'input_label_exists', 'text_contrast_sufficient']));
});
