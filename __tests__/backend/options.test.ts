import { randomBytes } from 'node:crypto';
import { SignJWT } from 'jose';
import { backendAuth, ConfigurationError, protectResource } from '../../lib/backend/index.ts';
import type { BackendAuthOptions } from '../../lib/backend/index.ts';
import { routeDefaults } from '../../lib/backend/option-schema.ts';
import { readBackendOptions } from '../../lib/backend/options.ts';
import { optionAt } from '../support/option-at.ts';
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

  it.each(['https://x.abcdefghijklmnopqrst.supabase.co', 'https://abcdefghijklmnopqrst.supabase.co.example'])(
    'may name another project than a host that only resembles a project’s: %s',
    async (url) => {
      expect(problemsOf({ url, anonKey: await jwt({ role: 'anon', ref: 'zzzzzzzzzzzzzzzzzzzz' }) })).toEqual([]);
    },
  );

  it('of another project is refused at the older host names, too', async () => {
    const anonKey = await jwt({ role: 'anon', ref: 'zzzzzzzzzzzzzzzzzzzz' });
    expect(problemsOf({ url: hosted.replace('.co', '.in'), anonKey })[0]).toContain('is a key of another project;');
  });

  it.each([
    [999, []],
    [1_000, [expect.stringContaining('is an expired key;')]],
  ])('expires by the application’s own clock: at %i ms', async (time, problems) => {
    const anonKey = await jwt({ role: 'anon', exp: 1 });
    expect(problemsOf({ url: hosted, anonKey, now: () => time })).toEqual(problems);
  });

  it.each([7, 'nonsense', ''])('is judged without a usable URL, which is a problem of its own: %j', async (url) => {
    const options = { url: url as string, anonKey: await jwt({ role: 'anon', ref: 'zzzzzzzzzzzzzzzzzzzz' }) };
    expect(problemsOf(options)).toEqual([expect.stringMatching(/^url /)]);
    expect(problemsOf({ ...options, anonKey: 'sb_secret_x' })).toHaveLength(2);
  });

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
    ['a key with blanks or quotes around it', () => `${publishable}  `],
    ['a key with blanks or quotes around it', () => `\`"${publishable}"\``],
    ['a key of an unknown kind', () => 'sb_publishable_!'],
    ['a key of an unknown kind', () => `${publishable}!`],
    ['not a Supabase key', () => `x${publishable}`],
    ['not a Supabase key', () => 'your-anon-key'],
    ['not a Supabase key', () => 'a.b'],
    ['not a Supabase key', () => 'a.b.c.d'],
    ['not a Supabase key', () => '!a.b.c'],
    ['not a Supabase key', () => 'a.b.c!'],
    ['not a Supabase key', () => randomBytes(40).toString('base64')],
    ['a key of an unknown kind', () => 'a.b.c'],
  ];

  it.each(refused)('is refused as %s, without being printed', async (kind, make) => {
    const anonKey = await make();
    const problems = problemsOf({ url: hosted, anonKey });
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain(`is ${kind};`);
    expect(problems[0]).toContain('BAAS_PUBLISHABLE_KEY');
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
    expect(text).toContain('url (env BAAS_URL) is missing: the URL of a Supabase project');
    expect(text).toMatch(/anonKey \(env BAAS_PUBLISHABLE_KEY\) is missing: the publishable key/);
    expect(text).toContain('color is not an option');
    expect(text).toContain('providers.0');
    expect(text).toContain('pages.signIn');
    expect(problems).toHaveLength(5);
  });

  it.each<[BackendAuthOptions, string]>([
    [{ loginPath: '/auth/session' }, 'loginPath'],
    [{ loginPath: '/auth/pages.css' }, "loginPath and the stylesheet of the built-in pages are both '/auth/pages.css'"],
    [{ pathPrefix: '/v1', logoutPath: '/v1/pages.js' }, 'the script of the built-in pages and logoutPath are both'],
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
    [{ pages: { signIn: '/auth/login' }, appBaseUrl: 'nonsense' }, 'pages.signIn is loginPath itself'],
    [{ pages: { signIn: 'https://app.example/shop/auth/login' }, appBaseUrl: 'https://app.example/shop//' }, 'itself'],
    [{ pages: 7 as never }, 'pages'],
    [{ pages: { signIn: 7 as never } }, 'pages.signIn'],
    [{ loginPath: 7 as never, pages: { signIn: '/auth/login' } }, 'loginPath'],
    [{ providers: 'github' as never }, 'providers must be a list of providers'],
    [{ providers: [null as never] }, 'providers.0'],
    [{ providers: [7 as never] }, 'providers.0'],
    [{ providers: [{} as never] }, 'providers.0'],
    [{ url: 'https://host.example/?a=b' }, 'url (env BAAS_URL) must not carry credentials'],
    [{ url: 'https://host.example/#a' }, 'must not carry credentials, a query or a fragment'],
    [{ url: 'ftp://host.example' }, 'with http:// or https://'],
    [{ throttle: { redis: null as never } }, 'throttle'],
    [{ throttle: { redis: (() => undefined) as never } }, 'throttle'],
    [{ throttle: { redis: { eval: expect, del: expect } as never } }, 'throttle'],
    [{ throttle: { keyPrefix: '' } }, 'throttle'],
  ])('%j is a problem', (options, word) => {
    const problems = problemsOf({ url: hosted, anonKey: publishable, ...options });
    expect(problems.join('\n')).toContain(word);
  });

  it.each<[string, string]>([
    ['https://supabase.com/dashboard/project/abcdefghijklmnopqrst', 'abcdefghijklmnopqrst'],
    ['https://www.supabase.com/dashboard/project/abcdefghijklmnopqrst/editor', 'abcdefghijklmnopqrst'],
    ['https://app.supabase.io/project/abcdefghijklmnopqrst/', 'abcdefghijklmnopqrst'],
    ['https://supabase.com/dashboard/project/abcdefghijklmnopqrs', '<project ref>'],
    ['https://supabase.com/dashboard/project/abcdefghijklmnopqrstu', '<project ref>'],
    ['https://supabase.com/', '<project ref>'],
  ])('with the dashboard’s address %s name the project’s own', (url, ref) => {
    expect(problemsOf({ url, anonKey: publishable })).toEqual([
      `url (env BAAS_URL) is the dashboard’s address, not the project’s; paste https://${ref}.supabase.co`,
    ]);
  });

  it.each(['/rest/v1', '/auth/v1/', '/base/storage/v1/object'])(
    'with the address of an API say what to leave out: %s',
    (path) => {
      expect(problemsOf({ url: hosted + path, anonKey: publishable })).toEqual([
        'url (env BAAS_URL) is the address of one of the project’s APIs; leave out /auth/v1, /rest/v1 or /storage/v1 and what follows',
      ]);
    },
  );

  it.each(['https://xsupabase.com', 'https://supabase.com.example', 'https://api.supabase.com'])(
    'may have a host that only resembles the dashboard’s: %s',
    (url) => expect(problemsOf({ url, anonKey: publishable })).toEqual([]),
  );

  it('say once that a provider is there more often, and of each one', () => {
    const providers = ['github', 'github', { name: 'github' }, 'google', 'google', 'gitlab'];
    expect(problemsOf({ url: hosted, anonKey: publishable, providers })).toEqual([
      'providers names "github" twice',
      'providers names "google" twice',
    ]);
  });

  it.each<[unknown, string]>([
    ['Github', 'write github'],
    [' Google', 'write google'],
    ['Custom:Acme', 'write custom:acme'],
    ['https://github.com', 'such as github'],
    ['-', 'such as github'],
  ])('with the provider %j say how it is written', (name, advice) => {
    const problem = `must be a provider’s name in lower case, ${advice}`;
    expect(problemsOf({ url: hosted, anonKey: publishable, defaultProvider: name as string })).toEqual([
      `defaultProvider ${problem}`,
    ]);
  });

  it('with a misspelled provider name the one that is meant', () => {
    const given = { url: hosted, anonKey: publishable };
    const problem = 'must be a provider’s name; did you mean google?';
    expect(problemsOf({ ...given, defaultProvider: 'gogle' })).toEqual([`defaultProvider ${problem}`]);
    expect(problemsOf({ ...given, providers: ['github', 'gogle'] }).join()).toContain(problem);
    for (const name of ['linkedin_oidc', 'slack_oidc', 'zoom', 'kakao', 'x', 'custom:gogle'])
      expect(problemsOf({ ...given, providers: [name] })).toEqual([]);
  });

  it.each<[object, string]>([
    [{ forgot: '/x' }, 'forgot is not an option; did you mean paths.forgot?'],
    [{ forgottPath: '/x' }, 'forgottPath is not an option; did you mean paths.forgot?'],
    [{ conectedApps: '/x' }, 'conectedApps is not an option; did you mean paths.connectedApps?'],
    [{ loginpath: '/x' }, 'loginpath is not an option; did you mean loginPath?'],
    [{ redirectUri: 'https://x.example/y' }, 'redirectUri is not an option; write callbackUrl'],
    [{ callbackUri: 'https://x.example/y' }, 'callbackUri is not an option; write callbackUrl'],
    [{ sheetPath: '/x' }, 'sheetPath is not an option; check its spelling'],
    [{ stylesheetPaht: '/x' }, 'stylesheetPaht is not an option; check its spelling'],
    [{ paths: { login: '/x' } }, 'paths.login is not an option; write loginPath'],
    [{ paths: { signUp: '/x' } }, 'paths.signUp is not an option; write signupPath'],
    [{ paths: { forgto: '/x' } }, 'paths.forgto is not an option; did you mean forgot?'],
    [
      { paths: { x: '/x' } },
      'paths.x is not an option; there are resend, confirm, forgot, password, code, sso, verify, enroll, passkey, passkeys, consent, connectedApps',
    ],
    [{ pages: { titel: 'x' } }, 'pages.titel is not an option; did you mean title?'],
    [{ pages: { color: 'x' } }, 'pages.color is not an option; there are signIn, signUp, title, logo, '],
    [{ pages: { text: { color: 'x' } } }, 'pages.text.color is not an option; check its spelling'],
  ])('%j is answered with what there is', (options, problem) => {
    const problems = problemsOf({ url: hosted, anonKey: publishable, ...options });
    expect(problems).toEqual([expect.stringContaining(problem)]);
  });

  it('take providers by name and as objects', () => {
    const providers = ['github', { name: 'google', label: 'G' }];
    expect(readBackendOptions({ url: hosted, anonKey: publishable, providers }, {}).providers).toEqual([
      { name: 'github' },
      { name: 'google', label: 'G' },
    ]);
  });

  it('take a Redis client of any class', () => {
    const method = () => Promise.resolve();
    const redis = { eval: method, del: method, multi: () => ({}) };
    expect(problemsOf({ url: hosted, anonKey: publishable, throttle: { redis, keyPrefix: 'own' } })).toEqual([]);
  });

  it.each<BackendAuthOptions>([
    { pages: { signIn: '/auth/login?provider=github' } },
    { pages: { signIn: '/auth/login', render: () => false } },
    { pages: { signUp: '/auth/login' } },
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

describe('the adapter’s own routes', () => {
  const base = { url: hosted, anonKey: publishable };
  const all: BackendAuthOptions = {
    ...base,
    signInMethods: ['password', 'code', 'passkey'],
    sso: true,
    oauthConsent: true,
  };
  /** The option whose route answers a path. */
  const optionOf = (options: BackendAuthOptions, path: string): string | undefined => {
    const problems = problemsBy(() =>
      protectResource(backendAuth(options), { path, clients: 'any', audience: hosted }),
    );
    return /which is (.+) of the adapter/.exec(problems.join())?.[1];
  };
  const files = ['stylesheetPath', 'scriptPath'];
  const movable = Object.entries(routeDefaults).filter(([option]) => !files.includes(option));

  it.each(movable)('%s answers %s, where everything is on', (option, path) => {
    expect(optionOf(all, path)).toBe(option);
    expect(optionOf({ ...all, ...optionAt(option, '/own') }, '/own')).toBe(option);
  });

  it.each(files.map((option) => routeDefaults[option]))('has a file at %s', (path = '') => {
    expect(optionOf(all, path)).toBe('a file for the pages');
  });

  const optional = {
    'paths.forgot': { ...all, signInMethods: ['code'] },
    'paths.password': { ...all, signInMethods: ['code'] },
    signupPath: { ...all, signUp: false },
    'paths.code': { ...all, signInMethods: ['password'] },
    'paths.sso': { ...all, sso: false },
    'paths.passkey': { ...all, signInMethods: ['password'] },
    'paths.passkeys': { ...all, signInMethods: ['password'] },
    'paths.consent': { ...all, oauthConsent: false },
    'paths.connectedApps': { ...all, oauthConsent: false },
  } as const satisfies Record<string, BackendAuthOptions>;
  it.each(Object.entries(optional))('%s answers nothing where it is off', (option, options) => {
    expect(optionOf(options, routeDefaults[option] ?? '')).toBeUndefined();
  });

  it('for accounts need passwords', () => {
    expect(optionOf({ ...all, signInMethods: ['code'] }, routeDefaults['signupPath'] ?? '')).toBeUndefined();
  });
});
