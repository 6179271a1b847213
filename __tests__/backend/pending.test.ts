import { isRecent, signInTime } from '../../lib/backend/sign-in/pending.ts';
import { ada, postForm, setSession, startBackendApp } from '../support/backend-app.ts';
import type { BackendApp, BackendAppSetup } from '../support/backend-app.ts';
import type { SessionJson } from '../../stand-ins/supabase/stand-in.ts';
import { createShared } from '../support/shared-memory.ts';
import { flowPrefix } from '../support/variant.ts';
import type { Visitor } from '../support/visitor.ts';

let app: BackendApp;
const start = async (setup?: BackendAppSetup): Promise<BackendApp> => (app = await startBackendApp(setup));
afterEach(() => app.close());

/** Stores a sign-in in progress in a visitor's cookies. */
async function setPending(visitor: Visitor, step: string, claims: Record<string, string> = {}): Promise<SessionJson> {
  const session = await app.supabase.issueSession(ada.email, {
    claims,
    ...(step === 'password' ? { method: 'otp' } : {}),
  });
  const { access_token, refresh_token } = session;
  const value = Buffer.from(JSON.stringify({ needs: [step], access_token, refresh_token, returnTo: '/' })).toString(
    'base64url',
  );
  visitor.cookies.set(`${flowPrefix}${app.cookieName}-pending`, value);
  return session;
}

