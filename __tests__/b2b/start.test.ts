import { createHash } from 'node:crypto';
import { unsealData } from 'iron-session';
import { endSession, getSession, requireSession } from '../../lib/b2b/index.ts';
import { demoUsers, startB2bApp, startProvider } from '../support/b2b-app.ts';
import type { B2bApp, SharedProvider } from '../support/b2b-app.ts';
import { sendJson } from '../support/hosts.ts';
import { protocolAttributes } from '../support/variant.ts';
import { itAtRoot } from '../support/only.ts';
import type { Answer, Visitor } from '../support/visitor.ts';

let provider: SharedProvider;
let app: B2bApp;
beforeAll(async () => {
  provider = await startProvider();
  app = await startB2bApp({ provider });
});
afterAll(async () => {
  await app.close();
  await provider.close();
});

const parametersOf = ({ location }: Answer): URLSearchParams => new URL(location).searchParams;
const flowNames = ({ cookies }: Visitor): string[] => [...cookies.keys()].filter((name) => name.includes('-flow-'));

describe('PKCE and state', () => {
  it('sends an S256 challenge whose verifier stays in the sealed cookie until the exchange', async () => {
    app.workos.clearRequests();
    const visitor = app.visitor();
    const start = await visitor.get('/login');
    const challenge = parametersOf(start).get('code_challenge');
    expect(parametersOf(start).get('code_challenge_method')).toBe('S256');
    const callback = await app.workos.authorize(start.location, { user: demoUsers.personal });
    await visitor.get(callback.href);
    const verifier = String(app.workos.requests.find(({ endpoint }) => endpoint === 'token')?.body['code_verifier']);
    expect(createHash('sha256').update(verifier).digest('base64url')).toBe(challenge);
    expect(start.setCookies.join() + start.location).not.toContain(verifier);
  });

  it('creates a new state and verifier each time, from 256 random bits', async () => {
    const visitor = app.visitor();
    const starts = [await visitor.get('/login'), await visitor.get('/login'), await visitor.get('/signup')];
    const states = starts.map((start) => parametersOf(start).get('state') ?? '');
    expect(new Set(states).size).toBe(3);
    for (const state of states) expect(Buffer.from(state, 'base64url')).toHaveLength(32);
    expect(new Set(starts.map((start) => parametersOf(start).get('code_challenge'))).size).toBe(3);
  });
});

describe('the flow cookie', () => {
  it('is sealed, HttpOnly, lax and lasts ten minutes', async () => {
    const start = await app.visitor().get('/login?returnTo=/secret-place');
    expect(start.setCookies).toHaveLength(1);
    const [pair, ...attributes] = (start.setCookies[0] ?? '').split('; ');
    expect(pair).toMatch(/^(?:__Host-)?b2b-session-flow-[0-9a-f]{16}=Fe26\.2\*1\*/);
    expect(attributes.sort()).toEqual(['HttpOnly', 'Max-Age=600', 'Path=/', 'SameSite=Lax', ...protocolAttributes]);
    expect(pair).not.toContain(parametersOf(start).get('state'));
  });

  it('stores a returnTo that is already sanitized', async () => {
    const visitor = app.visitor();
    await visitor.get('/login?returnTo=//evil.example');
    const [name = ''] = flowNames(visitor);
    const flow = await unsealData(visitor.cookies.get(name) ?? '', { password: app.cookiePassword });
    expect(flow).toMatchObject({ returnTo: '/' });
  });

  it('is lax even if the session is strict, as the callback comes from the provider’s site', async () => {
    const strict = await startB2bApp({ provider, options: { cookieOptions: { sameSite: 'strict' } } });
    const visitor = strict.visitor();
    const start = await visitor.get('/login');
    expect(start.setCookies[0]).toContain('SameSite=Lax');
    const callback = await strict.workos.authorize(start.location, { user: demoUsers.personal });
    const done = await visitor.get(callback.href);
    expect(done.setCookies.find((line) => line.startsWith('b2b-session='))).toContain('SameSite=Strict');
    await strict.close();
  });

  it('expires after ten minutes, even if the browser keeps it', async () => {
    const visitor = app.visitor();
    const start = await visitor.get('/login');
    const callback = await app.workos.authorize(start.location, { user: demoUsers.personal });
    provider.clock.advance(600_000);
    const late = await visitor.get(callback.href);
    expect(late.status).toBe(400);
    expect(late.text).toContain('invalid_state');
    expect(visitor.cookies.has('b2b-session')).toBe(false);
  });

  it('is never accepted as a session, nor a session as a flow', async () => {
    const visitor = app.visitor();
    const start = await visitor.get('/login');
    const [name = ''] = flowNames(visitor);
    const flow = visitor.cookies.get(name) ?? '';
    const asSession = await app.visitor().get('/auth/session', { headers: { cookie: `b2b-session=${flow}` } });
    expect(asSession.status).toBe(401);

    const session = (await app.signedIn()).cookies.get('b2b-session') ?? '';
    const callback = await app.workos.authorize(start.location, { user: demoUsers.personal });
    const asFlow = await app.visitor().get(callback.href, { headers: { cookie: `${name}=${session}` } });
    expect([asFlow.status, asFlow.setCookies]).toEqual([400, []]);
  });

  it('belongs to one state: it does not open for another flow’s state', async () => {
    const visitor = app.visitor();
    const [one, other] = [await visitor.get('/login'), await visitor.get('/login')];
    const [first = '', second = ''] = flowNames(visitor);
    const swapped = `${first}=${visitor.cookies.get(second)}; ${second}=${visitor.cookies.get(first)}`;
    app.workos.clearRequests();
    for (const start of [one, other]) {
      const callback = await app.workos.authorize(start.location, { user: demoUsers.personal });
      const answer = await app.visitor().get(callback.href, { headers: { cookie: swapped } });
      expect([answer.status, app.workos.tokenCalls]).toEqual([400, 0]);
      expect(answer.text).toContain('invalid_state');
    }
  });
});

