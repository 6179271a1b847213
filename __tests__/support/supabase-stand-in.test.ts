import { createHash, randomBytes } from 'node:crypto';
import { createServerClient } from '@supabase/ssr';
import { createClient } from '@supabase/supabase-js';
import { generateKeyPair } from 'jose';
import { startSupabaseStandIn } from '../../stand-ins/supabase/stand-in.ts';
import type { SupabaseStandIn, SupabaseStandInOptions } from '../../stand-ins/supabase/stand-in.ts';

const siteUrl = 'http://app.example';
const callbackUrl = `${siteUrl}/auth/callback`;
const ada = { email: 'ada@example.com', password: 'analytical engine' };
let clockMs = Date.now();
let project: SupabaseStandIn;

async function start(options: SupabaseStandInOptions = {}) {
  project = await startSupabaseStandIn({ siteUrl, now: () => clockMs, ...options });
}
beforeEach(() => {
  clockMs = Date.now();
});
afterEach(() => project.close());

/** A client of supabase-js on PKCE, with a memory of its own. */
function client(key = project.publishableKey) {
  const memory = new Map<string, string>();
  const storage = {
    getItem: (name: string) => memory.get(name) ?? null,
    setItem: (name: string, value: string) => void memory.set(name, value),
    removeItem: (name: string) => void memory.delete(name),
  };
  const auth = { storage, flowType: 'pkce', autoRefreshToken: false, detectSessionInUrl: false } as const;
  return createClient(project.url, key, { auth });
}

