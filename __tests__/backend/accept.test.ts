import { itWithoutProxy } from '../support/only.ts';
import { AuthError, authenticateUpgrade, requireSession, renewSession } from '../../lib/backend/index.ts';
import { ada, encodeSession, postForm, setSession, startBackendApp } from '../support/backend-app.ts';
import type { BackendApp, BackendAppSetup } from '../support/backend-app.ts';
import type { Handler } from '../support/handler-list.ts';
import { sendJson } from '../support/hosts.ts';
import type { Visitor } from '../support/visitor.ts';

let app: BackendApp;
const start = async (setup: BackendAppSetup = {}): Promise<BackendApp> => (app = await startBackendApp(setup));
afterEach(() => app.close());

const stranger = { email: 'eve@other.example', password: 'eve has a password' };
type Accept = NonNullable<NonNullable<BackendAppSetup['options']>['accept']>;
const isStaff: Accept = ({ user }) => user.email?.endsWith('@example.com') === true;

async function startForStaff(options: BackendAppSetup['options'] = {}): Promise<BackendApp> {
  await start({
    options: { accept: isStaff, ...options },
    after: (host) => host.all('/bearer', requireSession({ credentials: ['cookie', 'bearer'] }) as Handler, answer),
  });
  app.supabase.addUser(stranger);
  return app;
}

const answer: Handler = (_req, res) => sendJson(res, { in: true });

const html = { accept: 'text/html' };

/** What every way in answers to this browser. */
async function waysIn(visitor: Visitor): Promise<unknown[]> {
  const page = await visitor.get('/account/x?tab=1', { headers: html });
  const json = await visitor.getJson('/api/me');
  const document = await visitor.get('/api/me', { headers: html });
  const session = await visitor.getJson('/auth/session');
  return [page.status, json.status, json.json.error?.code, document.status, session.status];
}
const refusedEverywhere = [403, 403, 'not_accepted', 403, 401];

/** Tokens from the project's own token endpoint with its public key, as anyone with an account gets them. */
async function ownTokens(account: { readonly email: string; readonly password: string }): Promise<unknown> {
  const response = await fetch(`${app.supabase.url}/auth/v1/token?grant_type=password`, {
    method: 'POST',
    headers: { apikey: app.supabase.publishableKey, 'content-type': 'application/json' },
    body: JSON.stringify(account),
  });
  return response.json();
}

describe('accept keeps a stranger out who brings', () => {
  it('the tokens of the project’s own token endpoint as a cookie', async () => {
    await startForStaff();
    const visitor = app.visitor();
    setSession(visitor, await ownTokens(stranger));
    expect(await waysIn(visitor)).toEqual(refusedEverywhere);
    expect(app.events.filter(({ type }) => type === 'session_rejected')).toEqual([
      { type: 'session_rejected', reason: 'not_accepted', adapter: 'backend' },
    ]);
    expect((await visitor.getJson('/whoami')).json).toEqual({ user: null });
    expect(visitor.cookies.has(app.cookieName)).toBe(true);
  });

  it('a link for a new password: there is no pending sign-in whose tokens could be taken', async () => {
    await startForStaff();
    const visitor = app.visitor();
    await postForm(visitor, '/auth/forgot', { email: stranger.email });
    const opened = await visitor.get(app.supabase.mails.at(-1)!.confirmationUrl);
    const refused = await visitor.get(opened.location);
    expect([refused.status, refused.text]).toEqual([403, expect.stringContaining('not_accepted')]);
    expect([...visitor.cookies.keys()]).not.toContain(`${app.cookieName}-pending`);
    expect(app.supabase.calls('logout')).toBe(1);
  });

  it('a password where the account has a second factor: nothing is pending', async () => {
    await startForStaff();
    app.supabase.addFactor(stranger.email);
    const visitor = app.visitor();
    expect((await postForm(visitor, '/auth/login', stranger)).status).toBe(403);
    expect([...visitor.cookies.keys()]).toEqual([]);
    expect(app.supabase.calls('logout')).toBe(1);
  });

  it('the tokens as a pending cookie of the own routes', async () => {
    await startForStaff();
    const visitor = app.visitor();
    const tokens = (await ownTokens(stranger)) as object;
    const pending = { needs: ['password'], returnTo: '/', ...tokens };
    visitor.cookies.set(`${app.cookieName}-pending`, Buffer.from(JSON.stringify(pending)).toString('base64url'));
    const saved = await postForm(visitor, '/auth/password', { password: 'a brand new password 1' });
    expect(saved.status).toBe(400);
    expect((await visitor.getJson('/auth/session')).status).toBe(401);
  });

  it('a bearer token: 403 in JSON, also where the request carries an accepted cookie', async () => {
    await startForStaff();
    const { access_token: token } = (await ownTokens(stranger)) as { access_token: string };
    const { access_token: good } = (await ownTokens(ada)) as { access_token: string };
    const bearer = (text: string) => ({ headers: { authorization: `Bearer ${text}`, ...html } });
    for (const visitor of [app.visitor(), await app.signedIn()]) {
      const refused = await visitor.get('/bearer', bearer(token));
      expect([refused.status, refused.json.error.code]).toEqual([403, 'not_accepted']);
    }
    expect((await app.visitor().get('/bearer', bearer(good))).json).toEqual({ in: true });
  });

  itWithoutProxy.each(['cookie', 'bearer'] as const)('a %s with an upgrade', async (credential) => {
    await startForStaff();
    const tokens = (await ownTokens(stranger)) as { access_token: string };
    const headers = {
      host: new URL(app.origin).host,
      origin: app.origin,
      ...(credential === 'cookie'
        ? { cookie: `${app.cookieName}=${encodeSession(tokens)}` }
        : { authorization: `Bearer ${tokens.access_token}` }),
    };
    const socket = { listeners: () => [], on: () => undefined, remoteAddress: '127.0.0.1', destroyed: false };
    const req = { headers, headersDistinct: {}, socket, url: '/', method: 'GET', httpVersion: '1.1' };
    const upgrade = authenticateUpgrade(app.auth, req as never, { credentials: [credential] });
    await expect(upgrade).rejects.toMatchObject({ status: 403, code: 'not_accepted' });
  });
});

