import type { BackendAuthOptions, BackendSignIn, SharedCoordinator } from '../../../lib/backend/index.ts';
import { AuthError, ConfigurationError } from '../../../lib/errors.ts';
import { backendAuth } from '../../../lib/backend/index.ts';
import { createHeldProviderTokens, providerTokensIn } from '../../../lib/backend/provider-tokens/held.ts';
import { withProviderTokens } from '../../../lib/backend/supabase/session-cookie.ts';
import { ada, startBackendApp } from '../../support/backend-app.ts';
import type { BackendApp, BackendAppSetup } from '../../support/backend-app.ts';
import { createShared } from '../../support/shared-memory.ts';
import type { Answer, Visitor } from '../../support/visitor.ts';

let app: BackendApp;
const apps: BackendApp[] = [];
let hooks: BackendSignIn[] = [];

async function start(options: BackendAuthOptions = {}, setup: BackendAppSetup = {}): Promise<BackendApp> {
  hooks = [];
  app = await startBackendApp({ ...setup, options: { onSignIn: (signIn) => void hooks.push(signIn), ...options } });
  apps.push(app);
  return app;
}

afterEach(async () => {
  await Promise.all(apps.splice(0).map((each) => each.close()));
});

const callbackOf = async (visitor: Visitor, path: string): Promise<string> =>
  (await app.supabase.authorize((await visitor.get(path)).location, { approve: true, user: ada.email })).href;

const signIn = async (visitor: Visitor, provider = 'google', returnTo = '/account'): Promise<Answer> =>
  visitor.get(await callbackOf(visitor, `/auth/login?provider=${provider}&returnTo=${returnTo}`));

const given = (): unknown[] => hooks.map(({ providerTokens }) => providerTokens);

/** The session cookie's content, of one cookie or of several. */
function stored(visitor: Visitor): Record<string, unknown> {
  const parts = [...visitor.cookies].filter(([name]) => /sb-127-auth-token(?:\.\d)?$/.test(name)).sort();
  const value = parts.map(([, part]) => decodeURIComponent(part)).join('');
  return JSON.parse(Buffer.from(value.replace('base64-', ''), 'base64url').toString());
}

const google = { provider: 'google', accessToken: 'provider-token', refreshToken: 'provider-refresh-token' };