describe('several tabs', () => {
  it('do not interfere: each returns to its own returnTo, in any order', async () => {
    const visitor = app.visitor();
    const starts = [await visitor.get('/login?returnTo=/a'), await visitor.get('/signup?returnTo=/b')];
    const callbacks = await Promise.all(
      starts.map((start) => app.workos.authorize(start.location, { user: demoUsers.personal })),
    );
    expect((await visitor.get(callbacks[1]?.href ?? '')).headers.location).toBe('/b');
    expect((await visitor.get(callbacks[0]?.href ?? '')).headers.location).toBe('/a');
    expect([...visitor.cookies.keys()]).toEqual(['b2b-session']);
  });

  it('keep at most five flows, the newest', async () => {
    const visitor = app.visitor();
    const starts: Answer[] = [];
    for (let tab = 0; tab < 7; tab += 1) {
      starts.push(await visitor.get(`/login?returnTo=/${tab}`));
      provider.clock.advance(1_000);
    }
    expect(flowNames(visitor)).toHaveLength(5);
    const ends: (string | number)[] = [];
    for (const start of starts) {
      const callback = await app.workos.authorize(start.location, { user: demoUsers.personal });
      const done = await app.visitor().get(callback.href, { headers: { cookie: visitor.cookieHeader() } });
      const isOver = done.location.startsWith(app.workos.url);
      ends.push(isOver ? 'starts over' : (done.headers.location ?? done.status));
    }
    expect(ends).toEqual(['starts over', 'starts over', '/2', '/3', '/4', '/5', '/6']);
  });

  itAtRoot('cannot fill the request headers, however long their returnTo', async () => {
    const visitor = app.visitor();
    for (let tab = 0; tab < 5; tab += 1) {
      await visitor.get(`/login?returnTo=/${String(tab).repeat(2047)}`);
      provider.clock.advance(1_000);
    }
    const start = await visitor.get(`/login?returnTo=/${'z'.repeat(2047)}`);
    expect(start.status).toBe(302);
    expect(visitor.cookieHeader().length).toBeLessThan(4_500);
    const callback = await app.workos.authorize(start.location, { user: demoUsers.personal });
    expect((await visitor.get(callback.href)).headers.location).toBe(`/${'z'.repeat(2047)}`);
  });
});

