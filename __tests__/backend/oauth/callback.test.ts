// Which of a browser's sign-ins a callback belongs to, and what a callback says that none of them can finish.
import { follow } from '../../../stand-ins/supabase/browser.ts';
import { ada, startBackendApp } from '../../support/backend-app.ts';
import type { BackendApp, BackendAppSetup } from '../../support/backend-app.ts';
import { flowPrefix } from '../../support/variant.ts';
import type { Answer, Visitor } from '../../support/visitor.ts';

let app: BackendApp;
const start = async (setup?: BackendAppSetup): Promise<BackendApp> => (app = await startBackendApp(setup));
afterEach(() => app.close());

/** Starts a sign-in at a provider. @returns the URL of the provider's page */
const begin = async (visitor: Visitor, returnTo = '/account'): Promise<string> =>
  (await visitor.get(`/auth/login?provider=github&returnTo=${returnTo}`)).location;

/** The callback's URL after the provider's page. */
const walk = async (visitor: Visitor, returnTo?: string): Promise<string> =>
  (await app.supabase.authorize(await begin(visitor, returnTo), { approve: true })).href;

/** Asks for the email with a link for a new password. */
const forgot = (visitor: Visitor): Promise<Answer> =>
  visitor.postJson('/auth/forgot', { email: ada.email, returnTo: '/account' });

/** The callback's URL after the link of the last email. */
const opened = (): Promise<string> => follow(app.supabase.mails.at(-1)!.confirmationUrl);

const isSignInPage = ({ status, text }: Answer): boolean => status === 200 && text.includes('Sign in to continue');
const openFlows = ({ cookies }: Visitor): number =>
  [...cookies.keys()].filter((name) => name.endsWith('-state')).length;

describe('the code of a callback', () => {
  it('of another browser is tried with each sign-in of this one, five times at most', async () => {
    await start();
    const foreign = await walk(app.visitor());
    const thief = app.visitor();
    await begin(thief);
    expect((await thief.get(foreign)).status).toBe(400);
    expect(app.supabase.calls('pkce')).toBe(1);
    for (let tab = 0; tab < 5; tab += 1) await begin(thief);
    expect((await thief.get(foreign)).status).toBe(400);
    expect(app.supabase.calls('pkce')).toBe(5);
    expect(app.events.at(-1)).toMatchObject({ code: 'code_rejected', reason: 'too_many_tries' });
  });

  it('counts as no attempt where this browser has no sign-in, and nothing is asked', async () => {
    await start();
    const visitor = app.visitor();
    for (let count = 0; count < 101; count += 1) {
      expect((await visitor.get(`/auth/callback?code=made-up-${count}`)).status).toBe(200);
    }
    expect(app.supabase.calls('pkce')).toBe(0);
  });

  it('that no sign-in has is asked about once, however many are open', async () => {
    await start();
    const visitor = app.visitor();
    const others = [await walk(visitor, '/one'), await walk(visitor, '/two')];
    const page = await visitor.get('/auth/callback?code=made-up');
    expect([page.status, page.text.includes('code_rejected'), app.supabase.calls('pkce')]).toEqual([400, true, 1]);
    for (const callback of others) expect((await visitor.get(callback)).status).toBe(303);
  });

  it('is exchanged with the single verifier of an older auth-js, which names no flow', async () => {
    await start();
    const visitor = app.visitor();
    const callback = await walk(visitor);
    for (const name of [...visitor.cookies.keys()]) if (/-flows?-/.test(name)) visitor.cookies.delete(name);
    expect([...visitor.cookies.keys()]).toEqual([`${flowPrefix}${app.cookieName}-code-verifier`]);
    const done = await visitor.get(callback);
    expect([done.status, done.headers.location]).toEqual([303, '/']);
    expect([...visitor.cookies.keys()]).toEqual([app.cookieName]);
  });

  it.each<[string, unknown, string]>([
    ['none', undefined, '/account'],
    ['a text', 'recovery', '/account'],
    ['methods as texts', ['recovery'], '/account'],
    ['nothing in its list', [null], '/account'],
    [
      'a recovery beside another method',
      [
        { method: 'otp', timestamp: 0 },
        { method: 'recovery', timestamp: Math.floor(Date.now() / 1000) },
      ],
      '/auth/password?returnTo=%2Faccount',
    ],
  ])('leads to a new password only where amr names the recovery: %s', async (_, amr, location) => {
    await start();
    const visitor = app.visitor();
    await forgot(visitor);
    app.supabase.switches.tokenClaims = { amr: amr as string };
    expect((await visitor.get(await opened())).headers.location).toBe(location);
  });

  it('signs in by the link of a recovery where the project has no passwords', async () => {
    await start();
    const visitor = app.visitor();
    await forgot(visitor);
    const callback = await opened();
    const codesOnly = await startBackendApp({
      options: { signInMethods: ['code'], url: app.supabase.url, anonKey: app.supabase.publishableKey },
    });
    const other = codesOnly.visitor();
    for (const [name, value] of visitor.cookies) other.cookies.set(name, value);
    const done = await other.get(callback.replace(app.origin, codesOnly.origin));
    expect([done.status, done.headers.location]).toEqual([303, '/account']);
    expect((await other.getJson('/auth/session')).json.user.email).toBe(ada.email);
    await codesOnly.close();
  });
});