describe('the provider’s own tokens', () => {
  it('reach onSignIn once, after the callback and before a cookie is written', async () => {
    await start({
      onSignIn: ({ req, ...signIn }) => {
        hooks.push({ req, ...signIn });
        expect(req.res?.getHeader('set-cookie')).toBeUndefined();
      },
    });
    const visitor = app.visitor();
    const callback = await callbackOf(visitor, '/auth/login?provider=google');
    const ask = { headers: { cookie: visitor.cookieHeader() } };
    const answers = await Promise.all([1, 2, 3].map(() => app.visitor().get(callback, ask)));
    expect(answers.map(({ status }) => status)).toEqual([303, 303, 303]);
    expect(given()).toEqual([google]);
  });

  it('are in no cookie', async () => {
    await start();
    const visitor = app.visitor();
    expect((await signIn(visitor)).status).toBe(303);
    expect(Object.keys(stored(visitor))).not.toContain('provider_token');
    expect(JSON.stringify(stored(visitor))).not.toContain('provider-token');
    expect((await visitor.getJson('/auth/session')).status).toBe(200);
  });

  it('stay in the cookie with keepProviderTokens, until the first refresh', async () => {
    await start({ keepProviderTokens: true });
    const visitor = app.visitor();
    await signIn(visitor);
    expect(given()).toEqual([google]);
    const kept = { provider_token: 'provider-token', provider_refresh_token: 'provider-refresh-token' };
    expect(stored(visitor)).toMatchObject(kept);
    app.clock.advance(2 * 3_600_000);
    expect((await visitor.getJson('/auth/session')).status).toBe(200);
    expect(Object.keys(stored(visitor))).not.toContain('provider_token');
  });

  it('are absent from every other sign-in', async () => {
    await start();
    await app.visitor().postJson('/auth/login', ada);
    await app.visitor().postJson('/auth/signup', { email: 'new@example.com', password: ada.password });
    expect(hooks.map((hook) => 'providerTokens' in hook)).toEqual([false, false]);
  });

  it('name the provider that the sign-in was started with, where the account has several', async () => {
    await start();
    await signIn(app.visitor(), 'google');
    await signIn(app.visitor(), 'github');
    await signIn(app.visitor(), 'google');
    expect(given()).toMatchObject([{ provider: 'google' }, { provider: 'github' }, { provider: 'google' }]);
  });

  it('are not handed out where the cookie names a provider that the account does not have', async () => {
    await start({ keepProviderTokens: true });
    const visitor = app.visitor();
    const callback = await callbackOf(visitor, '/auth/login?provider=google');
    for (const [name, value] of visitor.cookies) {
      if (name.endsWith('-state')) visitor.cookies.set(name, value.replace('google', 'github'));
    }
    expect((await visitor.get(callback)).status).toBe(303);
    expect(given()).toEqual([undefined]);
    expect(stored(visitor)).toMatchObject({ provider_token: 'provider-token' });
  });

  it('are handed out for a cookie of an earlier version, where the account has one provider', async () => {
    await start();
    const visitor = app.visitor();
    app.supabase.addUser({ email: 'grace@example.com', confirmed: true });
    const callback = await callbackOf(visitor, '/auth/login?provider=google&returnTo=/account');
    for (const [name, value] of visitor.cookies) {
      if (name.endsWith('-state')) visitor.cookies.set(name, value.replace(/oauth.*?google/, 'oauth'));
    }
    const done = await visitor.get(callback);
    expect(done.location).toMatch(/\/account$/);
    expect(given()).toEqual([google]);
  });

  it('are not handed out for such a cookie, where the account has several providers', async () => {
    await start();
    await signIn(app.visitor(), 'github');
    const visitor = app.visitor();
    const callback = await callbackOf(visitor, '/auth/login?provider=google');
    for (const [name, value] of visitor.cookies) {
      if (name.endsWith('-state')) visitor.cookies.set(name, value.replace(/oauth.*?google/, 'oauth'));
    }
    expect((await visitor.get(callback)).status).toBe(303);
    expect(given()).toEqual([{ ...google, provider: 'github' }, undefined]);
  });

  it('of a custom provider keep its name', async () => {
    await start({}, { standIn: { providers: new Set(['google']) } });
    const visitor = app.visitor();
    const start302 = await visitor.get('/auth/login?provider=custom:acme');
    expect(start302.status).toBe(302);
    const [, value = ''] = [...visitor.cookies].find(([name]) => name.endsWith('-state')) ?? [];
    expect(decodeURIComponent(value)).toBe('oauth@custom.acme:/');
  });

  it('never reach the hook of a refused sign-in, nor an event', async () => {
    await start({ accept: () => false });
    expect((await signIn(app.visitor())).status).toBe(403);
    expect(hooks).toEqual([]);
    expect(JSON.stringify(app.events)).not.toContain('provider-token');
  });
});

describe('what is read from the exchange of a code', () => {
  const user = { identities: [{ provider: 'google' }], app_metadata: { providers: ['google'] } };
  const issued = (more: object) => ({ provider_token: 'a', provider_refresh_token: 'b', user, ...more }) as never;

  it.each([undefined, null, '', 7, ['a'], { a: 1 }])('is nothing where the access token is %j', (token) => {
    expect(providerTokensIn(issued({ provider_token: token }), 'google')).toBeUndefined();
  });

  it.each([undefined, null, '', 7, ['b'], { b: 1 }])('has no refresh token where it is %j', (token) => {
    const read = providerTokensIn(issued({ provider_refresh_token: token }), 'google');
    expect(read).toStrictEqual({ provider: 'google', accessToken: 'a' });
  });

  it.each<[string, object, string | undefined, string | undefined]>([
    ['an identity', { identities: [{ provider: 'google' }], app_metadata: {} }, 'google', 'google'],
    ['its metadata', { app_metadata: { providers: ['google'] } }, 'google', 'google'],
    ['neither', { identities: [], app_metadata: {} }, 'google', undefined],
    ['metadata without a list', { app_metadata: { providers: 'google' } }, 'google', undefined],
    ['metadata with other values', { app_metadata: { providers: [7, null] } }, undefined, undefined],
    ['metadata with other values beside it', { app_metadata: { providers: [7, 'google'] } }, undefined, 'google'],
    ['metadata that is text', { app_metadata: { providers: 'google' } }, undefined, undefined],
    ['one beside an address', { app_metadata: { providers: ['email', 'phone', 'google'] } }, undefined, 'google'],
    ['the same one twice', user, undefined, 'google'],
    ['two', { app_metadata: { providers: ['google', 'github'] } }, undefined, undefined],
    ['an address only', { app_metadata: { providers: ['email', 'phone'] } }, undefined, undefined],
  ])('names the provider that the account has by %s', (_, account, asked, provider) => {
    expect(providerTokensIn(issued({ user: account }), asked)?.provider).toBe(provider);
  });
});

