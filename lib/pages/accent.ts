/** A color of sRGB: red, green and blue, each 0 to 255. */
type Color = readonly [red: number, green: number, blue: number];

/** The background color of the stylesheet's card, by color scheme. */
export const cardColors = { light: '#ffffff', dark: '#16191f' } as const;
/** The background color of the page around the card. */
const paperColors = { light: '#f4f5f7', dark: '#0e1014' } as const;

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

const white: Color = [255, 255, 255];
const black: Color = [0, 0, 0];

/**
 * The stylesheet's rules for an accent color, in the light and the dark scheme. Text on it has a contrast of
 * at least 4.5 : 1, and its edge at least 3 : 1 against the card (WCAG 2.2 §1.4.3, §1.4.11).
 *
 * @param value `#rgb` or `#rrggbb`
 * @returns `undefined` for anything else
 */
export function accentRules(value: string): string | undefined {
  const accent = parseColor(value);
  if (accent === undefined) return undefined;
  return `:root { ${variables(accent, 'light')} }
@media (prefers-color-scheme: dark) { :root { ${variables(visibleOnDark(accent), 'dark')} } }
`;
}

/** The same hue, lightened until it contrasts with the dark card: a dark button would look like a secondary one there. */
function visibleOnDark(accent: Color): Color {
  const card = parseColor(cardColors.dark) ?? black;
  for (let share = 0; share < 1; share += 0.02) {
    const lighter = mix(accent, white, share);
    if (contrast(lighter, card) >= 3) return lighter;
  }
  return white;
}

/** The same hue with a contrast of 3 : 1 against the card and the page (WCAG 2.2 §1.4.11, §2.4.13): darkened in the light scheme, lightened in the dark one. */
function ringOf(accent: Color, scheme: 'light' | 'dark'): Color {
  const backgrounds = [cardColors[scheme], paperColors[scheme]].map((color) => parseColor(color) ?? white);
  const toward = scheme === 'light' ? black : white;
  for (let share = 0; share < 1; share += 0.02) {
    const ring = mix(accent, toward, share);
    if (backgrounds.every((background) => contrast(ring, background) >= 3)) return ring;
  }
  return toward;
}

function variables(accent: Color, scheme: 'light' | 'dark'): string {
  // White text is usual on a colored button; black or white always reaches 4.58 : 1.
  const ink = contrast(accent, white) >= 4.5 ? white : black;
  // Mixes away from the text's color, which raises the contrast; near the limit, slightly toward it.
  const away = ink === white ? black : white;
  const hover = contrast(accent, ink) > 12 ? mix(accent, ink, 0.14) : mix(accent, away, 0.14);
  const isDistinct = contrast(accent, parseColor(cardColors[scheme]) ?? white) >= 3;
  return [
    `--accent: ${format(accent)};`,
    `--accent-hover: ${format(hover)};`,
    `--accent-ink: ${format(ink)};`,
    `--accent-edge: ${isDistinct ? 'transparent' : 'var(--edge)'};`,
    `--ring: ${format(ringOf(accent, scheme))};`,
  ].join(' ');
}

function mix(color: Color, other: Color, share: number): Color {
  const part = (index: 0 | 1 | 2): number => Math.round(color[index] * (1 - share) + other[index] * share);
  return [part(0), part(1), part(2)];
}

function format(color: Color): string {
  return `#${color.map((channel) => channel.toString(16).padStart(2, '0')).join('')}`;
}
