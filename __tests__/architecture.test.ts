import { globSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { type FunctionSize, readSource, type SourceFile } from './support/source-tree.ts';

/**
 * The floors, from the lowest to the highest, and the packages that each part may import. A file may import from its own part and
 * from lower floors. Only `session` and the test kits know jose.
 */
const floors: readonly Readonly<Record<string, readonly string[]>>[] = [
  { 'types.ts': [], 'errors.ts': [], 'error-table.ts': [], 'nearest.ts': [] },
  { tools: ['cookie', 'node:crypto', 'node:events', 'path-to-regexp'] },
  {
    session: ['debug', 'jose', 'node:crypto', 'node:diagnostics_channel', 'node:net', 'node:timers/promises'],
  },
  {
    http: ['express', 'negotiator', 'node:crypto', 'node:http', 'node:net', 'node:util/types', 'on-headers', 'valibot'],
    options: ['node:fs', 'node:module', 'node:url', 'node:util', 'valibot'],
    pages: ['express', 'negotiator', 'node:http', 'valibot'],
  },
  {
    b2b: ['@workos-inc/node', 'express', 'iron-session', 'node:crypto', 'valibot'],
    backend: [
      '@supabase/ssr',
      '@supabase/supabase-js',
      'express',
      'node:crypto',
      'node:http',
      'node:timers/promises',
      'valibot',
    ],
    redis: ['iron-session', 'node:crypto', 'node:timers/promises', 'valibot'],
    client: [],
  },
  {
    'backend/webauthn/ceremonies.ts': [],
    'commands/refusal.ts': [],
    doors: ['express', 'node:http', 'valibot'],
  },
  {
    'every-entry.ts': [],
    'backend/pages/page-script.ts': [],
    'commands/arguments.ts': ['node:util'],
    'commands/files.ts': ['node:crypto', 'node:fs', 'node:path'],
    'commands/start-file.ts': ['node:fs', 'node:path'],
  },
  { 'b2b/index.ts': [], 'backend/index.ts': [] },
  {
    testing: ['jose', 'node:crypto'],
    passport: ['node:http'],
    doctor: ['node:fs', 'node:util'],
    texts: [],
    commands: ['node:child_process', 'node:crypto', 'node:fs', 'node:path', 'node:util'],
  },
  { 'index.ts': [] },
];

/** The packages that one room alone imports: they leave with it. */
const ofRooms: Readonly<Record<string, readonly string[]>> = {
  'backend/factors': ['uqr'],
  'backend/throttle': ['rate-limiter-flexible'],
  'doors/resource': ['node:net'],
  'doors/sql': ['node:async_hooks'],
  'doors/store-session': ['node:crypto'],
  'doors/websocket': ['node:stream'],
};

/** Parts of one floor that import from each other. */
const together = ['http', 'options', 'pages'];

/** The size limits of lib/. A limit may fall, and rises only in a commit that explains why. */
const limits = { longestFile: 400, longFunctions: 2, complexity: 15 };

const files = globSync('lib/**/*.{ts,cjs}').map((path) => read(path.replaceAll('\\', '/').slice('lib/'.length)));

function read(path: string, text = readFileSync(`lib/${path}`, 'utf8')): SourceFile {
  return readSource(path, text);
}

/** What a room has for another entry than its adapter's: it belongs to that entry, and its room's code does not import it. */
const leaf = /^(?:b2b|backend|doors)\/[\w-]+\/(client|doctor|testing)\.ts$/;

/** An entry is a part of its own: it exports what doors and rooms have. */
const partOf = (path: string): string =>
  floors.some((parts) => path in parts) ? path : (leaf.exec(path)?.[1] ?? path.split('/')[0] ?? '');
const floorOf = (path: string): number => floors.findIndex((parts) => partOf(path) in parts);
const isRelative = (specifier: string): boolean => specifier.startsWith('.');
const targetOf = (path: string, specifier: string): string => posix.join(posix.dirname(path), specifier);

/** The folders of rooms and doors, and the files that name one: with its folder and these lines it is gone. */
const namedIn: Readonly<Record<string, { readonly kind: 'room' | 'door'; readonly files: readonly string[] }>> = {
  b2b: { kind: 'room', files: ['b2b/features.ts', 'b2b/options.ts'] },
  backend: {
    kind: 'room',
    files: ['backend/features.ts', 'backend/option-schema.ts', 'backend/pages/text.ts', 'backend/index.ts'],
  },
  http: {
    kind: 'room',
    files: ['b2b/features.ts', 'b2b/options.ts', 'backend/features.ts', 'backend/option-schema.ts'],
  },
  doors: { kind: 'door', files: ['every-entry.ts', 'backend/index.ts'] },
};
const { notRooms }: { readonly notRooms: readonly string[] } = JSON.parse(readFileSync('tools/house.json', 'utf8'));

/** The folder of the room or door that a file lies in. */
function roomOf(path: string): string | undefined {
  const [parent = '', name = '', ...below] = path.split('/');
  const room = `${parent}/${name}`;
  return parent in namedIn && below.length > 0 && !notRooms.includes(`lib/${room}`) ? room : undefined;
}

/** Whether a room or a door is imported by what does not name it: by the kernel, by another one, or by another entry. */
function foreignRoom(path: string, target: string): 'room' | 'door' | undefined {
  const room = roomOf(target);
  const { kind, files: naming } = namedIn[target.split('/')[0] ?? ''] ?? {};
  if (room === undefined || room === roomOf(path) || naming?.includes(path) === true) return undefined;
  const isOfEntry = leaf.test(target) && partOf(path) === partOf(target) && roomOf(path) === undefined;
  return isOfEntry ? undefined : kind;
}

/** What a file of the kernel hands on of a room that it names: others would import the room through it. */
function handedOn(some: readonly SourceFile[]): string[] {
  return some
    .filter(({ path }) => !floors.some((parts) => path in parts) && roomOf(path) === undefined)
    .flatMap(({ path, passedOn }) =>
      passedOn
        .filter((to) => isRelative(to) && roomOf(targetOf(path, to)) !== undefined && !leaf.test(targetOf(path, to)))
        .map((to) => `${path} → ${to}`),
    );
}

/** `@scope/name/file` and `name/file` belong to the package whose name they begin with. */
function packageOf(specifier: string): string {
  if (specifier.startsWith('node:')) return specifier;
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
}

function problemWith(path: string, specifier: string | undefined, tree: readonly SourceFile[]): string | undefined {
  if (specifier === undefined) return 'computed';
  if (!isRelative(specifier)) {
    const listed = [...(floors[floorOf(path)]?.[partOf(path)] ?? []), ...(ofRooms[roomOf(path) ?? ''] ?? [])];
    return listed.includes(packageOf(specifier)) ? undefined : 'package';
  }
  const target = targetOf(path, specifier);
  if (!tree.some((file) => file.path === target)) return 'no such file';
  const foreign = foreignRoom(path, target);
  if (foreign !== undefined) return foreign;
  if (floorOf(target) > floorOf(path)) return 'upward';
  const isAcross =
    floorOf(target) === floorOf(path) &&
    partOf(target) !== partOf(path) &&
    !(together.includes(partOf(path)) && together.includes(partOf(target)));
  return isAcross && floorOf(path) > 0 ? 'across' : undefined;
}

/** @param tree the sources that they are among */
function wrongImports(some: readonly SourceFile[], tree = some): string[] {
  return some.flatMap(({ path, imports }) =>
    imports.flatMap((specifier) => {
      const problem = problemWith(path, specifier, tree);
      return problem === undefined ? [] : [`${problem}: ${path} → ${String(specifier)}`];
    }),
  );
}

/** The files that import themselves indirectly, through types and dynamic imports included. */
function filesInCircles(tree: readonly SourceFile[]): string[] {
  const targets = new Map(
    tree.map(({ path, imports }) => [
      path,
      imports.filter((specifier) => specifier !== undefined && isRelative(specifier)).map((to) => targetOf(path, to!)),
    ]),
  );
  const reachableFrom = (start: string): Set<string> => {
    const reached = new Set(targets.get(start));
    for (const path of reached) for (const further of targets.get(path) ?? []) reached.add(further);
    return reached;
  };
  return [...targets.keys()].filter((path) => reachableFrom(path).has(path));
}

/** What is wrong with the imports of new files beside the sources. */
function wrongImportsIn(texts: Readonly<Record<string, string>>): string[] {
  const tree = withFiles(texts);
  return wrongImports(
    tree.filter(({ path }) => path in texts),
    tree,
  );
}

/** What the typed client loads of the server's code, into a browser's bundle. */
function serverImportsOfClient(tree: readonly SourceFile[]): string[] {
  return tree
    .filter(({ path }) => partOf(path) === 'client')
    .flatMap(({ path, runtimeImports }) => runtimeImports.map((to) => targetOf(path, to ?? 'computed')))
    .filter((target) => partOf(target) !== 'client');
}

function withFiles(texts: Readonly<Record<string, string>>): SourceFile[] {
  const added = Object.entries(texts).map(([path, text]) => read(path, text));
  return [...files.filter(({ path }) => !(path in texts)), ...added];
}

/** Every syntax that makes one module depend on another. */
const syntaxes: readonly (readonly [string, (specifier: string) => string])[] = [
  ['import', (specifier) => `import value from '${specifier}';`],
  ['import of names, over several lines', (specifier) => `import {\n  one,\n  two,\n} from "${specifier}";`],
  ['import for its effects', (specifier) => `import '${specifier}';`],
  ['import type', (specifier) => `import type { T } from '${specifier}';`],
  ['import of a type', (specifier) => `import { type T } from '${specifier}';`],
  ['type import()', (specifier) => `type T = import('${specifier}').T;`],
  ['typeof import()', (specifier) => `let x: typeof import('${specifier}');`],
  ['export of names', (specifier) => `export { one } from '${specifier}';`],
  ['export *', (specifier) => `export * from '${specifier}';`],
  ['export type', (specifier) => `export type { T } from '${specifier}';`],
  ['dynamic import', (specifier) => `async function f() { const { x } = await import('${specifier}'); }`],
  ['dynamic import with a template', (specifier) => `void import(\`${specifier}\`);`],
  ['dynamic import with attributes', (specifier) => `void import('${specifier}', { with: { type: 'json' } });`],
  ['require', (specifier) => `const x = require('${specifier}');`],
  ['module.require', (specifier) => `const x = module.require('${specifier}');`],
  ['require.resolve', (specifier) => `const x = require.resolve('${specifier}');`],
  ['deferred import', (specifier) => `import defer * as x from '${specifier}';`],
  ['deferred dynamic import', (specifier) => `void import.defer('${specifier}');`],
  ['import.meta.resolve', (specifier) => `const url = import.meta.resolve('${specifier}');`],
  ['createRequire', (specifier) => `const x = createRequire(import.meta.url)('${specifier}');`],
  ['process.getBuiltinModule', (specifier) => `const x = process.getBuiltinModule('${specifier}');`],
  ['module augmentation', (specifier) => `declare module '${specifier}' { interface X {} }`],
  ['import = require', (specifier) => `import x = require('${specifier}');`],
  ['reference', (specifier) => `/// <reference types="${specifier}" />`],
];

it('the tour has no import cycles', () => {
  const app = globSync(['show/**/*.ts', 'stand-ins/**/*.ts']).map((path) =>
    readSource(path, readFileSync(path, 'utf8')),
  );
  expect(app.length).toBeGreaterThan(40);
  expect(filesInCircles(app)).toEqual([]);
});

it('lib/ loads no value of node:http as an ES module, which loads undici in Node 24', () => {
  const loads =
    /^(?:import|export)\s(?!type\b)(?:[^;'"]*?\bfrom\s*)?['"](?:node:)?http['"]|\bimport\(\s*['"`](?:node:)?http['"`]/m;
  const found = files.filter(({ path }) => loads.test(readFileSync(`lib/${path}`, 'utf8'))).map(({ path }) => path);
  expect(found).toEqual([]);
  const values = ["import http from 'node:http';", "import {\n  Server,\n} from 'http';", "export * from 'node:http';"];
  for (const text of [...values, "import 'node:http';", "await import('node:http');"]) expect(text).toMatch(loads);
  expect("import type { IncomingMessage } from 'node:http';").not.toMatch(loads);
});

describe('the floors of lib/', () => {
  it('cover every file', () => {
    expect(files.length).toBeGreaterThan(40);
    expect(files.filter(({ path }) => floorOf(path) === -1).map(({ path }) => path)).toEqual([]);
  });

  it('import downward only, and only the packages on their list', () => {
    expect(wrongImports(files)).toEqual([]);
  });

  it('have rooms that no room imports, and doors that nothing imports but the entry that exports them', () => {
    const rooms = new Set(files.map(({ path }) => roomOf(path)).filter((room) => room !== undefined));
    expect([rooms.has('backend/passkeys'), rooms.has('b2b/organizations'), rooms.has('doors/sql')]).not.toContain(
      false,
    );
    expect([...rooms].filter((room) => !files.some(({ path }) => path === `${room}/index.ts`))).toEqual([]);
    expect(wrongImports(files).filter((problem) => /^(?:room|door):/.test(problem))).toEqual([]);
  });

  it('hand no room on, but in an entry', () => {
    expect(handedOn(files)).toEqual([]);
    const texts = [
      "export { one } from './room/index.ts';",
      "export * from './room/index.ts';",
      "import { one } from './room/index.ts';\nexport { one as other };",
    ];
    for (const text of texts) {
      const found = handedOn([read('backend/features.ts', text)]);
      expect(found).toEqual(['backend/features.ts → ./room/index.ts']);
      expect(handedOn([read('backend/index.ts', text)])).toEqual([]);
    }
  });

  it('have no import cycles', () => {
    expect(filesInCircles(files)).toEqual([]);
  });

  it('have rooms whose options and texts import nothing of the adapter, which sums them below everything else', () => {
    const sums = files.filter(({ path }) => /^backend\/[\w-]+\/(?:options|texts)\.ts$/.test(path));
    expect(sums.length).toBeGreaterThan(20);
    const others = sums.flatMap(({ path, imports }) =>
      imports
        .filter((to) => isRelative(to ?? '.') && !/^\.\.\/\.\.\/(?:options|tools)\//.test(to ?? ''))
        .map((to) => `${path} → ${to}`),
    );
    expect(others).toEqual([]);
  });

  it('list no package that their files do not import', () => {
    const imported = files.flatMap(({ path, imports }) =>
      imports.map((to) => `${partOf(path)}: ${packageOf(to ?? '')}`),
    );
    const listed = floors
      .flatMap((parts) => Object.entries(parts))
      .filter(([part]) => files.some(({ path }) => partOf(path) === part))
      .flatMap(([part, packages]) => packages.map((name) => `${part}: ${name}`));
    expect(listed.filter((entry) => !imported.includes(entry))).toEqual([]);
    const byRooms = Object.entries(ofRooms).flatMap(([room, packages]) => packages.map((name) => `${room}: ${name}`));
    const importedByRooms = files.flatMap(({ path, imports }) =>
      imports.map((to) => `${roomOf(path) ?? ''}: ${packageOf(to ?? '')}`),
    );
    expect(byRooms.filter((entry) => !importedByRooms.includes(entry))).toEqual([]);
  });

  it('load a translation only where an application imports it', () => {
    const users = files.filter(({ path, imports }) =>
      imports.some((to) => to !== undefined && isRelative(to) && partOf(targetOf(path, to)) === 'texts'),
    );
    expect(users.map(({ path }) => path)).toEqual([]);
    const translations = files.filter(({ path }) => partOf(path) === 'texts');
    expect(translations.flatMap(({ runtimeImports }) => runtimeImports)).toEqual([]);
    expect(translations.length).toBeGreaterThan(9);
  });

  it('give the typed client types and nothing else', () => {
    expect(serverImportsOfClient(files)).toEqual([]);
  });
});

describe('the rules see', () => {
  describe.each(syntaxes)('%s', (_, write) => {
    it.each(['express', '@workos-inc/node', '@supabase/supabase-js', 'node:http', 'negotiator/lib/language'])(
      'of the package %s in tools',
      (name) => {
        expect(wrongImportsIn({ 'tools/sample.ts': write(name) })).toEqual([`package: tools/sample.ts → ${name}`]);
      },
    );

    it('of a file on a higher floor, beside its own part, and outside of lib/', () => {
      const problemOf = (path: string, specifier: string): string[] => wrongImportsIn({ [path]: write(specifier) });
      expect(problemOf('tools/sample.ts', '../http/reply.ts')).toEqual(['upward: tools/sample.ts → ../http/reply.ts']);
      expect(problemOf('b2b/sample.ts', '../backend/forms/forms.ts')).toEqual([
        'across: b2b/sample.ts → ../backend/forms/forms.ts',
      ]);
      expect(problemOf('http/sample.ts', '../tools/sample.ts')).toEqual([
        'no such file: http/sample.ts → ../tools/sample.ts',
      ]);
      expect(problemOf('http/sample.ts', '../../tools/nightly.js')).toHaveLength(1);
      expect(problemOf('http/sample.ts', '../tools/url.ts')).toEqual([]);
    });

    it.each([
      ['backend/sample.ts', './passkeys/index.ts', 'room'],
      ['backend/pages/sample.ts', '../passkeys/texts.ts', 'room'],
      ['backend/sso/sample.ts', '../passkeys/index.ts', 'room'],
      ['backend/sso/client.ts', '../passkeys/client.ts', 'room'],
      ['b2b/callback.ts', './organizations/selection.ts', 'room'],
      ['testing/sample.ts', '../backend/passkeys/index.ts', 'room'],
      ['http/sample.ts', '../doors/sql/index.ts', 'door'],
      ['backend/sample.ts', '../doors/sql/index.ts', 'door'],
      ['doors/stream/sample.ts', '../sql/index.ts', 'door'],
      ['testing/sample.ts', '../doors/sql/index.ts', 'door'],
      ['index.ts', './doors/sql/index.ts', 'door'],
      ['backend/features.ts', './passkeys/index.ts', undefined],
      ['backend/passkeys/sample.ts', './index.ts', undefined],
      ['client/sample.ts', '../backend/passkeys/client.ts', undefined],
      ['every-entry.ts', './doors/stream/index.ts', undefined],
    ])('of a room or a door, in %s: %s', (path, specifier, problem) => {
      const found = wrongImportsIn({ [path]: write(specifier) });
      expect(found).toEqual(problem === undefined ? [] : [`${problem}: ${path} → ${specifier}`]);
    });

    it('as part of a cycle', () => {
      const circle = { 'tools/one.ts': write('./two.ts'), 'tools/two.ts': write('./three.ts'), 'tools/three.ts': '' };
      expect(filesInCircles(withFiles(circle))).toEqual([]);
      expect(filesInCircles(withFiles({ ...circle, 'tools/three.ts': write('./one.ts') }))).toHaveLength(3);
    });
  });

  it('a file that a comment refers to', () => {
    const found = ['./room/index.ts', 'room/index.ts', './no-such-file.ts'].map((path) =>
      wrongImports(
        [read('backend/sample.ts', `/// <reference path="${path}" />`)],
        withFiles({ 'backend/room/index.ts': '' }),
      ),
    );
    expect(found.flat()).toEqual([
      'room: backend/sample.ts → ./room/index.ts',
      'room: backend/sample.ts → ./room/index.ts',
      'no such file: backend/sample.ts → ./no-such-file.ts',
    ]);
  });

  const room = { 'route.ts': '', 'client.ts': '', 'doctor.ts': '', 'testing.ts': '' };

  it.each([
    ['index.ts', './client.ts', 'across'],
    ['route.ts', './client.ts', 'across'],
    ['route.ts', './doctor.ts', 'upward'],
    ['route.ts', './testing.ts', 'upward'],
    ['client.ts', './route.ts', 'across'],
    ['client.ts', './doctor.ts', 'upward'],
    ['doctor.ts', './testing.ts', 'across'],
    ['client.ts', '../../client/send.ts', undefined],
    ['doctor.ts', './route.ts', undefined],
    ['testing.ts', './route.ts', undefined],
  ])('of %s of a room to %s', (name, specifier, problem) => {
    const others = Object.entries(room).map(([each, text]) => [`backend/room/${each}`, text]);
    const path = `backend/room/${name}`;
    const texts = { ...Object.fromEntries(others), [path]: `import value from '${specifier}';` };
    expect(wrongImportsIn(texts)).toEqual(problem === undefined ? [] : [`${problem}: ${path} → ${specifier}`]);
  });

  it("server code that a room's client.ts would bring into a browser", () => {
    const importing = (text: string) => serverImportsOfClient(withFiles({ 'backend/room/client.ts': text }));
    expect(importing("import { reply } from '../../http/reply.ts';")).toEqual(['http/reply.ts']);
    expect(importing("import type { Reply } from '../../http/reply.ts';")).toEqual([]);
    expect(importing("import { createClient } from '../../client/send.ts';")).toEqual([]);
  });

  it.each(['void import(name);', 'require(name);', 'void import(`./${name}.ts`);', 'void import("./a" + ".ts");'])(
    'no file at the end of %s',
    (text) => {
      expect(wrongImportsIn({ 'tools/sample.ts': text })).toEqual(['computed: tools/sample.ts → undefined']);
    },
  );

  it('jose outside of the floor of sessions', () => {
    const jose = "import { jwtVerify } from 'jose';";
    expect(wrongImportsIn({ 'tools/sample.ts': jose })).toContain('package: tools/sample.ts → jose');
    expect(wrongImportsIn({ 'http/sample.ts': jose })).toContain('package: http/sample.ts → jose');
    expect(wrongImportsIn({ 'session/sample.ts': jose })).toEqual([]);
  });
});

describe('the size of lib/', () => {
  const functions = files.flatMap(({ path, functions }) => functions.map((one) => ({ ...one, path })));

  // A translation is a list of texts: it grows with the pages, and with each language.
  const code = files.filter(({ path }) => partOf(path) !== 'texts');

  it('has no longer file', () => {
    expect(code.filter(({ lines }) => lines > limits.longestFile).map(({ path }) => path)).toEqual([]);
  });

  it('has no more functions over 60 lines', () => {
    const long = functions
      .filter(({ lines }) => lines > 60)
      .map(({ path, name, lines }) => `${path} ${name}: ${lines}`);
    expect(long.slice(limits.longFunctions)).toEqual([]);
  });

  it('has no more complex function', () => {
    expect(functions.filter(({ complexity }) => complexity > limits.complexity)).toEqual([]);
  });

  it('counts the lines and the complexity of each function', () => {
    const text = [
      'const outer = (a, b) => {',
      '  if (a) return b ?? 1;',
      '  for (const x of a) inner(x);',
      '  function inner(x) {',
      '    try { return x ? 1 : 2 } catch { while (x) x &&= x - 1 }',
      '    switch (x) { case 1: case 2: return; default: return x?.y || 3 }',
      '  }',
      '};',
      '',
    ].join('\n');
    const { lines, functions } = read('tools/sample.ts', text);
    expect(lines).toBe(8);
    expect(functions).toEqual<FunctionSize[]>([
      { name: 'outer', lines: 8, complexity: 4 },
      { name: 'inner', lines: 4, complexity: 8 },
    ]);
  });
});
