import { randomBytes } from 'node:crypto';
import { jest } from '@jest/globals';
import { b2bAuth, backendAuth } from '../../lib/index.ts';
import type { BackendAuthOptions } from '../../lib/index.ts';
import { readB2bOptions, routeDefaults as b2bPaths } from '../../lib/b2b/options.ts';
import { routeDefaults as backendPaths } from '../../lib/backend/option-schema.ts';
import { readBackendOptions } from '../../lib/backend/options.ts';
import { adapterOf } from '../../lib/http/adapter.ts';
import {
  formerB2bEntries,
  formerBackendEntries,
  formerOptions,
  formerSharedEntries,
} from '../../lib/options/former.ts';
import { problemsBy } from '../support/problems.ts';

const warn = jest.spyOn(process, 'emitWarning');
beforeEach(() => void warn.mockReset().mockImplementation(() => undefined));
afterAll(() => warn.mockRestore());

const keys = {
  b2bAuth: { clientId: 'client_1', apiKey: 'sk_test_1', cookiePassword: 'p'.repeat(32) },
  backendAuth: {
    url: 'https://abcdefghijklmnopqrst.supabase.co',
    anonKey: `sb_publishable_${randomBytes(16).toString('hex')}`,
  },
};
const readers = {
  b2bAuth: (options: object) => readB2bOptions({ ...keys.b2bAuth, ...options }, {}),
  backendAuth: (options: object) => readBackendOptions({ ...keys.backendAuth, ...options }, {}),
};
type Name = keyof typeof readers;

const code = { type: 'DeprecationWarning', code: 'EXPRESS_AUTH_ADAPTERS_DEPRECATED' };
const warnings = (): unknown[] => warn.mock.calls.map((call) => [...call]);

const inPaths = (paths: Readonly<Record<string, string>>): string[] =>
  Object.keys(paths).flatMap((option) => (option.startsWith('paths.') ? [option.slice('paths.'.length)] : []));
const moved = [
  ...inPaths(b2bPaths).map((name) => ['b2bAuth', name] as const),
  ...inPaths(backendPaths).map((name) => ['backendAuth', name] as const),
];

describe.each(moved)('the former option of %s for paths.%s', (adapter: Name, name) => {
  const former = `${name}Path`;
  const pathIn = (options: object): string | undefined =>
    (readers[adapter](options).paths as Readonly<Record<string, string>>)[name];

  it('is still read, with one warning that says what to write', () => {
    expect(pathIn({ [former]: '/own/path' })).toBe('/own/path');
    const message = `${adapter}: ${former} is now paths.${name}; write paths: { ${name}: '…' }. The next minor version will not read it.`;
    expect(warnings()).toEqual([[message, code]]);
  });

  it('gives way to the one of today, and leaves the other paths alone', () => {
    const paths = { [name]: '/today' };
    expect(pathIn({ [former]: '/former', paths })).toBe('/today');
    const defaults = readers[adapter]({}).paths;
    expect(readers[adapter]({ [former]: '/former' }).paths).toEqual({ ...defaults, [name]: '/former' });
  });

  it('beats pathPrefix', () => {
    expect(pathIn({ [former]: '/former', pathPrefix: '/v1' })).toBe('/former');
    expect(pathIn({ pathPrefix: '/v1' })).toMatch(/^\/v1\/(?!auth\/)/);
  });

  it('is named by errors as it was written', () => {
    expect(problemsBy(() => readers[adapter]({ [former]: 'no path' }))).toEqual([
      expect.stringMatching(new RegExp(`^${former} must be a root-relative path`)),
    ]);
    const clash = problemsBy(() => readers[adapter]({ [former]: '/in', loginPath: '/in' }));
    expect(clash).toEqual([`${former} and loginPath are both '/in'; give each route a path of its own`]);
    const today = problemsBy(() => readers[adapter]({ paths: { [name]: '/in' }, loginPath: '/in' }));
    expect(today).toEqual([`paths.${name} and loginPath are both '/in'; give each route a path of its own`]);
  });
});

