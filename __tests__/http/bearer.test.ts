import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { SignJWT } from 'jose';
import { sealData } from 'iron-session';
import { currentSession, getSession, getSupabaseClient, requireSession } from '../../lib/index.ts';
import type { AdapterName } from '../../lib/index.ts';
import { ada, encodeSession } from '../support/backend-app.ts';
import { demoUsers } from '../support/b2b-app.ts';
import { startBothApp } from '../support/both-app.ts';
import type { BothApp } from '../support/both-app.ts';
import { sendJson } from '../support/hosts.ts';
import type { Answer } from '../support/visitor.ts';

const adapters = ['b2b', 'backend'] as const;
const allowances = { cookie: ['cookie'], bearer: ['bearer'], both: ['cookie', 'bearer'] } as const;
const kinds = [
  'session',
  'third-party',
  'anon',
  'service-role',
  'expired',
  'other project',
  'other provider',
  'garbage',
] as const;
type Kind = (typeof kinds)[number];
const ways = ['cookie', 'header', 'both'] as const;

let app: BothApp;
const tokens = {} as Record<AdapterName, Record<Kind, string>>;

beforeAll(async () => {
  app = await startBothApp({
    after: (host) => {
      host.get('/backend/notes', requireSession({ adapter: 'backend', credentials: ['bearer'] }), (req, res, next) => {
        getSupabaseClient(req)
          .then((client) => client.from('notes').select())
          .then(({ data, error }) => sendJson(res, { data, error }))
          .catch(next);
      });
      for (const adapter of adapters) {
        const at = (path: string, options: object): void => {
          host.all(`/${adapter}/${path}`, requireSession({ adapter, ...options } as never), (req, res, next) => {
            getSession(req, adapter).then((session) => {
              const { credential, user } = currentSession(req, adapter);
              sendJson(res, { credential, user, isSame: session === currentSession(req, adapter) });
            }, next);
          });
        };
        for (const [name, credentials] of Object.entries(allowances)) at(name, { credentials });
        at('default', {});
        at('listed', { credentials: ['bearer'], clients: ['client_listed', 'client_machine'] });
        at('checked', { credentials: ['cookie', 'bearer'], check: () => false });
        host.get(
          `/${adapter}/nested`,
          requireSession({ adapter, credentials: ['cookie', 'bearer'] }),
          requireSession({ adapter }),
          (_req, res) => sendJson(res, {}),
        );
        host.get(
          `/${adapter}/looked`,
          (req, _res, next) => {
            getSession(req, adapter).then(() => next(), next);
          },
          requireSession({ adapter, credentials: ['cookie', 'bearer'] }),
          (req, res) => sendJson(res, { id: currentSession(req, adapter).user.id }),
        );
      }
    },
  });
  const { sign, claims } = await foreignSigner();
  const b2b = await app.workos.issueSession({ user: demoUsers.personal });
  const backend = await app.supabase.issueSession(ada.email);
  const b2bToken = async (change: object): Promise<string> =>
    app.workos.signToken({ ...readClaims(b2b.accessToken), ...change });
  const backendToken = async (change: object): Promise<string> =>
    app.supabase.signToken({ ...readClaims(backend.access_token), ...change });
  const anon = await backendToken({ role: 'anon', sub: undefined, session_id: undefined });
  const serviceRole = await backendToken({ role: 'service_role', sub: undefined, session_id: undefined });
  const exp = Math.floor(app.clock.now() / 1000) - 60;
  tokens.b2b = {
    session: b2b.accessToken,
    'third-party': await b2bToken({ client_id: 'client_other' }),
    anon,
    'service-role': serviceRole,
    expired: await b2bToken({ exp, iat: exp - 300 }),
    'other project': await sign(readClaims(b2b.accessToken)),
    'other provider': backend.access_token,
    garbage: 'not.a.token',
  };
  tokens.backend = {
    session: backend.access_token,
    'third-party': await backendToken({ client_id: randomUUID() }),
    anon,
    'service-role': serviceRole,
    expired: await backendToken({ exp, iat: exp - 300 }),
    'other project': await sign({ ...readClaims(backend.access_token), ...claims }),
    'other provider': b2b.accessToken,
    garbage: 'garbage',
  };
});
afterAll(() => app.close());

