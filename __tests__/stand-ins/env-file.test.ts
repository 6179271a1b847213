import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { keptVariables, withVariables, writeEnvFile } from '../../stand-ins/env-file.ts';

const folder = mkdtempSync(join(tmpdir(), 'env-'));
afterAll(() => rmSync(folder, { recursive: true }));

const variables = { B2B_CLIENT_ID: 'client_example', B2B_API_PORT: '4000' };

it('a new file holds the variables, is readable by its owner only, and is reported as new', () => {
  const path = join(folder, 'new.env');
  const sentences = writeEnvFile(path, variables);
  expect(parseEnv(readFileSync(path, 'utf8'))).toEqual(variables);
  if (process.platform !== 'win32') expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(sentences).toEqual([`${path} is new: it sets B2B_CLIENT_ID, B2B_API_PORT.`]);
});

it('an existing file keeps each of its lines, and the variables that it had are reported', () => {
  const path = join(folder, 'own.env');
  const own = '# mine\nDATABASE_URL="postgres://db"\nB2B_CLIENT_ID=client_real';
  writeFileSync(path, own);
  const sentences = writeEnvFile(path, variables);
  const text = readFileSync(path, 'utf8');
  expect(text.startsWith(`${own}\n`)).toBe(true);
  expect(parseEnv(text)).toEqual({ DATABASE_URL: 'postgres://db', ...variables });
  expect(sentences).toEqual([
    expect.stringContaining('its own lines are kept'),
    expect.stringMatching(/^B2B_CLIENT_ID was set before; delete the block/),
  ]);
});

it('the next start replaces the values of the previous block, and nothing else', () => {
  const once = withVariables('A=1\n', variables).text;
  expect(withVariables(`${once}B=2\n`, { B2B_API_PORT: '5000' })).toEqual({
    text: expect.stringMatching(/^A=1\n\s*B=2\n\n# .*\nB2B_API_PORT=5000\nB2B_CLIENT_ID=client_example\n# .*\n$/),
    overridden: [],
  });
  expect(withVariables(once, variables)).toEqual({ text: once, overridden: [] });
});

it('a block of an earlier start is read again, and only that', () => {
  const path = join(folder, 'again.env');
  writeFileSync(path, `${withVariables('B2B_API_KEY=sk_test_own\n', variables).text}A=1\n`);
  expect(keptVariables(path)).toEqual(variables);
  writeFileSync(path, withVariables('', variables).text.replace(/# .*end\n$/, ''));
  expect(keptVariables(path)).toEqual({});
  expect(keptVariables(join(folder, 'none.env'))).toEqual({});
});

it('no other file is written', () => {
  expect(existsSync(join(folder, '.env'))).toBe(false);
});
