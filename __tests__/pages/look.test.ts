import { contrast, format, grounds, parseColor } from '../../lib/pages/accent.ts';
import { createBrands } from '../../lib/pages/options.ts';
import { stylesheet, stylesheetFor, stylesheetQuery } from '../../lib/pages/style.ts';
import { edgeColors, isFontList, isRadius, softColors, themeColor } from '../../lib/pages/theme.ts';
import type { PageTheme } from '../../lib/pages/theme.ts';
import { sharedText } from '../../lib/pages/texts.ts';

type Color = NonNullable<ReturnType<typeof parseColor>>;

function color(value = ''): Color {
  const parsed = parseColor(value);
  if (parsed === undefined) throw new Error(`no color: ${value}`);
  return parsed;
}

const cardColors = { light: format(grounds.light.card), dark: format(grounds.dark.card) };

/** What follows the stylesheet for an accent. */
const rulesFor = (value: string): string =>
  stylesheetFor(new URLSearchParams({ accent: value.slice(1) })).text.slice(stylesheet.length);

/** The variables of the light and of the dark scheme, as a browser reads them. */
function schemesOf(css: string): { light: Record<string, string>; dark: Record<string, string> } {
  const [light = '', dark = ''] = css.split('@media (prefers-color-scheme: dark)');
  const read = (part: string) =>
    Object.fromEntries([...part.matchAll(/--([\w-]+): ([^;]+);/g)].map(([, name = '', value = '']) => [name, value]));
  return { light: read(light), dark: read(dark.split('@media')[0] ?? '') };
}

/** Every corner of the color cube and a walk through it, and the colors of well-known brands. */
const steps = [0, 0x33, 0x66, 0x80, 0x99, 0xcc, 0xff];
const hex = (channel: number): string => channel.toString(16).padStart(2, '0');
const colors = [
  ...steps.flatMap((red) => steps.flatMap((green) => steps.map((blue) => `#${hex(red)}${hex(green)}${hex(blue)}`))),
  ...['#5e6ad2', '#635bff', '#ff4500', '#1db954', '#ffe600', '#0f62fe', '#6c47ff', '#111827', '#767676', '#777'],
];

it('keeps text on every accent readable, also on hover, and its edge visible against the card', () => {
  for (const value of colors) {
    const schemes = schemesOf(rulesFor(value));
    for (const scheme of ['light', 'dark'] as const) {
      const { accent, 'accent-hover': hover, 'accent-ink': ink, 'accent-edge': edge } = schemes[scheme];
      const report = { value, scheme };
      expect({ ...report, readable: contrast(color(accent), color(ink)) >= 4.5 }).toEqual({
        ...report,
        readable: true,
      });
      expect({ ...report, hover: contrast(color(hover), color(ink)) >= 4.5 }).toEqual({ ...report, hover: true });
      const isVisible = contrast(color(accent), color(cardColors[scheme])) >= 3 || edge === 'var(--edge)';
      expect({ ...report, isVisible }).toEqual({ ...report, isVisible: true });
      expect({ ...report, changes: hover !== accent }).toEqual({ ...report, changes: true });
    }
  }
});

it('keeps the color itself on a light card, and if it stands out from it, on a dark one', () => {
  expect(schemesOf(rulesFor('#5E6AD2')).light).toMatchObject({ accent: '#5e6ad2', 'accent-ink': '#ffffff' });
  expect(schemesOf(rulesFor('#5e6ad2')).dark['accent']).toBe('#5e6ad2');
  expect(schemesOf(rulesFor('#fe0')).light).toMatchObject({
    accent: '#ffee00',
    'accent-ink': '#000000',
    'accent-edge': 'var(--edge)',
  });
  // Navy would be invisible on a dark card.
  expect(schemesOf(rulesFor('#0b1f4d')).dark['accent']).not.toBe('#0b1f4d');
});

it('lightens an accent until it stands out from a dark card without an edge of another color', () => {
  for (const value of colors) {
    const { accent, 'accent-edge': edge } = schemesOf(rulesFor(value)).dark;
    const isVisible = contrast(color(accent), color(cardColors.dark)) >= 3;
    expect({ value, isVisible, edge }).toEqual({ value, isVisible: true, edge: 'transparent' });
  }
});

it('gives each scheme its own rules', () => {
  expect(rulesFor('#5e6ad2')).toBe(
    `:root { --accent: #5e6ad2; --accent-hover: #515bb5; --accent-ink: #ffffff; --accent-edge: transparent; --ring: #5e6ad2; }
@media (prefers-color-scheme: dark) { :root { --accent: #5e6ad2; --accent-hover: #515bb5; --accent-ink: #ffffff; --accent-edge: transparent; --ring: #5e6ad2; } }
`,
  );
  // On a light card it needs an edge, on a dark one it is its own ring.
  const { light, dark } = schemesOf(rulesFor('#ffe600'));
  expect(light['accent-edge']).toBe('var(--edge)');
  expect(dark).toMatchObject({ 'accent-edge': 'transparent', ring: '#ffe600' });
});

