import { inspect } from 'node:util';
import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import * as v from 'valibot';
import { missingPackages, readOptions } from '../../lib/options/read.ts';
import type { OptionRules } from '../../lib/options/read.ts';
import { ConfigurationError } from '../../lib/errors.ts';
import { problemsBy } from '../support/problems.ts';

const schema = v.strictObject({
  apiKey: v.pipe(v.string('must be a string'), v.nonEmpty('is empty'), v.description('the key of the provider')),
  region: v.optional(v.string('must be a string'), 'eu'),
  secret: v.optional(v.string('must be a string')),
  loginPath: v.optional(v.string('must be a path'), '/login'),
  logoutPath: v.optional(v.string('must be a path'), '/logout'),
  plain: v.optional(v.strictObject({ size: v.number('must be a number') })),
  bare: v.optional(v.custom<object>(() => true)),
});

const rules: OptionRules<typeof schema> = {
  name: 'someAuth',
  schema,
  env: { apiKey: ['SOME_KEY', 'OLD_KEY'], region: ['SOME_REGION'] },
  paths: { loginPath: '/login', logoutPath: '/logout' },
};

const read = (input: unknown, environment: Record<string, string | undefined> = {}) =>
  readOptions(input, rules, environment);

const problemsOf = (input: unknown, environment: Record<string, string | undefined> = {}, check?: () => string[]) =>
  problemsBy(() => readOptions(input, { ...rules, ...(check && { check }) }, environment));

describe('options', () => {
  it('are the given ones, completed by their defaults', () => {
    expect(read({ apiKey: 'k', region: 'us' })).toEqual({
      apiKey: 'k',
      region: 'us',
      loginPath: '/login',
      logoutPath: '/logout',
    });
  });

  it('come from the environment if they are not given, by the first name that is set and not empty', () => {
    expect(read(undefined, { SOME_KEY: 'new', OLD_KEY: 'old' }).apiKey).toBe('new');
    expect(read({}, { SOME_KEY: '', OLD_KEY: 'old' }).apiKey).toBe('old');
    expect(read({ apiKey: undefined, region: undefined }, { OLD_KEY: 'old', SOME_REGION: '' })).toMatchObject({
      apiKey: 'old',
      region: 'eu',
    });
    expect(read({ apiKey: 'given' }, { SOME_KEY: 'new' }).apiKey).toBe('given');
  });

  it('that are undefined count as not given, whatever their names', () => {
    expect(read({ apiKey: 'k', secret: undefined, color: undefined })).toStrictEqual(read({ apiKey: 'k' }));
  });

  it.each([[null], ['k'], [7], [[]], [() => undefined]])('cannot be %p', (input) => {
    expect(problemsOf(input, { SOME_KEY: 'k' })).toEqual(['options must be an object']);
  });
});

it.each([
  ['  value \n', 'value'],
  ['"a value"', 'a value'],
  ["' value '", 'value'],
  ['"half', '"half'],
  ['\'"twice"\'', '"twice"'],
])('a variable %j is read without blanks and quotes around it', (text, expected) => {
  expect(readOptions({}, rules, { SOME_KEY: text })).toMatchObject({ apiKey: expected });
});

it.each(['', '  ', '""', "' '"])('a variable %j counts as empty, so that the next one is read', (text) => {
  expect(readOptions({}, rules, { SOME_KEY: text, OLD_KEY: 'value' })).toMatchObject({ apiKey: 'value' });
});