describe('parameters that are passed to the provider', () => {
  it.each([
    ['login_hint', 'ada@example.com'],
    ['login_hint', 'jürgen@example.com'],
    ['organization_id', 'org_01JC4XJ2M7Q8T3WZ5R9VKB6NDE'],
    ['domain_hint', 'instruments.example'],
    ['domain_hint', 'lab-1.instruments.co.example'],
    ['invitation_token', 'Z1uX3RbwcIl5fIGJJJCXXisdI'],
    ['provider', 'GoogleOAuth'],
    ['screen_hint', 'sign-up'],
    ['prompt', 'login'],
  ])('%s=%s', async (name, value) => {
    const start = await app.visitor().get(`/login?${new URLSearchParams({ [name]: value }).toString()}`);
    expect(parametersOf(start).get(name)).toBe(value);
  });

  it.each([
    ['login_hint', 'a b'],
    ['login_hint', 'a\r\nb'],
    ['login_hint', 'a'.repeat(321)],
    ['login_hint', ''],
    ['organization_id', 'org_'],
    ['organization_id', 'user_01JC4XJ2M7Q8T3WZ5R9VKB6NDE'],
    ['organization_id', 'org_1&client_id=other'],
    ['organization_id', 'xorg_1'],
    ['organization_id', `org_${'1'.repeat(65)}`],
    ['domain_hint', 'localhost'],
    ['domain_hint', 'a/../b.example'],
    ['domain_hint', 'b.example/x'],
    ['domain_hint', `${'a'.repeat(250)}.example`],
    ['invitation_token', '<script>'],
    ['invitation_token', 'abc<'],
    ['invitation_token', '<abc'],
    ['screen_hint', 'sign-out'],
    ['screen_hint', 'sign-up.'],
    ['prompt', 'none'],
  ])('but not an invalid %s=%j', async (name, value) => {
    const start = await app.visitor().get(`/login?${new URLSearchParams({ [name]: value }).toString()}`);
    expect(start.status).toBe(302);
    expect(parametersOf(start).get(name)).toBe(name === 'screen_hint' ? 'sign-in' : null);
  });

  it('and nothing else, such as the client id, the redirect URI or the state', async () => {
    const query = new URLSearchParams({
      client_id: 'client_evil',
      redirect_uri: 'https://evil.example',
      response_type: 'token',
      state: 'fixed',
      code_challenge: 'x',
      code_challenge_method: 'plain',
      connection_id: 'conn_1',
      prompt: 'none',
      scope: 'all',
      returnTo: '/x',
    });
    const parameters = parametersOf(await app.visitor().get(`/login?${query.toString()}`));
    expect([...parameters.keys()].sort()).toEqual([
      'client_id',
      'code_challenge',
      'code_challenge_method',
      'provider',
      'redirect_uri',
      'response_type',
      'screen_hint',
      'state',
    ]);
    expect(parameters.get('client_id')).toBe('client_test');
    expect(parameters.get('redirect_uri')).toBe(`${app.origin}/callback`);
    expect(parameters.get('response_type')).toBe('code');
    expect(parameters.get('provider')).toBe('authkit');
  });

  it.each(['G00gle', '-GoogleOAuth', 'GoogleOAuth-', 'X', 'a'.repeat(41)])(
    'but not an invalid provider=%j: authkit is used',
    async (name) => {
      const parameters = parametersOf(await app.visitor().get(`/login?provider=${name}`));
      expect([parameters.get('provider'), parameters.get('screen_hint')]).toEqual(['authkit', 'sign-in']);
    },
  );

  it('send screen_hint with the provider authkit only', async () => {
    const start = await app.visitor().get('/signup?provider=GitHubOAuth&screen_hint=sign-up');
    expect([parametersOf(start).get('provider'), parametersOf(start).get('screen_hint')]).toEqual([
      'GitHubOAuth',
      null,
    ]);
    const back = await app.workos.authorize(start.location, { user: demoUsers.personal });
    expect(back.searchParams.get('error')).toBeNull();
  });

  it('are taken once: the first of repeated ones', async () => {
    const start = await app.visitor().get('/login?login_hint=a%40example.com&login_hint=b%40example.com');
    expect(parametersOf(start).getAll('login_hint')).toEqual(['a@example.com']);
  });
});

