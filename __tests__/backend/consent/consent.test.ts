import { parse } from 'node:querystring';
import type { RenderPage } from '../../../lib/backend/index.ts';
import { postForm } from '../../support/backend-app.ts';
import type { BackendApp, BackendAppSetup } from '../../support/backend-app.ts';
import { changedAnswers } from '../../support/changed-answers.ts';
import {
  ada,
  arrive,
  arriving,
  askElsewhere,
  callback,
  consentUrl,
  sentTo,
  startConsentApp,
} from '../../support/consent.ts';
import { createShared } from '../../support/shared-memory.ts';
import type { Answer, Visitor } from '../../support/visitor.ts';

let app: BackendApp;
afterEach(() => app.close());

async function start(setup: BackendAppSetup = {}) {
  app = await startConsentApp({ options: { pages: { title: 'Northwind' } }, ...setup });
}

const eve = { email: 'eve@example.com', password: ada.password };

/** The id of a new request of an app called Cursor. */
function ask(asked: { readonly scope?: string; readonly redirectUri?: string; readonly name?: string } = {}): string {
  const { name = 'Cursor', redirectUri = callback, scope = 'openid email' } = asked;
  const client = app.supabase.addClient({ name, redirectUris: [redirectUri] });
  return app.supabase.askConsent(client, { scope, state: 'state-1' });
}

const decide = (visitor: Visitor, id: string, action: string): Promise<Answer> =>
  postForm(visitor, '/oauth/consent', { authorization_id: id, action }, { 'sec-fetch-site': 'same-origin' });

const isStartAgain = ({ status, text }: Answer): boolean => status === 400 && text.includes('Start again in the app');

describe('the consent page', () => {
  it('shows the name, the host in bold, that nothing is verified, the scopes in words, the account, and equal buttons', async () => {
    await start();
    const visitor = await app.signedIn();
    const { status, text, headers } = await arrive(
      visitor,
      ask({ scope: 'openid profile email phone offline_access' }),
    );
    expect(status).toBe(200);
    expect(text).toContain('<h1>Connect “<bdi>Cursor</bdi>”?</h1>');
    expect(text).toContain('<strong dir="ltr">cursor.example</strong>');
    expect(text).toContain('Not verified');
    for (const words of [
      'Use <bdi>Northwind</bdi> as you',
      'Know who you are',
      'profile',
      'email address',
      'phone number',
      'away',
    ]) {
      expect(text).toContain(words);
    }
    expect(text).toContain('<strong dir="auto">ada@example.com</strong>');
    expect(text).toContain('Use another account');
    expect(text).toMatch(/<input type="hidden" name="authorization_id" value="\w+">/);
    expect(text).toContain('<button class="quiet" name="action" value="allow">Allow</button>');
    expect(text).toContain('<button class="quiet" name="action" value="deny">Deny</button>');
    expect(text).not.toMatch(/<script|style=|<img[^>]+https/);
    expect(headers['cache-control']).toBe('private, no-store');
  });

  it('forbids framing, sends no referrer, and lets its form redirect to the app', async () => {
    await start();
    const visitor = await app.signedIn();
    const policies = new Map([
      [callback, "form-action 'self' https:;"],
      ['http://127.0.0.1:33418/callback', "form-action 'self' https: http:;"],
      ['http://[::1]:33418/callback', "form-action 'self' https: http:;"],
      ['cursor://anysphere/callback', "form-action 'self';"],
      ['com.example.app:/callback', "form-action 'self';"],
    ]);
    for (const [redirectUri, formAction] of policies) {
      const { headers } = await arrive(visitor, ask({ redirectUri }));
      const policy = String(headers['content-security-policy']);
      expect(policy).toContain(formAction);
      expect(policy).toContain("frame-ancestors 'none'");
      expect(policy).toContain("default-src 'none'");
      expect([headers['x-frame-options'], headers['referrer-policy']]).toEqual(['DENY', 'no-referrer']);
    }
  });

  it('leaves a popup its opener on the whole way, also where the application would not', async () => {
    await start({
      before: (host) =>
        host.use('/', (_req, res, next) => {
          res.setHeader('Cross-Origin-Opener-Policy', 'same-origin');
          next();
        }),
    });
    const id = ask();
    const stranger = app.visitor();
    const visitor = await app.signedIn();
    const steps = [
      await arrive(stranger, id),
      await stranger.get(`/auth/login?returnTo=${encodeURIComponent(consentUrl(id))}`),
      await stranger.get('/auth/forgot'),
      await arrive(visitor, id),
      await decide(visitor, id, 'allow'),
      await arrive(visitor, 'unknown-0000'),
    ];
    expect(steps.map(({ status }) => status)).toEqual([302, 200, 200, 200, 303, 400]);
    expect(steps.map(({ headers }) => headers['cross-origin-opener-policy'])).toEqual(steps.map(() => 'unsafe-none'));
    await app.close();
    const render: RenderPage = (_req, res) => {
      res.end('own');
      return true;
    };
    await start({ options: { oauthConsent: true, pages: { render } } });
    const own = await app.visitor().get('/auth/login');
    expect([own.text, own.headers['cross-origin-opener-policy']]).toEqual(['own', 'unsafe-none']);
    await app.close();
    await start({ options: { oauthConsent: false } });
    const page = await app.visitor().get('/auth/login');
    expect(page.headers['cross-origin-opener-policy']).toBe('same-origin');
  });

  it.each([
    ['http://127.0.0.1:33418/callback', 'an app on this device', '127.0.0.1:33418'],
    ['cursor://anysphere/callback', 'handles', 'cursor:'],
  ])('says who receives %s', async (redirectUri, words, receiver) => {
    await start();
    const { text } = await arrive(await app.signedIn(), ask({ redirectUri }));
    expect(text).toContain(words);
    expect(text).toContain(`<strong dir="ltr">${receiver}</strong>`);
  });

  it('is not there without the option', async () => {
    await start({ options: { oauthConsent: false } });
    const visitor = await app.signedIn();
    for (const path of [consentUrl(ask()), '/oauth/apps']) expect((await visitor.get(path)).status).toBe(404);
  });

  it('works under other paths and below a prefix', async () => {
    await start({ prefix: '/app', options: { paths: { consent: '/connect', connectedApps: '/connected' } } });
    const id = ask();
    const signedOut = await app.visitor().get(`/app/connect?authorization_id=${id}`);
    expect(signedOut.headers.location).toBe(
      `/app/auth/login?returnTo=${encodeURIComponent(`/app/connect?authorization_id=${id}`)}`,
    );
    const visitor = app.visitor();
    await visitor.postJson('/app/auth/login', ada);
    const page = await visitor.get(`/app/connect?authorization_id=${id}`);
    expect(page.text).toContain('action="/app/connect"');
    expect((await visitor.get('/app/connected')).status).toBe(200);
  });
});

