import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { codeBlocks, markdownFiles } from '../support/markdown.ts';

const blocks = markdownFiles()
  .flatMap(codeBlocks)
  .filter(({ language }) => language === 'ts' || language === 'tsx');

// Inside the repository, so that imports resolve as they do for a user; never committed.
const directory = join(process.cwd(), 'reports', 'docs-blocks');

/** What recipes use of libraries that are not installed. */
const recipeLibraries = join(process.cwd(), '__tests__', 'support', 'recipe-libraries.d.ts');

it('finds the examples', () => {
  expect(blocks.length).toBeGreaterThan(5);
});

it('every TypeScript example in README and docs compiles', () => {
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
  const origins = new Map(
    blocks.map(({ path, line, language, code }, index) => {
      const file = join(directory, `${path.replaceAll(/[^a-z0-9]+/gi, '-')}-${index}.${language}`);
      // Each example is a module of its own, whatever it declares.
      writeFileSync(file, `${code}\nexport {};\n`);
      return [file, `${path}:${line}`] as const;
    }),
  );
  const { config } = ts.readConfigFile('tsconfig.json', (path) => ts.sys.readFile(path));
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, process.cwd());
  const program = ts.createProgram([...origins.keys(), recipeLibraries], {
    ...options,
    noEmit: true,
    jsx: ts.JsxEmit.Preserve,
    // As in every NestJS application.
    experimentalDecorators: true,
    noUnusedLocals: false,
    noUnusedParameters: false,
    // Examples say `session.claims.role` as their readers would.
    noPropertyAccessFromIndexSignature: false,
    lib: ['lib.es2024.d.ts', 'lib.dom.d.ts', 'lib.dom.iterable.d.ts'],
  });
  // Only the examples: `npm run types` checks lib/.
  const problems = [...origins].flatMap(([path, origin]) =>
    // Only this file: `npm run types` checks lib/.
    ts
      .getPreEmitDiagnostics(program, program.getSourceFile(path))
      .filter(({ file }) => file?.fileName === path)
      .map(({ file, start, messageText }) => {
        const line = file?.getLineAndCharacterOfPosition(start ?? 0).line ?? 0;
        return `${origin} (line ${line + 1} of the example): ${ts.flattenDiagnosticMessageText(messageText, '\n')}`;
      }),
  );
  expect(problems).toEqual([]);
  rmSync(directory, { recursive: true, force: true });
}, 180_000);
