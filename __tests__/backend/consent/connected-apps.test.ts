import { authenticateUpgrade, requireSession } from '../../../lib/backend/index.ts';
import { postForm } from '../../support/backend-app.ts';
import type { BackendApp, BackendAppSetup } from '../../support/backend-app.ts';
import { ada, askElsewhere, callback, connect, startConsentApp } from '../../support/consent.ts';
import { changedAnswers } from '../../support/changed-answers.ts';
import { createClock } from '../../support/clock.ts';
import { sendJson } from '../../support/hosts.ts';
import { serve } from '../../support/servers.ts';
import { createShared } from '../../support/shared-memory.ts';
import type { Answer, Visitor } from '../../support/visitor.ts';

const apps: BackendApp[] = [];
afterEach(async () => {
  for (const each of apps.splice(0)) await each.close();
});

/** With an API that takes the tokens of all OAuth clients of `clients`. */
async function start({ options, ...setup }: BackendAppSetup = {}, clients: string[] = []): Promise<BackendApp> {
  const app = await startConsentApp({
    ...setup,
    options: { ...options },
    after(host) {
      host.get('/api/tool', (req, res, next) => {
        requireSession({ credentials: ['bearer'], clients })(req, res, (error) => {
          if (error === undefined) sendJson(res, { ok: true });
          else next(error);
        });
      });
    },
  });
  apps.push(app);
  return app;
}

/** With an app that Ada has allowed to call the API. */
async function startConnected(setup: BackendAppSetup = {}) {
  const clients: string[] = [];
  const app = await start(setup, clients);
  const visitor = await app.signedIn();
  const connected = await connect(app, visitor);
  clients.push(connected.client.id);
  return { app, clients, visitor, ...connected };
}

const callTool = (app: BackendApp, token: string): Promise<Answer> =>
  app.visitor().get('/api/tool', { headers: { authorization: `Bearer ${token}` } });

const list = async (visitor: Visitor): Promise<readonly string[]> =>
  (await visitor.getJson('/oauth/apps')).json.apps.map(({ client }: { client: { name: string } }) => client.name);