describe('a sign-in in progress', () => {
  it('is no session to a guard, to getSession or to a Supabase client', async () => {
    await start();
    app.supabase.addNote(ada.email, 'mine');
    const visitor = app.visitor();
    await setPending(visitor, 'password');
    expect((await visitor.getJson('/api/me')).status).toBe(401);
    expect((await visitor.get('/account')).status).toBe(307);
    expect((await visitor.getJson('/auth/session')).status).toBe(401);
    expect((await visitor.get('/whoami')).json).toEqual({ user: null });
    expect((await visitor.get('/notes')).json.data).toEqual([]);
  });

  it('leads to no page that the options have switched off, and grants nothing', async () => {
    await start({ options: { signInMethods: ['code'] } });
    const visitor = app.visitor();
    await setPending(visitor, 'password');
    const { status, json } = await visitor.getJson('/auth/callback?code=reloaded');
    expect([status, json.error]).toEqual([403, expect.objectContaining({ code: 'sign_in_incomplete' })]);
    expect((await visitor.getJson('/api/me')).status).toBe(401);
  });

  it('ends with sign-out, at the backend as well', async () => {
    await start();
    const visitor = app.visitor();
    await setPending(visitor, 'factor');
    expect(app.supabase.sessionsOf(ada.email)).toHaveLength(1);
    expect((await visitor.post('/auth/logout')).status).toBe(303);
    expect(app.supabase.sessionsOf(ada.email)).toHaveLength(0);
    expect([...visitor.cookies.keys()]).toEqual([]);
  });

  it('ends with sign-out, as does the session beside it', async () => {
    await start();
    const visitor = await app.signedIn();
    await setPending(visitor, 'password');
    expect(app.supabase.sessionsOf(ada.email)).toHaveLength(2);
    await visitor.post('/auth/logout');
    expect(app.supabase.sessionsOf(ada.email)).toHaveLength(0);
  });

  it('ends with sign-out for a copy of its cookie too, even if the backend was unreachable', async () => {
    await start();
    const visitor = app.visitor();
    await setPending(visitor, 'password');
    const name = `${flowPrefix}${app.cookieName}-pending`;
    const copy = visitor.cookies.get(name) ?? '';
    app.supabase.fail('logout', 'refuse');
    await visitor.post('/auth/logout');
    visitor.cookies.set(name, copy);
    expect((await visitor.get('/auth/password')).text).toContain('Request a new link');
    const answer = await visitor.postJson('/auth/password', { password: 'a brand new password' });
    expect([answer.status, app.supabase.calls('update-user')]).toEqual([400, 0]);
  });

  it('ends with sign-out while accept has no answer about it', async () => {
    let isBroken = true;
    const accept = (): boolean => {
      if (isBroken) throw new Error('The database is down');
      return true;
    };
    await start({ options: { accept } });
    const visitor = app.visitor();
    await setPending(visitor, 'password');
    const copy = new Map(visitor.cookies);
    expect((await visitor.post('/auth/logout')).status).toBe(303);
    expect(app.supabase.sessionsOf(ada.email)).toHaveLength(0);
    isBroken = false;
    for (const [name, value] of copy) visitor.cookies.set(name, value);
    expect((await visitor.get('/auth/password')).status).toBe(400);
  });

  it('continues if the factor was added in the same second', async () => {
    await start();
    const owner = await app.signedIn();
    const { factorId, secret } = (await owner.postJson('/auth/enroll', {})).json;
    const code = (): string => app.supabase.codeOf({ secret });
    await owner.postJson('/auth/enroll', { factorId, code: code() });
    const visitor = app.visitor();
    await visitor.postJson('/auth/login', ada);
    expect((await visitor.get('/auth/verify')).status).toBe(200);
    expect((await visitor.postJson('/auth/verify', { code: code() })).status).toBe(200);
    expect((await visitor.getJson('/api/me')).status).toBe(200);
  });

  it('continues if the password was changed in the same second', async () => {
    await start();
    const owner = await app.signedIn();
    const password = 'a brand new password';
    await owner.postJson('/auth/password', { currentPassword: ada.password, password });
    const factor = app.supabase.addFactor(ada.email);
    const visitor = app.visitor();
    await visitor.postJson('/auth/login', { ...ada, password });
    const done = await visitor.postJson('/auth/verify', { code: app.supabase.codeOf(factor) });
    expect(done.status).toBe(200);
    expect((await visitor.getJson('/api/me')).status).toBe(200);
  });

  it('makes no call for a token that the backend never signed', async () => {
    await start();
    const visitor = app.visitor();
    visitor.cookies.set(
      `${flowPrefix}${app.cookieName}-pending`,
      Buffer.from('{"needs":["factor"]}').toString('base64url'),
    );
    await visitor.post('/auth/logout');
    const header = Buffer.from('{"alg":"ES256","kid":"none"}').toString('base64url');
    const token = `${header}.${Buffer.from('{"sub":"1"}').toString('base64url')}.AAAA`;
    const made = { needs: ['factor'], access_token: token, refresh_token: 'r', returnTo: '/' };
    visitor.cookies.set(
      `${flowPrefix}${app.cookieName}-pending`,
      Buffer.from(JSON.stringify(made)).toString('base64url'),
    );
    expect((await visitor.post('/auth/logout')).status).toBe(303);
    expect(app.supabase.calls('logout')).toBe(0);
  });

  it('is ignored after ten minutes, although its token is still valid', async () => {
    await start();
    const visitor = app.visitor();
    await setPending(visitor, 'factor');
    app.clock.advance(11 * 60_000);
    expect((await visitor.get('/auth/verify')).headers.location).toBe('/auth/login');
    const { status, json } = await visitor.postJson('/auth/verify', { code: '123456' });
    expect([status, json.error.code]).toEqual([401, 'unauthenticated']);
    await visitor.post('/auth/logout');
    expect([app.supabase.calls('challenge'), app.supabase.calls('logout')]).toEqual([0, 0]);
  });
});

const pendingName = (): string => `${flowPrefix}${app.cookieName}-pending`;