describe('a decision', () => {
  it.each([
    ['allow', { state: 'state-1', code: expect.any(String) }, 'consent_given'],
    [
      'deny',
      { state: 'state-1', error: 'access_denied', error_description: 'User denied the request' },
      'consent_denied',
    ],
  ])('to %s leads to the address of the provider', async (action, parameters, type) => {
    await start();
    const visitor = await app.signedIn();
    const id = ask();
    await arrive(visitor, id);
    app.events.splice(0);
    const answer = await decide(visitor, id, action);
    expect([answer.status, answer.headers.location?.startsWith(`${callback}?`)]).toEqual([303, true]);
    expect(sentTo(answer)).toEqual(parameters);
    expect(answer.headers['referrer-policy']).toBe('no-referrer');
    const [user] = app.supabase.users();
    expect(app.events).toEqual([{ type, adapter: 'backend', userId: user?.id, clientId: expect.any(String) }]);
  });

  it('reaches a port of this device', async () => {
    await start();
    const visitor = await app.signedIn();
    const redirectUri = 'http://127.0.0.1:33418/callback';
    const id = ask({ redirectUri });
    await arrive(visitor, id);
    const answer = await decide(visitor, id, 'allow');
    expect(answer.headers.location?.startsWith(`${redirectUri}?code=`)).toBe(true);
  });

  it.each([
    ['allow', /^cursor:\/\/anysphere\/callback\?code=/],
    ['deny', /^cursor:\/\/anysphere\/callback\?error=access_denied/],
  ])('to %s for an app beside the browser leaves a page that leads back to the app', async (action, to) => {
    await start();
    const visitor = await app.signedIn();
    const id = ask({ redirectUri: 'cursor://anysphere/callback' });
    await arrive(visitor, id);
    const answers = [await decide(visitor, id, action), await decide(visitor, id, action)];
    for (const { status, headers, text } of answers) {
      expect([status, headers.location, headers['referrer-policy']]).toEqual([200, undefined, 'no-referrer']);
      expect(text).toContain('<h1>Go back to “<bdi>Cursor</bdi>”</h1>');
      expect(text).not.toContain('Allow');
      const href = /<a class="button" href="([^"]*)"/.exec(text)?.[1]?.replaceAll('&amp;', '&') ?? '';
      expect(href).toMatch(to);
      expect(headers['refresh']).toBe(`0; url=${href}`);
    }
    const json = await visitor.postJson('/oauth/consent', { authorization_id: id, action });
    expect(json.json.redirectTo).toMatch(to);
  });

  it.each(['', 'approve', 'ALLOW', 'allow '])('is not %j', async (action) => {
    await start();
    const visitor = await app.signedIn();
    const id = ask();
    await arrive(visitor, id);
    expect((await decide(visitor, id, action)).status).toBe(400);
    expect(app.supabase.calls('consent')).toBe(0);
  });

  it('that is sent twice shows the first result, and another one cannot follow', async () => {
    await start();
    const visitor = await app.signedIn();
    const id = ask();
    await arrive(visitor, id);
    const answers = await Promise.all([decide(visitor, id, 'allow'), decide(visitor, id, 'allow')]);
    const later = await decide(visitor, id, 'allow');
    expect(new Set([...answers, later].map(({ headers }) => headers.location)).size).toBe(1);
    expect(app.supabase.calls('consent')).toBe(1);
    expect(isStartAgain(await decide(visitor, id, 'deny'))).toBe(true);
  });

  it('of a JSON client is { redirectTo }', async () => {
    await start();
    const visitor = await app.signedIn();
    const id = ask();
    const asked = await visitor.getJson(consentUrl(id));
    const [user] = app.supabase.users();
    expect([asked.status, asked.json]).toEqual([
      200,
      {
        client: { id: expect.any(String), name: 'Cursor', redirectUri: callback },
        scopes: ['openid', 'email'],
        user: expect.objectContaining({ id: user?.id, email: ada.email }),
      },
    ]);
    const answer = await visitor.postJson('/oauth/consent', { authorization_id: id, action: 'deny' });
    expect([answer.status, Object.keys(answer.json)]).toEqual([200, ['redirectTo']]);
    expect(new URL(answer.json.redirectTo).searchParams.get('error')).toBe('access_denied');
  });
});