describe('connected apps', () => {
  it('are listed with scopes and date', async () => {
    const app = await start();
    const visitor = await app.signedIn();
    const { client } = await connect(app, visitor);
    const { status, json } = await visitor.getJson('/oauth/apps');
    expect([status, json]).toEqual([
      200,
      {
        apps: [
          {
            client: { id: client.id, name: 'Cursor' },
            scopes: ['email'],
            grantedAt: new Date(app.clock.now()).toISOString(),
          },
        ],
      },
    ]);
    const page = await visitor.get('/oauth/apps?returnTo=/account');
    expect(page.text).toContain('<bdi>Cursor</bdi>');
    expect(page.text).toContain('See your email address');
    expect(page.text).toMatch(/Since <time datetime="[\d-]+">\w+ \d+, \d{4}<\/time>/);
    expect(page.text).toContain('<a href="/account">Done</a>');
    expect([page.headers['x-frame-options'], page.headers['referrer-policy']]).toEqual(['DENY', 'no-referrer']);
  });

  it('are none for a user who allowed none', async () => {
    const app = await start();
    const visitor = await app.signedIn();
    expect((await visitor.getJson('/oauth/apps')).json).toEqual({ apps: [] });
    expect((await visitor.get('/oauth/apps')).text).toContain('You haven’t allowed any app.');
  });

  it('show every scope of a grant, however many another page allowed', async () => {
    const app = await start();
    const visitor = await app.signedIn();
    const scope = Array.from({ length: 40 }, (_, index) => `scope:${index}`).join(' ');
    await connect(app, visitor);
    const id = app.supabase.askConsent(app.supabase.addClient({ name: 'Wide' }), { scope });
    for (const action of [undefined, 'approve'] as const) await askElsewhere(app, id, action);
    expect(await list(visitor)).toEqual(['Cursor', 'Wide']);
    const { text } = await visitor.get('/oauth/apps');
    for (const each of scope.split(' ')) expect(text).toContain(`>${each}</code>`);
  });

  it('need a session', async () => {
    const app = await start();
    const page = await app.visitor().get('/oauth/apps');
    expect([page.status, page.headers.location]).toEqual([
      302,
      `/auth/login?returnTo=${encodeURIComponent('/oauth/apps')}`,
    ]);
    const json = await app.visitor().getJson('/oauth/apps');
    expect([json.status, json.json.error.code]).toEqual([401, 'unauthenticated']);
    expect((await app.visitor().postJson('/oauth/apps', { revoke: 'x' })).status).toBe(401);
    expect(app.supabase.calls('grants') + app.supabase.calls('revoke-grant')).toBe(0);
  });

  it('a page asks before it disconnects one', async () => {
    const app = await start();
    const visitor = await app.signedIn();
    const { client } = await connect(app, visitor);
    const asks = await visitor.get(`/oauth/apps?revoke=${client.id}&returnTo=/account`);
    expect(asks.text).toContain('Disconnect “<bdi>Cursor</bdi>”?');
    const unsure = await postForm(visitor, '/oauth/apps', { revoke: client.id });
    expect([unsure.status, unsure.headers.location]).toEqual([303, `/oauth/apps?revoke=${client.id}`]);
    expect(await list(visitor)).toEqual(['Cursor']);
    const sure = await postForm(visitor, '/oauth/apps', { revoke: client.id, sure: 'yes', returnTo: '/account' });
    expect([sure.status, sure.headers.location]).toEqual([
      303,
      `/oauth/apps?returnTo=${encodeURIComponent('/account')}`,
    ]);
    expect(await list(visitor)).toEqual([]);
  });

  it('a JSON client disconnects one at once, and a second time without harm', async () => {
    const app = await start();
    const visitor = await app.signedIn();
    const { client } = await connect(app, visitor);
    app.events.splice(0);
    for (let count = 0; count < 2; count += 1) {
      const answer = await visitor.postJson('/oauth/apps', { revoke: client.id });
      expect([answer.status, answer.json]).toEqual([200, { redirectTo: '/oauth/apps' }]);
    }
    const [user] = app.supabase.users();
    const event = { type: 'grant_revoked', adapter: 'backend', userId: user?.id, clientId: client.id };
    expect(app.events).toEqual([event, event]);
  });

  it.each([
    undefined,
    '',
    'a b',
    '\u0000',
    'x'.repeat(2_049),
    'ü',
    // Other spellings of a UUID, which the provider would understand, and no access token has.
    '9A8B7C6D-0000-4000-8000-000000000000',
    '9a8b7c6d000040008000000000000000',
    '{9a8b7c6d-0000-4000-8000-000000000000}',
    'urn:uuid:9a8b7c6d-0000-4000-8000-000000000000',
  ])('refuse the client id %j', async (revoke) => {
    const app = await start();
    const visitor = await app.signedIn();
    expect((await visitor.postJson('/oauth/apps', { revoke })).status).toBe(400);
    expect(app.supabase.calls('revoke-grant')).toBe(0);
  });

  it('do not lead to others: an id that is no client of the project is a 4xx', async () => {
    const app = await start();
    const visitor = await app.signedIn();
    for (const revoke of ['../../user', 'x&client_id=y', 'https://app.example/client.json']) {
      const answer = await visitor.postJson('/oauth/apps', { revoke });
      expect([answer.status >= 400, answer.status < 500]).toEqual([true, true]);
    }
    const paths = app.supabase.requests.filter(({ method }) => method === 'DELETE').map(({ url }) => url.pathname);
    expect(new Set(paths)).toEqual(new Set(['/auth/v1/user/oauth/grants']));
  });
});

