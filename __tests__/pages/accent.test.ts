import { accentRules, cardColors, contrast, parseColor } from '../../lib/pages/accent.ts';
import { stylesheet } from '../../lib/pages/style.ts';

type Color = NonNullable<ReturnType<typeof parseColor>>;

function color(value = ''): Color {
  const parsed = parseColor(value);
  if (parsed === undefined) throw new Error(`no color: ${value}`);
  return parsed;
}

const rulesFor = (value: string): string => accentRules(value) ?? '';

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
    expect(accentRules(value)).toBeUndefined();
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
  const pages = { light: '#f4f5f7', dark: '#0e1014' } as const;
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
