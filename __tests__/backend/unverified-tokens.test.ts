import { generateKeyPairSync, randomBytes, randomUUID } from 'node:crypto';
import { ada, encodeSession, startBackendApp } from '../support/backend-app.ts';
import type { BackendApp, BackendAppSetup } from '../support/backend-app.ts';
import { until } from '../support/until.ts';
import type { Answer } from '../support/visitor.ts';

let app: BackendApp;
const start = async (setup?: BackendAppSetup): Promise<BackendApp> => (app = await startBackendApp(setup));
afterEach(() => app.close());

const minutes = 60_000;
const hs256 = { standIn: { algorithm: 'HS256' as const } };
const seconds = (): number => Math.floor(app.clock.now() / 1000);

/** A cookie with an unsigned token, of the form that the project would sign. */
async function madeUp(claims: Readonly<Record<string, unknown>> = {}): Promise<string> {
  const whole = {
    iss: `${app.supabase.url}/auth/v1`,
    sub: 'user',
    role: 'authenticated',
    aud: 'authenticated',
    exp: seconds() - 60,
    ...claims,
  };
  const access_token = await app.supabase.signToken(whole, { alg: 'HS256', key: randomBytes(32) });
  return `${app.cookieName}=${encodeSession({ access_token, refresh_token: randomUUID() })}`;
}

const several = async (count: number, claims?: Readonly<Record<string, unknown>>): Promise<string> =>
  (await Promise.all(Array.from({ length: count }, () => madeUp(claims)))).join('; ');

const ask = (cookie: string, path = '/auth/session'): Promise<Answer> =>
  app.visitor().get(path, { headers: { cookie, accept: 'application/json' } });

describe.each([
  ['a project with signing keys', {}],
  ['a project with a shared secret', hs256],
])('made-up tokens, to %s', (_title, setup) => {
  it.each([
    ['expired', () => ({ exp: seconds() - 60 })],
    ['good until tomorrow', () => ({ exp: seconds() + 86_400 })],
  ])('that are %s cost ten calls a minute, however many come', async (_what, claims) => {
    await start(setup);
    for (let index = 0; index < 20; index += 1) {
      expect([401, 503]).toContain((await ask(await several(4, claims()))).status);
    }
    expect(app.supabase.calls('refresh') + app.supabase.calls('user')).toBe(10);
  });

  it('do not affect the next visitor’s refresh', async () => {
    await start(setup);
    const visitor = await app.signedIn();
    app.clock.advance(61 * minutes);
    for (let index = 0; index < 20; index += 1) await ask(await several(4));
    expect((await visitor.getJson('/auth/session')).status).toBe(200);
  });

  it('end no session', async () => {
    await start(setup);
    const visitor = await app.signedIn();
    await visitor.getJson('/auth/session');
    const { sessionId } = app.events.find((event) => event.type === 'signed_in') ?? {};
    for (const exp of [1, seconds() + 600]) {
      const forged = await madeUp({ session_id: sessionId, exp });
      await app.visitor().post('/auth/logout', { headers: { cookie: forged } });
    }
    expect((await visitor.getJson('/auth/session')).status).toBe(200);
    expect(app.eventTypes()).not.toContain('signed_out');
    expect(JSON.stringify(app.events.slice(1))).not.toContain(sessionId);
  });
});

