/**
 * Runs the suites that enter the functions whose lines were changed since the last commit, at most eight, the nearest first, and
 * those that were changed themselves. No lint and no types; property tests get few inputs.
 *
 *     npm run near [-- <file of lib/> …]   these files only; a file without a change counts as changed from top to bottom
 *     npm run near -- --map [suite …]      runs all suites, or these, to learn which functions they enter (reports/near.json)
 *     npm run near -- --remember <folder>  learns it from suites that ran with NEAR_RESULTS, which takes twice as long
 *
 * Functions are known by their names, so a map stays good for weeks; each run renews what it says of the suites that it runs.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import ts from 'typescript';
import config from '../jest.config.ts';
import { functionsOf, type NamedFunction } from '../__tests__/support/source-tree.ts';

export interface Suite {
  /** How long it took, in milliseconds. */
  readonly ms: number;
  /** The functions that it entered: `file > function > inner function`. */
  readonly functions: readonly string[];
}

export type SuiteMap = Readonly<Record<string, Suite>>;

/** A changed file of lib/ with its text, and the changed lines, counted from 1. */
export interface ChangedFile {
  readonly path: string;
  readonly text: string;
  readonly lines: readonly number[];
}

const [, { tsconfig: jestOptions }] = config.transform['\\.ts$'];
const mapPath = 'reports/near.json';
const most = 8;
/** A longer suite is run only where no shorter one is near, in milliseconds. */
const longMs = 4_000;

/** The functions around the changed lines; all of a file where a line stands outside of its functions. */
export function changedFunctions({ path, text, lines }: ChangedFile, known: ReadonlySet<string>): string[] {
  const functions = functionsOf(path, text).filter(({ name }) => known.has(name));
  const around = lines.map((line) =>
    functions.filter((each) => each.firstLine <= line && line <= each.lastLine).at(-1),
  );
  if (around.length === 0 || around.includes(undefined)) return functions.map(({ name }) => name);
  return [...new Set(around.map((each) => each!.name))];
}

/** The suites that enter the functions, the nearest first: most of the functions, then the same name or folder, then the fewest others. */
export function nearestSuites(functions: readonly string[], map: SuiteMap): string[] {
  const wanted = new Set(functions);
  const files = [...new Set(functions.map((name) => name.split(' > ')[0] ?? ''))];
  const near = Object.entries(map)
    .map(([path, { ms, functions: entered }]) => ({
      path,
      ms,
      size: entered.length,
      hits: entered.filter((name) => wanted.has(name)).length,
      likeness: Math.max(0, ...files.map((file) => likeness(path, file))),
    }))
    .filter(({ hits }) => hits > 0)
    .sort((one, other) => other.hits - one.hits || other.likeness - one.likeness || one.size - other.size);
  const short = near.filter(({ ms }) => ms <= longMs);
  return (short.length > 0 ? short : near).slice(0, most).map(({ path }) => path);
}

/** 2 for the suite of the file itself, 1 for one of its folder. */
function likeness(suite: string, file: string): number {
  const isSameFolder = dirname(suite).replace('__tests__', 'lib') === dirname(file);
  const isSameName = basename(suite, '.test.ts') === basename(file, '.ts');
  return Number(isSameFolder) + Number(isSameFolder && isSameName);
}

/** The lines of `git diff --unified=0` on the new side; where lines were only removed, the one before. */
export function changedLines(diff: string): number[] {
  return [...diff.matchAll(/^@@ -\S+ \+(\d+)(?:,(\d+))? @@/gm)].flatMap(([, first = '', count = '1']) =>
    count === '0' ? [Math.max(Number(first), 1)] : Array.from({ length: Number(count) }, (_, at) => Number(first) + at),
  );
}

const git = (...args: readonly string[]): string => execFileSync('git', args, { encoding: 'utf8' });

function changes(asked: readonly string[]): { readonly lib: ChangedFile[]; readonly suites: string[] } {
  const changed = git('diff', '--name-only', '--relative', 'HEAD').split('\n');
  const added = git('ls-files', '--others', '--exclude-standard').split('\n');
  const paths = asked.length > 0 ? asked : [...changed, ...added];
  const existing = paths
    .map((path) => relative('.', path).replaceAll('\\', '/'))
    .filter((path) => path !== '' && existsSync(path));
  return {
    lib: existing
      .filter((path) => path.startsWith('lib/') && path.endsWith('.ts'))
      .map((path) => ({
        path,
        text: readFileSync(path, 'utf8'),
        lines: changedLines(git('diff', '--unified=0', 'HEAD', '--', path)),
      })),
    suites: existing.filter((path) => path.endsWith('.test.ts')),
  };
}