describe('the cookie of a sign-in in progress', () => {
  it('is for this site alone, not for scripts, and for ten minutes', async () => {
    await start();
    app.supabase.addFactor(ada.email);
    const answer = await app.visitor().postJson('/auth/login', ada);
    const line = answer.setCookies.find((each) => each.startsWith(`${pendingName()}=`));
    for (const attribute of ['HttpOnly', 'SameSite=Lax', 'Max-Age=600']) expect(line).toContain(attribute);
  });

  it('holds the tokens and the next step, and nothing about the user', async () => {
    await start();
    app.supabase.addFactor(ada.email, { verified: false });
    app.supabase.addFactor(ada.email);
    const visitor = app.visitor();
    await visitor.postJson('/auth/login', { ...ada, returnTo: '/account' });
    const value = JSON.parse(Buffer.from(visitor.cookies.get(pendingName())!, 'base64url').toString());
    expect(value).toEqual({
      needs: ['factor'],
      returnTo: expect.stringMatching(/\/account$/),
      access_token: expect.any(String),
      refresh_token: expect.any(String),
      expires_at: expect.any(Number),
      token_type: 'bearer',
    });
  });

  it('is found behind three that another site has added, and no further', async () => {
    await start();
    const visitor = app.visitor();
    await setPending(visitor, 'password');
    const own = visitor.cookies.get(pendingName());
    const made = { needs: ['password'], access_token: 'a.b.c', refresh_token: 'r', returnTo: '/' };
    const form = async (count: number): Promise<boolean> => {
      const tossed = Array.from({ length: count }, (_none, index) =>
        Buffer.from(JSON.stringify({ ...made, refresh_token: `r${index}` })).toString('base64url'),
      );
      const cookie = [...tossed, own].map((value) => `${pendingName()}=${value}`).join('; ');
      const page = await app.visitor().get('/auth/password', { headers: { cookie } });
      return page.text.includes('name="password"');
    };
    expect([await form(3), await form(4)]).toEqual([true, false]);
    const junk = Array.from({ length: 40 }, (_none, index) => `${pendingName()}=junk${index}`);
    const cookie = junk.toSpliced(20, 0, `${pendingName()}=${own}`).join('; ');
    expect((await app.visitor().get('/auth/password', { headers: { cookie } })).text).toContain('name="password"');
  });

  it('lasts ten minutes plus the tolerance for clocks', async () => {
    await start();
    const visitor = app.visitor();
    await setPending(visitor, 'password');
    const hasForm = async () => (await visitor.get('/auth/password')).text.includes('name="password"');
    // Tokens have a resolution of one second.
    app.clock.advance(604_999 - (app.clock.now() % 1000));
    expect(await hasForm()).toBe(true);
    app.clock.advance(1);
    expect(await hasForm()).toBe(false);
  });

  it('is ignored with a token of another application, of another kind, or without tokens', async () => {
    await start();
    const visitor = app.visitor();
    const status = async () => (await visitor.postJson('/auth/password', { password: 'a whole new password' })).status;
    await setPending(visitor, 'password', { client_id: 'another-application' });
    expect(await status()).toBe(400);
    await setPending(visitor, 'other');
    expect(await status()).toBe(400);
    expect((await visitor.getJson('/auth/verify')).status).toBe(401);
    visitor.cookies.set(pendingName(), Buffer.from('{"needs":["password"]}').toString('base64url'));
    expect(await status()).toBe(400);
    visitor.cookies.set(pendingName(), Buffer.from('[1]').toString('base64url'));
    expect(await status()).toBe(400);
    expect(app.supabase.calls('update-user')).toBe(0);
  });

  it.each(['factor', 'recovery', 'change'])(
    'of an older version is none, and leads to a new start (%s)',
    async (kind) => {
      await start();
      const factor = app.supabase.addFactor(ada.email);
      const visitor = app.visitor();
      const { access_token, refresh_token } = await app.supabase.issueSession(ada.email, { method: 'otp' });
      const value = { kind, returnTo: '/', factor: true, isUnanswered: false, access_token, refresh_token };
      visitor.cookies.set(pendingName(), Buffer.from(JSON.stringify(value)).toString('base64url'));
      expect((await visitor.get('/auth/verify?returnTo=/account')).headers.location).toBe(
        '/auth/login?returnTo=%2Faccount',
      );
      expect((await visitor.get('/auth/password')).text).toContain('Request a new link');
      await visitor.postJson('/auth/login', ada);
      expect((await visitor.postJson('/auth/verify', { code: app.supabase.codeOf(factor) })).status).toBe(200);
      expect([...visitor.cookies.keys()].some((name) => name.includes('-pending'))).toBe(false);
    },
  );

  it('needs no second factor anymore if its token has both', async () => {
    await start();
    app.supabase.addFactor(ada.email);
    const visitor = app.visitor();
    const claims = { aal: 'aal2' };
    const { access_token, refresh_token } = await app.supabase.issueSession(ada.email, { method: 'otp', claims });
    const value = { needs: ['factor', 'password'], returnTo: '/', access_token, refresh_token };
    visitor.cookies.set(pendingName(), Buffer.from(JSON.stringify(value)).toString('base64url'));
    const early = await visitor.get('/auth/verify?returnTo=/account');
    expect([early.status, early.headers.location]).toEqual([302, '/auth/password?returnTo=%2Faccount']);
    const late = await postForm(visitor, '/auth/verify', { code: '000000', returnTo: '/account' });
    expect([late.status, late.headers.location]).toEqual([303, '/auth/password?returnTo=%2Faccount']);
    expect((await visitor.get('/auth/password')).text).toContain('name="password"');
    expect(app.supabase.calls('challenge')).toBe(0);
  });

  it.each([[[]], [['factor', 'factor']], [['password', 'factor']], ['factor'], [null], [{ 0: 'factor' }]])(
    'is ignored with steps that no sign-in needs: %j',
    async (needs) => {
      await start();
      const visitor = app.visitor();
      const { access_token, refresh_token } = await app.supabase.issueSession(ada.email, { method: 'otp' });
      const value = JSON.stringify({ needs, returnTo: '/', access_token, refresh_token });
      visitor.cookies.set(pendingName(), Buffer.from(value).toString('base64url'));
      expect((await visitor.getJson('/auth/verify')).status).toBe(401);
      expect((await visitor.postJson('/auth/password', { password: 'a whole new password' })).status).toBe(400);
    },
  );

  it('redirects to the start page if it has no returnTo', async () => {
    await start();
    const visitor = app.visitor();
    const { access_token, refresh_token } = await app.supabase.issueSession(ada.email, { method: 'otp' });
    const value = { needs: ['password'], access_token, refresh_token, returnTo: 7 };
    visitor.cookies.set(pendingName(), Buffer.from(JSON.stringify(value)).toString('base64url'));
    const answer = await visitor.postJson('/auth/password', { password: 'a whole new password' });
    expect([answer.status, answer.json]).toEqual([200, { redirectTo: '/' }]);
  });

  it('is refused if it would be too large, and the sign-in ends at the backend', async () => {
    await start();
    app.supabase.addFactor(ada.email);
    app.supabase.setMetadata(ada.email, { note: 'x'.repeat(3_000) });
    const crowded = app.visitor();
    crowded.cookies.set('other', 'y'.repeat(10_000));
    const large = await crowded.postJson('/auth/login', ada);
    expect([large.status, large.json.error.code]).toEqual([422, 'session_too_large']);
    expect((await app.visitor().postJson('/auth/login', ada)).status).toBe(200);
    app.supabase.setMetadata(ada.email, { note: 'x'.repeat(6_500) });
    expect((await app.visitor().postJson('/auth/login', ada)).json.error.code).toBe('session_too_large');
    expect(app.supabase.sessionsOf(ada.email)).toHaveLength(1);
  });

  it.each(['factor', 'recovery'])('is also refused if its callback is requested again (%s)', async (kind) => {
    await start({ options: { providers: ['github'] } });
    app.supabase.setMetadata(ada.email, { note: 'x'.repeat(3_000) });
    const visitor = app.visitor();
    let callback: string;
    if (kind === 'factor') {
      app.supabase.addFactor(ada.email);
      const { location } = await visitor.get('/auth/login?provider=github');
      callback = (await app.supabase.authorize(location, { approve: true, user: ada.email })).href;
    } else {
      await postForm(visitor, '/auth/forgot', { email: ada.email });
      callback = (await visitor.get(app.supabase.mails.at(-1)!.confirmationUrl)).location;
    }
    visitor.cookies.set('other', 'y'.repeat(10_000));
    const codes = [await visitor.getJson(callback), await visitor.getJson(callback)].map(({ json }) => json.error.code);
    expect(codes).toEqual(['session_too_large', 'session_too_large']);
    expect([...visitor.cookies.keys()].some((name) => name.endsWith('-pending'))).toBe(false);
  });
});

