import { spawnSync } from 'node:child_process';

it('makes the API reference without a warning, every public type in it', () => {
  const { status, stdout, stderr } = spawnSync('tools/node_modules/.bin/typedoc', ['--emit', 'none'], {
    encoding: 'utf8',
  });
  expect({ status, output: stdout + stderr }).toEqual({ status: 0, output: '' });
}, 120_000);
