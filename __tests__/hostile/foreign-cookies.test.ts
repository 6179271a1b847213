import { createHash, createHmac, randomBytes } from 'node:crypto';
import { sealData } from 'iron-session';
import { AuthError, authenticateUpgrade, forwardAuth, getSupabaseClient, requireSession } from '../../lib/index.ts';
import { readToken } from '../../lib/session/jwt.ts';
import { startSupabaseStandIn } from '../../stand-ins/supabase/stand-in.ts';
import type { SupabaseStandIn } from '../../stand-ins/supabase/stand-in.ts';
import type { WorkosStandIn } from '../../stand-ins/workos/index.ts';
import { ada, encodeSession, startBackendApp } from '../support/backend-app.ts';
import type { BackendApp } from '../support/backend-app.ts';
import { demoUsers, startB2bApp } from '../support/b2b-app.ts';
import type { B2bApp } from '../support/b2b-app.ts';
import type { Handler } from '../support/handler-list.ts';
import { sendJson } from '../support/hosts.ts';
import type { Host } from '../support/hosts.ts';
import { ownRoutes, storeBy } from '../support/own-sign-in.ts';
import type { OwnSignIn } from '../support/own-sign-in.ts';
import type { Answer, Visitor } from '../support/visitor.ts';
import { startWorkos } from '../support/workos.ts';

/**
 * Cookies of the session's name that are no session of this application, and every way to meet one.
 *
 * | Where the cookie is met                                                   | It is   | Because                                         |
 * | ------------------------------------------------------------------------- | ------- | ----------------------------------------------- |
 * | guard, `protectedRoutes`, `getSession`, session route, `forwardAuth`      | kept    | they only ask who is there                      |
 * | upgrade                                                                   | kept    | it writes no response                           |
 * | bearer token beside it                                                    | kept    | the token decides alone                         |
 * | a sign-in that starts, a sign-in that fails, a switch without a session   | kept    | no session was set, and none ended              |
 * | a sign-in that succeeds, `storeSession`                                   | replaced| a browser has one session of this name          |
 * | sign-out                                                                  | deleted | the visitor asked to leave this name signed out |
 * | a session of ours beside it is renewed, or the provider ends it           | kept    | only the cookies of that session are written    |
 */
type Cookies = Readonly<Record<string, string>>;

interface Side {
  readonly name: string;
  /** Cookies that are not ours, by what they are. */
  readonly foreign: Readonly<Record<string, () => Promise<Cookies>>>;
  /** Requests that set no session and end none. */
  readonly readers: Readonly<Record<string, (visitor: Visitor) => Promise<Answer>>>;
  /** Those that set one. */
  readonly setters: Readonly<Record<string, (visitor: Visitor) => Promise<Answer>>>;
  readonly signOut: (visitor: Visitor) => Promise<Answer>;
  /** One that has the form of ours, and a token that is no session's. */
  readonly invalid: () => Promise<Cookies>;
  /** A session of ours, in chunks or in one cookie. */
  readonly ours: (form: 'chunks' | 'one cookie') => Promise<Cookies>;
  /** Lets the access token expire. */
  readonly expire: () => void;
  /** The provider refuses the session's next refresh for good. */
  readonly refuse: () => void;
  readonly visitor: () => Visitor;
}

/** The form of authkit-react-router: React Router's signed cookie, with a seal in it. */
function reactRouterCookie(seal: string): string {
  const content = Buffer.from(JSON.stringify({ jwt: seal })).toString('base64');
  const signature = createHmac('sha256', randomBytes(32)).update(content).digest('base64').replace(/=+$/, '');
  return encodeURIComponent(`${content}.${signature}`);
}

const browserPage = { accept: 'text/html', 'sec-fetch-mode': 'navigate' };

const addRoutes = (host: Host, auth: () => B2bApp['auth'], own: OwnSignIn): void => {
  ownRoutes(host, auth, own);
  host.use('/forward', forwardAuth(auth()) as Handler);
  host.all('/bearer', requireSession({ credentials: ['cookie', 'bearer'] }), (_req, res) =>
    sendJson(res, { in: true }),
  );
  host.all('/upgrade', (req, res) => {
    authenticateUpgrade(auth(), req).then(
      () => sendJson(res, {}),
      (error: unknown) => sendJson(res, {}, error instanceof AuthError ? error.status : 500),
    );
  });
};