describe('a problem', () => {
  it('with a missing option names one variable, and describes the option', () => {
    expect(problemsOf({})).toEqual(['apiKey (env SOME_KEY) is missing: the key of the provider']);
  });

  it('with a missing option names the variable that is preferred', () => {
    const start = () => readOptions({}, { ...rules, named: { apiKey: 'OLD_KEY' } }, {});
    expect(problemsBy(start)).toEqual(['apiKey (env OLD_KEY) is missing: the key of the provider']);
  });

  it('with a missing option of a group names both', () => {
    expect(problemsOf({ apiKey: 'k', plain: {} })).toEqual(['plain.size is missing']);
  });

  it('with a value of the environment names the variable that has it, and no other', () => {
    const schema = v.strictObject({ mode: v.picklist(['fast', 'safe'], 'must be fast or safe') });
    const own = { name: 'someAuth', schema, env: { mode: ['SOME_MODE', 'OLD_MODE'] }, paths: {} };
    const told: unknown[] = [];
    const check = (...given: unknown[]) => (told.push(given), []);
    const start = () => readOptions({}, { ...own, check }, { SOME_MODE: '', OLD_MODE: 'slow' });
    expect(problemsBy(start)).toEqual(['mode (env OLD_MODE) must be fast or safe']);
    expect(told).toEqual([[{ mode: 'slow' }, { SOME_MODE: '', OLD_MODE: 'slow' }, { mode: 'OLD_MODE' }]]);
  });

  it('with a start without variables and without a file of them has no hint', () => {
    expect(problemsBy(() => readOptions({}, rules))).toStrictEqual([
      'apiKey (env SOME_KEY) is missing: the key of the provider',
    ]);
  });

  it('with a missing option without a description reports that it is missing', () => {
    const plain = { ...rules, schema: v.strictObject({ token: v.string('must be a string') }), env: {}, paths: {} };
    expect(() => readOptions({}, plain, {})).toThrow(/token is missing(?!:)/);
  });

  it('with a value names its option, including nested ones', () => {
    expect(problemsOf({ apiKey: '', secret: 7, plain: { size: 'x' } })).toEqual([
      'apiKey (env SOME_KEY) is empty',
      'secret must be a string',
      'plain.size must be a number',
    ]);
  });

  it('with an unknown option suggests the spelling', () => {
    expect(problemsOf({ apiKey: 'k', apikey: 'k', plain: { size: 1, sise: 2 } })).toEqual([
      'plain.sise is not an option; did you mean size?',
      'apikey is not an option; did you mean apiKey?',
    ]);
    expect(problemsOf({ apiKey: 'k', color: 'red' })).toEqual([
      'color is not an option; there are apiKey, region, secret, loginPath, logoutPath, plain, bare',
    ]);
  });

  it.each([
    [20, 'there are a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t'],
    [21, 'check its spelling'],
  ])('with an unknown option beside %i others lists them only where they are few', (count, advice) => {
    const names = Array.from('abcdefghijklmnopqrstu').slice(0, count);
    const schema = v.strictObject(Object.fromEntries(names.map((name) => [name, v.optional(v.string())])));
    const start = () => readOptions({ color: 'red' }, { name: 'someAuth', schema, env: {}, paths: {} }, {});
    expect(problemsBy(start)).toEqual([`color is not an option; ${advice}`]);
  });

  it('with an unknown option in a list suggests the spelling as well', () => {
    const entry = v.strictObject({ label: v.optional(v.string()) });
    const schema = v.strictObject({
      list: v.optional(v.array(entry)),
    });
    const start = () => readOptions({ list: [{ lable: 'x' }] }, { name: 'someAuth', schema, env: {}, paths: {} }, {});
    expect(problemsBy(start)).toEqual(['list.0.lable is not an option; did you mean label?']);
  });

  it('with a factory that was mounted and not called reports it', () => {
    for (const input of [new IncomingMessage(new Socket()), { method: 'GET', headers: {} }])
      expect(problemsOf(input)).toEqual([
        'it is mounted without having been called; write app.use(someAuth()) with parentheses',
      ]);
  });

  it('with two routes on one path names both, ignoring letter case and including defaults', () => {
    expect(problemsOf({ apiKey: 'k', loginPath: '/Auth', logoutPath: '/auth' })).toEqual([
      "logoutPath and loginPath are both '/auth'; give each route a path of its own",
    ]);
    expect(problemsOf({ apiKey: 'k', loginPath: '/logout' })).toEqual([
      "logoutPath and loginPath are both '/logout'; give each route a path of its own",
    ]);
    expect(problemsOf({ apiKey: 'k', loginPath: 7, logoutPath: 7 })).toEqual([
      'loginPath must be a path',
      'logoutPath must be a path',
    ]);
  });

  it('with a combination of options is reported with the others', () => {
    expect(problemsOf({ secret: 7 }, {}, () => ['secret and region do not fit'])).toEqual([
      expect.stringContaining('apiKey'),
      'secret must be a string',
      'secret and region do not fit',
    ]);
    expect(problemsOf({ apiKey: 'k' }, {}, () => ['too early'])).toEqual(['too early']);
  });

  it('starts with the name of the factory', () => {
    expect(() => read({})).toThrow(/^someAuth/);
  });
});

describe('the SDKs that an adapter needs', () => {
  // Two that are installed with this package, and two that do not exist.
  const sdks = ['jose', '@no-such-scope/sdk', 'valibot', 'no-such-sdk'];

  it('are named with the command that installs them, where they are missing', () => {
    const problems = (names: readonly string[]) =>
      problemsBy(() => readOptions({ apiKey: 'k' }, { ...rules, sdks: names }, {}));
    expect(problems(sdks)).toEqual([
      '@no-such-scope/sdk and no-such-sdk must be installed beside this package: npm install @no-such-scope/sdk no-such-sdk',
    ]);
    expect(problems(['no-such-sdk'])).toEqual([
      'no-such-sdk must be installed beside this package: npm install no-such-sdk',
    ]);
    expect(problems(['jose', 'valibot'])).toEqual([]);
  });

  it('are found by the names alone, as the doctor asks', () => {
    expect(missingPackages(sdks)).toEqual(['@no-such-scope/sdk', 'no-such-sdk']);
  });
});

it('prints its problems once', () => {
  const error = new ConfigurationError('someAuth', ['one problem']);
  expect(inspect(error).match(/one problem/g)).toHaveLength(1);
  expect(error.problems).toEqual(['one problem']);
});