it('a session keeps the fields of others, and no tokens of a provider but these', () => {
  const own = { access_token: 'a', refresh_token: 'r', my_provider_token: 'x', provider_tokens: 'y' };
  const content = { ...own, provider_token: 'old', provider_refresh_token: 'old' };
  expect(withProviderTokens(content, undefined)).toEqual(own);
  expect(withProviderTokens(content, { accessToken: 'new' })).toEqual({ ...own, provider_token: 'new' });
  expect(withProviderTokens(content, google)).toMatchObject({ provider_refresh_token: 'provider-refresh-token' });
});

describe('tokens that wait for a second factor', () => {
  let time = 1;
  const oauth = { amr: [{ method: 'otp' }, { method: 'oauth' }] };
  const hold = (coordinator?: SharedCoordinator) =>
    createHeldProviderTokens({ now: () => time, coordinator, timeoutMs: 5_000, keepProviderTokens: true });
  const tokensOf = (bytes: number) => ({ accessToken: 'x'.repeat(bytes / 2 - '{"accessToken":""}'.length) });

  it('are found for their session, until they are dropped or ten minutes have passed', async () => {
    const held = hold();
    await held.keep('one', google);
    await held.keep('other', { accessToken: 'b' });
    expect(await held.find('one', oauth)).toEqual(google);
    expect(await held.find('other', oauth)).toEqual({ accessToken: 'b' });
    expect([await held.find('third', oauth), await held.find(undefined, oauth)]).toEqual([undefined, undefined]);
    await held.drop('one');
    expect([await held.find('one', oauth), await held.find('other', oauth)]).toEqual([undefined, { accessToken: 'b' }]);
    time += 600_001;
    expect(await held.find('other', oauth)).toBeUndefined();
  });

  it('are kept for no token without a session', async () => {
    const held = hold();
    await held.keep(undefined, google);
    await held.drop(undefined);
    expect(await held.find(undefined, oauth)).toBeUndefined();
  });

  it('are looked for without taking the turn of another process, and only for sessions and sign-ins that can have some', async () => {
    const shared = createShared();
    const asked: unknown[] = [];
    const held = hold({
      ...shared,
      take: (name, turn) => {
        asked.push([turn]);
        return shared.take(name, turn);
      },
      settle: (name, change) => {
        asked.push(change);
        return shared.settle(name, change);
      },
    });
    await held.keep(undefined, google);
    await held.keep('large', tokensOf(16 * 1024 + 2));
    await held.find(undefined, oauth);
    await held.find('one', { amr: [] });
    await held.drop(undefined);
    expect(asked).toEqual([]);
    await held.keep('one', google);
    await held.find('one', oauth);
    await held.drop('one');
    expect(asked.splice(0)).toEqual([
      { ttlMs: 0 },
      { answer: JSON.stringify(google), weight: 1, ttlMs: 600_000 },
      { ttlMs: 0 },
    ]);
    await held.find('one', oauth);
    await held.find('one', oauth);
    expect(asked).toEqual([[undefined], [undefined]]);
  });

  it.each([undefined, 'oauth', [], ['oauth'], [null], [{ method: 'password' }], [{ oauth: true }]])(
    'are found for no sign-in by other methods: %j',
    async (amr) => {
      const held = hold();
      await held.keep('one', google);
      expect(await held.find('one', { amr })).toBeUndefined();
    },
  );

  it('have at most 16 KB, and 4 MB together', async () => {
    const shared = createShared();
    const held = hold(shared);
    await held.keep('fits', tokensOf(16 * 1024));
    await held.keep('large', tokensOf(16 * 1024 + 2));
    expect([await held.find('fits', oauth), await held.find('large', oauth)]).toEqual([tokensOf(16 * 1024), undefined]);
    shared.isDown = true;
    for (let index = 1; index <= 256; index += 1) await held.keep(`more ${index}`, tokensOf(16 * 1024));
    expect([await held.find('fits', oauth), await held.find('more 1', oauth)]).toEqual([
      undefined,
      tokensOf(16 * 1024),
    ]);
  });

  it.each<[string | undefined, object | undefined]>([
    [undefined, undefined],
    ['', undefined],
    ['text', undefined],
    ['[]', undefined],
    ['{}', undefined],
    ['{"accessToken":7}', undefined],
    ['{"accessToken":"a","provider":7,"refreshToken":null}', { accessToken: 'a' }],
    [JSON.stringify({ ...google, more: 'x' }), google],
  ])('of another process are read from %j', async (answer, read) => {
    const take: SharedCoordinator['take'] = () => Promise.resolve({ answer, turnMs: 1 });
    expect(await hold({ ...createShared(), take }).find('one', oauth)).toStrictEqual(read);
  });

  it('are shared, and dropped everywhere', async () => {
    const shared = createShared();
    const [here, there] = [hold(shared), hold(shared)];
    await here.keep('one', google);
    expect([await there.find('one', oauth), await there.find('other', oauth)]).toEqual([google, undefined]);
    await there.drop('one');
    expect(await hold(shared).find('one', oauth)).toBeUndefined();
  });

  it('are at hand here while the coordinator is out of reach', async () => {
    const shared = createShared();
    shared.isDown = true;
    const held = hold(shared);
    await held.keep('one', google);
    expect([await held.find('one', oauth), await held.find('other', oauth)]).toEqual([google, undefined]);
    await held.drop('one');
    expect(await held.find('one', oauth)).toBeUndefined();
  });
});

