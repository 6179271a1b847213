import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { codeBlocks } from '../support/markdown.ts';

/** The tests of the docs, in each runner, with the import line that docs/testing.md gives for it. */
const directory = join(process.cwd(), '__tests__', 'frameworks', 'reports');
const page = readFileSync('docs/testing.md', 'utf8');
const tests = ['docs/testing.md', 'docs/own-sign-in.md'].flatMap((path) =>
  codeBlocks({ path, text: readFileSync(path, 'utf8') }).filter(
    ({ language, code }) => language === 'ts' && /^test\(/m.test(code),
  ),
);

/** @returns the first line of a test file, as the table of docs/testing.md has it */
function importLine(runner: string): string {
  const row = page.split('\n').find((line) => line.startsWith(`| ${runner} `)) ?? '';
  return /`(import [^`]+)`/.exec(row)?.[1] ?? '';
}

interface Runner {
  readonly name: string;
  readonly file: (index: number) => string;
  readonly command: (files: readonly string[]) => readonly string[];
  /** How many tests passed, by the runner's own words. */
  readonly passed: RegExp;
}

const bin = (path: string): string => join(process.cwd(), path);

const runners: readonly Runner[] = [
  {
    name: 'jest',
    file: (index) => `example-${index}.test.ts`,
    command: () => [
      '--experimental-vm-modules',
      bin('node_modules/jest/bin/jest.js'),
      '--runInBand',
      '--testPathIgnorePatterns=/node_modules/',
      '--testMatch=**/__tests__/frameworks/reports/jest/*.test.ts',
    ],
    passed: /^Tests: +(\d+) passed/m,
  },
  {
    name: 'Vitest',
    file: (index) => `example-${index}.test.ts`,
    command: () => [
      bin('__tests__/frameworks/node_modules/vitest/vitest.mjs'),
      'run',
      '--no-color',
      `--root=${join(directory, 'Vitest')}`,
    ],
    passed: /^ +Tests +(\d+) passed/m,
  },
  {
    name: '`node --test`',
    file: (index) => `example-${index}.ts`,
    command: (files) => [
      '--import',
      bin('__tests__/frameworks/own-source.ts'),
      '--test',
      '--test-reporter=tap',
      ...files,
    ],
    passed: /^# pass (\d+)$/m,
  },
];

afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** Both streams: jest reports on stderr. */
async function run(args: readonly string[]): Promise<{ code: number; output: string }> {
  const { PATH, HOME } = process.env;
  const env = { PATH, HOME, NODE_ENV: 'test', NO_COLOR: '1' };
  return new Promise((resolve) => {
    execFile(process.execPath, [...args], { env }, (error, out, err) =>
      resolve({ code: error === null ? 0 : 1, output: out + err }),
    );
  });
}

it('finds the tests of the docs', () => {
  expect(tests.length).toBeGreaterThan(5);
});

it.each(runners)(
  '$name runs every test of the docs',
  async ({ name, file, command, passed }) => {
    const folder = join(directory, name.replaceAll(/[^\w]/g, ''));
    mkdirSync(folder, { recursive: true });
    if (name === 'Vitest') {
      const lib = JSON.stringify(bin('lib'));
      const alias = `[{ find: /^express-auth-adapters$/, replacement: ${lib} + '/index.ts' }, { find: /^express-auth-adapters\\/(.*)$/, replacement: ${lib} + '/$1/index.ts' }]`;
      writeFileSync(join(folder, 'vitest.config.js'), `export default { resolve: { alias: ${alias} } };\n`);
    }
    const files = tests.map(({ code }, index) => {
      const path = join(folder, file(index));
      writeFileSync(path, `${importLine(name)}\n${code}`);
      return path;
    });
    const { code, output } = await run(command(files));
    const count = tests.reduce((sum, test) => sum + (test.code.match(/^test\(/gm)?.length ?? 0), 0);
    expect([code, Number(passed.exec(output)?.[1]), code === 0 ? '' : output]).toEqual([0, count, '']);
  },
  120_000,
);

it('names an import for each runner but jest', () => {
  expect(runners.map(({ name }) => importLine(name))).toEqual([
    '',
    "import { test } from 'vitest';",
    "import { test } from 'node:test';",
  ]);
});