describe('what the provider lists', () => {
  const nothing = { client: { id: '', name: '' }, scopes: [], grantedAt: '' };
  const listing = async (body: unknown) => {
    const app = await start({ options: { fetch: changedAnswers(/\/user\/oauth\/grants$/, () => body) } });
    const visitor = await app.signedIn();
    return { visitor, ...(await visitor.getJson('/oauth/apps')) };
  };

  it.each<[string, unknown, object]>([
    ['nothing', null, {}],
    ['text', 'grant', {}],
    ['a client that is text', { client: 'Cursor' }, {}],
    ['numbers', { client: { id: 7, name: 7, uri: 7, logo_uri: 7 }, scopes: 7, granted_at: 7 }, {}],
    ['no date', { granted_at: 'soon' }, {}],
    ['a date with a zone', { granted_at: '2026-11-21T12:00:00+02:00' }, { grantedAt: '2026-11-21T10:00:00.000Z' }],
    ['scopes', { scopes: ['email', 7, null, ' ', 'email', 'openid'] }, { scopes: ['email', 'openid'] }],
    ['an id with a blank', { client: { id: 'a b', name: 'Cursor' } }, { client: { id: '', name: 'Cursor' } }],
  ])('is cleaned where it is %s', async (_, grant, read) => {
    const { status, json } = await listing([grant]);
    expect([status, json]).toEqual([200, { apps: [{ ...nothing, ...read }] }]);
  });

  it.each<[string, string]>([
    ['Cursor', 'Cursor'],
    ['  Cur \t sor  ', 'Cur sor'],
    ['Cur\u0000\u0001sor\u2028\u2029x', 'Cur sor x'],
    ['Cur\u200b\u202e\u2066sor\u2800', 'Cursor'],
    [' \u200b ', ''],
    ['e\u0301\u0302\u0303\u0304\u0305x', 'e\u0301\u0302\u0303x'],
    ['e\u0301\u0302\u0303x\u0301', 'e\u0301\u0302\u0303x\u0301'],
    ['x'.repeat(80), 'x'.repeat(80)],
    ['x'.repeat(81), `${'x'.repeat(79)}…`],
    ['🙂'.repeat(80), '🙂'.repeat(80)],
    [`${' '.repeat(2_000)}x`, ''],
  ])('has the name %j as %j', async (name, shown) => {
    const { json } = await listing([{ client: { id: 'https://app.example/c', name } }]);
    expect(json.apps[0].client.name).toBe(shown);
  });

  it.each<[string, boolean]>([
    ['9a8b7c6d-0000-4000-8000-00000000000f', true],
    ['9a8b7c6d-0000-4000-8000-00000000000', true],
    ['9a8b7c6d-0000-4000-8000-00000000000g', true],
    ['https://app.example/client.json', true],
    ['x'.repeat(2_048), true],
    ['9A8B7C6D-0000-4000-8000-00000000000F', false],
    ['9a8b7c6d00004000800000000000000f', false],
    ['9a8b7c6d-000040008000-00000000000f', false],
    ['{9a8b7c6d-0000-4000-8000-00000000000f}', false],
    ['{9a8b7c6d-0000-4000-8000-00000000000f', false],
    ['9a8b7c6d-0000-4000-8000-00000000000f}', false],
    ['urn:uuid:9a8b7c6d-0000-4000-8000-00000000000f', false],
    ['x'.repeat(2_049), false],
    ['é', false],
    ['', false],
  ])('has the id %j: %p', async (id, isKept) => {
    const { json } = await listing([{ client: { id, name: 'Cursor' } }]);
    expect(json.apps[0].client.id).toBe(isKept ? id : '');
  });

  it.each<[string, boolean]>([
    ['https://app.example/logo.png', true],
    ['http://app.example/logo.png', false],
    ['http://127.0.0.1/logo.png', false],
    ['cursor://logo', false],
    ['javascript:https:', false],
    ['https://user@app.example/logo.png', false],
    ['https:', false],
    ['', false],
  ])('has the address %j of an app and its logo: %p', async (uri, isKept) => {
    const { json } = await listing([{ client: { uri, logo_uri: uri } }]);
    expect(json.apps[0].client).toEqual({ id: '', name: '', ...(isKept && { uri, logoUri: uri }) });
  });

  it('without an id is not what a page asks to disconnect', async () => {
    const { visitor } = await listing([{ client: { name: 'Cursor' } }]);
    expect((await visitor.get('/oauth/apps?revoke=')).text).not.toContain('Disconnect “');
  });

  it.each([{}, { grants: [] }])('is refused where it is no list: %j', async (body) => {
    const { status } = await listing(body);
    expect([502, 503]).toContain(status);
  });
});

