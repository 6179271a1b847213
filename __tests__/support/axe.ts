import axe from 'axe-core';
import type { Page } from 'playwright-core';

interface Look {
  readonly viewport: { readonly width: number; readonly height: number };
  readonly colorScheme: 'light' | 'dark';
}

const look = (width: number, colorScheme: Look['colorScheme']): Look => ({
  viewport: { width, height: 800 },
  colorScheme,
});

/** The narrowest and the widest screen in both color schemes: two pairs, each of which has all of it once. */
export const pairsOfLooks: readonly (readonly Look[])[] = [
  [look(320, 'light'), look(1280, 'dark')],
  [look(1280, 'light'), look(320, 'dark')],
];

export interface AxeReport {
  /** The broken rules, each with the markup that breaks it. */
  readonly violations: readonly (readonly [rule: string, markup: readonly string[]])[];
  /** The rules that the page satisfies. */
  readonly passes: readonly string[];
  /** How many pixels the page is wider than the screen. */
  readonly overflow: number;
}

/** Runs in the page, and hands over as little as is looked at. A dark page differs from a light one in its colors only. */
const run = (scheme: Look['colorScheme']): string => `axe.run({
  resultTypes: ['violations'],
  ${scheme === 'dark' ? "runOnly: ['color-contrast']," : ''}
}).then(({ violations, passes }) => ({
  violations: violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)]),
  passes: passes.map(({ id }) => id),
  overflow: document.documentElement.scrollWidth - innerWidth,
}))`;

/** Runs axe in each of these looks. It is loaded once into a page, because that takes longer than all looks. */
export async function axeReports(page: Page, wanted: readonly Look[]): Promise<AxeReport[]> {
  if (!(await page.evaluate<boolean>("'axe' in globalThis"))) await page.evaluate(axe.source);
  const reports: AxeReport[] = [];
  for (const { viewport, colorScheme } of wanted) {
    await page.setViewportSize(viewport);
    // Without motion the colors of the new scheme are there at once.
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    reports.push(await page.evaluate<AxeReport>(run(colorScheme)));
  }
  return reports;
}

/** What is wrong with the page that is open, on a small light screen and on a large dark one. */
export async function axeFaults(page: Page): Promise<unknown[]> {
  const reports = await axeReports(page, pairsOfLooks.slice(0, 1).flat());
  return reports.flatMap(({ violations, overflow }): unknown[] =>
    overflow > 0 ? [...violations, { overflow }] : [...violations],
  );
}