/** Runs the suites in this order and adds what they entered to the map. @param patterns of jest, where no suite is named */
function run(suites: readonly string[], patterns: readonly string[] = []): number {
  const results = mkdtempSync(join(tmpdir(), 'near-'));
  const { status } = spawnSync(
    process.execPath,
    [
      '--experimental-vm-modules',
      '--disable-warning=ExperimentalWarning',
      'node_modules/jest/bin/jest.js',
      '--transform={}',
      '--testEnvironment=<rootDir>/tools/near-environment.js',
      '--testSequencer=<rootDir>/tools/near-sequencer.js',
      ...(suites.length === 0 ? patterns : ['--runTestsByPath', ...suites]),
    ],
    {
      stdio: 'inherit',
      env: { ...process.env, NEAR_RESULTS: results, NEAR_ORDER: suites.join('\n'), TEST_EFFORT: 'little' },
    },
  );
  remember(results);
  rmSync(results, { recursive: true });
  return status ?? 1;
}

interface Result {
  readonly suite: string;
  readonly ms: number;
  readonly hasFailed: boolean;
  readonly files: readonly { readonly file: string; readonly ranges: readonly (readonly [number, number])[] }[];
}

/** What ts-jest makes of a file: functions have the same names there, and other places. */
function compiled(text: string): string {
  const compilerOptions = ts.convertCompilerOptionsFromJson(jestOptions, '.').options;
  return ts.transpileModule(text, { compilerOptions: { ...compilerOptions, module: ts.ModuleKind.ESNext } }).outputText;
}

/** @param isCompiled whether the suites ran as `npm test` runs them; otherwise with the types stripped */
function remember(results: string, isCompiled = false): void {
  const functions = new Map<string, ReadonlyMap<number, readonly NamedFunction[]>>();
  const byEnd = (file: string, text: string): ReadonlyMap<number, readonly NamedFunction[]> =>
    Map.groupBy(functionsOf(file, isCompiled ? compiled(text) : text), ({ end }) => end);
  const inFile = (file: string): ReadonlyMap<number, readonly NamedFunction[]> => {
    const known = functions.get(file) ?? byEnd(file, readFileSync(file, 'utf8'));
    functions.set(file, known);
    return known;
  };
  const map: Record<string, Suite> = { ...readMap() };
  for (const name of readdirSync(results)) {
    const { suite, ms, hasFailed, files }: Result = JSON.parse(readFileSync(join(results, name), 'utf8'));
    const path = relative('.', suite).replaceAll('\\', '/');
    // A test that failed may have ended before it entered everything.
    if (hasFailed && path in map) continue;
    const entered = files.flatMap(({ file, ranges }) =>
      ranges.flatMap(([start, end]) => {
        const ending = inFile(file).get(end) ?? [];
        const nearest = ending.toSorted((a, b) => Math.abs(a.start - start) - Math.abs(b.start - start))[0];
        return nearest === undefined ? [] : [nearest.name];
      }),
    );
    map[path] = { ms, functions: [...new Set(entered)].sort() };
  }
  mkdirSync(dirname(mapPath), { recursive: true });
  writeFileSync(
    mapPath,
    JSON.stringify(Object.fromEntries(Object.entries(map).filter(([suite]) => existsSync(suite)))),
  );
}

function readMap(): SuiteMap {
  return existsSync(mapPath) ? (JSON.parse(readFileSync(mapPath, 'utf8')) as SuiteMap) : {};
}

function main(args: readonly string[]): number {
  if (args.includes('--map')) {
    console.log(`Runs suites to learn which functions they enter, into ${mapPath}`);
    return run(
      [],
      args.filter((each) => each !== '--map'),
    );
  }
  if (args[0] === '--remember') {
    remember(args[1] ?? '', true);
    return 0;
  }
  const { lib, suites } = changes(args);
  if (lib.length + suites.length === 0) {
    console.log('No changed file of lib/ and no changed suite.');
    return 0;
  }
  const map = readMap();
  if (lib.length > 0 && Object.keys(map).length === 0) {
    console.log(`${mapPath} is not there yet. Run once: npm run near -- --map`);
    return 1;
  }
  const known = new Set(Object.values(map).flatMap(({ functions }) => functions));
  const functions = lib.flatMap((file) => changedFunctions(file, known));
  const found = [...new Set([...suites, ...nearestSuites(functions, map)])];
  console.log(`Changed: ${functions.length > 0 ? functions.slice(0, 12).join('\n         ') : suites.join(', ')}`);
  if (found.length === 0) console.log('No suite enters these lines.');
  return found.length === 0 ? 1 : run(found);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) process.exitCode = main(process.argv.slice(2));