describe('signed out', () => {
  it('leads through sign-in, second factor included, and back with the request', async () => {
    await start();
    const factor = app.supabase.addFactor(ada.email);
    const id = ask();
    const visitor = app.visitor();
    const first = await arrive(visitor, id);
    expect([first.status, first.headers.location]).toEqual([
      302,
      `/auth/login?returnTo=${encodeURIComponent(consentUrl(id))}`,
    ]);
    expect(app.supabase.calls('authorization')).toBe(0);
    const { returnTo = '' } = parse(new URL(first.location).search.slice(1));
    const second = await postForm(visitor, '/auth/login', { ...ada, returnTo: String(returnTo) });
    expect(second.headers.location).toBe(`/auth/verify?returnTo=${encodeURIComponent(consentUrl(id))}`);
    const third = await postForm(visitor, '/auth/verify', {
      code: app.supabase.codeOf(factor),
      returnTo: String(returnTo),
    });
    expect(third.headers.location).toBe(consentUrl(id));
    expect((await arrive(visitor, id)).status).toBe(200);
  });

  it('is 401 for JSON clients, and a form leads to sign-in with the request', async () => {
    await start();
    const id = ask();
    const asked = await app.visitor().getJson(consentUrl(id));
    expect([asked.status, asked.json.error.code]).toEqual([401, 'unauthenticated']);
    expect(asked.json.redirectTo).toBe(`/auth/login?returnTo=${encodeURIComponent(consentUrl(id))}`);
    const posted = await decide(app.visitor(), id, 'allow');
    expect([posted.status, posted.headers.location]).toEqual([
      303,
      `/auth/login?returnTo=${encodeURIComponent(consentUrl(id))}`,
    ]);
  });

  it('counts a guest, who has no account to grant', async () => {
    await start({ standIn: { oauthServer: true, anonymousUsers: true } });
    const visitor = await app.signedIn({ claims: { is_anonymous: true } });
    const answer = await arrive(visitor, ask());
    expect([answer.status, new URL(answer.location).pathname]).toEqual([302, '/auth/login']);
    expect(app.supabase.calls('authorization')).toBe(0);
  });

  it('is 403 for a session that accept refuses', async () => {
    await start({ options: { accept: ({ user }) => user.email === eve.email } });
    const visitor = await app.signedIn({});
    expect((await arrive(visitor, ask())).status).toBe(403);
    expect(app.supabase.calls('authorization')).toBe(0);
  });

  it('a session whose user has enrolled since gives the second factor first', async () => {
    await start();
    const visitor = await app.signedIn();
    app.supabase.addFactor(ada.email);
    const id = ask();
    const verify = `/auth/verify?returnTo=${encodeURIComponent(consentUrl(id))}`;
    const shown = await arrive(visitor, id);
    expect([shown.status, shown.headers.location]).toEqual([307, verify]);
    const posted = await decide(visitor, id, 'allow');
    expect([posted.status, posted.headers.location]).toEqual([303, verify]);
    const asked = await visitor.getJson(consentUrl(id));
    expect([asked.status, asked.json.error.code, asked.json.redirectTo]).toEqual([
      403,
      'second_factor_required',
      verify,
    ]);
    expect(app.supabase.calls('authorization') + app.supabase.calls('consent')).toBe(0);
  });

  it('ends a session that the provider has ended, and keeps the request', async () => {
    await start();
    const visitor = await app.signedIn();
    const id = ask();
    for (const session of app.supabase.sessionsOf(ada.email)) app.supabase.revokeSession(session.id);
    const answer = await arrive(visitor, id);
    expect(answer.headers.location).toBe(`/auth/login?returnTo=${encodeURIComponent(consentUrl(id))}`);
    expect(visitor.cookies.has(app.cookieName)).toBe(false);
  });
});

