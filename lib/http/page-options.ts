import * as v from 'valibot';
import { parseColor } from './accent.ts';
import { pageUrl } from './options.ts';
import type { Brand, PageLinks } from './page.ts';
import { createTexts, directionOf, sharedText } from './page-text.ts';
import type { SharedTextKey } from './page-text.ts';

/** The customization of the built-in pages; the same for both adapters. */
export interface PagesOptions<TextKey extends string = SharedTextKey> {
  /** The application's name, in headings and in the page's title. */
  readonly title?: string | undefined;
  /** A root-relative or http(s) URL of an image, shown 2.5 rem high above the heading. Default: the name's first letter. */
  readonly logo?: string | undefined;
  /** The image for the dark color scheme. Default: `logo`. */
  readonly logoDark?: string | undefined;
  /** The color of buttons, `#rgb` or `#rrggbb`. Text on it stays readable in both color schemes. Default: near black, near white. */
  readonly accent?: string | undefined;
  /** BCP 47 tag of the language of `text`. Default `en`. */
  readonly lang?: string | undefined;
  /** Default: the direction of `lang`. */
  readonly dir?: 'ltr' | 'rtl' | undefined;
  /** Texts in place of the English ones. */
  readonly text?: Readonly<Partial<Record<TextKey, string | undefined>>> | undefined;
  /** Links below every page. */
  readonly links?: PageLinks | undefined;
}

const optionalText = v.optional(v.string('must be a string'));

/** The entries of `pages`. @param english the texts that an application may replace */
export function pagesEntries<Key extends string>(english: Readonly<Record<Key, string>>) {
  return {
    title: optionalText,
    logo: v.optional(pageUrl),
    logoDark: v.optional(pageUrl),
    accent: v.optional(
      v.pipe(
        v.string('must be a color such as #5e6ad2'),
        v.check(
          (value) => parseColor(value) !== undefined,
          'must be a color of the form #rgb or #rrggbb, such as #5e6ad2',
        ),
      ),
    ),
    lang: v.optional(
      v.pipe(
        v.string('must be a language tag such as de or pt-BR'),
        v.check(isLanguageTag, 'must be a BCP 47 language tag such as de or pt-BR'),
      ),
    ),
    dir: v.optional(v.picklist(['ltr', 'rtl'], "must be 'ltr' or 'rtl'")),
    text: v.optional(
      v.strictObject(v.entriesFromList(Object.keys(english) as Key[], optionalText), 'must be an object of texts'),
    ),
    links: v.optional(
      v.strictObject(
        { terms: v.optional(pageUrl), privacy: v.optional(pageUrl), help: v.optional(pageUrl) },
        'must be an object with terms, privacy or help',
      ),
    ),
  };
}

function isLanguageTag(value: string): boolean {
  try {
    return new Intl.Locale(value).language !== '';
  } catch {
    return false;
  }
}

/** The options in the form that pages read. */
export function createBrand({
  title,
  logo,
  logoDark,
  accent,
  lang = 'en',
  dir,
  text,
  links = {},
}: PagesOptions): Brand {
  return {
    title,
    logo,
    logoDark,
    accent,
    lang,
    dir: dir ?? directionOf(lang),
    links,
    text: createTexts(sharedText, text, lang),
  };
}
