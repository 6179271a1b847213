import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { jest } from '@jest/globals';
import { sealData } from 'iron-session';
import { authenticateUpgrade, getSession } from '../../../lib/b2b/index.ts';
import type { B2bAuthOptions, B2bSignIn } from '../../../lib/b2b/index.ts';
import type { StandInUser } from '../../../stand-ins/workos/index.ts';
import { demoUsers, startB2bApp, startProvider } from '../../support/b2b-app.ts';
import type { B2bApp, B2bAppSetup, SharedProvider } from '../../support/b2b-app.ts';
import { closeAfterEach } from '../../support/close-after-each.ts';
import { sendJson } from '../../support/hosts.ts';
import { createShared } from '../../support/shared-memory.ts';
import { until } from '../../support/until.ts';
import type { Answer, Visitor } from '../../support/visitor.ts';
import { itAtRoot, itWithoutProxy } from '../../support/only.ts';
import { variant } from '../../support/variant.ts';

let provider: SharedProvider;
beforeAll(async () => (provider = await startProvider()));
afterAll(() => provider.close());
beforeEach(() => {
  provider.workos.switches.authenticateError = null;
  provider.workos.switches.gate = {};
  provider.workos.switches.extraClaims = {};
  provider.workos.heal();
});
const opened = closeAfterEach();

const { twoOrganizations } = demoUsers;
const [north, south] = twoOrganizations.organizations;
const west = { id: 'org_01JC4XWEST0D0C8P2YV7M4TGS3', name: 'West' };

async function start(options: B2bAuthOptions = {}, setup: B2bAppSetup = {}): Promise<B2bApp> {
  const app = await opened(startB2bApp({ ...setup, provider, options }));
  app.workos.clearRequests();
  return app;
}

/** Signed in to the first of two organizations. */
async function member(app: B2bApp): Promise<Visitor> {
  const visitor = app.visitor();
  const login = await visitor.get(`/login?organization_id=${north.id}`);
  await visitor.get((await app.workos.authorize(login.location, { user: twoOrganizations })).href);
  expect(await organizationOf(visitor)).toBe(north.id);
  app.workos.clearRequests();
  app.events.length = 0;
  return visitor;
}

const organizationOf = async (visitor: Visitor): Promise<string | undefined> =>
  (await visitor.getJson('/auth/session')).json.organizationId;
const formPost = (visitor: Visitor, fields: Record<string, string>): Promise<Answer> =>
  visitor.post('/organization', {
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams(fields).toString(),
  });
const jsonPost = (visitor: Visitor, organizationId: string, returnTo = '/dashboard'): Promise<Answer> =>
  visitor.postJson('/organization', { organizationId, returnTo });
/** The session of a browser with this `Cookie` header, without storing the cookies of the answer. */
const sessionFor = (app: B2bApp, cookie: string): Promise<Answer> =>
  app.visitor().get('/auth/session', { headers: { cookie } });
const sessionCookies = ({ setCookies }: Answer): string[] =>
  setCookies.filter((line) => line.startsWith('b2b-session=')).map((line) => line.split(';', 1)[0] ?? '');

/** A browser with the sealed session of any user. */
async function holding(app: B2bApp, user: StandInUser, organizationId?: string): Promise<Visitor> {
  const session = await app.workos.issueSession(organizationId === undefined ? { user } : { user, organizationId });
  const visitor = app.visitor();
  visitor.cookies.set('b2b-session', await sealData(session, { password: app.cookiePassword, ttl: 0 }));
  return visitor;
}

/** Resolves when this many POSTs and session reads have arrived since `member`, and are waiting. */
function countingRequests() {
  let arrivals = 0;
  const before: B2bAppSetup['before'] = (host) => {
    host.use('/', (req, _res, next) => {
      arrivals = req.url?.startsWith('/login') === true ? -2 : arrivals + 1;
      next();
    });
  };
  return {
    before,
    arrived: async (count: number): Promise<void> => {
      await until(() => arrivals >= count);
      for (let turn = 0; turn < 10; turn += 1) await new Promise(setImmediate);
    },
  };
}

/** A `fetch` that changes the requests to the token endpoint. */
type TokenCall = (body: Record<string, unknown>) => Response | Record<string, unknown> | undefined;
const intercepting = (onTokenCall: TokenCall): B2bAuthOptions => ({
  fetch: (async (input: string | URL, init?: RequestInit) => {
    if (!input.toString().endsWith('/user_management/authenticate')) return fetch(input, init);
    const answer = onTokenCall(JSON.parse(init?.body as string));
    if (answer instanceof Response) return answer;
    return fetch(input, answer === undefined ? init : { ...init, body: JSON.stringify(answer) });
  }) as typeof fetch,
});