it.each(['red', '#12', '#12345', '#1234567', '#ggg', 'rgb(1,2,3)', '#123;}', 'x#123', '##123456', ''])(
  'treats %p as no color',
  (value) => {
    expect(parseColor(value)).toBeUndefined();
    expect(rulesFor(`#${value}`)).toBe('');
  },
);

it('has the cards and edges of the stylesheet, with the required contrast', () => {
  const schemes = schemesOf(stylesheet);
  for (const scheme of ['light', 'dark'] as const) {
    const { card, edge } = schemes[scheme];
    expect(card).toBe(cardColors[scheme]);
    expect(contrast(color(edge), color(card))).toBeGreaterThanOrEqual(3);
  }
});

it('computes contrast as WCAG does', () => {
  expect(contrast(color('#000'), color('#fff'))).toBeCloseTo(21);
  expect(contrast(color('#777'), color('#fff'))).toBeCloseTo(4.48, 2);
  expect(contrast(color('#123456'), color('#123456'))).toBe(1);
});

it('has a focus ring of the accent’s hue that stands out from the card and from the page', () => {
  const pages = { light: format(grounds.light.paper), dark: format(grounds.dark.paper) };
  for (const scheme of ['light', 'dark'] as const) {
    expect(schemesOf(stylesheet)[scheme]['paper']).toBe(pages[scheme]);
    for (const value of colors) {
      const { ring } = schemesOf(rulesFor(value))[scheme];
      for (const background of [cardColors[scheme], pages[scheme]]) {
        const isVisible = contrast(color(ring), color(background)) >= 3;
        expect({ value, scheme, background, isVisible }).toEqual({ value, scheme, background, isVisible: true });
      }
    }
  }
  expect(schemesOf(rulesFor('#5e6ad2')).light['ring']).toBe('#5e6ad2');
  expect(schemesOf(rulesFor('#ffe600')).light['ring']).not.toBe('#ffe600');
});

const bothSchemes = ['light', 'dark'] as const;
type Variables = Readonly<Record<string, string>>;