describe('a sign-in that accept refuses', () => {
  it('is a 403 that names the account and offers another one, with the way back', async () => {
    const hooks: unknown[] = [];
    await startForStaff({ onSignIn: ({ session }) => void hooks.push(session.user.email) });
    const visitor = app.visitor();
    const refused = await postForm(visitor, '/auth/login', { ...stranger, returnTo: '/account/x?tab=1' });
    expect(refused.status).toBe(403);
    expect(refused.text).toContain(stranger.email);
    const json = await visitor.postJson('/auth/login', stranger);
    expect([json.status, json.json.error.code]).toEqual([403, 'not_accepted']);
    expect([refused.setCookies, json.setCookies, hooks]).toEqual([[], [], []]);
    expect(app.supabase.calls('logout')).toBe(2);
    expect(app.events.filter(({ type }) => type === 'sign_in_failed').length).toBe(2);
    expect(app.eventTypes()).not.toContain('session_rejected');
  });

  it('leaves the earlier session untouched', async () => {
    await startForStaff();
    const visitor = await app.signedIn();
    const before = visitor.cookieHeader();
    expect((await visitor.postJson('/auth/login', stranger)).status).toBe(403);
    expect(visitor.cookieHeader()).toBe(before);
    expect((await visitor.getJson('/auth/session')).json.user.email).toBe(ada.email);
  });
});

it('a refused browser finds its way to another account', async () => {
  await startForStaff();
  const visitor = app.visitor();
  setSession(visitor, await ownTokens(stranger));
  const page = await visitor.get('/account/x?tab=1', { headers: html });
  expect(page.text).toContain(`<strong dir="auto">${stranger.email}</strong>`);
  const [, link = ''] = /class="button" href="([^"]+)"/.exec(page.text) ?? [];
  const form = await visitor.get(link.replaceAll('&amp;', '&'), { headers: html });
  expect([form.status, form.text]).toEqual([200, expect.stringContaining('name="password"')]);
  const done = await postForm(visitor, '/auth/login', { ...ada, returnTo: '/account/x?tab=1' });
  expect([done.status, done.location]).toEqual([303, expect.stringContaining('/account/x?tab=1')]);
  expect((await visitor.get('/account/x')).text).toBe('account');
});

describe('accept is asked', () => {
  it('once for 50 requests at the same time, and not again', async () => {
    let calls = 0;
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    await start({
      options: {
        accept: async () => {
          calls += 1;
          await held;
          return true;
        },
      },
    });
    const visitor = app.visitor();
    setSession(visitor, await app.supabase.issueSession(ada.email));
    const all = Promise.all(Array.from({ length: 50 }, () => visitor.getJson('/api/me')));
    setTimeout(() => release(), 200);
    expect(new Set((await all).map(({ status }) => status))).toEqual(new Set([200]));
    await visitor.getJson('/api/me');
    expect(calls).toBe(1);
  });

  it('again after renewSession, so that a change takes effect at once', async () => {
    let isMember = true;
    await start({ options: { accept: () => isMember } });
    const visitor = await app.signedIn();
    const { id } = (await visitor.getJson('/auth/session')).json.user;
    isMember = false;
    expect((await visitor.getJson('/api/me')).status).toBe(200);
    await renewSession(app.auth, { userId: id });
    const refused = await visitor.getJson('/api/me');
    expect([refused.status, refused.json.error.code]).toEqual([403, 'not_accepted']);
    // The tokens of the refresh that this request made are delivered: the old ones are spent.
    expect(refused.setCookies.length).toBeGreaterThan(0);
    isMember = true;
    app.clock.advance(2_000);
    await renewSession(app.auth, { userId: id });
    expect((await visitor.getJson('/api/me')).status).toBe(200);
  });

  it('with a session of a token that expires while the backend is away', async () => {
    let calls = 0;
    await start({
      options: {
        accept: () => {
          calls += 1;
          return false;
        },
      },
    });
    const visitor = app.visitor();
    setSession(visitor, await app.supabase.issueSession(ada.email));
    app.clock.advance(3_595_000);
    app.supabase.fail('refresh', 503);
    const refused = await visitor.getJson('/api/me');
    expect([refused.status, calls]).toEqual([403, 1]);
  });
});