describe('POST /organization', () => {
  it('moves the session to the organization with one token call', async () => {
    const app = await start();
    const visitor = await member(app);
    const answer = await formPost(visitor, { organizationId: south.id, returnTo: '/dashboard?tab=1#top' });
    expect([answer.status, answer.headers.location]).toEqual([303, '/dashboard?tab=1#top']);
    expect(answer.headers['cache-control']).toBe('private, no-store');
    expect(await organizationOf(visitor)).toBe(south.id);
    expect(app.workos.tokenCalls).toBe(1);
    const [call] = app.workos.requests;
    expect(call?.body).toMatchObject({ grant_type: 'refresh_token', organization_id: south.id });
    expect(app.events.map(({ type }) => type)).toEqual(['session_refreshed']);
  });

  it('answers a JSON client with redirectTo', async () => {
    const app = await start();
    const visitor = await member(app);
    const answer = await jsonPost(visitor, south.id);
    expect([answer.status, answer.json]).toEqual([200, { redirectTo: '/dashboard' }]);
    expect(await organizationOf(visitor)).toBe(south.id);
  });

  it('redirects to the start page if `returnTo` is another site or a route of the adapter', async () => {
    const app = await start();
    for (const returnTo of ['https://evil.example/', '//evil.example', '/organization', '']) {
      const visitor = await member(app);
      const answer = await formPost(visitor, { organizationId: south.id, returnTo });
      expect([returnTo, answer.status, answer.headers.location]).toEqual([returnTo, 303, '/']);
    }
  });

  it('makes no call if the session is already in that organization', async () => {
    const app = await start();
    const visitor = await member(app);
    const answer = await jsonPost(visitor, north.id);
    expect([answer.status, answer.setCookies, app.workos.tokenCalls]).toEqual([200, [], 0]);
  });

  it('works back and forth', async () => {
    const app = await start();
    const visitor = await member(app);
    for (const { id } of [south, north, south]) {
      expect((await jsonPost(visitor, id)).status).toBe(200);
      expect(await organizationOf(visitor)).toBe(id);
    }
    expect(app.workos.tokenCalls).toBe(3);
  });

  it('keeps refreshing for the new organization', async () => {
    const app = await start();
    const visitor = await member(app);
    await jsonPost(visitor, south.id);
    app.clock.advance(400_000);
    expect(await organizationOf(visitor)).toBe(south.id);
  });

  it('moves a session whose access token has expired', async () => {
    const app = await start();
    const visitor = await member(app);
    app.clock.advance(400_000);
    expect((await jsonPost(visitor, south.id)).status).toBe(200);
    expect([await organizationOf(visitor), app.workos.tokenCalls]).toEqual([south.id, 1]);
  });

  it('without a session answers 401, or redirects a form to sign in to the organization', async () => {
    const app = await start();
    const visitor = app.visitor();
    const json = await jsonPost(visitor, south.id);
    expect([json.status, json.json.error.code]).toEqual([401, 'unauthenticated']);
    const signIn = `/login?organization_id=${south.id}&returnTo=%2Fdashboard`;
    expect(json.json.redirectTo).toBe(signIn);
    const form = await formPost(visitor, { organizationId: south.id, returnTo: '/dashboard' });
    expect([form.status, form.headers.location]).toEqual([303, signIn]);
    expect(app.workos.tokenCalls).toBe(0);
  });

  it('clears the cookie of a session that idleTimeout has ended', async () => {
    const app = await start({ idleTimeout: 600 });
    const visitor = await member(app);
    app.clock.advance(600_000);
    const answer = await jsonPost(visitor, south.id);
    expect([answer.status, visitor.cookies.size, app.workos.tokenCalls]).toEqual([401, 0, 0]);
    expect(app.events).toMatchObject([{ type: 'session_ended', reason: 'idle_timeout' }]);
    expect((await jsonPost(visitor, south.id)).setCookies).toEqual([]);
  });

  it('moves a session that was renewed just before idleTimeout, where an older cookie comes after it', async () => {
    const app = await start({ idleTimeout: 600 });
    const visitor = await member(app);
    const headers = { cookie: visitor.cookieHeader(), 'content-type': 'application/json', accept: 'application/json' };
    app.clock.advance(599_000);
    expect((await visitor.getJson('/auth/session')).setCookies).toHaveLength(1);
    app.clock.advance(2_000);
    const body = JSON.stringify({ organizationId: south.id });
    const late = app.visitor();
    expect((await late.post('/organization', { headers, body })).status).toBe(200);
    expect(await organizationOf(late)).toBe(south.id);
  });

  it('answers within timeoutMs where an older cookie comes while its renewal hangs', async () => {
    const app = await start({ idleTimeout: 600, timeoutMs: 400 });
    const visitor = await member(app);
    app.clock.advance(599_000);
    app.workos.switches.outage = { token: 'hang' };
    expect((await visitor.getJson('/auth/session')).status).toBe(503);
    app.clock.advance(2_000);
    expect((await jsonPost(visitor, south.id)).status).toBe(503);
    app.workos.heal();
  });

  it.each([{}, { organizationId: '' }, { organizationId: 'org_1\r\nx' }, { organizationId: 'o'.repeat(101) }])(
    'refuses %j',
    async (fields) => {
      const app = await start();
      const visitor = await member(app);
      expect((await formPost(visitor, fields as Record<string, string>)).status).toBe(400);
      expect((await visitor.postJson('/organization', { ...fields, organizationId: { id: 1 } })).status).toBe(400);
      expect([await organizationOf(visitor), app.workos.tokenCalls]).toEqual([north.id, 0]);
    },
  );

  it.each([
    ['text/plain', `organizationId=${south.id}`, 415],
    ['multipart/form-data; boundary=x', '--x--', 415],
    ['application/json', '[]', 400],
    ['application/json', JSON.stringify({ organizationId: south.id, padding: 'x'.repeat(17_000) }), 413],
    ['application/x-www-form-urlencoded', `organizationId=${'x'.repeat(17_000)}`, 413],
    ['application/x-www-form-urlencoded', '', 400],
  ])('refuses a body of %s', async (type, body, status) => {
    const app = await start();
    const visitor = await member(app);
    const answer = await visitor.post('/organization', { headers: { 'content-type': type }, body });
    expect([answer.status, await organizationOf(visitor), app.workos.tokenCalls]).toEqual([status, north.id, 0]);
  });

  it('accepts no other method', async () => {
    const answer = await (await member(await start())).get('/organization');
    expect([answer.status, answer.headers.allow]).toEqual([405, 'POST, OPTIONS']);
  });

  it('keeps the organization that the option fixes', async () => {
    const app = await start({ organizationId: north.id });
    const signedOut = await jsonPost(app.visitor(), south.id);
    expect([signedOut.status, signedOut.json.redirectTo]).toEqual([401, '/login?returnTo=%2Fdashboard']);
    const visitor = await member(app);
    const answer = await jsonPost(visitor, south.id);
    expect([answer.status, answer.json.error.code]).toEqual([403, 'organization_required']);
    expect([await organizationOf(visitor), app.workos.tokenCalls]).toEqual([north.id, 0]);
    expect([(await jsonPost(visitor, north.id)).status, await organizationOf(visitor)]).toEqual([200, north.id]);
  });

  it('goes on with the query’s `returnTo` where the form has none', async () => {
    const app = await start();
    const visitor = await member(app);
    const answer = await visitor.postJson('/organization?returnTo=/dashboard/2', { organizationId: south.id });
    expect(answer.json.redirectTo).toBe('/dashboard/2');
  });

  itAtRoot.each([
    ['the page that it came from', '/dashboard?tab=2', '/dashboard?tab=2'],
    ['the start page, and not to a route of the adapter', '/login?returnTo=/dashboard', '/'],
    ['the start page, and not to another site', 'https://other.example/dashboard', '/'],
  ])('without a `returnTo` leads to %s', async (_, from, wanted) => {
    const app = await start();
    const visitor = await member(app);
    const headers = { referer: new URL(from, app.origin).href };
    const form = { ...headers, 'content-type': 'application/x-www-form-urlencoded' };
    const sent = await visitor.post('/organization', { headers: form, body: `organizationId=${south.id}` });
    expect([sent.status, sent.headers.location]).toEqual([303, wanted]);
    const script = { ...headers, accept: 'application/json', 'content-type': 'application/json' };
    const body = JSON.stringify({ organizationId: north.id });
    expect((await visitor.post('/organization', { headers: script, body })).json).toEqual({ redirectTo: wanted });
  });
});

