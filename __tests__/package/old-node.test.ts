import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { nodeProblem } from '../../lib/tools/node-version.ts';

/** What a Node says that is too old, with the built package. tools/ installs it. */
const oldNode = join(process.cwd(), 'tools/node_modules/node20/bin/node');
const entry = (name: string): string => JSON.stringify(pathToFileURL(resolve('dist', name, 'index.js')).href);

const onOldNode = (args: readonly string[]): Promise<{ code: unknown; output: string }> =>
  new Promise((done) => {
    execFile(oldNode, args, { env: {} }, (error, out, err) => done({ code: error?.code ?? 0, output: out + err }));
  });

const words = 'Node 20.9.0 is too old; use Node 22.13 or later';

it.each([
  ['.', 'b2bAuth'],
  ['b2b', 'b2bAuth'],
  ['backend', 'backendAuth'],
])(
  'an application with the entry %s says at its start that %s needs a newer Node, and nothing else',
  async (name, factory) => {
    const program = `
    const { ${factory}, ConfigurationError } = await import(${entry(name)});
    try { ${factory}(); } catch (error) { console.log(error instanceof ConfigurationError, error.message); }`;
    expect(await onOldNode(['--input-type=module', '--eval', program])).toEqual({
      code: 0,
      output: `true ${factory}: ${words}\n`,
    });
  },
);

it.each(['doctor', 'providers'])('the command %s says it, too', async (command) => {
  expect(await onOldNode(['dist/cli.js', command])).toEqual({ code: 1, output: `${words}\n` });
});

it('the oldest Node is the one of package.json', () => {
  const { engines } = JSON.parse(readFileSync('package.json', 'utf8'));
  const oldest = String(engines.node).replace('>=', '');
  expect(nodeProblem(`${oldest}.0`)).toBeUndefined();
  expect(nodeProblem('24.0.0')).toBeUndefined();
  expect(nodeProblem('22.12.99')).toBe(`Node 22.12.99 is too old; use Node ${oldest} or later`);
  expect(nodeProblem('18.20.0')).toContain('too old');
});
