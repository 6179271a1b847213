import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { unreadEnvFile } from '../../lib/http/env-file.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'env-file-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const hintFor = (text: string, names: readonly string[] = ['B2B_CLIENT_ID', 'B2B_API_KEY']): string | undefined => {
  writeFileSync(join(folder, '.env'), text);
  return unreadEnvFile(names, join(folder, '.env'))?.replaceAll(join(folder, '.env'), '.env');
};

it('says that a file beside the start has the missing variables, and how to read it', () => {
  expect(hintFor('PORT=1\nB2B_CLIENT_ID=client_1\n  export B2B_API_KEY = "sk_1"\n')).toBe(
    'B2B_CLIENT_ID and B2B_API_KEY are in the file .env here, which was not read; start with node --env-file=.env',
  );
  expect(hintFor('B2B_API_KEY=sk_1')).toBe(
    'B2B_API_KEY is in the file .env here, which was not read; start with node --env-file=.env',
  );
});

it.each([
  ['none of them', 'PORT=1\nXB2B_API_KEY=x\nB2B_API_KEY_OLD=x'],
  ['only comments', '# B2B_API_KEY=sk_1'],
  ['no value', 'B2B_API_KEY=\nB2B_CLIENT_ID= \t'],
  ['nothing', ''],
])('says nothing of a file with %s', (_what, text) => {
  expect(hintFor(text)).toBeUndefined();
});

it('says nothing without a file, and repeats no value', () => {
  expect(unreadEnvFile(['B2B_API_KEY'], join(folder, 'none'))).toBeUndefined();
  expect(unreadEnvFile(['B2B_API_KEY'], folder)).toBeUndefined();
  expect(hintFor('B2B_API_KEY=sk_secret')).not.toContain('sk_secret');
});
