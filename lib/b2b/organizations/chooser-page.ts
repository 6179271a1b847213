import { html, safeHref } from '../../tools/html.ts';
import type { Html } from '../../tools/html.ts';
import type { AuthRequest } from '../../http/request.ts';
import { chevron } from '../../pages/icons.ts';
import { builtInPage, initials } from '../../pages/page.ts';
import type { PageRequest } from '../../pages/page.ts';
import type { Reply } from '../../http/reply.ts';

interface Choice {
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
  choices: readonly Choice[],
  otherUrl: string,
): Reply {
  const { stylesheetUrl: stylesheet, brand } = request;
  const { text, lang } = brand;
  const home = request.urlOf(request.home);
  return builtInPage({
    status: 200,
    facts: {
      kind: 'organizations',
      choices: choices.map(({ name, href }) => ({ name, href })),
      links: { otherAccount: otherUrl, home },
    },
    heading: text.chooserHeading,
    lead: text.chooserText,
    isStep: true,
    stylesheet,
    brand,
    content: html`${choices.length < longListFrom ? list(choices) : longList(choices, lang, text)}
<p class="actions"><a href="${safeHref(otherUrl)}">${text.otherAccount}</a></p>
<p class="actions"><a href="${safeHref(home)}">${text.backHome}</a></p>`,
  });
}

function longList(choices: readonly Choice[], lang: string, text: PageRequest['brand']['text']): Html {
  const groups = [...byLetter(choices, lang)];
  const last = choices.find(({ isLast }) => isLast === true);
  // Two letters or fewer are no shortcut.
  const letters =
    groups.length > 2 &&
    html`<nav class="letters" aria-label="${text.chooserLetters.plain}">
${groups.map(([letter], index) => html`<a href="#letter-${index}">${letter}</a>\n`)}</nav>`;
  return html`${last !== undefined && html`<h2 class="group">${text.chooserLast}</h2>\n${list([last])}`}
${letters}
${groups.map(([letter, group], index) => html`<h2 class="group" id="letter-${index}">${letter}</h2>\n${list(group)}\n`)}`;
}

/** The names in the order of the page's language, by their first letter; `#` stands for digits and everything else. */
function byLetter(choices: readonly Choice[], lang: string): Map<string, readonly Choice[]> {
  const { compare } = new Intl.Collator(lang, { numeric: true });
  const groups = new Map<string, readonly Choice[]>();
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

function list(choices: readonly Choice[]): Html {
  return html`<ul class="choices">
${choices.map(choice)}</ul>`;
}

function choice({ href, name }: Choice): Html {
  return html`<li><a href="${safeHref(href)}"><span class="mark" aria-hidden="true">${initials(name, 2)}</span><span class="name"><bdi>${name}</bdi></span>${chevron}</a></li>
`;
}
