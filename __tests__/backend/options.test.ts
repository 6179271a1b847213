import { randomBytes } from 'node:crypto';
import { SignJWT } from 'jose';
import { backendAuth, ConfigurationError } from '../../lib/backend/index.ts';
import type { BackendAuthOptions } from '../../lib/backend/index.ts';
import { readBackendOptions } from '../../lib/backend/options.ts';
import { problemsBy } from '../support/problems.ts';

const publishable = `sb_publishable_${randomBytes(16).toString('hex')}`;
const hosted = 'https://abcdefghijklmnopqrst.supabase.co';

function jwt(claims: Record<string, unknown>): Promise<string> {
  return new SignJWT(claims).setProtectedHeader({ alg: 'HS256' }).sign(randomBytes(32));
}

const problemsOf = (options: BackendAuthOptions, environment: Record<string, string> = {}): readonly string[] =>
  problemsBy(() => readBackendOptions(options, environment));

describe('the key', () => {
  it('may be a publishable key of any length', () => {
    expect(problemsOf({ url: hosted, anonKey: publishable })).toEqual([]);
    expect(problemsOf({ url: hosted, anonKey: 'sb_publishable_x' })).toEqual([]);
  });

  it('may be a legacy anon key', async () => {
    for (const claims of [
      { role: 'anon', iss: 'supabase-demo' },
      { role: 'anon', ref: 'abcdefghijklmnopqrst', iss: 'supabase', exp: 4_102_444_800 },
    ]) {
      expect(problemsOf({ url: hosted, anonKey: await jwt(claims) })).toEqual([]);
    }
  });

  it.each(['https://auth.example.com', 'http://127.0.0.1:54321', 'https://short.supabase.co'])(
    'may name a project that its URL does not: %s',
    async (url) => {
      expect(problemsOf({ url, anonKey: await jwt({ role: 'anon', ref: 'abcdefghijklmnopqrst' }) })).toEqual([]);
    },
  );

  it.each(['', undefined])('that is %j is one problem', (anonKey) => {
    expect(problemsOf({ url: hosted, anonKey })).toEqual([expect.stringMatching(/ is (?:empty|missing): /)]);
  });

  const refused: readonly (readonly [kind: string, key: () => Promise<string> | string])[] = [
    ['a secret key', () => `sb_secret_${randomBytes(16).toString('hex')}`],
    ['a secret key', () => `  sb_secret_${randomBytes(16).toString('hex')}\n`],
    ['a secret key', () => `"sb_secret_${randomBytes(16).toString('hex')}"`],
    ['a key of an unknown kind', () => `sb_temp_${randomBytes(8).toString('hex')}`],
    ['a key of an unknown kind', () => 'SB_PUBLISHABLE_x'.toLowerCase().replace('publishable', 'Publishable')],
    ['a personal access token', () => `sbp_${randomBytes(20).toString('hex')}`],
    ['a service-role key', () => jwt({ role: 'service_role' })],
    ['an administrator’s key', () => jwt({ role: 'supabase_admin' })],
    ['a user’s access token', () => jwt({ role: 'authenticated', sub: 'user' })],
    ['a user’s access token', () => jwt({ role: 'anon', sub: 'user' })],
    ['a user’s access token', () => jwt({ role: 'anon', session_id: 'a-session' })],
    ['a key of an unknown kind', () => jwt({ role: ['anon', 'service_role'] })],
    ['a key of an unknown kind', () => jwt({ iss: 'supabase' })],
    ['an expired key', () => jwt({ role: 'anon', exp: 1 })],
    ['a key of another project', () => jwt({ role: 'anon', ref: 'zzzzzzzzzzzzzzzzzzzz' })],
    ['a key with blanks or quotes around it', () => ` ${publishable}`],
    ['a key with blanks or quotes around it', () => `'${publishable}'`],
    ['not a Supabase key', () => 'your-anon-key'],
    ['not a Supabase key', () => randomBytes(40).toString('base64')],
    ['a key of an unknown kind', () => 'a.b.c'],
  ];

  it.each(refused)('is refused as %s, without being printed', async (kind, make) => {
    const anonKey = await make();
    const problems = problemsOf({ url: hosted, anonKey });
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain(`is ${kind};`);
    expect(problems[0]).toContain('BAAS_ANON_KEY');
    expect(problems.join('')).not.toContain(anonKey.trim());
  });

  it('of any kind overrides the others: an object or a function is not accepted as a key', () => {
    expect(problemsOf({ url: hosted, anonKey: { toString: () => publishable } as unknown as string })[0]).toContain(
      'anonKey',
    );
  });
});

