import { isLoopback } from '../../stand-ins/loopback.ts';
import { html } from './html.ts';
import type { Markup } from './html.ts';

export interface Person {
  readonly name: string | undefined;
  readonly email: string | null;
  readonly pictureUrl?: string | null | undefined;
}

/** The signed-in user, with a picture or initials. */
export function personCard({ name, email, pictureUrl }: Person): Markup {
  const shown = name ?? email ?? 'Unnamed user';
  const picture =
    typeof pictureUrl === 'string' && (pictureUrl.startsWith('https://') || isLoopback(pictureUrl))
      ? html`<img class="avatar" src="${pictureUrl}" alt="" width="56" height="56" referrerpolicy="no-referrer">`
      : html`<span class="avatar" aria-hidden="true">${initialsOf(shown)}</span>`;
  return html`<div class="person">${picture}<div><strong>${shown}</strong>${email !== null && email !== shown && html`<span class="soft">${email}</span>`}</div></div>`;
}

export function fullName({
  firstName,
  lastName,
}: {
  readonly firstName?: string | null;
  readonly lastName?: string | null;
}): string | undefined {
  const name = [firstName, lastName].filter(Boolean).join(' ');
  return name === '' ? undefined : name;
}

function initialsOf(name: string): string {
  const words = name.split(/[\s@._-]+/).filter((word) => word !== '');
  return words
    .slice(0, 2)
    .map((word) => String.fromCodePoint(word.codePointAt(0) ?? 32).toUpperCase())
    .join('');
}
