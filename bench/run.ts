/**
 * `npm run bench`: this package and its peers, pair by pair.
 *
 * --quick        few short rounds, for development; the table is printed only
 * --check        exits with 1 when a ratio falls short or the control voids the run
 * --only <text>  cases one of whose variants contains it, and the control
 * --rounds <n>   for each pair of server processes; default 3
 * --former <dir> only our programs over those of another build (its `dist`), in one run
 */
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { accepting, control, cookieSizes, overExpress, overFormer, overPeers, patterns, peers } from './cases.ts';
import type { Case } from './cases.ts';
import { startFixtures } from './fixtures.ts';
import { measureImports } from './imports.ts';
import { ask, measurePair, shuffled, startNode } from './measure.ts';
import type { Round } from './measure.ts';
import { reportOf } from './report.ts';
import type { StepResults } from './steps.ts';

const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    check: { type: 'boolean', default: false },
    only: { type: 'string', default: '' },
    rounds: { type: 'string' },
    former: { type: 'string', default: '' },
  },
});
const isQuick = options.quick;
const isWhole = options.only === '' && options.former === '';
if (options.former !== '') process.env['BENCH_FORMER'] = pathToFileURL(resolve(options.former)).href;
const rounds = Number(options.rounds ?? (isQuick ? 4 : 3));
/** The number of process pairs; each round of shuffled cases has one of each, or several of a tight one. */
const generations = isQuick ? 1 : 3;
const pairsOfTight = isQuick ? 1 : 4;

const ordinary = [control, ...overExpress, ...peers, ...overPeers, patterns, accepting, ...cookieSizes];
const cases = options.former === '' ? ordinary : [control, ...overFormer];
const chosen = cases.filter(
  (each) => each === control || each.variant.includes(options.only) || each.over.includes(options.only),
);

const provider = await startFixtures(isQuick ? 500 : 4000);
const { fixtures } = provider;
const load = startNode(1, './load.ts', []);
const measured = new Map<Case, Round[]>(chosen.map((each) => [each, []]));
const tell = (what: string): void => void process.stderr.write(`\r\u001b[K${what}`);
try {
  for (let generation = 1; generation <= generations; generation += 1) {
    const turns = chosen.flatMap((each) =>
      Array.from({ length: each.isTight === true ? pairsOfTight : 1 }, () => each),
    );
    for (const each of shuffled(turns, Math.random)) {
      tell(`generation ${generation} of ${generations}: ${each.title}`);
      measured.get(each)?.push(...(await measurePair(load, each, fixtures, rounds)));
    }
  }
  tell('imports, steps, memory');
  const { markdown, shortfalls } = reportOf({
    rounds,
    pairs: { usual: generations, tight: generations * pairsOfTight },
    isQuick,
    measured,
    imports: isWhole ? measureImports(isQuick ? 9 : 25) : [],
    steps: isWhole ? await measureSteps() : undefined,
  });
  tell('');
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
