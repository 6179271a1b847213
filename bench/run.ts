/**
 * `npm run bench`: this package and its peers, side by side.
 *
 * --quick        few short rounds, for development; the table is printed only
 * --check        exits with 1 when a ratio falls short or the control voids the run
 * --only <text>  variants whose names contain it, and what they are compared with
 * --rounds <n>   for each generation of server processes; default 12
 */
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { control, cookieSizes, overExpress, overPeers, patterns, peers } from './cases.ts';
import { startFixtures } from './fixtures.ts';
import { measureImports } from './imports.ts';
import { ask, shuffled, startMeasured, startNode } from './measure.ts';
import type { MeasuredServer, Sample } from './measure.ts';
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
const rounds = Number(options.rounds ?? (isQuick ? 3 : 12));
/** Two processes of one program differ for as long as they live, so that a run takes several of each. */
const generations = isQuick ? 1 : 3;
const warmUpMs = 1200;
/** Short, so that what is compared is measured within seconds, whatever else the machine does from minute to minute. */
const sampleMs = 400;

const cases = [control, patterns, ...overExpress, ...peers, ...overPeers, ...cookieSizes];
const chosen = cases.filter(({ variant }) => variant.includes(options.only));
const variants = [...new Set([control, ...chosen].flatMap(({ variant, over }) => [over, variant]))];

const provider = await startFixtures(isQuick ? 500 : 4000);
const { fixtures } = provider;
const load = startNode(1, './load.ts', []);
const samples = new Map<string, Sample[]>(variants.map((variant) => [variant, []]));
const servers = new Map<string, MeasuredServer>();
const tell = (what: string): void => void process.stderr.write(`\r\u001b[K${what}`);
const stopServers = (): void => {
  for (const server of servers.values()) server.stop();
  servers.clear();
};
try {
  for (let generation = 1; generation <= generations; generation += 1) {
    for (const variant of variants) {
      tell(`generation ${generation} of ${generations}: ${variant} warms up`);
      servers.set(variant, await startMeasured(load, variant, fixtures, warmUpMs));
    }
    for (let round = 1; round <= rounds; round += 1) {
      tell(`generation ${generation} of ${generations}: round ${round} of ${rounds}`);
      for (const [variant, server] of shuffled([...servers], Math.random)) {
        samples.get(variant)?.push(await server.sample(sampleMs));
      }
    }
    stopServers();
  }
  tell('imports, steps, memory');
  const isWhole = options.only === '';
  const { markdown, shortfalls } = reportOf({
    rounds,
    generations,
    isQuick,
    samples,
    imports: isWhole ? measureImports(Math.max(9, rounds)) : [],
    steps: isWhole ? await measureSteps() : undefined,
  });
  tell('');
  console.log(markdown);
  if (isWhole && !isQuick) writeFileSync(new URL('RESULTS.md', import.meta.url), markdown);
  for (const shortfall of shortfalls) console.error(`Falls short: ${shortfall}`);
  if (options.check && shortfalls.length > 0) process.exitCode = 1;
} finally {
  stopServers();
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