describe('requests during a switch', () => {
  it('of other people, and for other organizations, have answers of their own', async () => {
    const user = { ...twoOrganizations, id: 'user_01OTHER', organizations: [...twoOrganizations.organizations, west] };
    const app = await start();
    const [visitor, other] = [await member(app), await holding(app, user, north.id)];
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    app.workos.switches.gate = { token: () => held };
    const arrived = app.workos.arrived('token');
    const switching = [jsonPost(visitor, south.id), jsonPost(other, south.id)];
    await arrived;
    release();
    expect((await Promise.all(switching)).map(({ status }) => status)).toEqual([200, 200]);
    const users = [visitor, other].map(async (each) => (await each.getJson('/auth/session')).json.user.id);
    expect(await Promise.all(users)).toEqual([twoOrganizations.id, user.id]);
    expect(app.workos.tokenCalls).toBe(2);

    const [back, on] = await Promise.all([jsonPost(other, north.id), jsonPost(other, west.id)]);
    expect([back.status, on.status]).toEqual([200, 200]);
  });

  it.each(['valid', 'expired'])('all end in the new organization, with a token that is %s', async (token) => {
    const app = await start();
    const visitor = await member(app);
    const cookie = visitor.cookieHeader();
    if (token === 'expired') app.clock.advance(400_000);
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    app.workos.switches.gate = { token: () => held };
    const arrived = app.workos.arrived('token');
    const switching = jsonPost(visitor, south.id);
    await arrived;
    const during = Array.from({ length: 50 }, () => sessionFor(app, cookie));
    // Requests with a valid token do not wait for the switch.
    if (token === 'valid') await Promise.all(during);
    release();
    expect((await switching).status).toBe(200);
    const answers = await Promise.all(during);
    const after = await Promise.all(Array.from({ length: 50 }, () => sessionFor(app, cookie)));

    expect(new Set([...answers, ...after].map(({ status }) => status))).toEqual(new Set([200]));
    expect(new Set(after.map(({ json }) => json.organizationId))).toEqual(new Set([south.id]));
    if (token === 'expired') expect(answers.every(({ json }) => json.organizationId === south.id)).toBe(true);
    // None writes a cookie of the old organization.
    for (const written of new Set([...answers, ...after].flatMap(sessionCookies))) {
      expect((await sessionFor(app, written)).json.organizationId).toBe(south.id);
    }
    expect(await organizationOf(visitor)).toBe(south.id);
    expect(app.workos.tokenCalls).toBe(1);
  });

  it('share one token call across 20 identical switches', async () => {
    const app = await start();
    const visitor = await member(app);
    const answers = await Promise.all(Array.from({ length: 20 }, () => jsonPost(visitor, south.id)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(app.workos.tokenCalls).toBe(1);
  });

  it('do not write the cookie of a refresh that preceded the switch', async () => {
    let finish = (): void => undefined;
    const finished = new Promise<void>((resolve) => (finish = resolve));
    let resolved = (): void => undefined;
    const isResolved = new Promise<void>((resolve) => (resolved = resolve));
    const app = await start(
      {},
      {
        after: (host) =>
          host.get('/slow', (req, res, next) => {
            getSession(req)
              .then(async (session) => {
                resolved();
                await finished;
                sendJson(res, { organizationId: session?.adapter === 'b2b' ? session.organizationId : null });
              })
              .catch(next);
          }),
      },
    );
    const visitor = await member(app);
    const cookie = visitor.cookieHeader();
    app.clock.advance(400_000);
    const slow = app.visitor().get('/slow', { headers: { cookie } });
    await isResolved;
    expect((await jsonPost(visitor, south.id)).status).toBe(200);
    finish();
    expect(sessionCookies(await slow)).toEqual([]);
    expect([await organizationOf(visitor), app.workos.tokenCalls]).toEqual([south.id, 2]);
    expect((await sessionFor(app, cookie)).json.organizationId).toBe(south.id);
  });

  it('succeed if the switch is rejected', async () => {
    const { before, arrived: allArrived } = countingRequests();
    const app = await start({}, { before });
    const visitor = await member(app);
    const cookie = visitor.cookieHeader();
    app.clock.advance(400_000);
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    app.workos.switches.gate = { token: () => held };
    const arrived = app.workos.arrived('token');
    const switching = jsonPost(visitor, west.id);
    await arrived;
    const during = Array.from({ length: 50 }, () => sessionFor(app, cookie));
    // The switch is one of them.
    await allArrived(51);
    release();
    expect((await switching).status).toBe(403);
    const answers = await Promise.all(during);
    expect(new Set(answers.map(({ status, json }) => `${status} ${json.organizationId}`))).toEqual(
      new Set([`200 ${north.id}`]),
    );
    // The refused call, and one refresh for all other requests.
    expect(app.workos.tokenCalls).toBe(2);
    expect(app.events.map(({ type }) => type)).toEqual(['session_refreshed']);
  });

  it('that sign out win over the switch', async () => {
    const app = await start();
    const visitor = await member(app);
    const cookie = visitor.cookieHeader();
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    app.workos.switches.gate = { token: () => held };
    const arrived = app.workos.arrived('token');
    const other = app.visitor();
    const switching = other.post('/organization', {
      headers: { cookie, accept: 'application/json', 'content-type': 'application/json' },
      body: JSON.stringify({ organizationId: south.id }),
    });
    await arrived;
    expect((await visitor.post('/logout')).status).toBe(303);
    release();
    const answer = await switching;
    expect([answer.status, answer.json.error.code]).toEqual([401, 'unauthenticated']);
    expect(sessionCookies(answer).filter((line) => line !== 'b2b-session=')).toEqual([]);
    expect((await sessionFor(app, cookie)).status).toBe(401);
  });
});

describe('a rejected switch', () => {
  it.each(['sso_required', 'mfa_enrollment', 'mfa_challenge', 'organization_authentication_methods_required'] as const)(
    'after %s redirects to a sign-in to the organization, and keeps the session',
    async (code) => {
      const app = await start();
      const visitor = await member(app);
      app.workos.switches.authenticateError = code;
      const login = `/login?organization_id=${south.id}&returnTo=%2Fdashboard`;
      const form = await formPost(visitor, { organizationId: south.id, returnTo: '/dashboard' });
      expect([form.status, form.headers.location]).toEqual([303, login]);
      const json = await jsonPost(visitor, south.id);
      expect([json.status, json.json]).toEqual([200, { redirectTo: login }]);
      app.workos.switches.authenticateError = null;
      expect([form.setCookies, json.setCookies, await organizationOf(visitor)]).toEqual([[], [], north.id]);
      const started = await visitor.get(login);
      expect(new URL(started.location).searchParams.get('organization_id')).toBe(south.id);
    },
  );

  it('redirects to the URL that the provider names, if it is a web URL', async () => {
    const app = await start();
    const visitor = await member(app);
    const authkit_redirect_url = 'https://auth.example.com/sso?session=1';
    app.workos.switches.authenticateError = {
      status: 403,
      body: { error: 'sso_required', error_description: 'SSO', authkit_redirect_url },
    };
    const form = await formPost(visitor, { organizationId: south.id });
    expect([form.status, form.headers.location]).toEqual([303, authkit_redirect_url]);
    expect((await jsonPost(visitor, south.id)).json).toEqual({ redirectTo: authkit_redirect_url });
    app.workos.switches.authenticateError = {
      status: 403,
      body: { error: 'sso_required', authkit_redirect_url: 'javascript:alert(1)' },
    };
    expect((await jsonPost(visitor, south.id)).json.redirectTo).toMatch(/^\/login\?/);
  });

  it.each([
    ['http://auth.example.com/sso', true],
    ['xhttps://auth.example.com/sso', false],
    ['no URL at all', false],
    [['https://auth.example.com/sso'], false],
  ])('and follows %j: %s', async (authkit_redirect_url, isFollowed) => {
    const app = await start();
    const visitor = await member(app);
    app.workos.switches.authenticateError = { status: 403, body: { error: 'sso_required', authkit_redirect_url } };
    const { redirectTo } = (await jsonPost(visitor, south.id)).json;
    expect(redirectTo === authkit_redirect_url).toBe(isFollowed);
    if (!isFollowed) expect(redirectTo).toMatch(/^\/login\?/);
  });

  it('waits as long as WorkOS says after a limit, and delays no refresh of another session', async () => {
    const app = await start();
    const [visitor, other] = [await member(app), await member(app)];
    app.clock.advance(260_000);
    app.workos.switches.outage = { token: { status: 429, retryAfterSeconds: 60 } };
    const limited = await jsonPost(visitor, south.id);
    app.workos.heal();
    expect([limited.status, limited.headers['retry-after']]).toEqual([503, '60']);
    const calls = app.workos.tokenCalls;
    expect((await jsonPost(other, south.id)).status).toBe(503);
    expect(app.workos.tokenCalls).toBe(calls);
    app.clock.advance(45_000);
    expect((await other.getJson('/auth/session')).status).toBe(200);
    expect(app.workos.tokenCalls).toBe(calls + 1);
  });

  it('is a 403 for an organization of which the user is not a member, and keeps the session', async () => {
    const app = await start();
    const visitor = await member(app);
    const before = visitor.cookieHeader();
    const json = await jsonPost(visitor, west.id);
    expect([json.status, json.json.error.code, json.setCookies]).toEqual([403, 'forbidden', []]);
    const form = await formPost(visitor, { organizationId: west.id });
    expect([form.status, form.headers['content-type']]).toEqual([403, 'text/html; charset=utf-8']);
    expect([visitor.cookieHeader(), await organizationOf(visitor)]).toEqual([before, north.id]);
    app.clock.advance(400_000);
    expect(await organizationOf(visitor)).toBe(north.id);
    expect(app.events.map(({ type }) => type)).toEqual(['session_refreshed']);
  });

  it('is a 403 for any other definitive answer', async () => {
    const app = await start();
    const visitor = await member(app);
    for (const error of ['access_denied', 'session_revoked', 'something_new']) {
      app.workos.switches.authenticateError = { status: 400, body: { error, error_description: 'No.' } };
      const answer = await jsonPost(visitor, south.id);
      expect([error, answer.status, answer.setCookies]).toEqual([error, 403, []]);
    }
    app.workos.switches.authenticateError = null;
    expect(await organizationOf(visitor)).toBe(north.id);
  });

  it('retries once without the organization after invalid_grant', async () => {
    const calls: Record<string, unknown>[] = [];
    const app = await start(
      intercepting((body) => {
        calls.push(body);
        if (body['organization_id'] !== south.id) return undefined;
        return Response.json({ error: 'invalid_grant', error_description: 'No.' }, { status: 400 });
      }),
    );
    const visitor = await member(app);
    const before = visitor.cookieHeader();
    calls.length = 0;
    expect((await jsonPost(visitor, south.id)).status).toBe(403);
    expect(calls.map(({ organization_id: organization }) => organization)).toEqual([south.id, undefined]);
    expect(visitor.cookieHeader()).not.toBe(before);
    expect(await organizationOf(visitor)).toBe(north.id);
    app.clock.advance(400_000);
    expect(await organizationOf(visitor)).toBe(north.id);
  });

  it('is a 503 if WorkOS fails before it has said whether the session goes on, and keeps the session', async () => {
    let isFailing = true;
    const app = await start(
      intercepting((body) => {
        if (body['organization_id'] === south.id)
          return Response.json({ error: 'invalid_grant', error_description: 'No.' }, { status: 400 });
        return isFailing && body['grant_type'] === 'refresh_token' ? new Response('', { status: 502 }) : undefined;
      }),
    );
    const visitor = await member(app);
    const answer = await jsonPost(visitor, south.id);
    expect([answer.status, answer.json.error.code, answer.setCookies]).toEqual([503, 'provider_unavailable', []]);
    isFailing = false;
    expect((await jsonPost(visitor, south.id)).status).toBe(403);
    expect(await organizationOf(visitor)).toBe(north.id);
  });

  it('ends the session if the token is rejected without the organization as well', async () => {
    const app = await start();
    const visitor = await member(app);
    const { sessionId } = (await visitor.getJson('/auth/session')).json;
    app.workos.revokeSession(sessionId);
    const answer = await jsonPost(visitor, south.id);
    expect([answer.status, answer.json.error.code]).toEqual([401, 'unauthenticated']);
    expect(visitor.cookies.has('b2b-session')).toBe(false);
    expect(app.events.map(({ type }) => type)).toEqual(['session_ended']);
  });

  it.each([
    ['the old organization', north.id],
    ['a third one', west.id],
  ])('is an answer for %s', async (_name, answered) => {
    const user = { ...twoOrganizations, id: 'user_01THREE', organizations: [...twoOrganizations.organizations, west] };
    const app = await start(
      intercepting((body) =>
        body['organization_id'] === south.id ? { ...body, organization_id: answered } : undefined,
      ),
    );
    const visitor = await holding(app, user, north.id);
    const answer = await jsonPost(visitor, south.id);
    expect([answer.status, answer.json.error.code]).toEqual([403, 'forbidden']);
    expect(await organizationOf(visitor)).toBe(north.id);
    app.clock.advance(400_000);
    expect(await organizationOf(visitor)).toBe(north.id);
  });

  it('is a 422 where the tokens of the organization fit no cookie, and the session continues in the former one', async () => {
    const calls: unknown[] = [];
    const app: B2bApp = await start(
      intercepting((body) => {
        calls.push(body['organization_id']);
        app.workos.switches.extraClaims = body['organization_id'] === south.id ? { groups: 'x'.repeat(10_000) } : {};
        return undefined;
      }),
    );
    const visitor = await member(app);
    const before = visitor.cookieHeader();
    calls.length = 0;
    const answer = await jsonPost(visitor, south.id);
    expect([answer.status, answer.json.error.code]).toEqual([422, 'session_too_large']);
    expect(calls).toEqual([south.id, north.id]);
    // The refused switch has spent the refresh token of the former cookie.
    expect(visitor.cookieHeader()).not.toBe(before);
    expect(app.events.map(({ type }) => type)).toEqual(['session_too_large', 'session_refreshed']);
    expect(await organizationOf(visitor)).toBe(north.id);
    app.clock.advance(400_000);
    expect(await organizationOf(visitor)).toBe(north.id);
    const form = await formPost(visitor, { organizationId: south.id });
    expect([form.status, form.headers['content-type']]).toEqual([422, 'text/html; charset=utf-8']);
    expect(await organizationOf(visitor)).toBe(north.id);
  });

  /** Tokens of the organization fit no cookie, and this is what WorkOS answers on the way back. */
  async function wayBack(session: 'with an organization' | 'without one', back: TokenCall) {
    const app: B2bApp = await start(
      intercepting((body) => {
        const isThere = body['organization_id'] === south.id;
        app.workos.switches.extraClaims = isThere ? { groups: 'x'.repeat(10_000) } : {};
        return isThere || body['grant_type'] !== 'refresh_token' ? undefined : back(body);
      }),
    );
    const visitor = await holding(app, twoOrganizations, session === 'with an organization' ? north.id : undefined);
    return { app, visitor, answer: await jsonPost(visitor, south.id) };
  }

  const noAnswer = (): Response => new Response('', { status: 502 });

  it('names its organization again where WorkOS fails on the way back', async () => {
    let isFailing = true;
    const { app, visitor, answer } = await wayBack('with an organization', () => (isFailing ? noAnswer() : undefined));
    expect([answer.status, answer.json.error.code]).toEqual([422, 'session_too_large']);
    expect(await organizationOf(visitor)).toBe(north.id);
    isFailing = false;
    app.clock.advance(400_000);
    expect(await organizationOf(visitor)).toBe(north.id);
  });

  it.each([
    ['fails', noAnswer],
    ['refuses', () => Response.json({ error: 'invalid_grant' }, { status: 400 })],
    ['gives tokens of another organization', (body: object) => ({ ...body, organization_id: north.id })],
  ])('ends a session without an organization where WorkOS %s on the way back', async (_what, back) => {
    const { app, visitor, answer } = await wayBack('without one', back);
    expect([answer.status, visitor.cookies.has('b2b-session')]).toEqual([401, false]);
    const ended = app.events.filter(({ type }) => type === 'session_ended');
    expect(ended).toMatchObject([{ reason: _what === 'refuses' ? 'invalid_grant' : 'organization_refused' }]);
  });

  it('ends where a refresh after invalid_grant is in another organization', async () => {
    const app = await start(
      intercepting((body) => {
        if (body['grant_type'] !== 'refresh_token') return undefined;
        if (body['organization_id'] === south.id) return Response.json({ error: 'invalid_grant' }, { status: 400 });
        return { ...body, organization_id: south.id };
      }),
    );
    const visitor = await member(app);
    const answer = await jsonPost(visitor, south.id);
    expect([answer.status, visitor.cookies.has('b2b-session')]).toEqual([401, false]);
    expect(app.events).toMatchObject([{ type: 'session_ended', reason: 'organization_refused' }]);
  });

  it('says so to the person', async () => {
    const app = await start();
    const visitor = await member(app);
    const { error } = (await jsonPost(visitor, west.id)).json;
    expect(error.message).toBe('You can’t switch to this organization.');
  });

  it('is a 503 while the provider is unreachable, and keeps the session', async () => {
    const app = await start();
    const visitor = await member(app);
    app.workos.switches.outage = { token: { status: 503 } };
    const answer = await jsonPost(visitor, south.id);
    expect([answer.status, answer.json.error.code]).toEqual([503, 'provider_unavailable']);
    app.workos.heal();
    expect(await organizationOf(visitor)).toBe(north.id);
    expect((await jsonPost(visitor, south.id)).status).toBe(200);
    expect(await organizationOf(visitor)).toBe(south.id);
  });
});

describe('a switch is no sign-in', () => {
  it('and onSignIn is not called', async () => {
    const asked: B2bSignIn[] = [];
    const app = await start({ onSignIn: (signIn) => void asked.push(signIn) });
    const visitor = await member(app);
    asked.length = 0;
    expect((await jsonPost(visitor, south.id)).json).toEqual({ redirectTo: '/dashboard' });
    expect(asked).toEqual([]);
  });

  it('and where accept refuses the organization, guards answer 403 until another switch', async () => {
    const app = await start({
      accept: (session) => session.organizationId !== south.id,
    });
    const visitor = await member(app);
    expect((await jsonPost(visitor, south.id)).status).toBe(200);
    const refused = await visitor.getJson('/api/me');
    expect([refused.status, refused.json.error.code]).toEqual([403, 'not_accepted']);
    const page = await visitor.get('/dashboard', { headers: { accept: 'text/html' } });
    expect([page.status, page.text]).toEqual([403, expect.stringContaining('prompt=login')]);
    expect((await visitor.getJson('/auth/session')).status).toBe(401);
    expect((await jsonPost(visitor, north.id)).status).toBe(200);
    expect((await visitor.getJson('/api/me')).status).toBe(200);
    expect(await organizationOf(visitor)).toBe(north.id);
  });

  it('and an accept that throws at a switch keeps the session', async () => {
    let isDown = false;
    const app = await start({
      accept: () => {
        if (isDown) throw new Error('The database is down');
        return true;
      },
    });
    const visitor = await member(app);
    isDown = true;
    expect((await jsonPost(visitor, south.id)).status).toBe(200);
    expect((await visitor.getJson('/api/me')).status).toBe(500);
    isDown = false;
    expect(await organizationOf(visitor)).toBe(south.id);
  });
});

describe('an open WebSocket', () => {
  /** The handshake of this browser. */
  function handshake(app: B2bApp, visitor: Visitor): IncomingMessage {
    const req = new IncomingMessage(new Socket());
    const { host } = new URL(app.origin);
    Object.assign(req.headers, { host, origin: app.origin, cookie: visitor.cookieHeader() });
    return req;
  }

  itWithoutProxy(
    'of the former organization is told to end, here and in another process; one of the new organization stays',
    async () => {
      const coordinator = createShared();
      const app = await start({ coordinator });
      const other = await start({ coordinator, cookiePassword: app.cookiePassword });
      const visitor = await member(app);
      const here = await authenticateUpgrade(app.auth, handshake(app, visitor));
      jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask', 'Date', 'performance'] });
      try {
        const elsewhere = await authenticateUpgrade(other.auth, handshake(other, visitor));
        await jsonPost(visitor, south.id);
        expect(here.ended.reason).toMatchObject({ code: 'unauthenticated', reason: 'switched' });
        const after = await authenticateUpgrade(app.auth, handshake(app, visitor));
        await jest.advanceTimersByTimeAsync(3_100);
        await until(() => elsewhere.ended.aborted);
        expect(elsewhere.ended.reason).toMatchObject({ reason: 'switched' });
        expect(after.ended.aborted).toBe(false);
      } finally {
        jest.useRealTimers();
      }
    },
  );

  itWithoutProxy('stays where the switch is refused', async () => {
    const app = await start();
    const visitor = await member(app);
    const { ended } = await authenticateUpgrade(app.auth, handshake(app, visitor));
    await jsonPost(visitor, west.id);
    expect(ended.aborted).toBe(false);
  });
});

it('a form without an organization names what is missing, and leads a member to the start page, not to sign-in', async () => {
  const visitor = await member(await start());
  const { status, text } = await formPost(visitor, { returnTo: '/dashboard' });
  expect([status, text.includes('Something in this request is missing or wrong.')]).toEqual([400, true]);
  expect(text).toContain('>Back to home</a>');
  // A process that has not seen the session cannot tell that this is a member.
  if (variant.isCached) expect(text).not.toMatch(/>Sign in</);
});
