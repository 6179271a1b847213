import * as v from 'valibot';
import { parseColor } from './accent.ts';
import { callback, group, pageUrl } from './options.ts';
import type { OptionsOf } from './options.ts';
import type { Brand, PageLinks } from './page.ts';
import type { RenderPage } from './page-view.ts';
import { createTexts, directionOf, sharedText } from './page-text.ts';
import type { SharedTextKey } from './page-text.ts';

const optionalText = v.optional(v.string('must be a string'));

const brandEntries = {
  /** The application's name, in headings and in the page's title. */
  title: optionalText,
  /** A root-relative or http(s) URL of an image, shown 2.5 rem high above the heading. Default: the name's first letter. */
  logo: v.optional(pageUrl),
  /** The image for the dark color scheme. Default: `logo`. */
  logoDark: v.optional(pageUrl),
  /** The color of buttons, `#rgb` or `#rrggbb`. Text on it stays readable in both color schemes. Default: near black, near white. */
  accent: v.optional(
    v.pipe(
      v.string('must be a color such as #5e6ad2'),
      v.check(
        (value) => parseColor(value) !== undefined,
        'must be a color of the form #rgb or #rrggbb, such as #5e6ad2',
      ),
    ),
  ),
  /** BCP 47 tag of the language of `text`. Default `en`. */
  lang: v.optional(
    v.pipe(
      v.string('must be a language tag such as de or pt-BR'),
      v.check(isLanguageTag, 'must be a BCP 47 language tag such as de or pt-BR'),
    ),
  ),
  /** Default: the direction of `lang`. */
  dir: v.optional(v.picklist(['ltr', 'rtl'], "must be 'ltr' or 'rtl'")),
  /**
   * Answers with pages of your own: `(req, res, page) => boolean`. It gets every built-in page as data, with the status already
   * set; `false` means the built-in one. Default: none.
   */
  render: v.optional(callback<RenderPage>('(req, res, page) => boolean')),
  /** Links below every page. */
  links: v.optional(
    group<PageLinks>({ terms: v.optional(pageUrl), privacy: v.optional(pageUrl), help: v.optional(pageUrl) }),
  ),
};

/** The customization of the built-in pages; the same for both adapters. */
export interface PagesOptions<TextKey extends string = SharedTextKey> extends OptionsOf<typeof brandEntries> {
  /** Texts in place of the English ones. */
  readonly text?: Readonly<Partial<Record<TextKey, string | undefined>>> | undefined;
}

/**
 * The entries of `pages`.
 *
 * @param english the texts that an application may replace
 * @param unused further names that a translation may have
 */
export function pagesEntries<Key extends string>(
  english: Readonly<Record<Key, string>>,
  unused: readonly string[] = [],
) {
  const texts = v.entriesFromList([...Object.keys(english), ...unused] as Key[], optionalText);
  const { links, ...others } = brandEntries;
  return { ...others, text: v.optional(v.strictObject(texts, 'must be an object of texts')), links };
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