describe('the provider’s GET', () => {
  it('runs once per authorization and user: two tabs, reload, back button', async () => {
    await start();
    const visitor = await app.signedIn();
    const id = ask();
    const tabs = await Promise.all([arrive(visitor, id), arrive(visitor, id)]);
    const reloaded = await arrive(visitor, id);
    await decide(visitor, id, 'allow');
    const back = await arrive(visitor, id);
    expect([...tabs, reloaded, back].map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect(app.supabase.calls('authorization')).toBe(1);
  });

  it('is kept for ten minutes', async () => {
    await start();
    const visitor = await app.signedIn();
    const id = ask();
    await arrive(visitor, id);
    app.clock.advance(9.9 * 60_000);
    expect((await arrive(visitor, id)).status).toBe(200);
    expect(app.supabase.calls('authorization')).toBe(1);
    app.clock.advance(0.2 * 60_000);
    expect(isStartAgain(await arrive(visitor, id))).toBe(true);
    expect(app.supabase.calls('authorization')).toBe(2);
  });

  it.each<[string, string, Record<string, string>]>([
    ['a HEAD', 'HEAD', arriving],
    ['a prefetch', 'GET', { ...arriving, 'sec-purpose': 'prefetch' }],
    ['a prerender', 'GET', { ...arriving, 'sec-purpose': 'prefetch;prerender' }],
    ['a prefetch of an older browser', 'GET', { ...arriving, purpose: 'prefetch' }],
    ['an image', 'GET', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'image' }],
    ['a frame', 'GET', { ...arriving, 'sec-fetch-dest': 'iframe' }],
    ['an object', 'GET', { ...arriving, 'sec-fetch-dest': 'object' }],
    [
      'another site’s script',
      'GET',
      { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'cors', 'sec-fetch-dest': 'empty' },
    ],
    ['an OPTIONS', 'OPTIONS', arriving],
  ])('does not run for %s', async (_, method, headers) => {
    await start();
    const visitor = await app.signedIn();
    const id = ask();
    const answer = await visitor.ask(consentUrl(id), { method, headers });
    expect([method === 'GET' ? 403 : 204, app.supabase.calls('authorization')]).toEqual([answer.status, 0]);
    expect((await arrive(visitor, id)).status).toBe(200);
  });

  it('runs for a script of this site', async () => {
    await start();
    const visitor = await app.signedIn();
    const headers = { 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'cors', 'sec-fetch-dest': 'empty' };
    const answer = await visitor.get(consentUrl(ask()), { headers });
    expect([answer.status, answer.json.client.name]).toEqual([200, 'Cursor']);
  });
});

