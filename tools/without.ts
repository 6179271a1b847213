/**
 * Shows that a capability is a room: copies the tree into a temporary folder, takes the room's folder away and the lines that name
 * it, and runs types, lint of lib/ and the suites of `npm test` that the room can reach: by imports, or because they read files or start
 * processes. All others run on the same code as before. The room's own, and the cases of others that name it, are left out.
 *
 *     npm run without -- <room> … [--list | --keep]     such as `passkeys`, `sql`
 *     npm run without -- --all                          one room after the other
 *     npm run without -- --turn                         the one whose turn it is, by TEST_VARIANT_TURN, with the suites whose turn it is
 *
 * It prints each line of lib/ that it took away, and each suite and case that it left out. In lib/ only imports, exports, items of
 * lists and calls that stand alone are taken away; where that is not enough, the room is none. What names a room in suites stands in
 * tools/house.json. `--list` ends after the lists; `--keep` leaves the folder.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createHash } from 'node:crypto';
import { tmpdir } from 'node:os';
import { basename, dirname, join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import config from '../jest.config.ts';
import type { House } from './house.ts';
import { hasTurn, inTurn } from './turn.ts';
import { remove, type Removed, type Texts } from './without-removal.ts';
import { createTypeCheck, type TypeProblem } from './without-types.ts';

/** A folder of lib/ that can be taken away. */
export interface Room {
  readonly name: string;
  readonly folder: string;
  /** What names it in suites, besides its files and what they export. */
  readonly words: RegExp;
}