const readersOf = (
  adapter: { readonly signIn: string; readonly protectedPage: string },
  bearer: () => Promise<string>,
) => ({
  'a guard asked by a page': (visitor: Visitor) => visitor.get('/api/me', { headers: browserPage }),
  'a guard asked by a script': (visitor: Visitor) => visitor.getJson('/api/me'),
  'a protected path': (visitor: Visitor) => visitor.get(adapter.protectedPage, { headers: browserPage }),
  getSession: (visitor: Visitor) => visitor.get('/whoami'),
  'the session route': (visitor: Visitor) => visitor.getJson('/auth/session'),
  forwardAuth: (visitor: Visitor) => visitor.get('/forward'),
  'an upgrade': (visitor: Visitor) => visitor.get('/upgrade', { headers: { origin: new URL(app.origin).origin } }),
  'a bearer token beside it': async (visitor: Visitor) => {
    const answer = await visitor.get('/bearer', { headers: { authorization: `Bearer ${await bearer()}` } });
    expect(answer.status).toBe(200);
    return answer;
  },
  'a sign-in that starts': (visitor: Visitor) => visitor.get(adapter.signIn, { headers: browserPage }),
});

let app: B2bApp | BackendApp;

async function startB2bSide(): Promise<Side & { close(): Promise<void> }> {
  const own: OwnSignIn = { tokens: undefined };
  const b2b: B2bApp = await startB2bApp({ after: (host, auth) => addRoutes(host, () => auth, own) });
  app = b2b;
  const other: WorkosStandIn = await startWorkos({ clientId: 'client_other', apiKey: 'sk_other', now: b2b.clock.now });
  const { workos, cookiePassword } = b2b;
  const seal = (value: unknown, password = cookiePassword) => sealData(value, { password, ttl: 0 });
  const issue = (from: WorkosStandIn, claims = {}) => from.issueSession({ user: demoUsers.personal, claims });
  const name = 'b2b-session';
  // Also in the token of a refresh, so that the session stays as large.
  const permissions = Array.from({ length: 60 }, (_, index) => `permission:${index}:${'x'.repeat(20)}`);
  let sessionId = '';
  const sealed = async (claims = {}): Promise<string> => {
    const session = await issue(workos, claims);
    ({ sessionId } = session);
    return seal(session);
  };
  const chunked = async (): Promise<Cookies> => {
    workos.switches.extraClaims = { permissions };
    const value = await sealed();
    return { [`${name}.0`]: value.slice(0, 4000), [`${name}.1`]: value.slice(4000) };
  };
  const half = async (index: 0 | 1): Promise<Cookies> => {
    const chunks = await chunked();
    workos.switches.extraClaims = {};
    return { [`${name}.${index}`]: chunks[`${name}.${index}`]! };
  };
  return {
    name,
    visitor: () => b2b.visitor(),
    expire: () => b2b.clock.advance(400_000),
    refuse: () => workos.revokeSession(sessionId),
    ours: async (form) => (form === 'chunks' ? chunked() : { [name]: await sealed() }),
    async invalid() {
      const token = { user: demoUsers.personal, claims: { sid: 'agent_1' }, accessTokenTtlSeconds: 3_600 };
      return { [name]: await seal(await workos.issueSession(token)) };
    },
    foreign: {
      'no seal': async () => ({ [name]: 'theirs' }),
      'a seal of another password': async () => ({
        [name]: await seal(await issue(workos), randomBytes(32).toString('hex')),
      }),
      'another client': async () => ({ [name]: await seal(await issue(workos, { client_id: 'client_other' })) }),
      'another issuer': async () => ({ [name]: await seal(await issue(other)) }),
      'an expired session of another issuer': async () => {
        const session = await other.issueSession({ user: demoUsers.personal, accessTokenTtlSeconds: -60 });
        return { [name]: await seal(session) };
      },
      'a seal that holds no session': async () => ({ [name]: await seal({ theirs: true }) }),
      'a seal of password id 2': async () => ({ [name]: (await seal(await issue(workos))).replace('*1*', '*2*') }),
      'the cookie of authkit-react-router': async () => ({
        [name]: reactRouterCookie(await seal(await issue(workos))),
      }),
      garbage: async () => ({ [name]: 'Fe26.2*1*%zz**~' }),
      'half of our chunks': () => half(0),
      'the other half of our chunks': () => half(1),
    },
    readers: {
      ...readersOf({ signIn: '/login', protectedPage: '/dashboard' }, async () => (await issue(workos)).accessToken),
      'a sign-in that fails': (visitor) => visitor.get('/callback?code=x&state=y', { headers: browserPage }),
      'a switch of the organization': (visitor) => visitor.postJson('/organization', { organizationId: 'org_1' }),
    },
    setters: {
      async 'a sign-in'(visitor) {
        const start = await visitor.get('/login');
        return visitor.get((await workos.authorize(start.location, { user: demoUsers.personal })).href);
      },
      storeSession: async (visitor) => storeBy(own, visitor, await issue(workos)),
    },
    signOut: (visitor) => visitor.post('/logout'),
    async close() {
      await b2b.close();
      await other.close();
    },
  };
}

