import { ada, setSession, startBackendApp } from '../../support/backend-app.ts';
import type { BackendApp, BackendAppSetup } from '../../support/backend-app.ts';
import { privateCookie } from '../../support/variant.ts';
import { itAtRoot } from '../../support/only.ts';
import type { Visitor } from '../../support/visitor.ts';
import { until } from '../../support/until.ts';

let app: BackendApp;
const start = async (setup?: BackendAppSetup): Promise<BackendApp> => (app = await startBackendApp(setup));
afterEach(() => app.close());

/** Signs in at the provider and returns the URL of the callback. */
async function authorize(visitor: Visitor, path: string, approve = true): Promise<string> {
  const begin = await visitor.get(path);
  if (begin.status !== 302) throw new Error(`No start but ${begin.status}: ${begin.text}`);
  return (await app.supabase.authorize(begin.location, { approve })).href;
}

describe('starting OAuth', () => {
  it('redirects to the backend with PKCE and our own callback', async () => {
    await start({ prefix: '/app' });
    const answer = await app.visitor().get('/app/auth/login?provider=github');
    expect(answer.status).toBe(302);
    const { searchParams, pathname } = new URL(answer.location);
    expect(pathname).toBe('/auth/v1/authorize');
    expect(searchParams.get('redirect_to')).toBe(`${app.origin}/app/auth/callback`);
    expect(searchParams.get('code_challenge_method')).toBe('s256');
  });

  it('answers { redirectTo } to the typed client', async () => {
    await start();
    const answer = await app.visitor().getJson('/auth/login?provider=github&returnTo=/account');
    expect(answer.status).toBe(200);
    expect(answer.json.redirectTo).toContain('/auth/v1/authorize?provider=github');
  });

  it('starts at once if a provider is the default', async () => {
    await start({ options: { defaultProvider: 'google', pages: { signIn: '/sign-in' } } });
    expect((await app.visitor().get('/auth/login')).location).toContain('provider=google');
  });

  it.each([
    ['google', 'prompt', 'select_account'],
    ['azure', 'prompt', 'select_account'],
    ['github', 'prompt', 'select_account'],
    ['kakao', 'prompt', 'select_account'],
    ['keycloak', 'prompt', 'login'],
    ['custom:acme', 'prompt', 'login'],
    ['facebook', 'auth_type', 'reauthenticate'],
    ['spotify', 'show_dialog', 'true'],
    ['twitch', 'force_verify', 'true'],
    ['discord', 'prompt', null],
    ['gitlab', 'prompt', null],
  ])('with prompt=login asks %s for the account by %s=%s', async (provider, name, value) => {
    await start();
    const query = async (path: string) => new URL((await app.visitor().get(path)).location).searchParams;
    const path = `/auth/login?provider=${provider}`;
    expect((await query(`${path}&prompt=login`)).get(name)).toBe(value);
    for (const plain of [path, `${path}&prompt=none`, `${path}&prompt=LOGIN`, `${path}&${name}=consent`]) {
      expect((await query(plain)).has(name)).toBe(false);
    }
  });

  itAtRoot('starts the default provider with prompt=login only if that asks for the account', async () => {
    await start({ options: { defaultProvider: 'google' } });
    const asked = await app.visitor().get('/auth/login?prompt=login&returnTo=/account');
    expect([asked.status, new URL(asked.location).searchParams.get('prompt')]).toEqual([302, 'select_account']);
    await app.close();
    await start({ options: { defaultProvider: 'discord' } });
    expect((await app.visitor().get('/auth/login?prompt=login')).location).toContain('provider=discord');
    await app.close();
    await start({ options: { defaultProvider: 'gitlab' } });
    expect((await app.visitor().get('/auth/login')).location).toContain('provider=gitlab');
    const { status, text } = await app.visitor().get('/auth/login?prompt=login&returnTo=/account');
    expect(status).toBe(200);
    expect(text).toContain('href="/auth/login?provider=gitlab&amp;returnTo=%2Faccount&amp;prompt=login"');
    expect(text).toContain('type="password"');
  });

  itAtRoot('hands prompt=login to the application’s own page', async () => {
    await start({ options: { defaultProvider: 'gitlab', pages: { signIn: '/sign-in', signUp: '/join' } } });
    for (const path of ['/sign-in', '/join']) {
      const own = path === '/join' ? '/auth/signup' : '/auth/login';
      const { pathname, search } = new URL((await app.visitor().get(`${own}?prompt=login&returnTo=/account`)).location);
      expect([pathname, search]).toEqual([path, '?prompt=login&returnTo=%2Faccount']);
    }
  });

  itAtRoot.each<[BackendAppSetup['options'], string, number]>([
    [{ callbackUrl: 'https://front.example/cb', appBaseUrl: 'https://app.example' }, 'https://front.example/cb', 302],
    [{ appBaseUrl: 'https://app.example/base/' }, 'https://app.example/base/auth/callback', 302],
  ])('with %j requests %s as the callback', async (options, callback, status) => {
    await start({ options: options ?? {} });
    const answer = await app.visitor().get('/auth/login?provider=github');
    expect(answer.status).toBe(status);
    expect(new URL(answer.location).searchParams.get('redirect_to')).toBe(callback);
  });

  it('allows any well-formed provider if the list is empty, and else only listed ones and the default', async () => {
    await start();
    expect((await app.visitor().get('/auth/login?provider=custom:acme')).status).toBe(302);
    for (const name of ['', 'GitHub', 'a b', '../x', 'x'.repeat(80), '%00']) {
      expect((await app.visitor().get(`/auth/login?provider=${name}`)).status).toBe(400);
    }
    await app.close();
    await start({ options: { providers: [{ name: 'github', scopes: 'repo gist' }], defaultProvider: 'google' } });
    const listed = await app.visitor().get('/auth/login?provider=github');
    expect(new URL(listed.location).searchParams.get('scopes')).toBe('repo gist');
    expect((await app.visitor().get('/auth/login?provider=google')).status).toBe(302);
    const other = await app.visitor().getJson('/auth/login?provider=facebook');
    expect([other.status, other.json.error.code]).toEqual([400, 'unknown_provider']);
  });

  it('leads from a provider that is not allowed to the other ways, and on to returnTo', async () => {
    await start({ options: { providers: ['github'] } });
    const { status, text } = await app.visitor().get('/auth/login?provider=facebook&returnTo=/account');
    expect(status).toBe(400);
    expect(text).toContain('href="/auth/login?returnTo=%2Faccount"');
  });

  it('does nothing for HEAD, a prefetch or an image', async () => {
    await start();
    const visitor = app.visitor();
    const head = await visitor.ask('/auth/login?provider=github', { method: 'HEAD' });
    const prefetch = await visitor.get('/auth/login?provider=github', { headers: { 'sec-purpose': 'prefetch' } });
    const image = await visitor.get('/auth/login?provider=github', { headers: { 'sec-fetch-mode': 'no-cors' } });
    expect([head.status, prefetch.status, image.status]).toEqual([204, 403, 403]);
    expect(visitor.cookies.size).toBe(0);
  });

  it('keeps its cookies for ten minutes, HttpOnly, at most five flows and 4 KB of returnTo', async () => {
    await start();
    const visitor = app.visitor();
    const first = await visitor.get('/auth/login?provider=github&returnTo=/account');
    for (const line of first.setCookies) {
      expect(line).toContain('; Max-Age=600; Path=/; ');
      expect(line).toMatch(privateCookie);
    }
    for (let tab = 0; tab < 8; tab += 1) {
      await visitor.get(`/auth/login?provider=github&returnTo=/${'x'.repeat(1500)}${tab}`);
    }
    const names = [...visitor.cookies.keys()];
    expect(names.filter((name) => /-flow-[0-9a-f]{32}-code-verifier$/.test(name))).toHaveLength(5);
    expect(visitor.cookieHeader().length).toBeLessThan(5_500);
  });
});

