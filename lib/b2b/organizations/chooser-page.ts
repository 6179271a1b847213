import { html, textOf } from '../../tools/html.ts';
import type { AuthRequest } from '../../http/request.ts';
import { withQuery } from '../../tools/url.ts';
import type { Form, Link } from '../../pages/form.ts';
import { builtInPage } from '../../pages/document.ts';
import { fillIn, initials, isolated } from '../../pages/texts.ts';
import type { List, PageRequest, Parts } from '../../pages/page.ts';
import type { Reply } from '../../http/reply.ts';

interface Organization {
  readonly name: string;
  readonly href: string;
  /** Whether this browser chose it last. */
  readonly isLast?: boolean;
}

/** From this number of organizations on, the list is sorted and has a search, and the one that was chosen last is on top. */
export const longListFrom = 12;

/** How a long list is searched: a form that asks for the page again. */
export interface Search {
  readonly action: string;
  /** Of the flow, which keeps everything else. */
  readonly state: string;
  /** What was searched for; any person can write it into a URL. */
  readonly words: string;
}

/** As many characters of a search as count; the field takes no more. */
const maxSearch = 100;

/** A list of organizations by name, with their initials. @param search omitted where the list cannot be shown again */
export function chooserPage(
  request: PageRequest & Pick<AuthRequest, 'home'>,
  choices: readonly Organization[],
  otherUrl: string,
  search?: Search,
): Reply {
  const { stylesheetUrl: stylesheet, brand } = request;
  const { text } = brand;
  const links: readonly Link[] = [
    { part: 'link', name: 'otherAccount', href: otherUrl, label: text.otherAccount },
    { part: 'link', name: 'home', href: request.urlOf(request.home), label: text.backHome },
  ];
  return builtInPage({
    kind: 'organizations',
    status: 200,
    heading: text.chooserHeading,
    lead: text.chooserText,
    isStep: true,
    stylesheet,
    brand,
    parts: [...(choices.length < longListFrom ? [list(choices)] : longList(choices, brand, search)), ...links],
  });
}

function longList(choices: readonly Organization[], brand: PageRequest['brand'], search: Search | undefined): Parts {
  if (search === undefined) return byLetters(choices, brand);
  const asked = { ...search, words: search.words.trim().slice(0, maxSearch) };
  const shown = asked.words === '' ? byLetters(choices, brand) : found(choices, brand, asked);
  return [searchForm(brand, asked), ...shown];
}

/** The names that have every word that was searched for. */
function found(
  choices: readonly Organization[],
  { lang, text }: PageRequest['brand'],
  { action, state, words }: Search,
): Parts {
  const wanted = folded(words).split(/\s+/);
  const matches = choices.filter(({ name }) => wanted.every((word) => folded(name).includes(word)));
  const href = withQuery(action, { state });
  return [
    matches.length > 0
      ? list(sorted(matches, lang))
      : { part: 'hint', text: fillIn(text.chooserNone, { words }, isolated) },
    { part: 'link', name: 'all', href, label: text.chooserAll, look: 'quiet' },
  ];
}

function searchForm({ text }: PageRequest['brand'], { action, state, words }: Search): Form {
  return {
    part: 'form',
    name: 'search',
    isSearch: true,
    action,
    hidden: { state },
    fields: [{ name: 'search', type: 'search', label: text.chooserSearch, autocomplete: 'off', value: words }],
    buttons: [{ label: text.searchButton, look: 'quiet' }],
  };
}

/** Letters that Unicode does not take apart, as people type them without a key for them. */
const plainLetters: Readonly<Record<string, string>> = {
  ...{ Ł: 'L', Ø: 'O', Đ: 'D', Ð: 'D', Ħ: 'H', Ŧ: 'T', Ɨ: 'I', Ŋ: 'N', Ə: 'E' },
  ...{ Æ: 'AE', Œ: 'OE', Þ: 'TH', ẞ: 'SS' },
};

/** Without case and accents: "strasse" finds "Straße", "lodz" finds "Łódź". In capitals a final sigma is any other one. */
function folded(name: string): string {
  const capitals = name.normalize('NFKD').replaceAll(/\p{M}/gu, '').toUpperCase();
  return capitals.replaceAll(/[^\0-\x7f]/gu, (letter) => plainLetters[letter] ?? letter);
}

function byLetters(choices: readonly Organization[], { lang, text }: PageRequest['brand']): Parts {
  const groups = [...groupsOf(choices, lang)];
  const letters = groups.map(([letter]) => letter);
  const last = choices.find(({ isLast }) => isLast === true);
  const top = last && list([last], { text: text.chooserLast });
  // A heading above almost each name would only make the list longer.
  if (choices.length < 2 * letters.length) return [top, list(sorted(choices, lang))];
  return [
    top,
    // Two letters or fewer are no shortcut.
    letters.length > 2 && { part: 'letters', label: text.chooserLetters, letters },
    ...groups.map(([letter, group], index) => list(group, { text: letter, id: `letter-${index}` })),
  ];
}

/** The names in the order of the page's language, by their first letter; `#` stands for digits and everything else. */
function groupsOf(choices: readonly Organization[], lang: string): Map<string, readonly Organization[]> {
  const groups = new Map<string, readonly Organization[]>();
  const { compare } = new Intl.Collator(lang, { sensitivity: 'base' });
  for (const choice of sorted(choices, lang)) {
    const letter = letterOf(choice.name, lang, compare);
    groups.set(letter, [...(groups.get(letter) ?? []), choice]);
  }
  return groups;
}

function sorted(choices: readonly Organization[], lang: string): readonly Organization[] {
  const { compare } = new Intl.Collator(lang, { numeric: true });
  return choices.toSorted((one, other) => compare(one.name, other.name));
}

/** "Éclair" stands at E, and "Łódź" at L, except in Polish, where Ł is a letter of its own. */
function letterOf(name: string, lang: string, compare: Intl.Collator['compare']): string {
  const [first = ''] = name.trim().normalize('NFC');
  if (!/\p{L}/u.test(first)) return '#';
  const plain = folded(first);
  const [letter = ''] = compare(first, plain) === 0 ? plain : first.toLocaleUpperCase(lang);
  return letter;
}

function list(choices: readonly Organization[], heading?: List['heading']): List {
  return {
    part: 'list',
    ...(heading && { heading }),
    choices: choices.map(({ name, href }) => ({
      name: textOf(name),
      href,
      icon: html`<span class="mark" aria-hidden="true">${initials(name, 2)}</span>`,
    })),
  };
}
