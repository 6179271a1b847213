import { html, textOf } from '../../tools/html.ts';
import type { AuthRequest } from '../../http/request.ts';
import type { Link } from '../../pages/form.ts';
import { builtInPage } from '../../pages/document.ts';
import { initials } from '../../pages/texts.ts';
import type { List, PageRequest, Parts } from '../../pages/page.ts';
import type { Reply } from '../../http/reply.ts';

interface Organization {
  readonly name: string;
  readonly href: string;
  /** Whether this browser chose it last. */
  readonly isLast?: boolean;
}

/** From this number of organizations on, the list has letters, and the one that was chosen last is on top. */
export const longListFrom = 12;

/** A list of organizations by name, with their initials. */
export function chooserPage(
  request: PageRequest & Pick<AuthRequest, 'home'>,
  choices: readonly Organization[],
  otherUrl: string,
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
    parts: [...(choices.length < longListFrom ? [list(choices)] : longList(choices, brand)), ...links],
  });
}

function longList(choices: readonly Organization[], { lang, text }: PageRequest['brand']): Parts {
  const groups = [...byLetter(choices, lang)];
  const letters = groups.map(([letter]) => letter);
  const last = choices.find(({ isLast }) => isLast === true);
  return [
    last && list([last], { text: text.chooserLast }),
    // Two letters or fewer are no shortcut.
    letters.length > 2 && { part: 'letters', label: text.chooserLetters, letters },
    ...groups.map(([letter, group], index) => list(group, { text: letter, id: `letter-${index}` })),
  ];
}

/** The names in the order of the page's language, by their first letter; `#` stands for digits and everything else. */
function byLetter(choices: readonly Organization[], lang: string): Map<string, readonly Organization[]> {
  const { compare } = new Intl.Collator(lang, { numeric: true });
  const groups = new Map<string, readonly Organization[]>();
  for (const choice of choices.toSorted((one, other) => compare(one.name, other.name))) {
    const letter = letterOf(choice.name, lang);
    groups.set(letter, [...(groups.get(letter) ?? []), choice]);
  }
  return groups;
}

/** Without accents, so that "Éclair" stands at E. */
function letterOf(name: string, lang: string): string {
  const [first = ''] = name.trim().normalize('NFD');
  return /\p{L}/u.test(first) ? first.toLocaleUpperCase(lang) : '#';
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