describe('an accept that', () => {
  it('throws lets no one in and passes its error on, and is asked again', async () => {
    let isBroken = true;
    await start({
      options: {
        accept: () => {
          if (isBroken) throw new Error('The database is down');
          return true;
        },
      },
    });
    const visitor = app.visitor();
    setSession(visitor, await app.supabase.issueSession(ada.email));
    for (const path of ['/api/me', '/account/x', '/whoami', '/auth/session']) {
      const failed = await visitor.getJson(path);
      expect([failed.status, failed.json]).toEqual([500, { thrown: 'Error: The database is down' }]);
    }
    expect((await app.visitor().postJson('/auth/login', ada)).status).toBe(500);
    isBroken = false;
    expect((await visitor.getJson('/api/me')).status).toBe(200);
  });

  it('throws an AuthError is answered with it', async () => {
    await start({
      options: {
        accept: () => {
          throw new AuthError('user_banned');
        },
      },
    });
    const visitor = app.visitor();
    setSession(visitor, await app.supabase.issueSession(ada.email));
    expect((await visitor.getJson('/api/me')).json.error.code).toBe('user_banned');
  });

  it('answers after the request’s time is a 503, and its answer counts for the next one', async () => {
    let finish: (isAccepted: boolean) => void = () => undefined;
    await start({
      options: { timeoutMs: 600, accept: () => new Promise<boolean>((resolve) => (finish = resolve)) },
    });
    const visitor = app.visitor();
    setSession(visitor, await app.supabase.issueSession(ada.email));
    const slow = await visitor.getJson('/api/me');
    expect([slow.status, slow.json.error.code, slow.headers['retry-after']]).toEqual([
      503,
      'provider_unavailable',
      '5',
    ]);
    finish(true);
    expect((await visitor.getJson('/api/me')).status).toBe(200);
  });

  describe('has no answer at the last step leaves the sign-in to be tried again:', () => {
    let isSlow = false;
    const slowly: Accept = () => (isSlow ? new Promise(() => undefined) : true);
    async function tryTwice(visitor: Visitor, path: string, fields: Record<string, string>): Promise<unknown[]> {
      isSlow = true;
      const late = await postForm(visitor, path, fields);
      isSlow = false;
      const again = await postForm(visitor, path, fields);
      return [late.status, late.text.includes('Try again in'), again.status, again.headers.location];
    }
    beforeEach(async () => {
      isSlow = false;
      await start({ options: { timeoutMs: 600, accept: slowly } });
    });
    const openLink = (visitor: Visitor) =>
      postForm(visitor, '/auth/confirm', { token_hash: app.supabase.mails.at(-1)!.tokenHash, type: 'recovery' });
    const isSignedIn = async (visitor: Visitor) => (await visitor.getJson('/auth/session')).status === 200;

    it('a second factor', async () => {
      const factor = app.supabase.addFactor(ada.email);
      const visitor = app.visitor();
      await postForm(visitor, '/auth/login', ada);
      const code = app.supabase.codeOf(factor);
      expect(await tryTwice(visitor, '/auth/verify', { code })).toEqual([503, true, 303, '/']);
      expect(await isSignedIn(visitor)).toBe(true);
    });

    it('a second factor after a link for a new password', async () => {
      const factor = app.supabase.addFactor(ada.email);
      const visitor = app.visitor();
      await postForm(visitor, '/auth/forgot', { email: ada.email });
      await openLink(visitor);
      const code = app.supabase.codeOf(factor);
      expect(await tryTwice(visitor, '/auth/verify', { code })).toEqual([503, true, 303, '/auth/password']);
      expect((await postForm(visitor, '/auth/password', { password: 'a brand new password 1' })).status).toBe(303);
      expect(await isSignedIn(visitor)).toBe(true);
    });

    it('a new password, where the hook after it cannot answer', async () => {
      await app.close();
      const onSignIn = (): void => {
        if (isSlow) throw new AuthError('provider_unavailable', { retryAfter: 5 });
      };
      await start({ options: { onSignIn } });
      const visitor = app.visitor();
      await postForm(visitor, '/auth/forgot', { email: ada.email });
      await openLink(visitor);
      const fields = { password: 'a brand new password 1' };
      expect(await tryTwice(visitor, '/auth/password', fields)).toEqual([503, true, 422, undefined]);
      const again = await visitor.postJson('/auth/password', fields);
      expect(again.json.error.message).toBe('It may have been saved. Sign in with it.');
      app.clock.advance(1_000);
      expect((await visitor.postJson('/auth/login', { ...fields, email: ada.email })).status).toBe(200);
    });
  });
});