describe('a disconnected app', () => {
  it('is refused at once: its access token here, its refresh token at the provider', async () => {
    const { app, visitor, client, tokens, refresh } = await startConnected();
    // A guard reads its list once; this one is made for each request.
    expect((await callTool(app, tokens.access_token)).status).toBe(200);
    expect((await callTool(app, tokens.access_token)).status).toBe(200);
    await visitor.postJson('/oauth/apps', { revoke: client.id });
    const refused = await callTool(app, tokens.access_token);
    expect([refused.status, refused.headers['www-authenticate']]).toEqual([401, 'Bearer error="invalid_token"']);
    expect((await refresh(tokens.refresh_token)).status).toBe(400);
    // The user's own session, and other apps, go on.
    expect((await visitor.getJson('/auth/session')).status).toBe(200);
  });

  it('that is allowed again works with its new tokens', async () => {
    const { app, visitor, ...first } = await startConnected();
    await visitor.postJson('/oauth/apps', { revoke: first.client.id });
    app.clock.advance(2_000);
    const again = await connect(app, visitor, first.client);
    expect((await callTool(app, again.tokens.access_token)).status).toBe(200);
    expect((await callTool(app, first.tokens.access_token)).status).toBe(401);
  });

  it('that another consent page allows again works a minute later, because the provider’s clock may be ahead', async () => {
    const { app, visitor, ...first } = await startConnected();
    await visitor.postJson('/oauth/apps', { revoke: first.client.id });
    app.clock.advance(61_000);
    const [{ id: userId } = { id: '' }] = app.supabase.users();
    const again = await app.supabase.issueSession(ada.email, {
      claims: { client_id: first.client.id, sub: userId },
      method: 'oauth_provider/authorization_code',
    });
    expect((await callTool(app, again.access_token)).status).toBe(200);
    expect((await callTool(app, first.tokens.access_token)).status).toBe(401);
  });

  it('is refused, and works when it is allowed again, while the provider’s clock is ahead', async () => {
    const clock = createClock();
    const standIn = { now: () => clock.now() + 40_000 };
    const { app, visitor, client, tokens } = await startConnected({ options: { now: clock.now }, standIn });
    expect((await callTool(app, tokens.access_token)).status).toBe(200);
    await visitor.postJson('/oauth/apps', { revoke: client.id });
    expect((await callTool(app, tokens.access_token)).status).toBe(401);
    clock.advance(2_000);
    const again = await connect(app, visitor, client);
    expect((await callTool(app, again.tokens.access_token)).status).toBe(200);
    await visitor.postJson('/oauth/apps', { revoke: client.id });
    for (const { access_token: token } of [tokens, again.tokens]) expect((await callTool(app, token)).status).toBe(401);
  });

  it('leaves the other apps and the other users alone', async () => {
    const clients: string[] = [];
    const app = await start({}, clients);
    const eve = { email: 'eve@example.com', password: ada.password };
    app.supabase.addUser(eve);
    const visitor = await app.signedIn();
    const [one, other] = [await connect(app, visitor, 'One'), await connect(app, visitor, 'Other')];
    clients.push(one.client.id, other.client.id);
    const ofEve = await app.supabase.issueSession(eve.email, { claims: { client_id: one.client.id } });
    await visitor.postJson('/oauth/apps', { revoke: one.client.id });
    expect((await callTool(app, one.tokens.access_token)).status).toBe(401);
    expect((await callTool(app, other.tokens.access_token)).status).toBe(200);
    expect((await callTool(app, ofEve.access_token)).status).toBe(200);
  });

  it('is refused in the other processes within five seconds', async () => {
    const shared = createShared();
    const { app, clients, visitor, client, tokens } = await startConnected({ options: { coordinator: shared } });
    const other = await start(
      {
        options: {
          coordinator: shared,
          url: app.supabase.url,
          anonKey: app.supabase.publishableKey,
          now: app.clock.now,
        },
      },
      clients,
    );
    expect((await callTool(other, tokens.access_token)).status).toBe(200);
    await visitor.postJson('/oauth/apps', { revoke: client.id });
    app.clock.advance(5_001);
    expect((await callTool(other, tokens.access_token)).status).toBe(401);
  });

  it('loses its open WebSockets', async () => {
    const app = await start();
    const visitor = await app.signedIn();
    const { client, tokens } = await connect(app, visitor);
    const credentials = { credentials: ['bearer'], clients: [client.id] } as const;
    let reason: unknown;
    // Each request of this server stands for a handshake.
    const upgrades = await serve((req, res) => {
      void authenticateUpgrade(app.auth, req, credentials).then(({ ended }) => {
        ended.addEventListener('abort', () => (reason = ended.reason));
        res.end();
      });
    });
    await fetch(upgrades.origin, { headers: { authorization: `Bearer ${tokens.access_token}` } });
    await visitor.postJson('/oauth/apps', { revoke: client.id });
    await upgrades.close();
    expect(reason).toMatchObject({ code: 'unauthenticated', reason: 'ended' });
  });
});

