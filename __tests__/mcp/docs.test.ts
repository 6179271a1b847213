import { fork } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { codeBlocks } from '../support/markdown.ts';
import type { ExampleReport } from '../support/run-examples.ts';
import { createVisitor } from '../support/visitor.ts';

/** The examples of docs/mcp.md that use the SDKs, with the SDKs' own types, and in processes of their own. */
const directory = join(process.cwd(), '__tests__', 'mcp', 'reports');
const examples = codeBlocks({ path: 'docs/mcp.md', text: readFileSync('docs/mcp.md', 'utf8') })
  .filter(({ language, code }) => language === 'ts' && code.includes('@modelcontextprotocol/'))
  .map(({ code, line }, index) => ({ code, line, file: join(directory, `example-${index}.ts`) }));

beforeAll(() => {
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
  for (const { file, code } of examples) writeFileSync(file, code);
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

it('there are three: both versions, and the SDK’s own guard', () => {
  expect(examples).toHaveLength(3);
});

it('compile with the types of the SDKs', () => {
  const { config } = ts.readConfigFile('tsconfig.json', (path) => ts.sys.readFile(path));
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, process.cwd());
  const program = ts.createProgram(
    examples.map(({ file }) => file),
    {
      ...options,
      noEmit: true,
      noUnusedParameters: false,
      lib: ['lib.es2024.d.ts', 'lib.dom.d.ts', 'lib.dom.iterable.d.ts'],
    },
  );
  const problems = ts
    .getPreEmitDiagnostics(program)
    .filter(({ file }) => file?.fileName.startsWith(directory))
    .map(({ messageText, file }) => `${file?.fileName}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`);
  expect(problems).toEqual([]);
}, 180_000);

it('run, and refuse a stranger with the metadata', async () => {
  const reports: ExampleReport[] = [];
  const child = fork(
    '__tests__/support/run-examples.ts',
    examples.map(({ file }) => file),
    {
      execArgv: ['--disable-warning=ExperimentalWarning'],
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      env: {
        PATH: process.env['PATH'],
        B2B_CLIENT_ID: 'client_test',
        B2B_API_KEY: 'sk_test_1',
        BAAS_URL: 'http://127.0.0.1:9',
        BAAS_PUBLISHABLE_KEY: 'sb_publishable_test',
      },
    },
  );
  await new Promise<void>((resolve, reject) => {
    child.on('message', (report: ExampleReport) => (report.file === '' ? resolve() : void reports.push(report)));
    child.on('exit', (code) => reject(new Error(`The examples ended with ${code}`)));
  });
  child.removeAllListeners('exit');
  try {
    expect(reports.map(({ error }) => error)).toEqual([undefined, undefined, undefined]);
    for (const { port } of reports) {
      const answer = await createVisitor(`http://127.0.0.1:${port}`).post('/mcp');
      expect([answer.status, answer.headers['www-authenticate']]).toEqual([
        401,
        expect.stringMatching(/resource_metadata="https?:\/\/[^"]+\/\.well-known\/oauth-protected-resource\/mcp"/),
      ]);
    }
  } finally {
    child.kill('SIGKILL');
  }
});