describe('beside a second factor', () => {
  const begin = async (visitor: Visitor): Promise<void> => {
    expect((await signIn(visitor)).location).toMatch(/\/auth\/verify/);
  };
  const complete = (visitor: Visitor): Promise<Answer> =>
    visitor.postJson('/auth/verify', { code: app.supabase.codeOf(app.supabase.factorsOf(ada.email)[0]!) });

  it('they reach onSignIn with the factor, once, and lie in no cookie meanwhile', async () => {
    await start();
    app.supabase.addFactor(ada.email);
    const visitor = app.visitor();
    await begin(visitor);
    expect(hooks).toEqual([]);
    const cookies = [...visitor.cookies.values()].map((value) => Buffer.from(value, 'base64url').toString());
    expect(cookies.join()).not.toContain('provider-token');
    expect((await complete(visitor)).status).toBe(200);
    expect(given()).toEqual([google]);
    expect(Object.keys(stored(visitor))).not.toContain('provider_token');
  });

  it('they stay in the cookie with keepProviderTokens', async () => {
    await start({ keepProviderTokens: true });
    app.supabase.addFactor(ada.email);
    const visitor = app.visitor();
    await begin(visitor);
    await complete(visitor);
    expect(stored(visitor)).toMatchObject({ provider_token: 'provider-token' });
  });

  it('a cookie that names others is not believed', async () => {
    await start();
    app.supabase.addFactor(ada.email);
    const visitor = app.visitor();
    await begin(visitor);
    for (const [name, value] of visitor.cookies) {
      if (!name.endsWith('-pending')) continue;
      const pending = JSON.parse(Buffer.from(value, 'base64url').toString());
      const forged = {
        ...pending,
        provider_token: 'evil',
        providerTokens: { provider: 'google', accessToken: 'evil' },
      };
      visitor.cookies.set(name, Buffer.from(JSON.stringify(forged)).toString('base64url'));
    }
    await complete(visitor);
    expect(given()).toEqual([google]);
  });

  it('they are not handed to another sign-in of the same person', async () => {
    await start();
    app.supabase.addFactor(ada.email);
    await begin(app.visitor());
    const other = app.visitor();
    await other.postJson('/auth/login', ada);
    app.clock.advance(31_000);
    await complete(other);
    expect(given()).toEqual([undefined]);
  });

  it('they survive a try that got no answer, and a hook that failed keeps them from the next', async () => {
    let failures = 1;
    await start({
      onSignIn: (signIn) => {
        hooks.push(signIn);
        if (failures-- > 0) throw new AuthError('provider_unavailable', { retryAfter: 1 });
      },
    });
    app.supabase.addFactor(ada.email);
    const visitor = app.visitor();
    await begin(visitor);
    expect((await complete(visitor)).status).toBe(503);
    expect(given()).toEqual([google]);
  });

  it('they are not handed out again where a copy of the pending cookie is used again', async () => {
    await start();
    app.supabase.addFactor(ada.email);
    const visitor = app.visitor();
    await begin(visitor);
    const copy = app.visitor();
    for (const [name, value] of visitor.cookies) copy.cookies.set(name, value);
    await complete(visitor);
    app.clock.advance(31_000);
    expect((await complete(copy)).status).toBe(200);
    expect(given()).toEqual([google, undefined]);
  });

  it('nothing is kept where no one would get them', async () => {
    const memory = createShared();
    const names: string[] = [];
    const coordinator: SharedCoordinator = {
      ...memory,
      settle: (name, change) => {
        if (change.answer?.includes('provider-token') === true) names.push(name);
        return memory.settle(name, change);
      },
      take: (name, turn) => {
        if (turn === undefined) names.push(name);
        return memory.take(name, turn);
      },
    };
    await start({ coordinator, onSignIn: undefined });
    app.supabase.addFactor(ada.email);
    const visitor = app.visitor();
    await begin(visitor);
    expect((await complete(visitor)).status).toBe(200);
    expect(names).toEqual([]);
  });

  it('they are at hand in another process that shares the coordinator', async () => {
    const coordinator = createShared();
    await start({ coordinator });
    const first = app;
    const seen = hooks;
    first.supabase.addFactor(ada.email);
    const visitor = first.visitor();
    await begin(visitor);
    const own: BackendSignIn[] = [];
    const second = await startBackendApp({
      options: {
        coordinator,
        url: first.supabase.url,
        anonKey: first.supabase.publishableKey,
        now: first.clock.now,
        onSignIn: (signIn) => void own.push(signIn),
      },
    });
    apps.push(second);
    const factor = first.supabase.factorsOf(ada.email)[0]!;
    const answer = await second.visitor().ask('/auth/verify', {
      method: 'POST',
      headers: { cookie: visitor.cookieHeader(), 'content-type': 'application/json', accept: 'application/json' },
      body: JSON.stringify({ code: first.supabase.codeOf(factor) }),
    });
    expect(answer.status).toBe(200);
    expect(own.map(({ providerTokens }) => providerTokens)).toEqual([google]);
    expect(seen).toEqual([]);
  });
});

