import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readB2bOptions } from '../../lib/b2b/options.ts';
import { unreadEnvFile } from '../../lib/options/env-file.ts';

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
  ['quotes around nothing, or only a comment', 'B2B_API_KEY=""\nB2B_CLIENT_ID= # later'],
  ['nothing', ''],
])('says nothing of a file with %s', (_what, text) => {
  expect(hintFor(text)).toBeUndefined();
});

describe('a start beside an unread file', () => {
  const { B2B_CLIENT_ID: id, B2B_API_KEY: key } = process.env;
  const start = process.cwd();
  beforeEach(() => {
    delete process.env['B2B_CLIENT_ID'];
    delete process.env['B2B_API_KEY'];
    writeFileSync(join(folder, '.env'), 'B2B_CLIENT_ID=client_1\nB2B_API_KEY=sk_1\n');
    process.chdir(folder);
  });
  afterEach(() => {
    process.chdir(start);
    if (id !== undefined) process.env['B2B_CLIENT_ID'] = id;
    if (key !== undefined) process.env['B2B_API_KEY'] = key;
  });

  it('without its variables says so among the problems', () => {
    expect(() => readB2bOptions(undefined)).toThrow(
      /apiKey \(env B2B_API_KEY\) is missing[^]*\n- B2B_CLIENT_ID and B2B_API_KEY are in the file \.env here, which was not read/,
    );
  });

  it('with other variables says nothing of it', () => {
    expect(problemsOf(() => readB2bOptions(undefined, {}))).not.toContain('.env');
    expect(problemsOf(() => readB2bOptions({ clientId: 'client_1', apiKey: 'sk_1', port: 0 }))).not.toContain('.env');
  });
});

function problemsOf(read: () => unknown): string {
  try {
    read();
  } catch (error) {
    return String(error);
  }
  throw new Error('There is no problem');
}

it('says nothing without a file, and repeats no value', () => {
  expect(unreadEnvFile(['B2B_API_KEY'], join(folder, 'none'))).toBeUndefined();
  expect(unreadEnvFile(['B2B_API_KEY'], folder)).toBeUndefined();
  expect(hintFor('B2B_API_KEY=sk_secret')).not.toContain('sk_secret');
});

describe('a start beside variables that resemble the missing ones', () => {
  const former = { ...process.env };
  const root = process.cwd();
  beforeEach(() => {
    for (const name of Object.keys(process.env)) if (/B2B|WORKOS/.test(name)) Reflect.deleteProperty(process.env, name);
    process.chdir(folder);
  });
  afterEach(() => {
    process.chdir(root);
    process.env = { ...former };
  });

  it.each([
    ['B2B_CLIENTID', 'B2B_CLIENT_ID'],
    ['B2B_APIKEY', 'B2B_API_KEY'],
    ['VITE_WORKOS_CLIENT_ID', 'WORKOS_CLIENT_ID'],
    ['WORKOS_KEY', 'WORKOS_API_KEY'],
  ])('asks of %s whether %s is meant', (given, meant) => {
    process.env[given] = 'a-value';
    const problems = problemsOf(() => readB2bOptions(undefined));
    expect(problems).toContain(`- ${given} is set, but nothing reads it; did you mean ${meant}?`);
    expect(problems).not.toContain('a-value');
  });

  it('asks nothing of other variables, nor where nothing is missing', () => {
    Object.assign(process.env, { B2B_CLIENTID: '', OPENAI_API_KEY: 'x', B2B_API_PRT: '1', B2B_API_HOSTNAME: '/' });
    expect(problemsOf(() => readB2bOptions(undefined))).not.toContain('nothing reads it');
    process.env['B2B_CLIENTID'] = 'x';
    expect(problemsOf(() => readB2bOptions({ clientId: 'client_1', apiKey: 'sk_1' }))).not.toContain(
      'nothing reads it',
    );
  });
});