describe('made-up refresh tokens', () => {
  it.each([
    ['that has expired', 61, '/auth/session'],
    ['that is renewed ahead of time', 59.5, '/auth/session'],
    ['that signs out', 61, '/auth/logout'],
  ])('beside a genuine access token %s cost ten calls a minute', async (_what, age, path) => {
    await start();
    const { access_token } = await app.supabase.issueSession(ada.email);
    app.clock.advance(age * minutes);
    const cookie = (): string =>
      Array.from({ length: 3 }, () => encodeSession({ access_token, refresh_token: randomUUID() }))
        .map((session) => `${app.cookieName}=${session}`)
        .join('; ');
    for (let index = 0; index < 15; index += 1) {
      const headers = { cookie: cookie(), accept: 'application/json' };
      if (path === '/auth/logout') await app.visitor().post(path, { headers });
      else await app.visitor().get(path, { headers });
    }
    await until(() => app.supabase.calls('refresh') >= 10);
    expect(app.supabase.calls('refresh')).toBe(10);
    expect(app.eventTypes().filter((type) => type === 'throttled')).toHaveLength(1);
  });

  it('do not affect the owner of the access token', async () => {
    await start();
    const session = await app.supabase.issueSession(ada.email);
    const other = await app.signedIn({});
    app.clock.advance(61 * minutes);
    for (let index = 0; index < 12; index += 1) {
      await ask(`${app.cookieName}=${encodeSession({ ...session, refresh_token: randomUUID() })}`);
    }
    expect((await other.getJson('/auth/session')).status).toBe(200);
  });

  it('cause one call per request beside the same made-up access token', async () => {
    await start();
    const [, made = ''] = (await madeUp()).split('=base64-');
    const { access_token } = JSON.parse(Buffer.from(made, 'base64url').toString());
    const cookies = Array.from({ length: 12 }, () => encodeSession({ access_token, refresh_token: randomUUID() }));
    await ask(cookies.map((session) => `${app.cookieName}=${session}`).join('; '));
    expect(app.supabase.calls('refresh')).toBe(1);
  });

  it('can be retried during an outage: one token tried often counts as one', async () => {
    await start();
    const visitor = await app.signedIn({});
    app.clock.advance(61 * minutes);
    app.supabase.fail('refresh', 500);
    for (let index = 0; index < 15; index += 1) expect((await visitor.getJson('/auth/session')).status).toBe(503);
    app.supabase.heal();
    expect((await visitor.getJson('/auth/session')).status).toBe(200);
  });
});

describe('a project with signing keys', () => {
  it('is not asked about a token that a shared secret may have signed, but may renew it', async () => {
    await start();
    const visitor = app.visitor();
    const session = await app.supabase.issueSession(ada.email);
    const claims = JSON.parse(Buffer.from(session.access_token.split('.')[1] ?? '', 'base64url').toString());
    // Signed before the project moved from its secret to signing keys.
    const access_token = await app.supabase.signToken(claims, { alg: 'HS256', key: randomBytes(32) });
    visitor.cookies.set(app.cookieName, encodeSession({ ...session, access_token }));
    expect((await visitor.getJson('/auth/session')).status).toBe(200);
    expect([app.supabase.calls('user'), app.supabase.calls('refresh')]).toEqual([0, 1]);
  });

  it.each([
    ['expired with its key', 3600],
    ['not expired yet', 7200],
  ])('renews a session whose key was withdrawn at the end of a rotation, with its token %s', async (_what, ttl) => {
    await start({ standIn: { accessTokenTtl: ttl } });
    const visitor = await app.signedIn();
    await app.supabase.rotateKeys({ keepOld: true });
    app.clock.advance(3601 * 1000);
    await app.supabase.rotateKeys({ keepOld: false });
    // Another user's new token triggers a fetch of the keys.
    app.clock.advance(31_000);
    await app.signedIn();
    app.clock.advance(31_000);
    expect((await visitor.getJson('/auth/session')).status).toBe(200);
    expect(app.supabase.calls('refresh')).toBe(1);
    expect(app.eventTypes()).not.toContain('session_rejected');
  });

  it('renews more sessions after a rotation than the limit for made-up tokens', async () => {
    await start();
    const visitors = await Promise.all(Array.from({ length: 15 }, () => app.signedIn({})));
    await app.supabase.rotateKeys({ keepOld: false });
    await app.signedIn();
    app.clock.advance(31_000);
    for (const visitor of visitors) expect((await visitor.getJson('/auth/session')).status).toBe(200);
  });

  it.each([
    ['from the year 2100', () => 4_102_444_800],
    ['of this minute', seconds],
  ])('gives up on a token %s that names a key which never appears', async (_what, iat) => {
    await start();
    await (await app.signedIn()).getJson('/auth/session');
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const claims = { sub: 'x', role: 'authenticated', aud: 'authenticated', iat: iat(), exp: iat() + 3600 };
    const access_token = await app.supabase.signToken(claims, { key: privateKey as never, kid: 'made-up' });
    const visitor = app.visitor();
    visitor.cookies.set(app.cookieName, encodeSession({ access_token, refresh_token: 'made-up' }));
    await visitor.getJson('/auth/session');
    app.clock.advance(31_000);
    expect((await visitor.getJson('/auth/session')).status).toBe(401);
    expect(visitor.cookies.size).toBe(0);
  });
});