describe('queryParams', () => {
  it('travel to the provider', async () => {
    const queryParams = { access_type: 'offline', prompt: 'consent', hd: 'example.com' };
    await start({ providers: [{ name: 'google', queryParams }, 'github'] });
    const { searchParams } = new URL((await app.visitor().get('/auth/login?provider=google')).location);
    expect(Object.fromEntries(searchParams)).toMatchObject(queryParams);
    const other = new URL((await app.visitor().get('/auth/login?provider=github')).location);
    expect(other.searchParams.has('access_type')).toBe(false);
  });

  it.each([
    ['google', { prompt: 'consent' }, 'select_account consent'],
    ['google', { prompt: 'none' }, 'select_account'],
    ['azure', { prompt: 'consent' }, 'select_account'],
    ['google', { access_type: 'offline' }, 'select_account'],
    ['gitlab', { prompt: 'consent' }, 'consent'],
  ])('of %s, %j, leave the question for another account: %s', async (name, queryParams, expected) => {
    await start({ providers: [{ name, queryParams: queryParams }] });
    const start302 = await app.visitor().get(`/auth/login?provider=${name}&prompt=login`);
    expect(new URL(start302.location).searchParams.getAll('prompt')).toEqual([expected]);
  });

  const problemOf = (queryParams: unknown): string => {
    try {
      backendAuth({
        url: 'https://project.supabase.co',
        anonKey: 'sb_publishable_x',
        providers: [{ name: 'google', queryParams: queryParams as Record<string, string> }],
      });
      return 'none';
    } catch (error) {
      return error instanceof ConfigurationError ? error.message : String(error);
    }
  };

  it.each([
    'redirect_to',
    'redirect_uri',
    'state',
    'scope',
    'scopes',
    'provider',
    'code_challenge',
    'code_challenge_method',
    'code_verifier',
    'client_id',
    'client_secret',
    'response_type',
    'response_mode',
    'nonce',
    'apikey',
    'invite_token',
    'skip_http_redirect',
    'Redirect_To',
    'STATE',
  ])('that set %s are a ConfigurationError', (name) => {
    expect(problemOf({ [name]: 'x' })).toContain(`must not set ${name}: the sign-in sets this itself`);
  });

  it.each([
    [null],
    ['access_type=offline'],
    [{ access_type: 1 }],
    [{ 'a b': 'x' }],
    [{ 'a&state': 'x' }],
    [{ '': 'x' }],
  ])('%j is a ConfigurationError', (queryParams) => {
    expect(problemOf(queryParams)).toContain('providers');
  });

  it('of other names are none', () => {
    expect(problemOf({ access_type: 'offline', prompt: 'consent', include_granted_scopes: 'true', 'x.y-z': '' })).toBe(
      'none',
    );
  });
});

it.each(['true', 1, null])('keepProviderTokens: %p is a ConfigurationError', (keepProviderTokens) => {
  const options = { url: 'https://project.supabase.co', anonKey: 'sb_publishable_x' };
  expect(() => backendAuth({ ...options, keepProviderTokens: keepProviderTokens as never })).toThrow(
    'keepProviderTokens must be true or false',
  );
});
