/** A color of sRGB: red, green and blue, each 0 to 255. */
export type Color = readonly [red: number, green: number, blue: number];

export type Scheme = 'light' | 'dark';

/** The background colors of the card and of the page around it. */
export interface Ground {
  readonly card: Color;
  readonly paper: Color;
}

/** Those of the stylesheet, by color scheme. */
export const grounds: Readonly<Record<Scheme, Ground>> = {
  light: { card: [255, 255, 255], paper: [244, 245, 247] },
  dark: { card: [22, 25, 31], paper: [14, 16, 20] },
};

/** @returns `undefined` where it is neither `#rgb` nor `#rrggbb` */
export function parseColor(value: string): Color | undefined {
  const [, digits] = /^#([0-9a-f]{3}|[0-9a-f]{6})$/i.exec(value) ?? [];
  if (digits === undefined) return undefined;
  const size = digits.length / 3;
  const channel = (index: number): number => {
    const part = digits.slice(index * size, (index + 1) * size);
    return parseInt(size === 1 ? part + part : part, 16);
  };
  return [channel(0), channel(1), channel(2)];
}

/** The contrast ratio of two colors, 1 to 21 (WCAG 2.2, "contrast ratio"). */
export function contrast(one: Color, other: Color): number {
  const [darker = 0, lighter = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (lighter + 0.05) / (darker + 0.05);
}

/** Relative luminance, 0 to 1 (WCAG 2.2, "relative luminance"). */
function luminance([red, green, blue]: Color): number {
  const linear = (channel: number): number => {
    const share = channel / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  };
  return 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue);
}

export const white: Color = [255, 255, 255];
const black: Color = [0, 0, 0];

/**
 * The stylesheet's variables for an accent color. Text on it has a contrast of at least 4.5 : 1, and its edge at
 * least 3 : 1 against the card (WCAG 2.2 §1.4.3, §1.4.11).
 */
export function accentVariables(accent: Color, scheme: Scheme, ground = grounds[scheme]): string {
  return variables(scheme === 'light' ? accent : visibleOnDark(accent, ground), scheme, ground);
}

/** The same hue, lightened until it contrasts with the dark card: a dark button would look like a secondary one there. */
function visibleOnDark(accent: Color, { card }: Ground): Color {
  return toned(accent, white, (lighter) => contrast(lighter, card) >= 3);
}

/** The same hue with a contrast of 3 : 1 against the card and the page (WCAG 2.2 §1.4.11, §2.4.13): darkened in the light scheme, lightened in the dark one. */
function ringOf(accent: Color, scheme: Scheme, { card, paper }: Ground): Color {
  return toned(accent, scheme === 'light' ? black : white, (ring) =>
    [card, paper].every((background) => contrast(ring, background) >= 3),
  );
}

/** The first mix with the other color that will do, else the other color. */
export function toned(color: Color, toward: Color, willDo: (mixed: Color) => boolean): Color {
  for (let share = 0; share < 1; share += 0.02) {
    const mixed = mix(color, toward, share);
    if (willDo(mixed)) return mixed;
  }
  return toward;
}

function variables(accent: Color, scheme: Scheme, ground: Ground): string {
  // White text is usual on a colored button; black or white always reaches 4.58 : 1.
  const ink = contrast(accent, white) >= 4.5 ? white : black;
  // Mixes away from the text's color, which raises the contrast; near the limit, slightly toward it.
  const away = ink === white ? black : white;
  const hover = contrast(accent, ink) > 12 ? mix(accent, ink, 0.14) : mix(accent, away, 0.14);
  const isDistinct = contrast(accent, ground.card) >= 3;
  return [
    `--accent: ${format(accent)};`,
    `--accent-hover: ${format(hover)};`,
    `--accent-ink: ${format(ink)};`,
    `--accent-edge: ${isDistinct ? 'transparent' : 'var(--edge)'};`,
    `--ring: ${format(ringOf(accent, scheme, ground))};`,
  ].join(' ');
}

export function mix(color: Color, other: Color, share: number): Color {
  const part = (index: 0 | 1 | 2): number => Math.round(color[index] * (1 - share) + other[index] * share);
  return [part(0), part(1), part(2)];
}

export function format(color: Color): string {
  return `#${color.map((channel) => channel.toString(16).padStart(2, '0')).join('')}`;
}