export function roomsOf({ capabilities, roomsIn, notRooms }: House, folders: readonly string[]): Room[] {
  return folders
    .filter((folder) => roomsIn.includes(dirname(folder)) && !notRooms.includes(folder))
    .map((folder) => {
      const words = capabilities
        .filter(({ room }) => room === folder)
        .flatMap((each) => [...each.words, ...(each.inSuites ?? [])]);
      // Its folder names it, too, wherever it stands.
      const all = [...words, folder.replace(/^lib\//, '')];
      return { name: basename(folder), folder, words: new RegExp(all.join('|'), 'i') };
    });
}

/** They look for all blocks of the docs, pages, texts and routes that a suite names, calls of the clients, and functions of the skill. */
const comparingTitles = [
  'the examples of README and docs are all run except for',
  'a page as data is named here for every kind of the adapter',
  'the outlines are of all ',
  'follow the server’s own response bodies',
  'names an existing test at the end of each promise',
  'the skill names only functions',
  'exports just its public names',
  'the codes of GoTrue: ',
  'the list of pages that suites read',
  'the list of sentences has each text',
];

/** The titles of cases that do not name the room, where a suite takes them from lib/. */
export function titlesWithout({ words }: Room): string {
  return `^(?![^]*(?:${[words.source, ...comparingTitles].join('|')}))`;
}

/** The suites of a room: those in its folder, and those that are named after it. */
export function filesOf({ folder, words }: Room, paths: readonly string[]): string[] {
  const own = [`${folder}/`, `${folder.replace(/^lib\//, '__tests__/')}/`];
  return paths.filter(
    (path) => own.some((each) => path.startsWith(each)) || (path.endsWith('.test.ts') && words.test(path)),
  );
}

/** The keys of the texts that a room brings along. */
export function textKeysOf(text: string): Set<string> {
  return new Set([...text.matchAll(/^ {2}'?([\w.-]+)'?:/gm)].map(([, key = '']) => key));
}

/** The names of the options that a room brings along. */
export function optionKeysOf(text: string): Set<string> {
  const entries = [...text.matchAll(/^export const \w+Entries = \{\n([^]*?)^\};$/gm)];
  return new Set(entries.flatMap(([, inner = '']) => [...textKeysOf(inner)]));
}

const git = (...args: readonly string[]): string[] =>
  execFileSync('git', args, { encoding: 'utf8', maxBuffer: 1e8 })
    .split('\0')
    .filter((path) => path !== '' && existsSync(path));

/** What of the tree is not committed is copied, too. */
function listTree(): string[] {
  return git('ls-files', '-z', '--cached', '--others', '--exclude-standard');
}

/** Makes the folder what the tree is. Files that are the same keep their times, for the caches of jest. */
function copyTree(paths: readonly string[], to: string): void {
  const wanted = new Set(paths);
  if (existsSync(to))
    for (const path of globSync('**/*', { cwd: to, exclude: ['node_modules'], withFileTypes: true }))
      if (path.isFile()) {
        const own = join(path.parentPath, path.name).slice(to.length + 1);
        if (!wanted.has(own)) rmSync(join(to, own));
      }
  for (const path of paths) {
    const target = join(to, path);
    if (existsSync(target) && readFileSync(target).equals(readFileSync(path))) continue;
    mkdirSync(dirname(target), { recursive: true });
    copyFileSync(path, target);
  }
  if (!existsSync(join(to, 'node_modules'))) symlinkSync(realpathSync('node_modules'), join(to, 'node_modules'));
}

/** Code blocks that suites run, and that name the room, are cases, too. */
export function withoutBlocks(path: string, text: string, words: RegExp): { text: string; removed: Removed[] } {
  const removed: Removed[] = [];
  const rest = text.replaceAll(/^( *)```[tj]s\b.*\n[^]*?^\1```\n/gm, (block: string, _: string, at: number) => {
    if (!words.test(block)) return block;
    removed.push({ path, line: text.slice(0, at).split('\n').length, text: block.split('\n')[1] ?? '' });
    return '';
  });
  return { text: rest, removed };
}

/** They look in the tree for what the docs name, and the docs still tell of the room. */
const comparing = ['asvs', 'links', 'security', 'statements'].map((name) => `__tests__/docs/${name}.test.ts`);

/** Lists that are made from the code. */
const generated = ['option-table', 'error-table', 'agent-files', 'text-lists'].map((name) => `tools/${name}.ts`);

interface Result {
  readonly removed: readonly Removed[];
  readonly problems: readonly string[];
}

/** Takes the room away, and then whatever the compiler still complains about outside of lib/. */
function takeAway(room: Room, paths: readonly string[], to: string): Result {
  let texts: Texts = Object.fromEntries(
    paths.filter((path) => path.endsWith('.ts')).map((path) => [path, readFileSync(path, 'utf8')]),
  );
  const textsFile = `${room.folder}/texts.ts`;
  const textKeys = textsFile in texts ? textKeysOf(texts[textsFile] ?? '') : new Set<string>();
  const optionKeys = optionKeysOf(texts[`${room.folder}/options.ts`] ?? '');
  const files = [...filesOf(room, paths), ...comparing];
  for (const path of files) rmSync(join(to, path));
  const removed: Removed[] = files.map((path) => ({ path, line: 0, text: '' }));
  const problems: string[] = [];
  const apply = (start: Parameters<typeof remove>[1]): void => {
    const { texts: changed, removed: more, stuck } = remove(texts, start);
    removed.push(...more);
    problems.push(...stuck.map((each) => `${each.path}:${each.line} ${each.text}`));
    texts = Object.fromEntries(
      Object.entries(texts).flatMap(([path, text]) => {
        const now = changed.has(path) ? changed.get(path) : text;
        return now === undefined ? [] : [[path, now]];
      }),
    );
    for (const [path, text] of changed) {
      if (text === undefined) rmSync(join(to, path), { force: true });
      else writeFileSync(join(to, path), text);
    }
  };
  const incomplete: string[] = [];
  for (const path of paths.filter((each) => each.endsWith('.md'))) {
    const { text, removed: blocks } = withoutBlocks(path, readFileSync(path, 'utf8'), room.words);
    removed.push(...blocks);
    if (blocks.length > 0) writeFileSync(join(to, path), text);
    if (blocks.length > 0) incomplete.push(path);
  }
  // Cases that run the blocks of a page name the page.
  const words = new RegExp([room.words.source, ...incomplete].join('|'), 'i');
  apply({ files, words, folder: room.folder.replace(/^lib\//, ''), textKeys, optionKeys });
  const check = createTypeCheck(to, `${to}.tsbuildinfo`);
  for (let round = 0; round < 12; round += 1) {
    const found = check();
    const mendable = round < 11 ? found.filter(isOutside) : [];
    const rest = found.filter((each) => !mendable.includes(each));
    if (rest.length > 0 || mendable.length === 0) {
      problems.push(...rest.map(({ path, line, message }) => `${path}:${line} ${message}`));
      break;
    }
    console.log(`types: ${mendable.length} to follow`);
    apply({ files: [], places: mendable });
  }
  return { removed, problems };
}

function isOutside({ path }: TypeProblem): boolean {
  return path !== '' && !path.startsWith('lib/');
}

function printLists({ removed, problems }: Result): void {
  const show = (title: string, list: readonly string[]): void =>
    console.log(`\n${title}: ${list.length}\n${list.map((line) => `  ${line}`).join('\n')}`);
  const told = ({ path, line, text }: Removed): string => `${path}${line === 0 ? '' : `:${line} ${text}`}`;
  const files = removed.filter(({ line }) => line === 0);
  const parts = removed.filter(({ line }) => line > 0);
  show('Files', files.map(told));
  show('Lines of lib/', parts.filter(({ path }) => path.startsWith('lib/')).map(told));
  show('Cases of other suites', parts.filter(({ path }) => path.startsWith('__tests__/')).map(told));
  show(
    'Lines of the example, the docs and the tools',
    parts.filter(({ path }) => !/^(?:lib|__tests__)\//.test(path)).map(told),
  );
  if (problems.length > 0) show('What still names the room', problems);
}

function run(to: string, name: string, args: readonly string[]): boolean {
  const started = performance.now();
  // `.ci/run` counts the tests of the whole tree; of this one it hears whether all passed.
  const env = { ...process.env, JEST_REPORTS: undefined };
  const { status } = spawnSync(process.execPath, args, { cwd: to, stdio: 'inherit', env });
  console.log(`${name}: ${status === 0 ? 'passed' : 'failed'}, ${((performance.now() - started) / 1000).toFixed(0)} s`);
  return status === 0;
}

const jest = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning', 'node_modules/jest/bin/jest.js'];

/** The suites that the room can reach, in the tree that still has it. */
function suitesNear({ folder }: Room, paths: readonly string[]): Set<string> {
  const reading = paths.filter(
    (path) => /^__tests__\/.*\.ts$/.test(path) && /child_process|node:fs/.test(readFileSync(path, 'utf8')),
  );
  const from = [...paths.filter((path) => path.startsWith(`${folder}/`)), ...reading];
  const found = execFileSync(process.execPath, [...jest, '--listTests', '--findRelatedTests', ...from], {
    encoding: 'utf8',
  });
  const all = found.split('\n').filter((path) => path !== '');
  return new Set(all.map((path) => relative(process.cwd(), path).replaceAll('\\', '/')));
}

/** What tells jest of the suites near the room; in a turn only of those whose turn it is. */
function suitesOf(room: Room, paths: readonly string[], isTurn: boolean): string[] {
  const near = suitesNear(room, paths);
  const ignored = paths
    .filter((path) => path.endsWith('.test.ts'))
    .filter((path) => !near.has(path) || (isTurn && !hasTurn(path, 'without a room')))
    .map((path) => `/${path.replaceAll('.', '\\.')}$`);
  const patterns = [...config.testPathIgnorePatterns, ...ignored].flatMap((each) => ['--testPathIgnorePatterns', each]);
  return ['--testNamePattern', titlesWithout(room), ...patterns];
}

/** @returns whether everything passed */
function tryWithout(room: Room, options: readonly string[]): boolean {
  console.log(`\n=== without ${room.folder}`);
  const name = createHash('sha256').update(process.cwd()).digest('hex').slice(0, 12);
  const to = join(realpathSync(tmpdir()), `express-auth-adapters-without-${name}`);
  const paths = listTree();
  copyTree(paths, to);
  const result = takeAway(room, paths, to);
  printLists(result);
  const suites = suitesOf(room, paths, options.includes('--turn'));
  const hasPassed =
    result.problems.length === 0 &&
    (options.includes('--list') ||
      [
        ...generated.map((path) => run(to, path, [path])),
        run(to, 'lint', ['node_modules/eslint/bin/eslint.js', '--max-warnings', '0', 'lib']),
        run(to, 'suites', [...jest, '--transform={}', '--testTimeout=120000', ...suites]),
      ].every(Boolean));
  if (!options.includes('--keep')) rmSync(to, { recursive: true, force: true });
  console.log(`\nwithout ${room.name}: ${hasPassed ? 'passed' : 'failed'}`);
  return hasPassed;
}

function main(args: readonly string[]): boolean {
  const house: House = JSON.parse(readFileSync('tools/house.json', 'utf8'));
  const folders = house.roomsIn.flatMap((folder) =>
    readdirSync(folder, { withFileTypes: true })
      .filter((each) => each.isDirectory())
      .map(({ name }) => `${folder}/${name}`),
  );
  const rooms = roomsOf(house, folders);
  const asked = args.filter((each) => !each.startsWith('--'));
  const unknown = asked.filter((each) => !rooms.some(({ name }) => name === each));
  const all = args.includes('--all') ? rooms : args.includes('--turn') ? inTurn('rooms', rooms) : [];
  const chosen = asked.length === 0 ? all : rooms.filter(({ name }) => asked.includes(name));
  if (unknown.length > 0 || chosen.length === 0) {
    console.log(`Name one of these rooms: ${rooms.map(({ name }) => name).join(', ')}`);
    return false;
  }
  return chosen.map((room) => tryWithout(room, args)).every(Boolean);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href)
  process.exitCode = main(process.argv.slice(2)) ? 0 : 1;