describe('options', () => {
  it('override environment variables, of which the first non-empty one wins', () => {
    const environment = {
      BAAS_URL: '',
      NEXT_PUBLIC_BAAS_URL: 'https://second.example.com',
      NEXT_PUBLIC_BAAS_PUBLISHABLE_DEFAULT_KEY: 'sb_publishable_last',
      BAAS_PUBLISHABLE_KEY: publishable,
      APP_BASE_URL: 'https://app.example.com',
    };
    expect(readBackendOptions({}, environment)).toMatchObject({
      url: 'https://second.example.com',
      anonKey: publishable,
      appBaseUrl: 'https://app.example.com',
      cookieName: 'sb-second-auth-token',
    });
    expect(readBackendOptions({ url: 'https://first.example.com/' }, environment).url).toBe(
      'https://first.example.com',
    );
  });

  it('are all checked before an error is thrown, with the option and variables of each problem', () => {
    const options = { providers: ['GitHub'], color: 'red', pages: { signIn: 'sign-in' } } as BackendAuthOptions;
    const problems = problemsOf(options);
    const text = problems.join('\n');
    expect(text).toContain('url (env BAAS_URL or NEXT_PUBLIC_BAAS_URL) is missing: the URL of a Supabase project');
    expect(text).toMatch(/anonKey \(env BAAS_ANON_KEY or .*\) is missing: the publishable key/);
    expect(text).toContain('color is not an option');
    expect(text).toContain('providers.0');
    expect(text).toContain('pages.signIn');
    expect(problems).toHaveLength(5);
  });

  it.each<[BackendAuthOptions, string]>([
    [{ loginPath: '/auth/session' }, 'loginPath'],
    [{ providers: ['github', { name: 'github' }] }, 'twice'],
    [{ pages: { signIn: '/auth/login' } }, 'pages.signIn is loginPath itself'],
    [{ pages: { signIn: '/Auth/Login/?theme=dark#form' } }, 'pages.signIn is loginPath itself'],
    [{ pages: { signUp: '/auth/./signup' } }, 'pages.signUp is signupPath itself'],
    [{ pages: { signIn: '/in' }, loginPath: '/in' }, 'pages.signIn is loginPath itself'],
    [
      { pages: { signIn: 'https://app.example/shop/auth/login' }, appBaseUrl: 'https://App.example/shop/' },
      'pages.signIn is loginPath itself',
    ],
    [{ pages: { text: { color: 'red' } as never } }, 'pages.text.color'],
    [{ callbackUrl: '/auth/callback' }, 'callbackUrl'],
    [{ url: 'https://user:secret@host.example' }, 'url'],
    [
      { url: 'https://supabase.com/dashboard/project/abcdefghijklmnopqrst/settings/api' },
      'is the dashboard’s address, not the project’s; paste https://abcdefghijklmnopqrst.supabase.co',
    ],
    [{ url: 'https://supabase.com/dashboard/projects' }, 'https://<project ref>.supabase.co'],
    [{ signOutScope: 'others' as 'local' }, 'signOutScope'],
    [{ protectedRoutes: '/a(.*)/b' }, 'protectedRoutes'],
    [{ throttle: true as unknown as false }, 'throttle'],
  ])('%j is a problem', (options, word) => {
    const problems = problemsOf({ url: hosted, anonKey: publishable, ...options });
    expect(problems.join('\n')).toContain(word);
  });

  it.each<BackendAuthOptions>([
    { pages: { signIn: '/auth/login?provider=github' } },
    { pages: { signIn: '/auth/signup', signUp: '/join' } },
    { pages: { signIn: 'https://id.example/auth/login' } },
    { pages: { signIn: '/auth/login' }, appBaseUrl: 'https://app.example/shop' },
  ])('%j is no problem', (options) =>
    expect(problemsOf({ url: hosted, anonKey: publishable, ...options })).toEqual([]),
  );

  it('with a page of one’s own by `render` leave out an address that is that page itself', () => {
    const given = { url: hosted, anonKey: publishable };
    const pages = { render: () => false, signIn: '/auth/login', signUp: '/join' };
    expect(readBackendOptions({ ...given, pages }, {}).pages).toMatchObject({ signIn: undefined, signUp: '/join' });
  });

  it('that are URLs are read as browsers and tokens write them', () => {
    const environment = {
      BAAS_URL: 'HTTPS://ABCDEFGHIJKLMNOPQRST.Supabase.CO:443//',
      APP_BASE_URL: 'HTTPS://App.example/',
    };
    const { url, appBaseUrl, cookieName } = readBackendOptions({ anonKey: publishable }, environment);
    expect([url, appBaseUrl, cookieName]).toEqual([
      hosted,
      'https://app.example',
      'sb-abcdefghijklmnopqrst-auth-token',
    ]);
  });

  it('that are wrong stop the application at construction', () => {
    expect(() => backendAuth({ url: hosted, anonKey: 'sb_secret_x' })).toThrow(ConfigurationError);
  });
});