describe('a refusal', () => {
  const refusedTwice = async (visitor: Visitor, callback: string): Promise<boolean[]> => {
    const pages = await Promise.all([visitor.get(callback), visitor.get(callback)]);
    expect(pages.map(({ status }) => status)).toEqual([403, 403]);
    return pages.map(({ text }) => text.includes('returnTo=%2Faccount'));
  };

  it('leads back to the way of the only sign-in, also where another request exchanged the code', async () => {
    await start({ options: { accept: () => false } });
    const visitor = app.visitor();
    expect(await refusedTwice(visitor, await walk(visitor))).toEqual([true, true]);
  });

  it('leads back with several sign-ins only where the exchange told which one it was', async () => {
    await start({ options: { accept: () => false } });
    const visitor = app.visitor();
    await begin(visitor, '/other');
    expect((await refusedTwice(visitor, await walk(visitor))).toSorted()).toEqual([false, true]);
  });
});

describe('a callback that no sign-in can finish', () => {
  it('asks to sign in only where each open sign-in is an email’s, and the code is not another browser’s', async () => {
    await start({ standIn: { mailFrequency: 0 } });
    const mailed = app.visitor();
    await forgot(mailed);
    expect((await mailed.get(await walk(app.visitor()))).status).toBe(400);
    await forgot(mailed);
    expect(isSignInPage(await mailed.get('/auth/callback?code=made-up'))).toBe(true);
    await forgot(mailed);
    await begin(mailed);
    expect((await mailed.get('/auth/callback?code=made-up')).status).toBe(400);
  });

  it('goes on to the way of the sign-in for a visitor who has a session', async () => {
    await start();
    const visitor = await app.signedIn();
    await begin(visitor);
    const done = await visitor.get('/auth/callback?code=made-up');
    expect([done.status, done.headers.location, openFlows(visitor)]).toEqual([303, '/account', 0]);
  });

  it('says so although an outage hides whether a new password is still missing', async () => {
    await start({ standIn: { accessTokenTtl: 60 } });
    const visitor = app.visitor();
    await forgot(visitor);
    await visitor.get(await opened());
    expect((await visitor.get('/auth/callback?code=made-up')).headers.location).toBe(
      '/auth/password?returnTo=%2Faccount',
    );
    app.clock.advance(120_000);
    app.supabase.fail('refresh', 503);
    expect(isSignInPage(await visitor.get('/auth/callback?code=made-up'))).toBe(true);
  });

  it('shows the failure beside a sign-in that waits for its second factor', async () => {
    await start();
    app.supabase.addFactor(ada.email);
    const visitor = app.visitor();
    await visitor.postJson('/auth/login', ada);
    expect(isSignInPage(await visitor.get('/auth/callback?code=made-up'))).toBe(true);
  });
});

describe('an error in a callback', () => {
  it('about a link that has expired offers a new one where this browser asked for a new password', async () => {
    await start();
    const query = 'error=access_denied&error_code=otp_expired';
    const visitor = app.visitor();
    await forgot(visitor);
    const json = await visitor.ask(`/auth/callback?${query}`, { headers: { accept: 'application/json' } });
    expect([json.status, json.json.error.code]).toEqual([400, 'link_expired']);
    const again = app.visitor();
    app.clock.advance(61_000);
    await forgot(again);
    app.events.splice(0);
    const page = await again.get(`/auth/callback?${query}`);
    expect([page.status, page.text.includes('href="/auth/forgot?returnTo=%2Faccount"')]).toEqual([400, true]);
    expect(app.events).toMatchObject([{ type: 'sign_in_failed', code: 'link_expired' }]);
    expect(openFlows(again)).toBe(0);
  });

  it('about anything else is its own page, also for such a browser', async () => {
    await start();
    const visitor = app.visitor();
    await forgot(visitor);
    const page = await visitor.get('/auth/callback?error=access_denied&error_code=user_banned');
    expect([page.status, page.text.includes('user_banned')]).toEqual([403, true]);
  });

  it('is shown to a signed-in visitor whose other sign-in it is about', async () => {
    await start();
    const visitor = await app.signedIn();
    await begin(visitor);
    expect((await visitor.get('/auth/callback?error=access_denied')).status).toBe(403);
  });

  it('about a flow that the project no longer has ends no sign-in of this browser', async () => {
    await start();
    const visitor = app.visitor();
    const callback = await walk(visitor);
    const page = await visitor.get('/auth/callback?error=server_error&error_code=flow_state_not_found');
    expect([page.status, page.text.includes('returnTo')]).toEqual([400, false]);
    expect((await visitor.get(callback)).headers.location).toBe('/account');
  });
});
