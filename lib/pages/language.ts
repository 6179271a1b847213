import Negotiator from 'negotiator';
import type { IncomingMessage } from 'node:http';

/** How much of the header is read, in characters: room for twenty languages. Each one costs some microseconds. */
const maxHeaderLength = 200;

/** The languages that a request asks for, the preferred one first (RFC 9110 §12.5.4). */
export function acceptedLanguages({ headers }: Pick<IncomingMessage, 'headers'>): readonly string[] {
  const accepted = headers['accept-language']?.slice(0, maxHeaderLength) ?? '';
  return new Negotiator({ headers: { 'accept-language': accepted } }).languages();
}

/**
 * Finds what there is in the first of several languages (lookup, RFC 4647 §3.4): by its tag, else by its language and script, else by its
 * language. The script that a region implies counts, so `zh-TW` finds `zh-Hant` before `zh`.
 */
export function createLanguageLookup<Item extends { readonly lang: string }>(
  items: readonly Item[],
): (tags: readonly string[]) => Item | undefined {
  // The shortest tag first: `de-CH` is for all of German only where there is no `de`.
  const shortestFirst = items.toSorted((one, other) => one.lang.length - other.lang.length);
  const named = [
    ...items.map((item) => [new Intl.Locale(item.lang).baseName, item] as const),
    ...shortestFirst.map((item) => [scriptOf(item.lang), item] as const),
  ];
  // The first of a name counts.
  const found = new Map(named.toReversed());
  const lookUp = (tag: string): Item | undefined => {
    const locale = localeOf(tag);
    return locale && (found.get(locale.baseName) ?? found.get(scriptOf(tag)) ?? found.get(locale.language));
  };
  return (tags) => {
    for (const tag of tags) {
      const item = lookUp(tag);
      if (item !== undefined) return item;
    }
    return undefined;
  };
}

/** The language and its script, such as `zh-Hant`. */
function scriptOf(tag: string): string {
  const { language, script = '' } = new Intl.Locale(tag).maximize();
  return `${language}-${script}`;
}

/** A language tag in its canonical form; `undefined` where it is none (BCP 47), such as `*`. */
export function localeOf(tag: string): Intl.Locale | undefined {
  try {
    return new Intl.Locale(tag);
  } catch {
    return undefined;
  }
}
