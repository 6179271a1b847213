import { readFileSync } from 'node:fs';
import { posix } from 'node:path';
import ts from 'typescript';
import { descendants, readSource } from '../__tests__/support/source-tree.ts';

/** What an application, a test or another package does with sign-in, such as passkeys. */
export interface Capability {
  readonly name: string;
  readonly words: readonly string[];
  /** What also names it in suites and docs, such as its paths. */
  readonly inSuites?: readonly string[];
  /** The folder that knows it by right. */
  readonly room: string;
  /** A folder of the kernel that it shares with another capability. */
  readonly floor?: string;
}

/** A number with what it counts. `null`: nothing to count yet. */
export interface Measure {
  readonly value: number | null;
  readonly note?: string;
  readonly list?: readonly string[];
}

export interface Source {
  readonly path: string;
  readonly text: string;
  readonly lines: number;
  /** The paths of the relative imports, from the root. */
  readonly imports: readonly string[];
}

interface Plan {
  readonly capabilities: readonly Capability[];
  readonly roomsIn: readonly string[];
  readonly notRooms: readonly string[];
}

export function readTree(paths: readonly string[], read = (path: string) => readFileSync(path, 'utf8')): Source[] {
  const sorted = paths.map((path) => path.replaceAll('\\', '/')).sort();
  return sorted.map((path) => {
    const text = read(path);
    const { lines, imports } = readSource(path, text);
    const targets = imports.filter((specifier) => specifier?.startsWith('.') === true);
    return { path, text, lines, imports: targets.map((target) => posix.join(posix.dirname(path), target!)) };
  });
}

/** Everything that reading the files tells. A translation is a list of texts, so no number counts it. */
export function measure(plan: Plan, lib: readonly Source[], tests: readonly Source[]): Record<string, Measure> {
  const code = lib.filter(({ path }) => !path.startsWith('lib/texts/'));
  const knowing = plan.capabilities.map(({ name, words, room, floor }) => [
    `files that know ${name}, outside of its room`,
    knowers(code, words, [room, floor ?? room]),
  ]);
  const levels = ['http', 'backend', 'session'].map((part) => [`levels of imports in ${part}/`, levelsIn(code, part)]);
  return {
    ...Object.fromEntries([...knowing, ...levels]),
    'files in one folder, at most': fullestFolder(code),
    'imports from one room to another': betweenRooms(plan, code),
    'kinds of time in the record of a session': timesOfRecord(code),
    'maps and sets in session/': countNodes(code.filter(inPart('session')), isEmptyCollection),
    'calls of a deadline': countNodes(code, isDeadline),
    'registries of a module (WeakMaps)': countNodes(code, isRegistry),
    'lines of the throttle': linesOf(code, /throttle(?!\/(?:client-address|options))/),
    'tests that import internals, in percent': internalTests(tests),
    'lines of lib/ without translations': { value: code.reduce((sum, { lines }) => sum + lines, 0) },
    'lines of refresh and ending': linesOf(
      code,
      /^lib\/session\/(?:refresh\/[\w-]+|ended\/(?:records?|revocations)|resolve)\.ts$/,
    ),
  };
}

const folderOf = (path: string): string => posix.dirname(path);
const inPart =
  (part: string) =>
  ({ path }: Source): boolean =>
    path.startsWith(`lib/${part}/`);

/** Where a word of the capability stands anywhere in a file, in comments too: its reader has to know what it is. */
function knowers(code: readonly Source[], words: readonly string[], own: readonly string[]): Measure {
  const pattern = new RegExp(words.join('|'), 'i');
  const list = code
    .filter(({ path, text }) => !own.some((folder) => path.startsWith(`${folder}/`)) && pattern.test(text))
    .map(({ path }) => path);
  return { value: list.length, note: `${new Set(list.map(folderOf)).size} folders`, list };
}

/** The longest chain of imports within a part, types included, in files. */
function levelsIn(code: readonly Source[], part: string): Measure {
  const own = new Map(code.filter(inPart(part)).map(({ path, imports }) => [path, imports]));
  const chains = new Map<string, readonly string[]>();
  const chainFrom = (path: string): readonly string[] => {
    const known = chains.get(path);
    if (known !== undefined) return known;
    // A circle, which another test forbids, ends here.
    chains.set(path, [path]);
    const below = (own.get(path) ?? []).filter((to) => own.has(to)).map(chainFrom);
    const chain = [path, ...longest(below)];
    chains.set(path, chain);
    return chain;
  };
  const list = longest([...own.keys()].map(chainFrom));
  return { value: list.length, list };
}

function longest(lists: readonly (readonly string[])[]): readonly string[] {
  return lists.reduce((one, other) => (other.length > one.length ? other : one), []);
}

