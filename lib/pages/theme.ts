import * as v from 'valibot';
import { accentVariables, contrast, format, grounds, mix, parseColor, toned, white } from './accent.ts';
import type { Color, Ground, Scheme } from './accent.ts';

/** How the built-in pages look, beside their accent. */
export interface PageTheme {
  /** How round buttons and fields are: a CSS length of at most `24px` or `1.5rem`. Default `0.5rem`. */
  readonly radius?: string | undefined;
  /** Font families that users have on their devices, as CSS lists them. Default: the system's font. */
  readonly font?: string | undefined;
  /**
   * The color around the card, `#rgb` or `#rrggbb`; of the whole page in the layout `plain`. Where text on it would be hard to read, it is
   * lightened, or darkened in the dark scheme. Default: pale gray, near black.
   */
  readonly background?: string | undefined;
  /** `plain`: no card, as on phones. Default `card`. */
  readonly layout?: 'card' | 'plain' | undefined;
}

/** What the stylesheet's URL tells, as the options have it. */
export interface Look {
  readonly accent: string | undefined;
  readonly theme: PageTheme | undefined;
}

/** The longest radius: larger ones would cut off what stands in the corner of a list. */
const longest: Readonly<Record<string, number>> = { px: 24, rem: 1.5 };

export function isRadius(value: string): boolean {
  const [, length, unit = ''] = /^(\d{1,2}(?:\.\d{1,4})?)(px|rem)$/.exec(value) ?? [];
  return value === '0' || Number(length) <= (longest[unit] ?? 0);
}

/** Names with or without quotes; nothing in them can end a declaration or name a URL. */
export function isFontList(value: string): boolean {
  return value.length <= 200 && value.split(',').every((family) => isFamily(family.trim()));
}

/** CSS Fonts 4 §2.1: quoted, or identifiers that are no keyword of every property. */
function isFamily(family: string): boolean {
  if (/^(?:inherit|initial|unset|revert|revert-layer|default)$/i.test(family)) return false;
  return /^(?:(["'])[\p{L}\p{N}][\p{L}\p{M}\p{N} ._-]*\1|-?[a-z][\w-]*(?: -?[a-z][\w-]*)*)$/iu.test(family);
}

/** An option that is a color. */
export const colorOption = v.pipe(
  v.string('must be a color such as #5e6ad2'),
  v.check((value) => parseColor(value) !== undefined, 'must be a color of the form #rgb or #rrggbb, such as #5e6ad2'),
);

export const themeEntries = {
  radius: v.optional(
    v.pipe(
      v.string('must be a CSS length such as 0.25rem'),
      v.check(isRadius, 'must be a CSS length from 0 to 24px or 1.5rem, such as 0.25rem'),
    ),
  ),
  font: v.optional(
    v.pipe(
      v.string('must be a list of font families'),
      v.check(isFontList, "must be a list of font families, such as Inter, 'Helvetica Neue', sans-serif"),
    ),
  ),
  background: v.optional(colorOption),
  layout: v.optional(v.picklist(['card', 'plain'], "must be 'card' or 'plain'")),
};

/** The look as fields of a query, each followed by `&`. */
export function lookQuery({ accent, theme = {} }: Look): string {
  const { background, ...others } = theme;
  const fields = { accent: accent?.slice(1).toLowerCase(), background: background?.slice(1).toLowerCase(), ...others };
  return Object.entries(fields)
    .map(([name, value]) => (value === undefined ? '' : `${name}=${encodeURIComponent(value)}&`))
    .join('');
}

/** The look in a query. Anyone can write one, so each value is checked as the options are. */
export function lookIn(query: URLSearchParams): Look {
  const checked = (name: string, check: (value: string) => boolean, before = ''): string | undefined => {
    const value = before + (query.get(name) ?? '');
    return check(value) ? value : undefined;
  };
  const isColor = (value: string): boolean => parseColor(value) !== undefined;
  return {
    accent: checked('accent', isColor, '#'),
    theme: {
      radius: checked('radius', isRadius),
      font: checked('font', isFontList),
      background: checked('background', isColor, '#'),
      layout: query.get('layout') === 'plain' ? 'plain' : 'card',
    },
  };
}

/** The rules that follow the stylesheet. */
export function lookRules({ accent, theme = {} }: Look): string {
  const { radius, font, layout } = theme;
  const both = [
    // The stylesheet computes with it, and takes no bare zero there.
    radius !== undefined && `--radius: ${radius === '0' ? '0px' : radius};`,
    font !== undefined && `--font: ${font};`,
  ];
  const color = accent === undefined ? undefined : parseColor(accent);
  const inScheme = (scheme: Scheme): string =>
    joined([
      backgroundVariables(theme, scheme),
      color !== undefined && accentVariables(color, scheme, groundOf(theme, scheme)),
    ]);
  const light = joined([...both, inScheme('light')]);
  const dark = inScheme('dark');
  return `${light && `:root { ${light} }\n`}${dark && `@media (prefers-color-scheme: dark) { :root { ${dark} } }\n`}${layout === 'plain' ? plainLayout : ''}`;
}

const joined = (rules: readonly (string | false)[]): string =>
  rules.filter((rule) => rule !== false && rule !== '').join(' ');

/** As wide as what stands in the card. */
const plainLayout = `body { background: var(--card); }
main { max-width: 21rem; padding: 0; background: none; border: 0; border-radius: 0; box-shadow: none; }
`;

/** The stylesheet's text in its softest tone: what is readable in it is readable in every other tone of text. */
export const softColors: Readonly<Record<Scheme, Color>> = { light: [90, 97, 109], dark: [163, 171, 184] };
const inks: Readonly<Record<Scheme, Color>> = { light: [22, 24, 29], dark: [236, 238, 242] };
export const edgeColors: Readonly<Record<Scheme, Color>> = { light: [134, 141, 153], dark: [111, 120, 134] };

/** What the pointer highlights on it. */
const hoverOn = (ground: Color, scheme: Scheme): Color => mix(ground, inks[scheme], 0.04);

/** The background, lightened or darkened until the text on it has a contrast of 4.5 : 1. */
function backgroundOf(background: string, scheme: Scheme): Color {
  const toward = scheme === 'light' ? white : grounds.dark.paper;
  const isReadable = (ground: Color): boolean =>
    [ground, hoverOn(ground, scheme)].every((behind) => contrast(softColors[scheme], behind) >= 4.5);
  return toned(parseColor(background) ?? toward, toward, isReadable);
}

function groundOf({ background, layout }: PageTheme, scheme: Scheme): Ground {
  if (background === undefined) return grounds[scheme];
  const paper = backgroundOf(background, scheme);
  return { paper, card: layout === 'plain' ? paper : grounds[scheme].card };
}

/** Without a card all of the page stands on the background: lines and the edges of fields follow it. */
function backgroundVariables(theme: PageTheme, scheme: Scheme): string {
  if (theme.background === undefined) return '';
  const { paper, card } = groundOf(theme, scheme);
  if (theme.layout !== 'plain') return `--paper: ${format(paper)};`;
  const ink = inks[scheme];
  const edge = toned(edgeColors[scheme], ink, (color) => contrast(color, card) >= 3);
  const colors = { card, hover: hoverOn(card, scheme), line: mix(card, ink, 0.12), edge };
  return joined(Object.entries(colors).map(([name, color]) => `--${name}: ${format(color)};`));
}

/** Of the browser's own bars on phones, where pages have no card. */
export function themeColor({ theme = {} }: Look, scheme: Scheme): string {
  return format(groundOf(theme, scheme).card);
}