describe('while the provider is out of reach', () => {
  it.each(['refuse', 'html502', 503] as const)(
    'a list and a disconnection are a 503, and nothing ends: %s',
    async (fault) => {
      const { app, visitor, client, tokens } = await startConnected();
      app.supabase.fail('grants', fault);
      app.supabase.fail('revoke-grant', fault);
      const listed = await visitor.getJson('/oauth/apps');
      expect([listed.status, Number(listed.headers['retry-after'])]).toEqual([503, expect.any(Number)]);
      expect((await visitor.postJson('/oauth/apps', { revoke: client.id })).status).toBe(503);
      expect((await callTool(app, tokens.access_token)).status).toBe(200);
      app.supabase.heal();
      expect((await visitor.postJson('/oauth/apps', { revoke: client.id })).status).toBe(200);
      expect((await callTool(app, tokens.access_token)).status).toBe(401);
    },
  );

  it('a disconnection whose answer was lost is completed by the next try', async () => {
    const { app, visitor, client, tokens } = await startConnected();
    app.supabase.fail('revoke-grant', 'lost', 1);
    expect((await visitor.postJson('/oauth/apps', { revoke: client.id })).status).toBe(503);
    expect((await visitor.postJson('/oauth/apps', { revoke: client.id })).status).toBe(200);
    expect((await callTool(app, tokens.access_token)).status).toBe(401);
  });

  it('a disconnection that the coordinator did not hear of is a 503, and holds here', async () => {
    const shared = createShared();
    const { app, visitor, client, tokens } = await startConnected({ options: { coordinator: shared } });
    shared.isDown = true;
    expect((await visitor.postJson('/oauth/apps', { revoke: client.id })).status).toBe(503);
    expect((await callTool(app, tokens.access_token)).status).not.toBe(200);
    shared.isDown = false;
    expect((await visitor.postJson('/oauth/apps', { revoke: client.id })).status).toBe(200);
    expect((await callTool(app, tokens.access_token)).status).toBe(401);
  });

  it('an OAuth server that is off is a 502 with a warning that names it', async () => {
    const app = await start({ standIn: { oauthServer: false } });
    const visitor = await app.signedIn();
    app.events.splice(0);
    expect((await visitor.getJson('/oauth/apps')).status).toBe(502);
    expect(app.events).toContainEqual(
      expect.objectContaining({ type: 'configuration_warning', message: expect.stringContaining('OAuth server') }),
    );
    expect(callback).toMatch(/^https:/);
  });
});