describe('the ten minutes of a sign-in in progress', () => {
  const setPassword = async (visitor: Visitor): Promise<[number, string | undefined]> => {
    const { status, json } = await visitor.postJson('/auth/password', { password: 'a whole new password' });
    return [status, json.error?.code];
  };

  it('count from the sign-in and not from the last refresh of its token', async () => {
    await start();
    const visitor = app.visitor();
    const timestamp = Math.floor(app.clock.now() / 1000) - 3 * 86_400;
    const { access_token, refresh_token } = await app.supabase.issueSession(ada.email, {
      claims: { amr: [{ method: 'otp', timestamp }] },
    });
    for (const needs of [['password'], ['factor'], ['factor', 'password']]) {
      const value = JSON.stringify({ needs, tried: true, access_token, refresh_token, returnTo: '/' });
      visitor.cookies.set(pendingName(), Buffer.from(value).toString('base64url'));
      expect(await setPassword(visitor)).toEqual([400, 'link_expired']);
      expect((await visitor.getJson('/auth/verify')).status).toBe(401);
    }
    expect(app.supabase.calls('update-user')).toBe(0);
  });

  it.each(['password', 'oauth', 'email/signup', 'totp', 'sso/saml', 'future', ''])(
    'are no right to a new password where the sign-in was by "%s" and not by an email’s link',
    async (method) => {
      await start();
      const { access_token, refresh_token } = await app.supabase.issueSession(ada.email, { method });
      for (const needs of [['password'], ['factor', 'password']]) {
        const visitor = app.visitor();
        const value = JSON.stringify({ needs, tried: true, access_token, refresh_token, returnTo: '/' });
        visitor.cookies.set(pendingName(), Buffer.from(value).toString('base64url'));
        expect((await setPassword(visitor))[0]).not.toBe(200);
      }
      expect(app.supabase.calls('update-user')).toBe(0);
    },
  );

  it.each(['otp', 'recovery', 'magiclink', 'invite'])(
    'open the form after a link that GoTrue calls %s',
    async (method) => {
      await start();
      const visitor = app.visitor();
      const { access_token, refresh_token } = await app.supabase.issueSession(ada.email, { method });
      const value = JSON.stringify({ needs: ['password'], access_token, refresh_token, returnTo: '/' });
      visitor.cookies.set(pendingName(), Buffer.from(value).toString('base64url'));
      expect(await setPassword(visitor)).toEqual([200, undefined]);
    },
  );

  describe('for an account with a phone number', () => {
    const startWithPhone = async (options: BackendAppSetup['options'] = {}) => {
      await start({ options });
      app.supabase.users().find(({ email }) => email === ada.email)!.phone = '15550001111';
    };

    it('are no right to a new password after a code by SMS, which GoTrue calls otp as well', async () => {
      await startWithPhone();
      const { access_token, refresh_token } = await app.supabase.issueSession(ada.email, { method: 'otp' });
      for (const needs of [['password'], ['factor', 'password']]) {
        const visitor = app.visitor();
        const value = JSON.stringify({ needs, tried: true, access_token, refresh_token, returnTo: '/' });
        visitor.cookies.set(pendingName(), Buffer.from(value).toString('base64url'));
        expect(await setPassword(visitor)).toEqual([400, 'link_expired']);
      }
      expect(app.supabase.calls('update-user')).toBe(0);
    });

    it.each(['recovery', 'invite'])(
      'open the form after a link of the kind %s, and for its session alone',
      async (type) => {
        await startWithPhone();
        if (type === 'recovery') await app.visitor().postJson('/auth/forgot', { email: ada.email });
        else await app.supabase.invite('eve@example.com');
        const user = app.supabase.users().at(-1)!;
        user.phone = '15550002222';
        const visitor = app.visitor();
        const { tokenHash } = app.supabase.mails.at(-1)!;
        await postForm(visitor, '/auth/confirm', { token_hash: tokenHash, type });
        const other = app.visitor();
        const { access_token, refresh_token } = await app.supabase.issueSession(user, { method: 'otp' });
        const value = JSON.stringify({ needs: ['password'], access_token, refresh_token, returnTo: '/' });
        other.cookies.set(pendingName(), Buffer.from(value).toString('base64url'));
        expect(await setPassword(other)).toEqual([400, 'link_expired']);
        expect(await setPassword(visitor)).toEqual([200, undefined]);
      },
    );

    it('open the form in another process that has the same coordinator, and not in one without', async () => {
      const coordinator = createShared();
      await startWithPhone({ coordinator });
      await app.visitor().postJson('/auth/forgot', { email: ada.email });
      const visitor = app.visitor();
      await postForm(visitor, '/auth/confirm', { token_hash: app.supabase.mails.at(-1)!.tokenHash, type: 'recovery' });
      const options = { url: app.supabase.url, anonKey: app.supabase.publishableKey, now: app.clock.now };
      const others = [
        await startBackendApp({ options }),
        await startBackendApp({ options: { ...options, coordinator } }),
      ];
      const copies = others.map((other) => other.visitor());
      const forms = [];
      for (const copy of copies) {
        for (const [name, cookie] of visitor.cookies) copy.cookies.set(name, cookie);
        forms.push((await copy.get('/auth/password')).text.includes('name="password"'));
      }
      await Promise.all(others.map((other) => other.close()));
      expect(forms).toEqual([false, true]);
    });
  });

  it('outlive a short token, which is renewed, and end all the same', async () => {
    await start({ standIn: { accessTokenTtl: 8 } });
    const open = async (): Promise<Visitor> => {
      const visitor = app.visitor();
      await app.visitor().postJson('/auth/forgot', { email: ada.email });
      const fields = { token_hash: app.supabase.mails.at(-1)!.tokenHash, type: 'recovery' };
      await postForm(visitor, '/auth/confirm', fields);
      return visitor;
    };
    const hasForm = async (visitor: Visitor) => (await visitor.get('/auth/password')).text.includes('name="password"');
    const visitor = await open();
    app.clock.advance(9_000);
    expect(await hasForm(visitor)).toBe(true);
    app.clock.advance(9_000);
    expect(await setPassword(visitor)).toEqual([200, undefined]);
    const late = await open();
    for (let minutes = 0; minutes < 10; minutes += 1) {
      expect(await hasForm(late)).toBe(true);
      app.clock.advance(60_000);
    }
    app.clock.advance(6_000);
    expect(await hasForm(late)).toBe(false);
    const copy = new Map((await open()).cookies);
    const signedOut = app.visitor();
    for (const [name, cookie] of copy) signedOut.cookies.set(name, cookie);
    await signedOut.post('/auth/logout');
    for (const [name, cookie] of copy) signedOut.cookies.set(name, cookie);
    app.clock.advance(9_000);
    expect(await hasForm(signedOut)).toBe(false);
  });
});