describe('an answer of the provider', () => {
  const startWith = async (path: RegExp, change: (answer: any) => unknown): Promise<Visitor> => {
    await start({ options: { fetch: changedAnswers(path, change) } });
    return app.signedIn();
  };
  const details = /\/oauth\/authorizations\/[^/]+$/;
  const decision = /\/oauth\/authorizations\/[^/]+\/consent$/;
  const errorOf = ({ status, json }: Answer) => [status, json.error?.code];
  const scopes = (count: number): string => Array.from({ length: count }, (_, index) => `scope:${index}`).join(' ');

  it('with an unsafe address offers someone who is signed in no sign-in', async () => {
    const visitor = await startWith(details, (answer) => ({ ...answer, redirect_uri: 'javascript:alert(1)' }));
    const { status, text } = await visitor.get(consentUrl(ask()));
    expect([status, text]).toEqual([400, expect.stringContaining('its own address isn’t safe')]);
    expect([...text.matchAll(/<a\b[^>]*>([^<]*)<\/a>/g)].map(([, label]) => label)).toEqual(['Back to home']);
  });

  it.each<[string, (answer: any) => unknown, number, string]>([
    ['without a user', (answer) => ({ ...answer, user: undefined }), 502, 'provider_refused'],
    ['for another user', (answer) => ({ ...answer, user: { id: 'another' } }), 502, 'provider_refused'],
    ['for a user in a list', (answer) => ({ ...answer, user: [answer.user] }), 502, 'provider_refused'],
    ['with too many scopes', (answer) => ({ ...answer, scope: scopes(21) }), 502, 'provider_refused'],
    ['without an address', (answer) => ({ ...answer, redirect_uri: undefined }), 400, 'redirect_refused'],
    ['with a script', (answer) => ({ ...answer, redirect_uri: 'javascript:alert(1)' }), 400, 'redirect_refused'],
    ['that goes on to a script', () => ({ redirect_url: 'javascript:alert(1)' }), 400, 'redirect_refused'],
    ['that goes on to nothing', () => ({ redirect_url: null }), 400, 'redirect_refused'],
  ])('about a request is refused: %s', async (_, change, status, code) => {
    const visitor = await startWith(details, change);
    const id = ask();
    expect(errorOf(await visitor.getJson(consentUrl(id)))).toEqual([status, code]);
    expect(errorOf(await visitor.getJson(consentUrl(id)))).toEqual([status, code]);
    // An address does not change; another answer may be right the next time.
    expect(app.supabase.calls('authorization')).toBe(code === 'redirect_refused' ? 1 : 2);
    const decided = await visitor.postJson('/oauth/consent', { authorization_id: id, action: 'allow' });
    if (code === 'redirect_refused') expect(errorOf(decided)).toEqual([status, code]);
    expect(app.supabase.calls('consent')).toBe(code === 'redirect_refused' ? 0 : 1);
  });

  it.each<[string, (answer: any) => unknown, number]>([
    ['twenty', (answer) => ({ ...answer, scope: scopes(20) }), 20],
    ['none', (answer) => ({ ...answer, scope: '' }), 0],
    ['a number', (answer) => ({ ...answer, scope: 7 }), 0],
    ['the same twice', (answer) => ({ ...answer, scope: 'email  email' }), 1],
  ])('is read where its scopes are %s', async (_, change, count) => {
    const visitor = await startWith(details, change);
    expect((await visitor.getJson(consentUrl(ask()))).json.scopes).toHaveLength(count);
  });

  it.each<[string, RegExp, (answer: any) => unknown, string]>([
    ['about a request, without a user', details, (answer) => ({ ...answer, user: undefined }), 'user'],
    ['about a request, with too many scopes', details, (answer) => ({ ...answer, scope: scopes(21) }), 'scopes'],
    ['with the apps, without a list', /\/user\/oauth\/grants$/, () => ({}), 'grants'],
  ])('that cannot be used is refused with what is wrong in it: %s', async (_, path, change, reason) => {
    const refusals: unknown[] = [];
    await start({
      options: {
        fetch: changedAnswers(path, change),
        onError: ({ code, reason: why, status }, _req, res) => {
          refusals.push([code, why]);
          res.writeHead(status).end();
        },
      },
    });
    const visitor = await app.signedIn();
    await visitor.getJson(reason === 'grants' ? '/oauth/apps' : consentUrl(ask()));
    expect(refusals).toEqual([['provider_refused', reason]]);
  });

  it('without a client leads to a decision that names none', async () => {
    const visitor = await startWith(details, (answer) => ({ ...answer, client: undefined }));
    const id = ask();
    expect((await visitor.getJson(consentUrl(id))).json.client).toMatchObject({ id: '', name: '' });
    app.events.splice(0);
    expect((await decide(visitor, id, 'allow')).status).toBe(303);
    expect(app.events).toEqual([{ type: 'consent_given', adapter: 'backend', userId: expect.any(String) }]);
  });

  it.each<[string, (answer: any) => unknown, number, string]>([
    ['that leads nowhere', () => ({}), 502, 'provider_refused'],
    ['to a script', () => ({ redirect_url: 'javascript:alert(1)' }), 400, 'redirect_refused'],
  ])('to a decision is refused: %s', async (_, change, status, code) => {
    const visitor = await startWith(decision, change);
    const id = ask();
    await arrive(visitor, id);
    app.events.splice(0);
    const decided = await visitor.postJson('/oauth/consent', { authorization_id: id, action: 'allow' });
    expect(errorOf(decided)).toEqual([status, code]);
    expect(app.eventTypes()).not.toContain('consent_given');
  });

  it('that asks again after a decision is refused', async () => {
    let shown: unknown;
    const answers: typeof fetch = async (input, init) => {
      const { pathname } = new URL(new Request(input).url);
      if (decision.test(pathname)) return Response.json(shown);
      const response = await fetch(input, init);
      if (details.test(pathname)) shown = await response.clone().json();
      return response;
    };
    await start({ options: { fetch: answers } });
    const visitor = await app.signedIn();
    const id = ask();
    await arrive(visitor, id);
    const decided = await visitor.postJson('/oauth/consent', { authorization_id: id, action: 'allow' });
    expect(errorOf(decided)).toEqual([502, 'provider_refused']);
  });

  it('that does not come is a 503, and the next try goes on', async () => {
    await start();
    const visitor = await app.signedIn();
    const id = ask();
    app.supabase.fail('authorization', 503, 1);
    expect(errorOf(await visitor.getJson(consentUrl(id)))).toEqual([503, 'provider_unavailable']);
    app.supabase.fail('authorization', 503, 1);
    const page = await arrive(visitor, id);
    expect([page.status, page.text.includes('Start again in the app')]).toEqual([503, false]);
    expect((await arrive(visitor, id)).status).toBe(200);
    app.supabase.fail('consent', 503, 1);
    const json = { authorization_id: id, action: 'allow' };
    expect(errorOf(await visitor.postJson('/oauth/consent', json))).toEqual([503, 'provider_unavailable']);
    expect((await decide(visitor, id, 'allow')).status).toBe(303);
  });

  it('to allow that is lost is said to be allowed by the next try, where the provider has it so', async () => {
    await start();
    const visitor = await app.signedIn();
    const id = ask();
    await arrive(visitor, id);
    app.supabase.fail('consent', 'lost', 1);
    expect((await decide(visitor, id, 'allow')).status).toBe(503);
    for (const action of ['allow', 'deny']) {
      const again = await decide(visitor, id, action);
      expect([isStartAgain(again), again.text.includes('You have allowed “<bdi>Cursor</bdi>”.')]).toEqual([true, true]);
    }
    const other = ask({ name: 'Other' });
    await arrive(visitor, other);
    app.supabase.fail('consent', 'lost', 1);
    expect((await decide(visitor, other, 'deny')).status).toBe(503);
    const denied = await decide(visitor, other, 'allow');
    expect([isStartAgain(denied), denied.text.includes('You have allowed')]).toEqual([true, false]);
  });

  it('about what is allowed does not come: nothing is said about it', async () => {
    await start();
    const visitor = await app.signedIn();
    const id = ask();
    await arrive(visitor, id);
    app.supabase.fail('consent', 'lost', 1);
    await decide(visitor, id, 'allow');
    app.supabase.fail('grants', 503);
    const again = await decide(visitor, id, 'allow');
    expect([isStartAgain(again), again.text.includes('You have allowed')]).toEqual([true, false]);
  });

  it('to a decision on a page that another process showed names no client', async () => {
    await start();
    const visitor = await app.signedIn();
    const id = ask();
    await askElsewhere(app, id);
    app.events.splice(0);
    expect((await decide(visitor, id, 'allow')).status).toBe(303);
    expect(app.events).toEqual([{ type: 'consent_given', adapter: 'backend', userId: expect.any(String) }]);
    expect(app.supabase.calls('authorization')).toBe(1);
  });
});

