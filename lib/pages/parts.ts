import { html, safeHref } from '../tools/html.ts';
import { defined } from '../tools/json.ts';
import type { Html, HtmlValue } from '../tools/html.ts';
import { anchor, fieldsOf, formOf, orOf } from './form.ts';
import type { Field, FormError, Link, Or } from './form.ts';
import { chevron } from './icons.ts';
import type { Brand, Choice, List, Page, Part, Parts, Ways } from './page.ts';
import { duration, fillIn, sentences } from './texts.ts';

/** The parts of a page with the error above them. */
export function contentOf(page: Pick<Page, 'error' | 'remedy' | 'parts' | 'brand'>): Html {
  const { remedy = [], parts, brand } = page;
  const error = placed(page);
  return html`${error?.field === 'form' && html`${alertOf(error, remedy, everyField(parts), brand)}\n`}${partsOf(parts, error)}`;
}

/** All parts of a page, also those within others. */
export function partsOfPage(page: Pick<Page, 'error' | 'remedy' | 'parts'>): readonly Part[] {
  const { remedy = [], parts } = page;
  return everyPart([...(placed(page)?.field === 'form' ? remedy : []), ...parts]);
}

/** Above the form where the page lacks the field that it is about. */
function placed({ error, parts }: Pick<Page, 'error' | 'parts'>): FormError | undefined {
  return error && (everyField(parts).some(({ name }) => name === error.field) ? error : { ...error, field: 'form' });
}

function everyPart(parts: Parts): readonly Part[] {
  return parts.flatMap((part) => {
    if (part === undefined || part === false) return [];
    if (part.part === 'ways') return everyPart(part.ways.flat());
    return part.part === 'steps' ? [part, ...part.steps.flatMap((step) => everyPart(step.parts))] : [part];
  });
}

/** What the visitor fills in, in all forms. */
export function everyField(parts: Parts): readonly Field[] {
  return everyPart(parts).flatMap((part) => (part.part === 'form' ? fieldsOf(part) : []));
}

function partsOf(parts: Parts, error: FormError | undefined, or?: Or): HtmlValue {
  return parts.map((part) => part !== undefined && part !== false && html`${partOf(part, error, or)}\n`);
}

function waysOf({ or: label, ways }: Ways, error: FormError | undefined): HtmlValue {
  const shown = ways.map(wayOf);
  const weighed = shown.filter(({ first }) => first !== undefined);
  const isEdge = (before: Way | undefined, after: Way | undefined): boolean =>
    before !== undefined && after !== undefined && before.last !== after.first;
  return shown.map((way) => {
    const at = weighed.indexOf(way);
    const [before, after, later] = at < 0 ? [] : [weighed[at - 1], weighed[at + 1], weighed.slice(at + 1)];
    // "or" hides with what only a script shows, where nothing else of this kind stands beside it.
    const hides = way.isScripted && later?.some(({ first, isScripted }) => first === way.first && !isScripted) !== true;
    const opens = isEdge(before, way) && before?.isScripted !== true;
    const or = { label, before: opens && hides, after: isEdge(way, after) && way.isScripted };
    return [opens && !hides && html`${orOf(label)}\n`, partsOf(way.parts, error, or)];
  });
}

interface Way {
  readonly parts: Parts;
  /** The look of its first and of its last button: the main one has none. */
  readonly first: Weight | undefined;
  readonly last: Weight | undefined;
  readonly isScripted: boolean;
}

type Weight = 'main' | 'quiet';

/** What it looks like beside others: links below the buttons, and words, do not count. */
function wayOf(parts: Parts): Way {
  for (const part of everyPart(parts)) {
    if (part.part === 'form') {
      const weights = part.buttons.map(({ look }): Weight => (look === undefined ? 'main' : 'quiet'));
      // The only button of a field to fill in is what one does there, beside what follows.
      const last = weights.length === 1 && fieldsOf(part).length > 0 ? 'main' : weights.at(-1);
      return { parts, first: weights[0], last, isScripted: part.scripted !== undefined };
    }
    const isMain = part.part === 'link' && part.look === 'button';
    const isQuiet = part.part === 'list' || (part.part === 'link' && part.look === 'quiet');
    const weight = isMain ? 'main' : 'quiet';
    if (isMain || isQuiet) return { parts, first: weight, last: weight, isScripted: false };
  }
  return { parts, first: undefined, last: undefined, isScripted: false };
}