it('renews a token that may expire before the backend reads it', async () => {
  await start({ standIn: { accessTokenTtl: 100 } });
  const visitor = app.visitor();
  await setPending(visitor, 'password');
  for (const [seconds, refreshes] of [
    [89, 0],
    [2, 1],
  ] as const) {
    app.clock.advance(seconds * 1000);
    const page = await visitor.get('/auth/password');
    expect(page.text).toContain('name="password"');
    expect([app.supabase.calls('refresh'), page.setCookies.length > 0]).toEqual([refreshes, refreshes > 0]);
  }
});

it('leaves no cookie behind if it is completed by the request whose renewal needs more chunks', async () => {
  await start({ standIn: { accessTokenTtl: 8 } });
  const visitor = app.visitor();
  await setPending(visitor, 'password');
  app.supabase.switches.tokenClaims = { pad: 'x'.repeat(2_500) };
  app.clock.advance(9_000);
  const saved = await postForm(visitor, '/auth/password', { password: 'a brand new password 1' });
  expect(saved.status).toBe(303);
  expect([...visitor.cookies.keys()].filter((name) => name.includes('-pending'))).toEqual([]);
  expect((await visitor.get('/auth/password')).text).toContain('name="currentPassword"');
});

describe('the backend’s answer to a sign-in in progress', () => {
  it.each<[string, string | undefined, (session: Record<string, unknown>) => unknown]>([
    ['names no time', undefined, (session) => ({ ...session, expires_at: 'soon' })],
    [
      'has a token with a changed signature',
      'signature',
      (session) => ({ ...session, access_token: `${String(session['access_token'])}x` }),
    ],
  ])('is refused if it %s', async (_what, reason, change) => {
    const changed: typeof fetch = async (input, init) => {
      const response = await fetch(input, init);
      if (!new Request(input).url.includes('/token')) return response;
      return Response.json(change((await response.json()) as Record<string, unknown>));
    };
    await start({ options: { fetch: changed } });
    app.supabase.addFactor(ada.email);
    const visitor = app.visitor();
    const answer = await visitor.postJson('/auth/login', ada);
    expect([answer.status, answer.json.error.code]).toEqual([502, 'token_rejected']);
    expect([...visitor.cookies.keys()]).toEqual([]);
    const failure = { adapter: 'backend', type: 'sign_in_failed', code: 'token_rejected' };
    expect(app.events).toContainEqual(reason === undefined ? failure : { ...failure, reason });
  });
});