it('a decision in another process names the client that the page has shown, and its answer is the one for all', async () => {
  const coordinator = createShared();
  await start({ options: { coordinator } });
  const first = app;
  const { url, publishableKey: anonKey } = first.supabase;
  const second = await startConsentApp({ options: { coordinator, url, anonKey, now: first.clock.now } });
  const visitor = await first.signedIn();
  const id = ask();
  await arrive(visitor, id);
  const elsewhere = second.visitor();
  for (const [name, value] of visitor.cookies) elsewhere.cookies.set(name, value);
  const there = await decide(elsewhere, id, 'allow');
  const here = await decide(visitor, id, 'allow');
  expect([there.status, here.headers.location]).toEqual([303, there.headers.location]);
  const given = { type: 'consent_given', adapter: 'backend', userId: expect.any(String), clientId: expect.any(String) };
  expect(second.events).toContainEqual(given);
  expect([first.supabase.calls('authorization'), first.supabase.calls('consent')]).toEqual([1, 1]);
  await second.close();
});

describe('a grant that exists', () => {
  async function granted() {
    await start();
    const visitor = await app.signedIn();
    const client = app.supabase.addClient({ name: 'Cursor', redirectUris: [callback] });
    const next = () => app.supabase.askConsent(client, { state: 'state-1' });
    const id = next();
    await arrive(visitor, id);
    await decide(visitor, id, 'allow');
    return { visitor, next };
  }

  it('goes on at once, and a reload goes the same way', async () => {
    const { visitor, next } = await granted();
    const id = next();
    const answers = [await arrive(visitor, id), await arrive(visitor, id)];
    expect(answers.map(({ status }) => status)).toEqual([302, 302]);
    expect(new Set(answers.map(({ headers }) => headers.location)).size).toBe(1);
    expect(sentTo(answers[0]!)).toEqual({ state: 'state-1', code: expect.any(String) });
    const json = await visitor.getJson(consentUrl(next()));
    expect([json.status, Object.keys(json.json)]).toEqual([200, ['redirectTo']]);
  });

  it('goes on without a redirect after a form of this site, whose page would block it', async () => {
    const { visitor, next } = await granted();
    const id = next();
    const answer = await arrive(visitor, id, { ...arriving, 'sec-fetch-site': 'same-origin' });
    expect([answer.status, answer.headers.location]).toEqual([200, undefined]);
    expect(String(answer.headers['refresh'])).toMatch(/^0; url=https:\/\/cursor\.example\/oauth\/callback\?code=/);
    expect(answer.text).toContain(`href="${callback}?code=`);
    // Browsers without Fetch Metadata tell where they come from by the referrer.
    const referer = `${app.origin}/auth/login`;
    const older = await arrive(visitor, id, { referer });
    expect([older.status, older.headers['refresh']]).toEqual([200, answer.headers['refresh']]);
    for (const elsewhere of [{ referer: 'https://other.example/' }, { referer: 'about:blank' }, {}]) {
      expect((await arrive(visitor, id, elsewhere)).status).toBe(302);
    }
  });

  it('of an app beside the browser goes on from a page, which stays', async () => {
    await start();
    const visitor = await app.signedIn();
    const client = app.supabase.addClient({ name: 'Cursor', redirectUris: ['cursor://anysphere/callback'] });
    const first = app.supabase.askConsent(client);
    await arrive(visitor, first);
    await decide(visitor, first, 'allow');
    const { status, headers } = await arrive(visitor, app.supabase.askConsent(client));
    expect([status, headers['refresh']]).toEqual([200, expect.stringMatching(/^0; url=cursor:\/\/anysphere/)]);
  });

  it('for fewer scopes asks again', async () => {
    await start();
    const visitor = await app.signedIn();
    const client = app.supabase.addClient({ redirectUris: [callback] });
    const first = app.supabase.askConsent(client, { scope: 'email' });
    await arrive(visitor, first);
    await decide(visitor, first, 'allow');
    expect((await arrive(visitor, app.supabase.askConsent(client, { scope: 'email phone' }))).status).toBe(200);
  });
});