describe('a project with a shared secret', () => {
  it.each(['alone', 'beside a made-up newer one'])(
    'is sent the newest token of a session first, %s, though none is known to be genuine any more',
    async (beside) => {
      await start(hs256);
      const older = (await app.signedIn()).cookieHeader();
      const session_id = app.events.find((event) => event.type === 'signed_in')?.sessionId;
      let newer = '';
      for (let renewals = 1; renewals <= 3; renewals += 1) {
        // Longer than a confirmed token is remembered.
        app.clock.advance(25 * 60 * minutes);
        const forged = beside === 'alone' ? [] : [await madeUp({ session_id, iat: seconds() })];
        const cookie = [older, newer, ...forged].join('; ');
        // Each request may ask about one token that is not proven.
        if (beside !== 'alone') expect((await ask(cookie)).status).toBe(503);
        const { status, setCookies } = await ask(cookie);
        expect([renewals, status]).toEqual([renewals, 200]);
        newer = setCookies.map((line) => line.split(';', 1)[0]).join('; ');
      }
    },
  );

  it('is asked about more genuine sessions than the limit for made-up tokens', async () => {
    await start(hs256);
    const visitors = await Promise.all(Array.from({ length: 15 }, () => app.signedIn({})));
    for (const visitor of visitors) expect((await visitor.getJson('/auth/session')).status).toBe(200);
    // A token that was confirmed once does not count as made-up.
    for (let index = 0; index < 10; index += 1) await ask(await madeUp());
    app.clock.advance(61_000);
    for (const visitor of visitors) expect((await visitor.getJson('/auth/session')).status).toBe(200);
  });

  it('is asked about more sessions at once than the limit for made-up tokens', async () => {
    await start(hs256);
    const sessions = await Promise.all(Array.from({ length: 25 }, () => app.supabase.issueSession(ada.email)));
    const gate = app.supabase.gate('user');
    const answers = Promise.all(sessions.map((session) => ask(`${app.cookieName}=${encodeSession(session)}`)));
    await gate.waitFor(10);
    gate.open();
    expect(new Set((await answers).map(({ status }) => status))).toEqual(new Set([200]));
  });

  it('confirms a token only if it names the token’s own user', async () => {
    for (const answer of [{}, { id: 'another-user' }, { user: null }, { user: { id: null } }]) {
      const odd: typeof fetch = (input, init) =>
        (input instanceof Request ? input.url : input.toString()).endsWith('/user')
          ? Promise.resolve(Response.json(answer))
          : fetch(input, init);
      await start({ ...hs256, options: { fetch: odd } });
      expect((await ask(await madeUp({ exp: seconds() + 600 }))).status).toBe(503);
      await app.close();
    }
    await start(hs256);
  });

  it.each(['\n', '\0', 'Ā', ' ', '='])('never sees a token with %j', async (odd) => {
    await start(hs256);
    const session = await app.supabase.issueSession(ada.email);
    const visitor = app.visitor();
    const access_token = `${session.access_token}${odd}x`;
    visitor.cookies.set(app.cookieName, encodeSession({ ...session, access_token }));
    expect((await visitor.getJson('/auth/session')).status).toBe(401);
    expect(app.supabase.calls('user')).toBe(0);
  });
});