it('is refused at once where a hook removes amr: no page could find it later', async () => {
  await start({ standIn: { mailFrequency: 0 } });
  app.supabase.addFactor(ada.email);
  Object.assign(app.supabase.switches, { tokenClaims: { amr: undefined } });
  const visitor = app.visitor();
  await postForm(visitor, '/auth/forgot', { email: ada.email });
  const { tokenHash } = app.supabase.mails.at(-1)!;
  const answers = [
    await postForm(visitor, '/auth/login', ada),
    await postForm(app.visitor(), '/auth/confirm', { token_hash: tokenHash, type: 'recovery' }),
  ];
  expect(answers.map(({ status }) => status)).toEqual([502, 502]);
  expect(app.supabase.sessionsOf(ada.email)).toHaveLength(0);
  expect([...visitor.cookies.keys()].filter((name) => name.includes('-pending'))).toEqual([]);
});

it('does not become a session if its value is put into the session cookie', async () => {
  await start();
  const visitor = app.visitor();
  setSession(visitor, { needs: ['factor'], returnTo: '/' });
  expect((await visitor.getJson('/api/me')).status).toBe(401);
});

describe('the sign-in from which the ten minutes count', () => {
  const at = (method: string, timestamp: unknown) => ({ method, timestamp });

  it.each<[readonly ('factor' | 'password')[], unknown, number | undefined]>([
    [['factor'], [at('password', 5), at('oauth', 7)], 7],
    [['factor'], [at('totp', 5)], undefined],
    [['factor'], 'password', undefined],
    [['password'], [at('recovery', 5), at('password', 7)], 5],
    [['password'], [at('invite', 5)], 5],
    [['password'], [at('otp', 5)], 5],
    [['password'], [at('magiclink', 5)], 5],
    [['password'], [at('password', 5), at('oauth', 7)], undefined],
    [['password'], [null, 'recovery', at('recovery', '5')], undefined],
    [['password'], 'recovery', undefined],
    [['factor', 'password'], [at('otp', 5), at('password', 7)], 5],
  ])('for %j of %j is %p', (needs, amr, time) => expect(signInTime(needs, { amr, phone: '' })).toBe(time));

  it.each<[string, boolean, number | undefined]>([
    ['otp', false, undefined],
    ['otp', true, 5],
    ['recovery', false, 5],
    ['password', true, undefined],
  ])(
    'for a new password of an account with a phone number, by %s, proven otherwise: %p, is %p',
    (method, isProven, time) =>
      expect(signInTime(['password'], { amr: [at(method, 5)], phone: '15550001111' }, isProven)).toBe(time),
  );

  it.each<[number, boolean]>([
    [0, true],
    [604_999, true],
    [605_000, false],
  ])('was recent after %i ms: %p', (passed, isStill) => {
    const settings = { now: () => 5_000 + passed };
    expect(isRecent({ settings } as never, ['factor'], { amr: [at('password', 5)] })).toBe(isStill);
    expect(isRecent({ settings } as never, ['factor'], {})).toBe(false);
  });
});