function fullestFolder(code: readonly Source[]): Measure {
  const folders = Map.groupBy(code, ({ path }) => folderOf(path));
  const sizes = [...folders].map(([folder, { length }]) => ({ folder, length })).sort((a, b) => b.length - a.length);
  const [first] = sizes;
  return {
    value: first?.length ?? 0,
    note: first?.folder ?? '',
    list: sizes.map(({ folder, length }) => `${length} ${folder}`),
  };
}

/** A file of one room that imports a file of another one. Without rooms there is nothing to count. */
function betweenRooms({ roomsIn, notRooms }: Plan, code: readonly Source[]): Measure {
  const roomOf = (path: string): string | undefined => {
    const parent = roomsIn.find((each) => path.startsWith(`${each}/`));
    const [name = '', ...below] = parent === undefined ? [] : path.slice(parent.length + 1).split('/');
    const room = `${parent ?? ''}/${name}`;
    return below.length === 0 || notRooms.includes(room) ? undefined : room;
  };
  const rooms = new Set(code.map(({ path }) => roomOf(path)).filter((room) => room !== undefined));
  const list = code.flatMap(({ path, imports }) =>
    imports.filter((to) => isOtherRoom(roomOf(path), roomOf(to))).map((to) => `${path} → ${to}`),
  );
  if (rooms.size === 0) return { value: null, note: 'no rooms yet' };
  return { value: list.length, note: `${rooms.size} rooms`, list };
}

function isOtherRoom(from: string | undefined, to: string | undefined): boolean {
  return from !== undefined && to !== undefined && from !== to;
}

/** The list in the comment of the type of a record: one line for each time. */
function timesOfRecord(code: readonly Source[]): Measure {
  const file = code.find(({ text }) => /^export (?:type|interface) SessionRecord\b/m.test(text));
  const above = file?.text.split(/^export (?:type|interface) SessionRecord\b/m)[0] ?? '';
  const comment = above.slice(above.lastIndexOf('/**'));
  const list = [...comment.matchAll(/^ \* - `(\w+):?`/gm)].map(([, name = '']) => name);
  return { value: list.length, list };
}

function countNodes(code: readonly Source[], isCounted: (node: ts.Node) => boolean): Measure {
  const list = code.flatMap(({ path, text }) => {
    const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
    return descendants(file)
      .filter(isCounted)
      .map((node) => `${path}:${file.getLineAndCharacterOfPosition(node.getStart()).line + 1}`);
  });
  return { value: list.length, list };
}

const calleeOf = (node: ts.Node): string =>
  ts.isCallExpression(node) || ts.isNewExpression(node) ? node.expression.getText() : '';

/** Collections that begin empty and fill: what is made from a list at once is a value. */
function isEmptyCollection(node: ts.Node): boolean {
  const callee = calleeOf(node);
  if (callee === 'createBoundedMap') return true;
  return ts.isNewExpression(node) && /^(?:Weak)?(?:Map|Set)$/.test(callee) && (node.arguments ?? []).length === 0;
}

function isDeadline(node: ts.Node): boolean {
  return /^(?:withDeadline|untilAborted|answerWithin|WaitingTime|AbortSignal\.timeout)$/.test(calleeOf(node));
}

/** What is known of a request, a response or a session ends with it. */
const ofOneRequest = /^(?:IncomingMessage|ServerResponse|AuthRequest|\w*Session)$/;

/** A WeakMap that a module keeps, whatever its functions are called with: an adapter's data outside of the adapter. */
function isRegistry(node: ts.Node): boolean {
  if (calleeOf(node) !== 'WeakMap' || !ts.isNewExpression(node)) return false;
  const isInModule = ts.findAncestor(node, (each) => ts.isFunctionLike(each)) === undefined;
  return isInModule && !ofOneRequest.test(node.typeArguments?.[0]?.getText() ?? '');
}

function linesOf(code: readonly Source[], pattern: RegExp): Measure {
  const counted = code.filter(({ path }) => pattern.test(path));
  return {
    value: counted.reduce((sum, { lines }) => sum + lines, 0),
    list: counted.map(({ path, lines }) => `${lines} ${path}`),
  };
}

/** What package.json exports, with the types and errors that the main entry exports whole. */
const entry = /^lib\/(?:(?:index|types|errors)|(?:b2b|backend|client|passport|redis|testing)\/index|texts\/\w+)\.ts$/;

function internalTests(tests: readonly Source[]): Measure {
  const list = tests
    .filter(({ imports }) => imports.some((to) => to.startsWith('lib/') && !entry.test(to)))
    .map(({ path }) => path);
  const percent = Math.round((1000 * list.length) / Math.max(tests.length, 1)) / 10;
  return { value: percent, note: `${list.length} of ${tests.length}`, list };
}