describe('a form that a guard’s 307 replays at /login or /signup', () => {
  it.each(['/login', '/signup'])('is answered by %s with 303 to itself, and its body is dropped', async (path) => {
    const visitor = app.visitor();
    const form = { body: 'card=4242', headers: { 'content-type': 'application/x-www-form-urlencoded' } };
    const answer = await visitor.post(`${path}?returnTo=%2Fdashboard%3Fa%3D1`, form);
    expect([answer.status, answer.headers.location]).toEqual([303, `${path}?returnTo=%2Fdashboard%3Fa%3D1`]);
    expect(answer.setCookies).toEqual([]);
    expect((await visitor.post(path, form)).headers.location).toBe(path);
  });
});

it('starts a new sign-in for a user who is already signed in, and replaces the session', async () => {
  const visitor = await app.signedIn();
  const { sessionId } = (await visitor.getJson('/auth/session')).json;
  const former = visitor.cookieHeader();
  const start = await visitor.get('/login');
  const callback = await app.workos.authorize(start.location, { user: demoUsers.oneOrganization });
  await visitor.get(callback.href);
  const now = (await visitor.getJson('/auth/session')).json;
  expect(now.user.email).toBe(demoUsers.oneOrganization.email);
  expect(now.sessionId).not.toBe(sessionId);
  expect((await app.visitor().get('/auth/session', { headers: { cookie: former } })).status).toBe(401);
});

it('yields a bearer token that an earlier endSession in the same second does not end', async () => {
  const api = await startB2bApp({
    provider,
    after: (host) => {
      host.all('/api/token', requireSession({ credentials: ['cookie', 'bearer'] }), (req, res, next) => {
        getSession(req).then((session) => sendJson(res, { ...session }), next);
      });
    },
  });
  try {
    api.clock.advance(1_500 - (api.clock.now() % 1_000));
    await endSession(api.auth, { userId: demoUsers.personal.id });
    api.clock.advance(100);
    const { accessToken } = (await (await api.signedIn()).getJson('/api/token')).json;
    const headers = { authorization: `Bearer ${accessToken}` };
    expect((await api.visitor().get('/api/token', { headers })).json.credential).toBe('bearer');
    api.clock.advance(100);
    await endSession(api.auth, { userId: demoUsers.personal.id });
    expect((await api.visitor().get('/api/token', { headers })).status).toBe(401);
  } finally {
    await api.close();
  }
});

it('sets no cookie on a bearer request whose cookie was renewed before, but on the next request', async () => {
  const api = await startB2bApp({
    provider,
    after: (host) => {
      host.use('/api', (req, _res, next) => {
        getSession(req).then(() => next(), next);
      });
      host.all('/api/token', requireSession({ credentials: ['cookie', 'bearer'] }), (req, res, next) => {
        getSession(req).then((session) => sendJson(res, { ...session }), next);
      });
    },
  });
  try {
    const visitor = await api.signedIn();
    api.clock.advance(400_000);
    const { accessToken } = (await (await api.signedIn()).getJson('/api/token')).json;
    for (const token of [accessToken, 'made.up.token']) {
      const mixed = await visitor.get('/api/token', { headers: { authorization: `Bearer ${token}` } });
      expect([mixed.status, mixed.setCookies]).toEqual([token === accessToken ? 200 : 401, []]);
    }
    const own = await visitor.getJson('/api/token');
    expect([own.json.credential, own.setCookies.length]).toEqual(['cookie', 1]);
  } finally {
    await api.close();
  }
});

describe('the option authorizationParams', () => {
  it('adds parameters to each authorize URL; a connection takes the place of the provider', async () => {
    const authorizationParams = {
      connection_id: 'conn_01X',
      provider_scopes: ['a', 'b'],
      'provider_query_params[hd]': 'example.com',
    };
    const own = await startB2bApp({ provider, options: { authorizationParams } });
    const { searchParams: query } = new URL((await own.visitor().get('/login')).headers.location ?? '');
    expect(query.get('connection_id')).toBe('conn_01X');
    expect(query.getAll('provider_scopes')).toEqual(['a', 'b']);
    expect(query.get('provider_query_params[hd]')).toBe('example.com');
    expect([query.get('provider'), query.get('screen_hint')]).toEqual([null, null]);
    expect(query.get('state')).toMatch(/./);
    const named = new URL((await own.visitor().get('/login?provider=GoogleOAuth')).headers.location ?? '');
    expect(named.searchParams.get('provider')).toBe('GoogleOAuth');
    await own.close();
  });
});
