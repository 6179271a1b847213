/**
 * `npm run bench`: this package and its peers, side by side.
 *
 * --quick        few short rounds, for development; the table is printed only
 * --check        exits with 1 when a ratio falls short or the control voids the run
 * --only <text>  variants whose names contain it, and what they are compared with
 * --rounds <n>   default 9
 */
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { control, cookieSizes, overExpress, overPeers, patterns, peers } from './cases.ts';
import { startFixtures } from './fixtures.ts';
import { measureImports } from './imports.ts';
import { ask, measure, shuffled, startNode } from './measure.ts';
import type { Sample } from './measure.ts';
import { reportOf } from './report.ts';
import type { StepResults } from './steps.ts';

const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    check: { type: 'boolean', default: false },
    only: { type: 'string', default: '' },
    rounds: { type: 'string' },
  },
});
const isQuick = options.quick;
const rounds = Number(options.rounds ?? (isQuick ? 3 : 9));
const durations = isQuick ? { warmUpMs: 700, measureMs: 700 } : { warmUpMs: 1500, measureMs: 2000 };

const cases = [control, patterns, ...overExpress, ...peers, ...overPeers, ...cookieSizes];
const chosen = cases.filter(({ variant }) => variant.includes(options.only));
const variants = [...new Set([control, ...chosen].flatMap(({ variant, over }) => [over, variant]))];

const provider = await startFixtures(isQuick ? 500 : 4000);
const { fixtures } = provider;
const load = startNode(1, './load.ts', []);
const samples = new Map<string, Sample[]>(variants.map((variant) => [variant, []]));
try {
  for (let round = 1; round <= rounds; round += 1) {
    for (const variant of shuffled(variants, Math.random)) {
      process.stderr.write(`\r\u001b[Kround ${round} of ${rounds}: ${variant}`);
      samples.get(variant)?.push(await measure(load, variant, fixtures, durations));
    }
  }
  process.stderr.write('\r\u001b[Kimports, steps, memory');
  const isWhole = options.only === '';
  const { markdown, shortfalls } = reportOf({
    rounds,
    isQuick,
    samples,
    imports: isWhole ? measureImports(rounds) : [],
    steps: isWhole ? await measureSteps() : undefined,
  });
  process.stderr.write('\r\u001b[K');
  console.log(markdown);
  if (isWhole && !isQuick) writeFileSync(new URL('RESULTS.md', import.meta.url), markdown);
  for (const shortfall of shortfalls) console.error(`Falls short: ${shortfall}`);
  if (options.check && shortfalls.length > 0) process.exitCode = 1;
} finally {
  load.kill();
  provider.close();
}

async function measureSteps(): Promise<StepResults> {
  const child = startNode(0, './steps.ts', [], ['--expose-gc']);
  try {
    return await ask<StepResults>(child, { fixtures, batchMs: isQuick ? 20 : 100, sizes: [10_000, 100_000] });
  } finally {
    child.kill();
  }
}