describe('another user in between', () => {
  it('neither sees nor decides what was asked of the first one', async () => {
    await start();
    app.supabase.addUser(eve);
    const visitor = await app.signedIn();
    const id = ask();
    await arrive(visitor, id);
    const out = await postForm(visitor, '/auth/logout', { prompt: 'login', returnTo: consentUrl(id) });
    expect(out.headers.location).toBe(`/auth/login?returnTo=${encodeURIComponent(consentUrl(id))}&prompt=login`);
    await postForm(visitor, '/auth/login', { ...eve, returnTo: consentUrl(id) });
    const shown = await arrive(visitor, id);
    expect([isStartAgain(shown), shown.text.includes(eve.email), shown.text.includes('Cursor')]).toEqual([
      true,
      true,
      false,
    ]);
    for (const action of ['allow', 'deny']) expect(isStartAgain(await decide(visitor, id, action))).toBe(true);
    await postForm(visitor, '/auth/logout', {});
    await postForm(visitor, '/auth/login', ada);
    expect((await arrive(visitor, id)).status).toBe(200);
    expect((await decide(visitor, id, 'allow')).status).toBe(303);
  });

  it('the page offers another account, with the request kept and the account asked for', async () => {
    await start();
    const id = ask();
    const { text } = await arrive(await app.signedIn(), id);
    const form = /<form method="post" action="\/auth\/logout">([\s\S]*?)<\/form>/.exec(text)?.[1] ?? '';
    expect(form).toContain('name="prompt" value="login"');
    expect(form).toContain(`name="returnTo" value="${consentUrl(id)}"`);
  });
});

