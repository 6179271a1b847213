import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import type { WorkosStandIn } from '../../stand-ins/workos/index.ts';
import { codeBlocks } from './markdown.ts';
import type { ExampleReport } from './run-examples.ts';

/** The one block of a recipe that has the text. @throws {Error} where there is none, or another one */
export function recipeBlock(recipe: string, text: string): string {
  const path = `docs/recipes/${recipe}.md`;
  const found = codeBlocks({ path, text: readFileSync(path, 'utf8') }).filter(({ code }) => code.includes(text));
  const [block] = found;
  if (block === undefined || found.length > 1) throw new Error(`${path}: not one block has ${text}`);
  return block.code;
}

/** Without types, as the frameworks' own builds do: NestJS needs decorators, which Node does not strip. JSX stays. */
export function withoutTypes(code: string): string {
  const compilerOptions = {
    target: ts.ScriptTarget.ES2023,
    module: ts.ModuleKind.ESNext,
    jsx: ts.JsxEmit.Preserve,
    experimentalDecorators: true,
    verbatimModuleSyntax: true,
  };
  return ts.transpileModule(code, { compilerOptions, fileName: 'block.tsx' }).outputText;
}

export interface RunningExamples {
  /** Where the example's server listens. */
  originOf(file: string): string;
  kill(): void;
}

/**
 * Runs examples that mount `b2bAuth`, in a process of their own, against the stand-in.
 *
 * @param env further environment variables
 * @param cwd the working directory. Default: this one
 * @throws {Error} where the process ends
 */
export async function runExamples(
  files: readonly string[],
  workos: WorkosStandIn,
  { env = {}, cwd = process.cwd() }: { readonly env?: Record<string, string>; readonly cwd?: string } = {},
): Promise<RunningExamples> {
  const reports = new Map<string, ExampleReport>();
  const child: ChildProcess = fork(join(process.cwd(), '__tests__/support/run-examples.ts'), [...files], {
    cwd,
    execArgv: ['--disable-warning=ExperimentalWarning'],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    env: {
      PATH: process.env['PATH'],
      B2B_CLIENT_ID: workos.clientId,
      B2B_API_KEY: workos.apiKey,
      B2B_COOKIE_PASSWORD: randomBytes(32).toString('base64'),
      B2B_API_HOSTNAME: workos.hostname,
      B2B_API_PORT: String(workos.port),
      B2B_API_HTTPS: 'false',
      ...env,
    },
  });
  await new Promise<void>((resolve, reject) => {
    child.on('message', (report: ExampleReport) =>
      report.file === '' ? resolve() : void reports.set(report.file, report),
    );
    child.on('exit', (code) => reject(new Error(`The examples ended with ${code}`)));
  });
  child.removeAllListeners('exit');
  return {
    originOf(file) {
      const { port, error } = reports.get(file) ?? { error: 'not run' };
      if (port === undefined) throw new Error(`${file} does not listen: ${error}`);
      return `http://127.0.0.1:${port}`;
    },
    kill: () => void child.kill('SIGKILL'),
  };
}