const post = (path: string, body: object, headers: Record<string, string> = {}) =>
  fetch(`${project.url}/auth/v1/${path}`, {
    method: 'POST',
    headers: { apikey: project.publishableKey, 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
const bodyOf = async (answer: Response) => (await answer.json()) as { refresh_token: string; error_code?: string };
const refresh = async (token: string) => {
  const answer = await post('token?grant_type=refresh_token', { refresh_token: token });
  return { status: answer.status, body: await bodyOf(answer) };
};
const sessionIdOf = (accessToken: string): string =>
  JSON.parse(Buffer.from(accessToken.split('.')[1]!, 'base64url').toString()).session_id;

describe('signing in with a password', () => {
  it.each<[string, SupabaseStandInOptions, object, number, string]>([
    ['a wrong password', {}, { ...ada, password: 'wrong' }, 400, 'invalid_credentials'],
    ['an unknown address', {}, { ...ada, email: 'bob@example.com' }, 400, 'invalid_credentials'],
    [
      'a wrong password of an unconfirmed user',
      {},
      { email: 'new@example.com', password: 'x' },
      400,
      'invalid_credentials',
    ],
    ['an unconfirmed user', {}, { email: 'new@example.com', password: 'long enough' }, 400, 'email_not_confirmed'],
    ['a banned user', {}, { email: 'bad@example.com', password: 'long enough' }, 400, 'user_banned'],
    ['email switched off', { emailProviderDisabled: true }, ada, 422, 'email_provider_disabled'],
    ['a missing captcha', { captchaToken: 'solved' }, ada, 400, 'captcha_failed'],
    [
      'a wrong captcha',
      { captchaToken: 'solved' },
      { ...ada, options: { captchaToken: 'guess' } },
      400,
      'captcha_failed',
    ],
  ])('refuses %s', async (_, options, credentials, status, code) => {
    await start(options);
    project.addUser(ada);
    project.addUser({ email: 'new@example.com', password: 'long enough', confirmed: false });
    project.addUser({ email: 'bad@example.com', password: 'long enough', banned: true });
    const { error } = await client().auth.signInWithPassword(credentials as typeof ada);
    expect(error).toMatchObject({ status, code });
  });

  it('answers with an ES256 session that getClaims verifies by the JWKS', async () => {
    await start();
    project.addUser({ ...ada, metadata: { name: 'Ada' }, appMetadata: { tenant: 't1' } });
    const supabase = client();
    const { data } = await supabase.auth.signInWithPassword(ada);
    expect(data.user).toMatchObject({ email: ada.email, user_metadata: { name: 'Ada' } });
    const claims = await supabase.auth.getClaims();
    expect(claims.data).toMatchObject({
      header: { alg: 'ES256' },
      claims: {
        iss: `${project.url}/auth/v1`,
        aud: 'authenticated',
        role: 'authenticated',
        aal: 'aal1',
        is_anonymous: false,
        app_metadata: { provider: 'email', tenant: 't1' },
      },
    });
    expect([project.calls('jwks'), project.calls('user')]).toEqual([1, 0]);
  });

  it('publishes no keys of an HS256 project, so that /user has to be called', async () => {
    await start({ algorithm: 'HS256' });
    project.addUser(ada);
    const supabase = client();
    await supabase.auth.signInWithPassword(ada);
    expect((await supabase.auth.getClaims()).data?.header.alg).toBe('HS256');
    expect(project.calls('user')).toBe(1);
    expect(await (await fetch(`${project.url}/auth/v1/.well-known/jwks.json`)).json()).toEqual({ keys: [] });
  });

  it('reports a password that is now too weak along with the session', async () => {
    await start({ minimumPasswordLength: 40 });
    project.addUser(ada);
    const { data } = await client().auth.signInWithPassword(ada);
    expect(data.weakPassword).toMatchObject({ reasons: ['length'] });
  });

  it('refuses a foreign key at the gateway', async () => {
    await start();
    const { error } = await client('sb_publishable_foreign').auth.signInWithPassword(ada);
    expect(error).toMatchObject({ status: 401, message: 'Invalid API key', code: undefined });
  });

  it('formats errors by the API version that the client sends', async () => {
    await start();
    const old = await post('token?grant_type=password', ada);
    expect(await old.json()).toMatchObject({ code: 400, error_code: 'invalid_credentials', msg: expect.any(String) });
    const recent = await post('token?grant_type=password', ada, { 'x-supabase-api-version': '2024-01-01' });
    expect(recent.headers.get('x-supabase-api-version')).toBe('2024-01-01');
    expect(await recent.json()).toMatchObject({ code: 'invalid_credentials', message: expect.any(String) });
  });
});

describe('signing up', () => {
  it('signs in at once if confirmation is disabled, and reports that an address is in use', async () => {
    await start({ autoconfirm: true });
    expect((await client().auth.signUp(ada)).data.session).not.toBeNull();
    expect((await client().auth.signUp(ada)).error).toMatchObject({ status: 422, code: 'user_already_exists' });
  });

  it('returns an invented user for an address that is confirmed already', async () => {
    await start();
    const known = project.addUser(ada);
    const { data } = await client().auth.signUp(ada);
    expect(data).toMatchObject({ session: null, user: { identities: [], role: '' } });
    expect(data.user!.id).not.toBe(known.id);
    expect(project.mails).toEqual([]);
  });

  it('emails an unconfirmed address again after 60 s, reports the wait, and keeps the first password', async () => {
    await start();
    const { data } = await client().auth.signUp(ada);
    expect(data).toMatchObject({ session: null, user: { role: 'authenticated', identities: [{}] } });
    clockMs += 18_000;
    const again = await client().auth.signUp({ ...ada, password: 'another password' });
    expect(again.error).toMatchObject({ status: 429, code: 'over_email_send_rate_limit' });
    expect(again.error!.message).toContain('after 42 seconds');
    clockMs += 42_000;
    const later = await client().auth.signUp({ ...ada, password: 'another password' });
    expect(later.data.user!.id).toBe(data.user!.id);
    expect(project.mails).toHaveLength(2);
    expect((await client().auth.signInWithPassword(ada)).error).toMatchObject({ code: 'email_not_confirmed' });
  });

  it.each<[string, SupabaseStandInOptions, object, number, string]>([
    ['closed sign-up', { signupDisabled: true }, ada, 422, 'signup_disabled'],
    ['closed email sign-up', { emailProviderDisabled: true }, ada, 400, 'email_provider_disabled'],
    ['a malformed address', {}, { ...ada, email: 'unknown' }, 400, 'validation_failed'],
    ['no password', {}, { ...ada, password: '' }, 400, 'validation_failed'],
    ['a password of 73 bytes', {}, { ...ada, password: 'ä'.repeat(36) + 'x' }, 400, 'validation_failed'],
    [
      'an address of a refused domain',
      { invalidEmailDomains: new Set(['example.com']) },
      ada,
      400,
      'email_address_invalid',
    ],
    ['a missing captcha', { captchaToken: 'solved' }, ada, 400, 'captcha_failed'],
  ])('refuses %s', async (_, options, credentials, status, code) => {
    await start(options);
    expect((await client().auth.signUp(credentials as typeof ada)).error).toMatchObject({ status, code });
  });

  it('lists every reason why a password is weak', async () => {
    await start({ minimumPasswordLength: 8, requireLettersAndDigits: true, pwnedPasswords: new Set(['secret']) });
    const { error } = await client().auth.signUp({ ...ada, password: 'secret' });
    expect(error).toMatchObject({ name: 'AuthWeakPasswordError', reasons: ['length', 'characters', 'pwned'] });
  });

  it('accepts a solved captcha', async () => {
    await start({ captchaToken: 'solved' });
    expect((await client().auth.signUp({ ...ada, options: { captchaToken: 'solved' } })).error).toBeNull();
  });

  it('emails an unconfirmed address again, and answers the same for any other', async () => {
    await start({ mailFrequency: 0 });
    project.addUser({ ...ada, confirmed: false });
    for (const email of [ada.email, 'unknown@example.com']) {
      expect((await client().auth.resend({ type: 'signup', email })).error).toBeNull();
    }
    expect(project.mails).toMatchObject([{ kind: 'signup', to: ada.email }]);
  });
});

describe('mail links', () => {
  it('confirm by token hash in any browser, once', async () => {
    await start();
    await client().auth.signUp(ada);
    const confirmation = { type: 'email', token_hash: project.mails[0]!.tokenHash } as const;
    expect((await client().auth.verifyOtp(confirmation)).data.user).toMatchObject({ email: ada.email });
    expect((await client().auth.verifyOtp(confirmation)).error).toMatchObject({ status: 403, code: 'otp_expired' });
    expect((await client().auth.signInWithPassword(ada)).error).toBeNull();
  });

  it('redirect with a code that only the browser of the sign-up can use', async () => {
    await start();
    const supabase = client();
    await supabase.auth.signUp({ ...ada, options: { emailRedirectTo: callbackUrl } });
    const followed = await fetch(project.mails[0]!.confirmationUrl, { redirect: 'manual' });
    const back = new URL(followed.headers.get('location')!);
    expect(back.href.split('?')[0]).toBe(callbackUrl);
    expect((await client().auth.exchangeCodeForSession(back.searchParams.get('code')!)).error).toMatchObject({
      code: 'pkce_code_verifier_not_found',
    });
    expect((await supabase.auth.exchangeCodeForSession(back.searchParams.get('code')!)).error).toBeNull();
  });

  it('also confirm the address after five minutes, but sign no one in then', async () => {
    await start();
    const supabase = client();
    await supabase.auth.signUp({ ...ada, options: { emailRedirectTo: callbackUrl } });
    clockMs += 300_001;
    const followed = await fetch(project.mails[0]!.confirmationUrl, { redirect: 'manual' });
    const code = new URL(followed.headers.get('location')!).searchParams.get('code')!;
    expect((await supabase.auth.exchangeCodeForSession(code)).error).toMatchObject({
      status: 422,
      code: 'flow_state_expired',
    });
    expect((await client().auth.signInWithPassword(ada)).error).toBeNull();
  });

  it('without PKCE carry tokens and errors in the fragment alone', async () => {
    await start();
    await post('signup', ada);
    const { confirmationUrl } = project.mails[0]!;
    const first = await fetch(confirmationUrl, { redirect: 'manual' });
    expect(new URL(first.headers.get('location')!).hash).toContain('access_token=');
    const second = new URL((await fetch(confirmationUrl, { redirect: 'manual' })).headers.get('location')!);
    expect(second.search).toBe('');
    expect(second.hash).toContain('error_code=otp_expired');
  });
});

describe('refreshing', () => {
  it('accepts a refresh token once, and revokes the family when it is used again', async () => {
    await start();
    project.addUser(ada);
    const first = await project.issueSession(ada.email);
    const second = await refresh(first.refresh_token);
    expect(second.status).toBe(200);
    expect(await refresh(first.refresh_token)).toMatchObject({ body: { error_code: 'refresh_token_already_used' } });
    expect(await refresh(second.body.refresh_token)).toMatchObject({
      status: 400,
      body: { error_code: 'refresh_token_already_used' },
    });
    expect(project.calls('refresh')).toBe(3);
  });

  it('returns the active token for its parent if configured, and for no older one', async () => {
    await start({ reuse: 'parent' });
    project.addUser(ada);
    const first = await project.issueSession(ada.email);
    const second = await refresh(first.refresh_token);
    expect((await refresh(first.refresh_token)).body.refresh_token).toBe(second.body.refresh_token);
    await refresh(second.body.refresh_token);
    expect(await refresh(first.refresh_token)).toMatchObject({ body: { error_code: 'refresh_token_already_used' } });
  });

  it('refuses a revoked session and a banned user', async () => {
    await start();
    const user = project.addUser(ada);
    const { refresh_token, access_token } = await project.issueSession(user);
    project.revokeSession(sessionIdOf(access_token));
    expect(await refresh(refresh_token)).toMatchObject({ body: { error_code: 'refresh_token_not_found' } });
    const other = await project.issueSession(user);
    user.banned = true;
    expect(await refresh(other.refresh_token)).toMatchObject({ status: 400, body: { error_code: 'user_banned' } });
  });

  it('is done by @supabase/ssr for the cookie of an expired session', async () => {
    await start();
    project.addUser({ ...ada, metadata: { bio: 'x'.repeat(6000) } });
    const expired = await project.issueSession(ada.email, { ttl: -60 });
    const value = `base64-${Buffer.from(JSON.stringify(expired)).toString('base64url')}`;
    const jar = new Map([['sb-127-auth-token', value]]);
    const supabase = createServerClient(project.url, project.publishableKey, {
      cookies: {
        getAll: () => [...jar].map(([name, cookie]) => ({ name, value: cookie })),
        setAll: (cookies) => cookies.forEach(({ name, value: cookie }) => jar.set(name, cookie)),
      },
    });
    const { data } = await supabase.auth.getClaims();
    expect(data?.claims.email).toBe(ada.email);
    expect(project.calls('refresh')).toBe(1);
    expect(jar.get('sb-127-auth-token.4')).toBeDefined();
  });
});

describe('OAuth', () => {
  const startFlow = async (supabase = client(), redirectTo = callbackUrl, provider: 'github' | 'gitlab' = 'github') =>
    (await supabase.auth.signInWithOAuth({ provider, options: { redirectTo } })).data.url!;

  it('leads through consent to a single-use code, which survives a wrong verifier', async () => {
    await start();
    const supabase = client();
    const back = await project.authorize(await startFlow(supabase), { approve: true, user: 'grace@example.com' });
    const code = back.searchParams.get('code')!;
    const wrong = await post('token?grant_type=pkce', { auth_code: code, code_verifier: 'wrong' });
    expect(await wrong.json()).toMatchObject({ error_code: 'bad_code_verifier' });
    const { data } = await supabase.auth.exchangeCodeForSession(code);
    expect(data.user).toMatchObject({ email: 'grace@example.com', app_metadata: { providers: ['github'] } });
    const replay = await post('token?grant_type=pkce', { auth_code: code, code_verifier: 'wrong' });
    expect(await replay.json()).toMatchObject({ code: 404, error_code: 'flow_state_not_found' });
  });

  it('returns a denial without an error code', async () => {
    await start();
    const back = await project.authorize(await startFlow(), { approve: false });
    expect(back.href.startsWith(callbackUrl)).toBe(true);
    expect(Object.fromEntries(back.searchParams)).toEqual({
      error: 'access_denied',
      error_description: expect.any(String),
    });
  });

  it.each<[string, SupabaseStandInOptions]>([
    ['signup_disabled', { signupDisabled: true }],
    ['user_banned', { oauthEmail: 'bad@example.com' }],
  ])('redirects back with access_denied and %s', async (code, options) => {
    await start(options);
    project.addUser({ email: 'bad@example.com', banned: true });
    const back = await project.authorize(await startFlow(), { approve: true });
    expect(back.searchParams.get('error')).toBe('access_denied');
    expect(back.searchParams.get('error_code')).toBe(code);
  });

  it('sends unknown states and forbidden targets to the site URL without an error', async () => {
    await start({ redirectAllowList: ['https://*.partner.example/**'] });
    const lost = await fetch(`${project.url}/auth/v1/callback?code=x&state=unknown`, { redirect: 'manual' });
    expect(lost.headers.get('location')).toMatch(
      /^http:\/\/app\.example\/\?error=invalid_request&error_code=bad_oauth_state/,
    );
    const foreign = await project.authorize(await startFlow(client(), 'https://evil.example/'), { approve: true });
    expect(foreign.origin).toBe(siteUrl);
    const partner = 'https://shop.partner.example/a/b';
    const listed = await project.authorize(await startFlow(client(), partner), { approve: true });
    expect(listed.origin).toBe('https://shop.partner.example');
  });

  it('answers raw JSON for a disabled provider', async () => {
    await start();
    const answer = await fetch(await startFlow(client(), callbackUrl, 'gitlab'), { redirect: 'manual' });
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({ msg: 'Unsupported provider: provider is not enabled' });
  });

  it('expires a code five minutes after the start', async () => {
    await start();
    const verifier = randomBytes(32).toString('base64url');
    const query = new URLSearchParams({
      provider: 'github',
      redirect_to: callbackUrl,
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 's256',
    });
    const authorizeUrl = `${project.url}/auth/v1/authorize?${query.toString()}`;
    const code = (await project.authorize(authorizeUrl, { approve: true })).searchParams.get('code');
    clockMs += 300_001;
    const late = await post('token?grant_type=pkce', { auth_code: code, code_verifier: verifier });
    expect(await late.json()).toMatchObject({ code: 422, error_code: 'flow_state_expired' });
  });
});

describe('existing sessions', () => {
  const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

  it.each([
    ['local', [403, 200]],
    ['others', [200, 403]],
    ['global', [403, 403]],
  ])('end by scope %s', async (scope, statuses) => {
    await start();
    project.addUser(ada);
    const [mine, other] = [await project.issueSession(ada.email), await project.issueSession(ada.email)];
    expect((await post(`logout?scope=${scope}`, {}, bearer(mine.access_token))).status).toBe(204);
    const seen = await Promise.all(
      [mine, other].map(async ({ access_token }) => {
        const headers = { apikey: project.publishableKey, ...bearer(access_token) };
        return (await fetch(`${project.url}/auth/v1/user`, { headers })).status;
      }),
    );
    expect(seen).toEqual(statuses);
    const again = await post(`logout?scope=local`, {}, bearer((scope === 'others' ? other : mine).access_token));
    expect([again.status, (await bodyOf(again)).error_code]).toEqual([403, 'session_not_found']);
  });

  it('return to each user exactly their own notes', async () => {
    await start();
    project.addUser(ada);
    project.addUser({ email: 'bob@example.com', password: 'long enough' });
    project.addNote(ada.email, 'of Ada');
    project.addNote('bob@example.com', 'of Bob');
    const supabase = client();
    expect((await supabase.from('notes').select()).data).toEqual([]);
    await supabase.auth.signInWithPassword(ada);
    expect((await supabase.from('notes').select()).data).toMatchObject([{ body: 'of Ada' }]);
  });

  it('survive a rotation of the keys, unless the old key is removed', async () => {
    await start();
    project.addUser(ada);
    const { access_token } = await project.issueSession(ada.email);
    const claims = async () => (await client().auth.getUser(access_token)).error;
    await project.rotateKeys();
    expect(await claims()).toBeNull();
    await project.rotateKeys({ keepOld: false });
    expect(await claims()).toMatchObject({ status: 403, code: 'bad_jwt' });
  });

  it('can be signed with the real key, a foreign one, or none', async () => {
    await start();
    const user = project.addUser(ada);
    const { access_token } = await project.issueSession(user);
    const session_id = sessionIdOf(access_token);
    const claims = { sub: user.id, session_id, role: 'service_role', exp: Math.floor(clockMs / 1000) + 60 };
    const { privateKey } = await generateKeyPair('ES256');
    const forgeries = await Promise.all([
      project.signToken(claims),
      project.signToken(claims, { key: privateKey }),
      project.signToken(claims, { alg: 'none' }),
      project.signToken(claims, { alg: 'HS256', key: new Uint8Array(32) }),
    ]);
    const errors = await Promise.all(forgeries.map(async (token) => (await client().auth.getUser(token)).error?.code));
    expect(errors).toEqual([undefined, 'bad_jwt', 'bad_jwt', 'bad_jwt']);
  });
});

describe('faults', () => {
  const tryRefresh = (token: string) => refresh(token).then(({ status }) => status);

  it.each(['refuse', 'reset', 'lost'] as const)('break the connection: %s', async (fault) => {
    await start();
    project.addUser(ada);
    const { refresh_token } = await project.issueSession(ada.email);
    project.fail('token', fault, 1);
    await expect(tryRefresh(refresh_token)).rejects.toThrow();
    expect(await tryRefresh(refresh_token)).toBe(fault === 'refuse' ? 200 : 400);
  });

  it.each([401, 403, 404, 408, 429, 500, 503] as const)('answer %d until they are healed', async (status) => {
    await start();
    project.addUser(ada);
    project.fail('all', status);
    expect((await client().auth.signInWithPassword(ada)).error).toMatchObject({ status });
    project.heal();
    expect((await client().auth.signInWithPassword(ada)).error).toBeNull();
  });

  it('answer with a proxy’s page', async () => {
    await start();
    project.fail('refresh', 'html502');
    const answer = await post('token?grant_type=refresh_token', {});
    expect([answer.status, answer.headers.get('content-type')]).toEqual([502, 'text/html; charset=utf-8']);
  });

  it('hang until the client times out', async () => {
    await start();
    project.fail('jwks', 'hang');
    const patience = new AbortController();
    const asked = fetch(`${project.url}/auth/v1/.well-known/jwks.json`, { signal: patience.signal });
    const gate = project.gate('settings');
    void fetch(`${project.url}/auth/v1/settings`).catch(() => undefined);
    await gate.waitFor(1);
    patience.abort();
    await expect(asked).rejects.toThrow('aborted');
  });

  it('hold requests behind a gate until the test opens it', async () => {
    await start();
    project.addUser(ada);
    const sessions = [await project.issueSession(ada.email), await project.issueSession(ada.email)];
    const gate = project.gate('refresh');
    const answers = Promise.all(sessions.map(({ refresh_token }) => tryRefresh(refresh_token)));
    await gate.waitFor(2);
    expect(gate.arrived).toBe(2);
    gate.open();
    expect(await answers).toEqual([200, 200]);
  });
});
