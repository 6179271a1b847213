import * as v from 'valibot';
import { isRecord } from '../tools/json.ts';
import { callback, group, pageUrl } from '../options/shared.ts';
import type { OptionsOf } from '../options/shared.ts';
import type { Brand, Brands, PageLinks } from './page.ts';
import { acceptedLanguages, createLanguageLookup, localeOf } from './language.ts';
import { createTexts, directionOf } from './texts.ts';
import type { OwnTexts, SharedTextKey } from './texts.ts';
import { colorOption, themeEntries } from './theme.ts';
import type { PageTheme } from './theme.ts';
import type { RenderPage } from './view.ts';

const optionalText = v.optional(v.string('must be a string'));

const languageTag = v.pipe(
  v.string('must be a language tag such as de or pt-BR'),
  v.check(isLanguageTag, 'must be a BCP 47 language tag such as de or pt-BR'),
);

const brandEntries = {
  /** The application's name, in headings and in the page's title. */
  title: optionalText,
  /** A root-relative or http(s) URL of an image, shown 2.5 rem high above the heading. Default: the name's first letter. */
  logo: v.optional(pageUrl),
  /** The image for the dark color scheme. Default: `logo`. */
  logoDark: v.optional(pageUrl),
  /** The color of buttons, `#rgb` or `#rrggbb`. Text on it stays readable in both color schemes. Default: near black, near white. */
  accent: v.optional(colorOption),
  /** The corners, the font, the background and the layout of every page. */
  theme: v.optional(group<PageTheme>(themeEntries)),
  /** BCP 47 tag of the language of `text`. If that has several languages, users who accept none of them get this one. Default `en`. */
  lang: v.optional(languageTag),
  /** `ltr` or `rtl`, for pages in `lang`. Default: the direction of `lang`. */
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
  /** Texts in place of the English ones. Of several such objects by language (`{ de, fr }`), the user's `Accept-Language` picks one. */
  readonly text?: OwnTexts<TextKey> | TextsByLanguage<TextKey> | undefined;
}

type TextsByLanguage<TextKey extends string> = Readonly<Record<string, OwnTexts<TextKey> | undefined>>;

/** By the values, because `or` is a text and a language. */
function isByLanguage<TextKey extends string>(text: unknown): text is TextsByLanguage<TextKey> {
  return isRecord(text) && Object.values(text).some(isRecord);
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
  const names = v.entriesFromList([...Object.keys(english), ...unused] as Key[], optionalText);
  const texts = v.strictObject(names, 'must be an object of texts');
  const byLanguage = v.record(languageTag, v.optional(texts));
  const { links, ...others } = brandEntries;
  return { ...others, text: v.optional(v.lazy((text) => (isByLanguage(text) ? byLanguage : texts))), links };
}

/** Longer names of a language are well-formed and not in use: `german` is a mistake for `de`. */
function isLanguageTag(value: string): boolean {
  return /^[a-z]{2,3}$/.test(localeOf(value)?.language ?? '');
}

/** The options in the form that pages read. */
export function createBrands<TextKey extends string>(
  english: Readonly<Record<TextKey, string>>,
  { text = {}, lang = 'en', dir, ...options }: PagesOptions<NoInfer<TextKey>>,
): Brands<TextKey> {
  const brandIn = (tag: string, own?: OwnTexts<TextKey>): Brand<TextKey> => createBrand(english, own, tag, options);
  const texts = Object.entries(isByLanguage(text) ? text : { [lang]: text });
  const given = texts.flatMap(([tag, own]) => (own === undefined ? [] : [brandIn(tag, own)]));
  const inLang = createLanguageLookup(given)([lang]) ?? brandIn(lang);
  const fallback = { ...inLang, dir: dir ?? inLang.dir };
  const brands = [fallback, ...given.filter((brand) => brand !== inLang)];
  if (brands.length === 1) return { arePicked: false, of: () => fallback };
  const lookUp = createLanguageLookup(brands);
  return { arePicked: true, of: (request) => lookUp(acceptedLanguages(request)) ?? fallback };
}

function createBrand<TextKey extends string>(
  english: Readonly<Record<TextKey, string>>,
  own: OwnTexts<TextKey> | undefined,
  lang: string,
  { title, logo, logoDark, accent, theme, links = {} }: Omit<PagesOptions, 'text'>,
): Brand<TextKey> {
  const text = createTexts(english, own, lang);
  return { title, logo, logoDark, accent, theme, lang, dir: directionOf(lang), links, text };
}