describe('a request that cannot go on', () => {
  it.each([
    ['none', ''],
    ['an unknown one', 'a'.repeat(32)],
    ['a path', '../../user'],
    ['an encoded path', '..%2f..%2fuser'],
    ['markup', '<b>'],
    ['a very long one', 'a'.repeat(3_000)],
    ['one with more before it', `!${'a'.repeat(32)}`],
    ['one with more behind it', `${'a'.repeat(32)}!`],
    ['a short one', 'abcdefg'],
    ['a line break', 'a%0d%0aX:1'],
  ])('says to start again in the app: %s', async (_, id) => {
    await start();
    const visitor = await app.signedIn();
    const page = await visitor.get(`/oauth/consent?authorization_id=${id}`);
    expect(isStartAgain(page)).toBe(true);
    const json = await visitor.getJson(`/oauth/consent?authorization_id=${id}`);
    expect([json.status, json.json.error.code]).toEqual([400, 'authorization_expired']);
    const posted = await decide(visitor, decodeURIComponent(id), 'allow');
    expect(isStartAgain(posted)).toBe(true);
    const paths = app.supabase.requests.map(({ url }) => url.pathname);
    expect(paths.filter((path) => /consent|authorizations/.test(path) && !path.includes('a'.repeat(32)))).toEqual([]);
  });

  it('says that something is missing where no authorization is named', async () => {
    await start();
    const visitor = await app.signedIn();
    const page = await visitor.get('/oauth/consent');
    expect([page.status, page.text]).toEqual([400, expect.stringContaining('Something in this request is missing')]);
    const posted = await visitor.postJson('/oauth/consent', { action: 'allow' });
    expect([posted.status, posted.json.error.code]).toEqual([400, 'invalid_request']);
    expect(app.supabase.requests.some(({ url }) => url.pathname.includes('authorizations'))).toBe(false);
  });

  it('tells the application why', async () => {
    const reasons: unknown[] = [];
    await start({
      options: {
        onError: ({ reason, status }, _req, res) => {
          reasons.push(reason);
          res.writeHead(status).end();
        },
      },
    });
    const visitor = await app.signedIn();
    const id = ask();
    for (const each of ['short', 'a'.repeat(32), 'a'.repeat(32), id]) await visitor.getJson(consentUrl(each));
    for (const action of ['allow', 'deny']) await visitor.postJson('/oauth/consent', { authorization_id: id, action });
    expect(reasons).toEqual([
      'malformed',
      'oauth_authorization_not_found',
      'oauth_authorization_not_found',
      'validation_failed',
    ]);
  });

  it('after ten minutes', async () => {
    await start();
    const visitor = await app.signedIn();
    const id = ask();
    app.clock.advance(10.1 * 60_000);
    expect(isStartAgain(await arrive(visitor, id))).toBe(true);
    expect(isStartAgain(await decide(visitor, id, 'allow'))).toBe(true);
  });

  it('costs one call, however often it is asked', async () => {
    await start();
    const visitor = await app.signedIn();
    for (let count = 0; count < 5; count += 1) await arrive(visitor, 'a'.repeat(32));
    expect(app.supabase.calls('authorization')).toBe(1);
  });

  it('and many made-up ones are limited', async () => {
    await start();
    const visitor = await app.signedIn();
    const statuses = [];
    for (let count = 0; count < 102; count += 1) {
      statuses.push((await visitor.getJson(consentUrl(`madeupid${count}`))).status);
    }
    expect([new Set(statuses.slice(0, 100)), new Set(statuses.slice(100))]).toEqual([new Set([400]), new Set([429])]);
  });
});