it('the routes of two adapters know what was written', () => {
  const options = (adapter: ReturnType<typeof b2bAuth>): unknown[] =>
    [...(adapterOf(adapter)?.ownPaths.values() ?? [])].map(({ option }) => option);
  expect(options(b2bAuth({ ...keys.b2bAuth, organizationPath: '/team' }))).toContain('organizationPath');
  expect(options(b2bAuth({ ...keys.b2bAuth, paths: { organization: '/team' } }))).toContain('paths.organization');
  expect(options(backendAuth({ ...keys.backendAuth, forgotPath: '/lost' }))).toContain('forgotPath');
  expect(options(backendAuth(keys.backendAuth))).toContain('paths.forgot');
});

const gone: readonly (readonly [Name, string, unknown, object])[] = [
  ['b2bAuth', 'apiHostname', 'auth.example.com', { apiUrl: 'https://auth.example.com' }],
  ['b2bAuth', 'port', '8443', { apiUrl: 'https://api.workos.com:8443' }],
  ['b2bAuth', 'https', false, { apiUrl: 'http://api.workos.com' }],
  ['b2bAuth', 'stylesheetPath', '/own.css', { stylesheetPath: '/own.css' }],
  ['b2bAuth', 'maxCachedSessions', 5, { maxCachedSessions: 5 }],
  ['backendAuth', 'stylesheetPath', '/own.css', { stylesheetPath: '/own.css' }],
  ['backendAuth', 'maxCachedSessions', 5, { maxCachedSessions: 5 }],
  ['backendAuth', 'scriptPath', '/own.js', { scriptPath: '/own.js' }],
  ['backendAuth', 'mailAnswerMs', 5, { mailAnswerMs: 5 }],
];

it.each(gone)('%s still reads %s, with one warning that says what to do', (adapter, option, value, expected) => {
  const { fate, write } = formerOptions.get(option)!;
  expect(readers[adapter]({ [option]: value })).toMatchObject(expected);
  const message = `${adapter}: ${option} ${fate}; ${write}. The next minor version will not read it.`;
  expect(warnings()).toEqual([[message, code]]);
  expect(problemsBy(() => readers[adapter]({ [option]: null }))).toEqual([
    expect.stringMatching(new RegExp(`^${option}(?: \\(env \\w+\\))? must be `)),
  ]);
});

it('the lists above have every former option', () => {
  const entries = [formerSharedEntries, formerBackendEntries, formerB2bEntries].flatMap((each) => Object.keys(each));
  const listed = gone.map(([, option]) => option);
  expect(new Set(listed)).toEqual(new Set(entries));
  expect(new Set(formerOptions.keys())).toEqual(new Set(listed));
});

it('is an unknown option where the adapter never had it', () => {
  for (const [adapter, option] of [
    ['backendAuth', 'apiHostname'],
    ['backendAuth', 'organizationPath'],
    ['b2bAuth', 'forgotPath'],
    ['b2bAuth', 'scriptPath'],
    ['b2bAuth', 'mailAnswerMs'],
  ] as const) {
    expect(problemsBy(() => readers[adapter]({ [option]: '/x' }))).toEqual([
      expect.stringContaining(`${option} is not an option; `),
    ]);
  }
  expect(warnings()).toEqual([]);
});

it('says nothing of an option that is undefined, nor of the variables', () => {
  readers.backendAuth({ forgotPath: undefined, mailAnswerMs: undefined });
  const environment = { B2B_API_HOSTNAME: 'localhost', B2B_API_PORT: '8080', B2B_API_HTTPS: 'false' };
  expect(readB2bOptions(keys.b2bAuth, environment).apiUrl).toBe('http://localhost:8080');
  expect(warnings()).toEqual([]);
});

it('joins a former option with the variables of the others, and gives way to apiUrl', () => {
  const environment = { B2B_API_HOSTNAME: 'localhost', B2B_API_PORT: '8080', B2B_API_HTTPS: 'false' };
  const read = (options: object): string => readB2bOptions({ ...keys.b2bAuth, ...options }, environment).apiUrl;
  expect(read({ port: 9090 })).toBe('http://localhost:9090');
  expect(read({ apiHostname: 'auth.example.com', apiUrl: 'https://today.example' })).toBe('https://today.example');
});

it('is a problem of paths alone where these are no object', () => {
  const options = { forgotPath: '/lost', paths: 'lost' } as unknown as BackendAuthOptions;
  expect(problemsBy(() => readers.backendAuth(options))).toEqual([expect.stringMatching(/^paths must be an object/)]);
});