async function startBackendSide(): Promise<Side & { close(): Promise<void> }> {
  const own: OwnSignIn = { tokens: undefined };
  const backend: BackendApp = await startBackendApp({
    options: { signInMethods: ['password', 'code'], providers: ['github'], throttle: false },
    after: (host, auth) => {
      addRoutes(host, () => auth, own);
      host.get('/supabase-user', (req, res, next) => {
        getSupabaseClient(req)
          .then((client) => client.auth.getUser())
          .then(({ data }) => sendJson(res, { user: data.user }), next);
      });
      host.get('/supabase-sign-out', (req, res, next) => {
        getSupabaseClient(req)
          .then((client) => client.auth.signOut())
          .then(() => sendJson(res, {}), next);
      });
    },
  });
  app = backend;
  // Local projects all have the cookie name of 127.0.0.1.
  const other: SupabaseStandIn = await startSupabaseStandIn({ now: backend.clock.now, autoconfirm: true });
  other.addUser(ada);
  const { supabase, cookieName: name } = backend;
  const session = (form: 'chunks' | 'one cookie') => {
    // A refresh keeps the metadata, so that the session stays as large.
    supabase.setMetadata(ada.email, form === 'chunks' ? { padding: 'x'.repeat(1_200) } : {});
    return supabase.issueSession(ada.email);
  };
  const chunksOf = (value: string): Cookies => ({
    [`${name}.0`]: value.slice(0, 3_180),
    [`${name}.1`]: value.slice(3_180),
  });
  const half = async (index: 0 | 1): Promise<Cookies> => {
    const chunks = chunksOf(encodeSession(await session('chunks')));
    supabase.setMetadata(ada.email, {});
    return { [`${name}.${index}`]: chunks[`${name}.${index}`]! };
  };
  let sessionId = '';
  const mail = () => backend.supabase.mails.at(-1)!;
  return {
    name,
    visitor: () => backend.visitor(),
    expire: () => backend.clock.advance(3_700_000),
    refuse: () => supabase.revokeSession(sessionId),
    ours: async (form) => {
      const issued = await session(form);
      sessionId = String(readToken(issued.access_token).claims['session_id']);
      const value = encodeSession(issued);
      return form === 'chunks' ? chunksOf(value) : { [name]: value };
    },
    invalid: async () => ({
      [name]: encodeSession(await supabase.issueSession(ada.email, { claims: { role: 'anon' } })),
    }),
    foreign: {
      'no seal': async () => ({ [name]: 'theirs' }),
      'another seal': async () => ({
        [name]: await sealData({ theirs: 1 }, { password: randomBytes(32).toString('hex') }),
      }),
      'another issuer': async () => ({ [name]: encodeSession(await other.issueSession(ada.email)) }),
      'an expired session of another issuer': async () => ({
        [name]: encodeSession(await other.issueSession(ada.email, { ttl: -60 })),
      }),
      'a token of an OAuth client': async () => ({
        [name]: encodeSession(await supabase.issueSession(ada.email, { claims: { client_id: 'client_other' } })),
      }),
      'the cookie of authkit-react-router': async () => ({ [name]: reactRouterCookie('Fe26.2*1*…') }),
      garbage: async () => ({ [name]: 'base64-%zz' }),
      'half of our chunks': () => half(0),
      'the other half of our chunks': () => half(1),
    },
    readers: {
      ...readersOf({ signIn: '/auth/login', protectedPage: '/account' }, async () => {
        return (await supabase.issueSession(ada.email)).access_token;
      }),
      'a sign-in at a provider that starts': (visitor) => visitor.get('/auth/login?provider=github'),
      'a sign-in that fails': (visitor) => visitor.postJson('/auth/login', { ...ada, password: 'wrong' }),
      'a callback that fails': (visitor) => visitor.get('/auth/callback?code=x', { headers: browserPage }),
      'getSupabaseClient, asked for the user': (visitor) => visitor.get('/supabase-user'),
      'getSupabaseClient, asked to sign out': (visitor) => visitor.get('/supabase-sign-out'),
    },
    setters: {
      'a sign-in': (visitor) => visitor.postJson('/auth/login', ada),
      'a sign-up': (visitor) =>
        visitor.postJson('/auth/signup', { ...ada, email: `${randomBytes(6).toString('hex')}@example.com` }),
      async 'a sign-in at a provider'(visitor) {
        const start = await visitor.get('/auth/login?provider=github');
        return visitor.get((await supabase.authorize(start.location, { approve: true })).href);
      },
      async 'an emailed code'(visitor) {
        // Supabase sends one mail a minute.
        backend.clock.advance(61_000);
        await visitor.postJson('/auth/code', { email: ada.email });
        return visitor.postJson('/auth/code', { email: ada.email, code: mail().token });
      },
      async 'an emailed link'(visitor) {
        // Supabase sends one mail a minute.
        backend.clock.advance(61_000);
        await visitor.postJson('/auth/code', { email: ada.email });
        return visitor.postJson('/auth/confirm', { token_hash: mail().tokenHash, type: 'magiclink' });
      },
      storeSession: async (visitor) => storeBy(own, visitor, await supabase.issueSession(ada.email)),
    },
    signOut: (visitor) => visitor.post('/auth/logout'),
    async close() {
      await backend.close();
      await other.close();
    },
  };
}