/** Another project's key: its own, with a key id that is not among the published ones. */
async function foreignSigner() {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const sign = (claims: Record<string, unknown>): Promise<string> =>
    new SignJWT(claims).setProtectedHeader({ alg: 'ES256', kid: randomUUID() }).sign(privateKey);
  return { sign, claims: { iss: 'https://other.supabase.co/auth/v1' } };
}

function readClaims(token: string): Record<string, unknown> {
  return JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as Record<string, unknown>;
}

/** The adapter's session cookie around a token, with a refresh token that was never issued. */
async function cookieOf(adapter: AdapterName, token: string): Promise<string> {
  const refresh = randomUUID();
  if (adapter === 'backend') {
    const session = { access_token: token, refresh_token: refresh, token_type: 'bearer', expires_at: 1, user: {} };
    return `${app.cookieName}=${encodeSession(session)}`;
  }
  const { id, email } = demoUsers.personal;
  const content = { accessToken: token, refreshToken: refresh, user: { id, email } };
  return `b2b-session=${await sealed(content)}`;
}

function sealed(content: object): Promise<string> {
  return sealData(content, { password: String(app.b2bOptions.cookiePassword), ttl: 0 });
}

const bearer = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}` });
const ask = (path: string, headers: Record<string, string | readonly string[]>, method = 'GET'): Promise<Answer> =>
  app.visitor().ask(path, { method, headers });

describe.each(adapters)('%s', (adapter) => {
  describe.each(kinds)('a token of the kind "%s"', (kind) => {
    describe.each(ways)('in %s', (way) => {
      it.each(['cookie', 'bearer', 'both'] as const)('where the guard takes %s', async (allowed) => {
        const token = tokens[adapter][kind];
        const isBearer = allowed !== 'cookie' && way !== 'cookie';
        const cookie = way === 'header' ? {} : { cookie: await cookieOf(adapter, token) };
        const answer = await ask(`/${adapter}/${allowed}`, { ...cookie, ...(way === 'cookie' ? {} : bearer(token)) });
        const passes = kind === 'session' && (isBearer || (way !== 'header' && allowed !== 'bearer'));
        if (passes) {
          expect([answer.status, answer.json.credential, answer.json.isSame]).toEqual([
            200,
            isBearer ? 'bearer' : 'cookie',
            true,
          ]);
        } else if (isBearer || allowed === 'bearer') {
          expect([answer.status, answer.json.error.code]).toEqual(
            isBearer ? [401, 'invalid_token'] : [401, 'unauthenticated'],
          );
          expect(answer.headers['www-authenticate']).toBe(isBearer ? 'Bearer error="invalid_token"' : 'Bearer');
          expect(answer.json.redirectTo).toBeUndefined();
        } else {
          // Only we can have sealed it, so its key may be too new to be known here yet.
          const isTooNew = adapter === 'b2b' && way !== 'header' && answer.status === 503;
          if (!isTooNew) expect(answer.headers.location).toContain('/login?returnTo=');
          expect(answer.status).toBe(isTooNew ? 503 : 307);
        }
        if (isBearer || allowed === 'bearer') expect(answer.setCookies).toEqual([]);
        const isVaried = /authorization/i.test(answer.headers.vary ?? '');
        expect(isVaried).toBe(allowed !== 'cookie');
      });
    });
  });

  it('never combines one credential with the other', async () => {
    const good = await cookieOf(adapter, tokens[adapter].session);
    for (const kind of kinds.slice(1)) {
      const answer = await ask(`/${adapter}/both`, { cookie: good, ...bearer(tokens[adapter][kind]) });
      expect([kind, answer.status, answer.setCookies]).toEqual([kind, 401, []]);
    }
    const bad = await cookieOf(adapter, 'garbage');
    expect((await ask(`/${adapter}/both`, { cookie: bad, ...bearer(tokens[adapter].session) })).status).toBe(200);
  });

  it('is used instead of the session of a cookie that was resolved before', async () => {
    const other = adapter === 'b2b' ? demoUsers.oneOrganization.id : randomUUID();
    const claims = { ...readClaims(tokens[adapter].session), sub: other };
    const token = await (adapter === 'b2b' ? app.workos.signToken(claims) : app.supabase.signToken(claims));
    const answer = await ask(`/${adapter}/looked`, {
      cookie: await cookieOf(adapter, tokens[adapter].session),
      ...bearer(token),
    });
    expect([answer.status, answer.json.id]).toEqual([200, other]);
  });

  it('does not pass a later guard that accepts cookies alone', async () => {
    const cookie = await cookieOf(adapter, tokens[adapter].session);
    const answer = await ask(`/${adapter}/nested`, { cookie, ...bearer(tokens[adapter].session) });
    expect([answer.status, answer.json.error.code, answer.headers.location]).toEqual([
      401,
      'unauthenticated',
      undefined,
    ]);
    expect((await ask(`/${adapter}/nested`, { cookie })).status).toBe(200);
  });

  it('is not accepted in a cookie', async () => {
    await ask(`/${adapter}/bearer`, bearer(tokens[adapter].session));
    const name = adapter === 'b2b' ? 'b2b-session' : app.cookieName;
    for (const value of [tokens[adapter].session, `Bearer ${tokens[adapter].session}`]) {
      for (const cookie of [`${name}=${value}`, `${name}.0=${value}`]) {
        expect((await ask(`/${adapter}/cookie`, { cookie })).status).toBe(307);
      }
    }
  });

  it('is accepted from any site, as no browser sends it by itself', async () => {
    const headers = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'cors' };
    const answer = await ask(`/${adapter}/both`, { ...headers, ...bearer(tokens[adapter].session) }, 'POST');
    expect(answer.status).toBe(200);
  });

  it('is ignored by a guard that does not accept it', async () => {
    const answer = await ask(`/${adapter}/default`, bearer(tokens[adapter].session));
    expect(answer.status).toBe(307);
    expect(answer.headers.vary ?? '').not.toMatch(/authorization/i);
  });

  it('of a listed client passes the guard that lists it', async () => {
    const sign = (change: object): Promise<string> => {
      const claims = { ...readClaims(tokens[adapter].session), ...change };
      return adapter === 'b2b' ? app.workos.signToken(claims) : app.supabase.signToken(claims);
    };
    const listed = await sign({ client_id: 'client_listed' });
    expect((await ask(`/${adapter}/listed`, bearer(listed))).status).toBe(200);
    expect((await ask(`/${adapter}/both`, bearer(listed))).status).toBe(401);
    expect((await ask(`/${adapter}/cookie`, { cookie: await cookieOf(adapter, listed) })).status).toBe(307);
    for (const client of ['', 7, ['client_listed'], { id: 'client_listed' }, true]) {
      expect((await ask(`/${adapter}/listed`, bearer(await sign({ client_id: client })))).status).toBe(401);
    }
  });

  it('ends with the sign-out of its session', async () => {
    const visitor = app.visitor();
    let token: string;
    if (adapter === 'b2b') {
      const session = await app.workos.issueSession({ user: demoUsers.personal });
      token = session.accessToken;
      visitor.cookies.set('b2b-session', await sealed(session));
    } else {
      const session = await app.supabase.issueSession(ada.email);
      token = session.access_token;
      visitor.cookies.set(app.cookieName, encodeSession(session));
    }
    expect((await ask(`/${adapter}/bearer`, bearer(token))).status).toBe(200);
    await visitor.postJson(adapter === 'b2b' ? '/logout' : '/auth/logout');
    expect((await ask(`/${adapter}/bearer`, bearer(token))).status).toBe(401);
  });

  it('that fails a check gets a 403 in JSON', async () => {
    const answer = await ask(`/${adapter}/checked`, { accept: 'text/html', ...bearer(tokens[adapter].session) });
    expect([answer.status, answer.json.error.code, answer.headers['www-authenticate']]).toEqual([
      403,
      'forbidden',
      undefined,
    ]);
  });
});

describe('the header', () => {
  it.each(['Basic dXNlcjpwYXNz', 'DPoP abc', 'Bearerish x', ''])('of another scheme is ignored: %j', async (value) => {
    expect((await ask('/b2b/both', { authorization: value })).status).toBe(307);
    const cookie = await cookieOf('b2b', tokens.b2b.session);
    expect((await ask('/b2b/both', { cookie, authorization: value })).status).toBe(200);
  });

  it('is read in any letter case and with several blanks', async () => {
    for (const scheme of ['bearer ', 'BEARER ', 'Bearer   ']) {
      expect((await ask('/b2b/both', { authorization: scheme + tokens.b2b.session })).status).toBe(200);
    }
  });

  it.each([
    ['without a token', 'Bearer'],
    ['with a blank', 'Bearer  '],
    ['with a list', 'Bearer a, b'],
    ['with a control character', 'Bearer a\tb'],
    ['with two words', 'Bearer a b'],
  ])('that is malformed is refused even beside a cookie: %s', async (_what, authorization) => {
    const cookie = await cookieOf('b2b', tokens.b2b.session);
    const answer = await ask('/b2b/both', { cookie, authorization });
    expect([answer.status, answer.json.error.code]).toEqual([401, 'invalid_token']);
  });

  it('that comes twice is refused, whichever one is valid', async () => {
    const good = `Bearer ${tokens.b2b.session}`;
    for (const authorization of [
      [good, 'Bearer other'],
      ['Bearer other', good],
      ['Basic eDp5', good],
    ]) {
      expect((await ask('/b2b/both', { authorization })).status).toBe(401);
    }
  });
});

it('derives the user of a B2B token from its claims', async () => {
  const { json } = await ask('/b2b/bearer', bearer(tokens.b2b.session));
  expect(json.user).toEqual({ id: demoUsers.personal.id });
});

it('is used by the request’s own Supabase client', async () => {
  app.supabase.addNote(ada.email, 'mine');
  const cookie = await cookieOf('backend', 'garbage');
  const answer = await ask('/backend/notes', { cookie, ...bearer(tokens.backend.session) });
  expect([answer.status, answer.json.error, answer.setCookies]).toEqual([200, null, []]);
  expect(answer.json.data).toEqual([expect.objectContaining({ body: 'mine' })]);
});

it('accepts a machine’s token if its client is listed', async () => {
  const now = Math.floor(app.clock.now() / 1000);
  const token = await app.workos.signToken({ sub: 'client_machine', org_id: 'org_1', iat: now, exp: now + 300 });
  expect((await ask('/b2b/bearer', bearer(token))).status).toBe(401);
  expect((await ask('/b2b/listed', bearer(token))).json.user).toEqual({ id: 'client_machine' });
});

it('ends with the token, without a tolerance for clocks', async () => {
  const exp = Math.floor(app.clock.now() / 1000) + 30;
  const token = await app.workos.signToken({ ...readClaims(tokens.b2b.session), exp });
  expect((await ask('/b2b/bearer', bearer(token))).status).toBe(200);
  app.clock.advance(31_000);
  const calls = app.workos.tokenCalls;
  expect((await ask('/b2b/bearer', bearer(token))).status).toBe(401);
  expect(app.workos.tokenCalls).toBe(calls);
});