function partOf(part: Part, error: FormError | undefined, or?: Or): HtmlValue {
  switch (part.part) {
    case 'form':
      return formOf(part, error, or);
    case 'link':
      return linkOf(part);
    case 'list':
      return listOf(part);
    case 'letters':
      return html`<nav class="letters" aria-label="${part.label.plain}">
${part.letters.map((letter, index) => html`<a href="#letter-${index}">${letter}</a>\n`)}</nav>`;
    case 'ways':
      return waysOf(part, error);
    case 'hint':
      return part.text.plain !== '' && html`<p class="hint">${part.text}</p>`;
    case 'fallback':
      return html`<p class="hint" data-fallback>${part.text}</p>`;
    case 'steps':
      return html`<ol class="steps">
${part.steps.map((step) => html`<li><p>${step.text}</p>\n${partsOf(step.parts, error)}</li>\n`)}</ol>`;
    case 'markup':
      return part.markup;
  }
}

function linkOf({ look, before, ...link }: Link): Html {
  if (look === undefined)
    return html`<p class="actions">${before !== undefined && html`${before} `}${anchor(link)}</p>`;
  return html`<p>${anchor(link, look === 'quiet' ? 'button quiet' : 'button')}</p>`;
}

function listOf({ choices, heading, look }: List): HtmlValue {
  if (choices.length === 0) return undefined;
  const title =
    heading && html`<h2 class="group"${heading.id !== undefined && html` id="${heading.id}"`}>${heading.text}</h2>\n`;
  if (look === undefined) return html`${title}<ul class="choices">\n${choices.map(rowOf)}</ul>`;
  const item = look === 'icons' ? iconOf : buttonOf;
  const isNoted = ({ note }: Choice): boolean => note !== undefined;
  const ordered = look === 'icons' ? [...choices].sort((a, b) => Number(isNoted(b)) - Number(isNoted(a))) : choices;
  return html`${title}<ul class="providers${look === 'icons' && ' row'}">\n${ordered.map(item)}</ul>`;
}

function rowOf({ name, href, icon, details = [], about, actions }: Choice): Html {
  const lines = details.map((detail) => html` <small>${detail}</small>`);
  const words = html`<span class="name"><bdi>${name}</bdi>${lines}</span>`;
  if (actions === undefined) return html`<li><a href="${safeHref(href)}">${icon}${words}${chevron}</a></li>\n`;
  const links = actions.map(
    ({ href, label }) =>
      html`<a href="${safeHref(href)}" aria-label="${`${label.plain}: ${name.plain}`}">${label}</a>\n`,
  );
  const ways = links.length > 0 && html`<div class="ways">\n${links}</div>`;
  return html`<li class="row">${icon}${words}${ways}${about && html`<p class="about">${about}</p>\n`}</li>\n`;
}

function buttonOf({ href, name, label = name, icon, note, isMain = false }: Choice): Html {
  return html`<li>${anchor({ href, label, ...defined({ icon, note }) }, isMain ? 'button' : 'button quiet')}</li>\n`;
}

/** The one with a note has the room for it. */
function iconOf(choice: Choice): Html {
  const { href, name, label = name, icon, note } = choice;
  if (note !== undefined) return buttonOf(choice);
  const lang = label.lang !== undefined && html` lang="${label.lang}"`;
  return html`<li><a class="button quiet" href="${safeHref(href)}" aria-label="${label.plain}" title="${label.plain}"${lang}>${icon ?? name}</a></li>\n`;
}

/** An error of the whole form. @param remedy what resolves it @param fields that show their messages themselves */
function alertOf(error: FormError, remedy: Parts, fields: readonly Field[], { text, lang }: Brand): Html {
  const { tone = 'bad', retryAfter } = error;
  const others = Object.entries(error.at ?? {}).filter(([name]) => !fields.some((field) => field.name === name));
  const wait = retryAfter !== undefined && fillIn(text.retryIn, { time: duration(retryAfter, lang) });
  // The waiting time follows the sentence itself, or what is listed below it.
  const words =
    others.length === 0
      ? sentences(error.message, wait)
      : html`${error.message}${others.map(([, message]) => html`<br>${message}`)}${wait && html` ${wait}`}`;
  return html`<div class="message ${tone}">
<p id="form-error" role="${tone === 'bad' ? 'alert' : 'status'}">${words}</p>
${partsOf(remedy, undefined)}</div>`;
}