describe('the callback', () => {
  it('exchanges the code, redirects to returnTo, and deletes the verifier', async () => {
    await start();
    const visitor = app.visitor();
    const callback = await authorize(visitor, '/auth/login?provider=github&returnTo=/account?a=1%26b=2');
    const done = await visitor.get(callback);
    expect([done.status, done.headers.location]).toEqual([303, '/account?a=1&b=2']);
    expect([...visitor.cookies.keys()]).toEqual([app.cookieName]);
    expect((await visitor.getJson('/auth/session')).json.user.email).toBe('octavia@example.com');
  });

  it.each([
    ['in the order of their start', [0, 1]],
    ['the other way round', [1, 0]],
  ])('serves two tabs %s, each with its own returnTo', async (_order, order) => {
    await start();
    const visitor = app.visitor();
    const tabs = [
      await authorize(visitor, '/auth/login?provider=github&returnTo=/account/one'),
      await authorize(visitor, '/auth/login?provider=google&returnTo=/account/two'),
    ];
    const ways = ['/account/one', '/account/two'];
    for (const tab of order) {
      const done = await visitor.get(tabs[tab]!);
      expect([done.status, done.headers.location]).toEqual([303, ways[tab]]);
    }
    expect([...visitor.cookies.keys()]).toEqual([app.cookieName]);
  });

  it('sanitizes returnTo again, as anyone may have written its cookie', async () => {
    await start();
    const visitor = app.visitor();
    const callback = await authorize(visitor, '/auth/login?provider=github&returnTo=/account');
    for (const name of visitor.cookies.keys()) {
      if (name.endsWith('-state')) visitor.cookies.set(name, 'oauth://evil.example');
    }
    expect((await visitor.get(callback)).headers.location).toBe('/');
  });

  it('exchanges its code once for parallel requests, and redirects to the start page when it is replayed', async () => {
    let hooks = 0;
    await start({ options: { onSignIn: () => void (hooks += 1) } });
    const visitor = app.visitor();
    const callback = await authorize(visitor, '/auth/login?provider=github&returnTo=/account');
    const cookie = visitor.cookieHeader();
    const answers = await Promise.all([1, 2, 3].map(() => app.visitor().get(callback, { headers: { cookie } })));
    expect(answers.map(({ status, headers }) => [status, headers.location])).toEqual(
      Array.from({ length: 3 }, () => [303, '/account']),
    );
    expect([app.supabase.calls('pkce'), hooks]).toEqual([1, 1]);
    await visitor.get(callback);
    const replayed = await visitor.get(callback);
    expect([replayed.status, replayed.headers.location]).toEqual([303, '/']);
    expect((await visitor.getJson('/auth/session')).status).toBe(200);
  });

  it('works beside an ended session, whose refresh would delete the verifiers', async () => {
    await start();
    const visitor = app.visitor();
    const dead = await app.supabase.issueSession(ada.email, { ttl: -10 });
    setSession(visitor, { ...dead, refresh_token: 'spent-long-ago' });
    const callback = await authorize(visitor, '/auth/login?provider=github');
    expect((await visitor.get(callback)).status).toBe(303);
    expect((await visitor.getJson('/auth/session')).json.user.email).toBe('octavia@example.com');
    // Only afterwards, and once: to end the session at the backend, too.
    await until(() => app.supabase.calls('refresh') === 1);
    const order = app.supabase.requests.map(({ url }) => url.searchParams.get('grant_type'));
    expect(order.filter((grant) => grant !== null)).toEqual(['pkce', 'refresh_token']);
  });

  it('never sends a code to the backend without a verifier in this browser', async () => {
    await start();
    const foreign = await authorize(app.visitor(), '/auth/login?provider=github');
    const victim = app.visitor();
    const answer = await victim.get(foreign);
    expect(answer.status).toBe(200);
    expect(app.events).toMatchObject([{ type: 'sign_in_failed', code: 'code_rejected' }]);
    expect(victim.cookies.size).toBe(0);
    expect(app.supabase.calls('pkce')).toBe(0);
  });

  it('does not sign anyone in with another user’s code', async () => {
    await start();
    const foreign = await authorize(app.visitor(), '/auth/login?provider=github');
    const victim = app.visitor();
    const own = await authorize(victim, '/auth/login?provider=github&returnTo=/account');
    const attack = await victim.get(foreign);
    expect(attack.status).toBe(400);
    expect((await victim.getJson('/auth/session')).status).toBe(401);
    // The victim's own sign-in, still in progress, continues.
    await victim.get('/auth/login?provider=github&returnTo=/account');
    expect(own).toContain('code=');
  });

  it('starts over on a reload after an outage of the backend, and never sends the code again', async () => {
    await start({ options: { timeoutMs: 1_000 } });
    const visitor = app.visitor();
    const callback = await authorize(visitor, '/auth/login?provider=github&returnTo=/account');
    app.supabase.fail('pkce', 503, 1);
    expect((await visitor.get(callback)).status).toBe(503);
    expect((await visitor.get(callback)).headers.location).toBe('/auth/login?returnTo=%2Faccount');
    expect(app.supabase.requests.filter(({ endpoint }) => endpoint === 'pkce')).toHaveLength(1);
    expect([...visitor.cookies.keys()]).toEqual([]);
  });

  it('leaves the other tabs’ flows when it starts over', async () => {
    await start({ options: { timeoutMs: 1_000 } });
    const visitor = app.visitor();
    const other = await authorize(visitor, '/auth/login?provider=github&returnTo=/other');
    const callback = await authorize(visitor, '/auth/login?provider=github&returnTo=/account');
    app.supabase.fail('pkce', 503, 1);
    expect((await visitor.get(callback)).status).toBe(503);
    // The owner of the code cannot be known.
    expect((await visitor.get(callback)).headers.location).toBe('/auth/login');
    expect((await visitor.get(other)).headers.location).toBe('/other');
  });

  it('reports a canceled sign-in, and never shows the provider’s words', async () => {
    await start();
    const visitor = app.visitor();
    const denied = await authorize(visitor, '/auth/login?provider=github', false);
    expect(denied).toContain('error_description');
    const answer = await visitor.get(`${denied.split('#')[0] ?? ''}&error_description=<b>evil</b>`);
    expect(answer.status).toBe(403);
    expect(answer.text).not.toMatch(/denied your application|evil/);
    expect(answer.text).toContain('href="/auth/login?prompt=login"');
  });

  it('does not call a hook’s refusal of the new account canceled, and keeps returnTo', async () => {
    await start();
    const refused = '/auth/callback?error=access_denied&error_code=&error_description=Words+of+a+hook';
    const visitor = app.visitor();
    await visitor.get('/auth/login?provider=github&returnTo=/account');
    const { status, text } = await visitor.get(refused);
    expect([status, text.includes('This account can’t be created.'), text.includes('canceled')]).toEqual([
      403,
      true,
      false,
    ]);
    expect(text).toContain('href="/auth/login?returnTo=%2Faccount&amp;prompt=login"');
    // Anyone can write a query.
    expect((await app.visitor().getJson(refused)).json.error.code).toBe('sign_in_failed');
  });

  it('keeps returnTo for a sign-in that was canceled or whose code has expired', async () => {
    await start();
    const visitor = app.visitor();
    const canceled = await visitor.get(
      await authorize(visitor, '/auth/login?provider=github&returnTo=/account', false),
    );
    expect([canceled.status, [...visitor.cookies.keys()]]).toEqual([403, []]);
    expect(canceled.text).toContain('href="/auth/login?returnTo=%2Faccount&amp;prompt=login"');
    const callback = await authorize(visitor, '/auth/login?provider=github&returnTo=/account');
    app.clock.advance(6 * 60_000);
    const expired = await visitor.get(callback);
    expect([expired.status, expired.text.includes('code_rejected')]).toEqual([400, true]);
    expect(expired.text).toContain('href="/auth/login?returnTo=%2Faccount"');
  });

  it('keeps several sign-ins in progress when one is canceled', async () => {
    await start();
    const visitor = app.visitor();
    const other = await authorize(visitor, '/auth/login?provider=github&returnTo=/other');
    const denied = await authorize(visitor, '/auth/login?provider=github&returnTo=/account', false);
    expect((await visitor.get(denied)).text).toContain('href="/auth/login?prompt=login"');
    expect((await visitor.get(other)).headers.location).toBe('/other');
  });

  it('explains a callback without parameters, as when the tokens are in the fragment', async () => {
    await start();
    const answer = await app.visitor().getJson('/auth/callback');
    expect(answer.json.error).toMatchObject({ code: 'invalid_request', message: expect.stringContaining('sign in') });
  });

  it.each([
    ['error=access_denied&error_code=signup_disabled', 403, 'signup_disabled'],
    ['error=access_denied&error_code=user_banned', 403, 'user_banned'],
    ['error=access_denied&error_code=otp_expired', 400, 'link_expired'],
    ['error_code=otp_expired', 400, 'link_expired'],
    ['error_code=over_email_send_rate_limit', 403, 'provider_email_unverified'],
    ['error=invalid_request&error_code=bad_oauth_state', 400, 'invalid_state'],
    ['error=server_error', 400, 'sign_in_failed'],
    // GoTrue: "Error getting user email from external provider".
    ['error=server_error&error_code=unexpected_failure', 400, 'sign_in_failed'],
    ['error=server_error&error_code=identity_already_exists', 409, 'identity_in_use'],
    ['error=server_error&error_code=email_address_not_provided', 403, 'provider_email_missing'],
    ['error=access_denied&error_code=provider_email_needs_verification', 403, 'provider_email_unverified'],
    ['error=temporarily_unavailable', 400, 'sign_in_failed'],
    ['error=whatever&error_code=__proto__', 400, 'sign_in_failed'],
    ['type=recovery&code=abc', 400, 'code_rejected'],
    ['code=', 400, 'invalid_request'],
    ['', 400, 'invalid_request'],
  ])('?%s is %i %s', async (query, status, code) => {
    await start();
    const answer = await app.visitor().getJson(`/auth/callback?${query}`);
    expect([answer.status, answer.json.error.code]).toEqual([status, code]);
    expect(app.eventTypes()).toContain('sign_in_failed');
  });

  it('claims no email after an address that the provider has not verified, which Supabase may have sent', async () => {
    await start();
    for (const code of ['provider_email_needs_verification', 'over_email_send_rate_limit']) {
      const { text } = await app.visitor().get(`/auth/callback?error=access_denied&error_code=${code}`);
      expect(text).toContain('<h1>One more step</h1>');
      expect(text).toContain('If we sent you an email, open its link. Otherwise verify your address');
      expect(text).toContain('<a class="button" href="/auth/login?prompt=login">Sign in</a>');
    }
  });

  it('reports the provider’s code to the operators, and never free text from the query', async () => {
    await start();
    await app.visitor().get('/auth/callback?error=server_error&error_code=unexpected_failure&error_description=Ada');
    await app.visitor().get('/auth/callback?error=server_error&error_code=<b>a+secret</b>');
    expect(app.events).toEqual([
      { adapter: 'backend', type: 'sign_in_failed', code: 'sign_in_failed', reason: 'unexpected_failure' },
      { adapter: 'backend', type: 'sign_in_failed', code: 'sign_in_failed' },
    ]);
  });

  it('redirects an error to the start page for a signed-in visitor', async () => {
    await start();
    const visitor = await app.signedIn();
    const late = await visitor.get('/auth/callback?error=access_denied');
    expect([late.status, late.headers.location]).toEqual([303, '/']);
    expect(app.eventTypes()).toEqual(['signed_in']);
  });

  it('shows an error where an outage hides whether the visitor is signed in', async () => {
    await start();
    const visitor = await app.signedIn();
    app.clock.advance(2 * 3_600_000);
    app.supabase.fail('refresh', 503);
    expect((await visitor.get('/auth/callback?error=access_denied')).status).toBe(403);
    expect((await visitor.get('/auth/callback?code=unknown')).text).toContain('Sign in to continue');
  });

  it.each(['flow_state_expired', 'flow_state_not_found'])(
    'takes no error of the provider for the link of an email: %s',
    async (code) => {
      await start();
      const page = await app.visitor().get(`/auth/callback?error=server_error&error_code=${code}`);
      expect([page.status, page.text.includes('code_rejected')]).toEqual([400, true]);
      expect(app.events).toMatchObject([{ type: 'sign_in_failed', code: 'code_rejected', reason: code }]);
    },
  );

  it('does nothing for HEAD or a prefetch', async () => {
    await start();
    const visitor = app.visitor();
    const callback = await authorize(visitor, '/auth/login?provider=github');
    expect((await visitor.ask(callback, { method: 'HEAD' })).status).toBe(204);
    expect((await visitor.get(callback, { headers: { 'sec-purpose': 'prefetch;prerender' } })).status).toBe(403);
    expect(app.supabase.calls('pkce')).toBe(0);
    expect((await visitor.get(callback)).status).toBe(303);
  });
});