/** What a page's own stylesheet URL gives. */
function sheetOf(theme: PageTheme, accent?: string): string {
  const { href, searchParams } = new URL(stylesheetQuery({ accent, theme }), 'https://northwind.example/');
  expect(href).not.toMatch(/[<>"']/);
  return stylesheetFor(searchParams).text;
}

/** The variables of each scheme after the whole cascade. */
function variablesOf(css: string): Readonly<Record<(typeof bothSchemes)[number], Variables>> {
  const light: Record<string, string> = {};
  const dark: Record<string, string> = {};
  for (const [, scheme, block = ''] of css.matchAll(
    /(@media \(prefers-color-scheme: dark\) \{\s*)?(?<!\w):root \{([^}]*)\}/g,
  )) {
    for (const [, name = '', value = ''] of block.matchAll(/--([\w-]+): ([^;]+);/g)) {
      dark[name] = value;
      if (scheme === undefined) light[name] = value;
    }
  }
  return { light, dark };
}

function ratio(one = '', other = ''): number {
  const [first, second] = [parseColor(one), parseColor(other)];
  if (first === undefined || second === undefined) throw new Error(`no color: ${one}, ${other}`);
  return contrast(first, second);
}

const shares = ['00', '33', '66', '99', 'cc', 'ff'];
const backgrounds = [
  ...shares.flatMap((red) => shares.flatMap((green) => shares.map((blue) => `#${red}${green}${blue}`))),
  ...['#f4f5f7', '#0b1f3a', '#fff7ed', '#dbeafe', '#ffe600', '#777777'],
];

it.each(['card', 'plain'] as const)('keeps text readable on any background, in both schemes: %s', (layout) => {
  for (const background of backgrounds) {
    const variables = variablesOf(sheetOf({ background, layout }, '#5e6ad2'));
    for (const scheme of bothSchemes) {
      const { paper, card, hover, soft, ink, bad, good, next, edge, ring, accent } = variables[scheme];
      const behind = layout === 'plain' ? card : paper;
      const report = { background, scheme, behind };
      for (const text of layout === 'plain' ? [soft, ink, bad, good, next] : [soft]) {
        expect({ ...report, text, isReadable: ratio(text, behind) >= 4.5 }).toEqual({
          ...report,
          text,
          isReadable: true,
        });
      }
      expect({ ...report, onHover: ratio(soft, hover) >= 4.5 }).toEqual({ ...report, onHover: true });
      expect({ ...report, ring: ratio(ring, behind) >= 3 }).toEqual({ ...report, ring: true });
      expect({ ...report, edge: ratio(edge, card) >= 3 }).toEqual({ ...report, edge: true });
      if (scheme === 'dark')
        expect({ ...report, button: ratio(accent, card) >= 3 }).toEqual({ ...report, button: true });
    }
  }
});

it('keeps a background on which text is readable as it is', () => {
  expect(variablesOf(sheetOf({ background: '#FFF7ED' })).light['paper']).toBe('#fff7ed');
  expect(variablesOf(sheetOf({ background: '#fff7ed', layout: 'plain' })).light['card']).toBe('#fff7ed');
  expect(variablesOf(sheetOf({ background: '#0b0f1a' })).dark['paper']).toBe('#0b0f1a');
});

it('leaves the card alone where there is one, and colors the browser’s bars like the page', () => {
  const theme = { background: '#dbeafe' } as const;
  const { light } = variablesOf(sheetOf(theme));
  expect([light['card'], themeColor({ accent: undefined, theme }, 'light')]).toEqual(['#ffffff', '#ffffff']);
  const plain = { accent: undefined, theme: { ...theme, layout: 'plain' } } as const;
  expect(themeColor(plain, 'light')).toBe('#dbeafe');
  expect(themeColor(plain, 'dark')).toBe(variablesOf(sheetOf(plain.theme)).dark['card']);
});

it('takes the radius, the font and the layout from the options to the stylesheet', () => {
  const font = 'Inter, \'Helvetica Neue\', "Noto Sans", sans-serif';
  const css = sheetOf({ radius: '1.25rem', font, layout: 'plain' });
  expect(css.slice(stylesheet.length)).toMatch(
    /^:root \{ --radius: 1\.25rem; --font: Inter, 'Helvetica Neue', "Noto Sans", sans-serif; \}\nbody \{ background: var\(--card\); \}\nmain \{/,
  );
  expect(sheetOf({ radius: '0' })).toContain('--radius: 0px;');
  expect(sheetOf({})).toBe(stylesheet);
  expect(sheetOf({ layout: 'card' })).toBe(stylesheet);
});

it('computes with the tones of the stylesheet', () => {
  const variables = variablesOf(stylesheet);
  for (const scheme of bothSchemes) {
    const { card, paper, soft, edge } = variables[scheme];
    expect([card, paper]).toEqual([format(grounds[scheme].card), format(grounds[scheme].paper)]);
    expect([soft, edge]).toEqual([format(softColors[scheme]), format(edgeColors[scheme])]);
  }
});

it.each(['0', '0px', '4px', '24px', '0.5rem', '1.5rem', '0.125rem'])('takes %p as a radius', (value) => {
  expect(isRadius(value)).toBe(true);
});

it.each([
  '',
  '1',
  '25px',
  '1.51rem',
  '-1px',
  '50%',
  '1em',
  'calc(1px)',
  '1px;',
  '1px}',
  '1px 2px',
  '.5rem',
  '1e1px',
  '٤px',
])('takes no radius such as %p', (value) => {
  expect(isRadius(value)).toBe(false);
});

it.each([
  'Inter',
  'Helvetica Neue',
  '\'Noto Sans\', "Segoe UI", system-ui',
  '"ヒラギノ角ゴ Pro W3"',
  'ui-rounded,sans-serif',
  "-apple-system, BlinkMacSystemFont, 'Segoe UI', sans-serif",
])('takes %p as a font list', (value) => {
  expect(isFontList(value)).toBe(true);
});

const injections = [
  '',
  ',',
  'Inter,',
  "'Inter",
  'url(https://evil.example/x)',
  'Inter; color: red',
  'Inter } body { display: none',
  '</style><script>',
  '@import "x"',
  'expression(alert(1))',
  'var(--x)',
  'attr(x)',
  '"a\\"b"',
  'a\\3b b',
  '"a;b"',
  '"a}b"',
  '"a@b"',
  '"url(x)"',
  'Inter /* x */',
  'a\nb',
  'inherit',
  'Inter, initial',
  '1rem Inter',
  'x'.repeat(201),
];

it.each(injections)('takes no font list such as %j, from options or from a URL', (value) => {
  expect(isFontList(value)).toBe(false);
  for (const name of ['font', 'radius', 'background', 'accent', 'layout']) {
    expect(stylesheetFor(new URLSearchParams({ [name]: value })).text).toBe(stylesheet);
  }
});

it('is part of the brand in each language', () => {
  const theme = { radius: '0' };
  const brands = createBrands(sharedText, { theme, text: { de: {}, fr: {} }, lang: 'de' });
  expect(brands.of({ headers: { 'accept-language': 'fr' } })).toMatchObject({ lang: 'fr', theme });
});