describe.each([
  ['b2bAuth', startB2bSide],
  ['backendAuth', startBackendSide],
])('a cookie of %s that is not ours', (_adapter, start) => {
  let side: Awaited<ReturnType<typeof start>>;
  beforeEach(async () => {
    side = await start();
  });
  afterEach(() => side.close());

  const holding = (cookies: Cookies): Visitor => {
    const visitor = side.visitor();
    for (const [name, value] of Object.entries(cookies)) visitor.cookies.set(name, value);
    return visitor;
  };
  /** Without the bulk of the values. */
  const short = (cookies: Cookies): Cookies =>
    Object.fromEntries(
      Object.entries(cookies).map(([name, value]) => [
        name,
        createHash('sha256').update(value).digest('hex').slice(0, 8),
      ]),
    );
  const heldBy = (visitor: Visitor): Cookies =>
    short(
      Object.fromEntries(
        [...visitor.cookies].filter(([name]) => name === side.name || name.startsWith(`${side.name}.`)),
      ),
    );
  const isSignedIn = async (visitor: Visitor): Promise<boolean> =>
    (await visitor.getJson('/auth/session')).status === 200;

  it('is a signed-out request and stays, whatever asks who is there', async () => {
    for (const [what, make] of Object.entries(side.foreign)) {
      const cookies = await make();
      for (const [reader, read] of Object.entries(side.readers)) {
        const visitor = holding(cookies);
        const { status } = await read(visitor);
        const seen = { status: status < 500, held: heldBy(visitor), isSignedIn: await isSignedIn(visitor) };
        expect([what, reader, seen]).toEqual([what, reader, { status: true, held: short(cookies), isSignedIn: false }]);
      }
    }
  });

  it('is replaced by a session that an own route sets', async () => {
    for (const [what, make] of Object.entries(side.foreign)) {
      for (const [setter, set] of Object.entries(side.setters)) {
        const visitor = holding(await make());
        const { status, text } = await set(visitor);
        const seen = { held: Object.keys(heldBy(visitor)), isSignedIn: await isSignedIn(visitor) };
        expect([what, setter, status < 400 ? '' : text, seen]).toEqual([
          what,
          setter,
          '',
          { held: [side.name], isSignedIn: true },
        ]);
      }
    }
  });

  it('is deleted by a sign-out', async () => {
    for (const [what, make] of Object.entries(side.foreign)) {
      const visitor = holding(await make());
      expect((await side.signOut(visitor)).status).toBe(303);
      expect([what, heldBy(visitor)]).toEqual([what, {}]);
    }
  });

  const beside = [
    ['chunks', 'no seal'],
    ['chunks', 'another issuer'],
    ['chunks', 'the cookie of authkit-react-router'],
    ['one cookie', 'the other half of our chunks'],
  ] as const;

  it.each(beside)(
    'stays where a session of ours in %s is renewed, or ended by the provider (%s)',
    async (form, what) => {
      const foreign = await side.foreign[what]!();
      const ours = await side.ours(form);
      const visitor = holding({ ...foreign, ...ours });
      const ask = async (): Promise<number> => (await visitor.getJson('/api/me')).status;
      expect(await ask()).toBe(200);
      side.expire();
      expect(await ask()).toBe(200);
      expect(heldBy(visitor)).toMatchObject(short(foreign));
      expect(heldBy(visitor)).not.toMatchObject(short(ours));
      side.expire();
      side.refuse();
      expect(await ask()).toBe(401);
      expect(heldBy(visitor)).toEqual(short(foreign));
    },
  );

  it('stays also where it has the form of ours, and a session beside it ends', async () => {
    const invalid = await side.invalid();
    const visitor = holding({ ...invalid, ...(await side.ours('chunks')) });
    side.expire();
    side.refuse();
    expect((await visitor.getJson('/api/me')).status).toBe(401);
    expect(heldBy(visitor)).toEqual(short(invalid));
  });

  it.each(['one cookie', 'chunks'] as const)(
    'is no session of ours (in %s) whose refresh token was refused',
    async (form) => {
      const visitor = holding(await side.ours(form));
      side.expire();
      side.refuse();
      const answer = await visitor.getJson('/api/me');
      expect([answer.status, heldBy(visitor)]).toEqual([401, {}]);
      expect((await visitor.getJson('/api/me')).setCookies).toEqual([]);
    },
  );
});
