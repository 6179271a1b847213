import { startBackendApp } from '../support/backend-app.ts';
import type { BackendApp } from '../support/backend-app.ts';
import { demoUsers, startB2bApp } from '../support/b2b-app.ts';
import type { B2bApp } from '../support/b2b-app.ts';
import { b2bAuth, backendAuth, ConfigurationError, requireSession } from '../../lib/index.ts';
import { createB2bTestKit, createBackendTestKit } from '../../lib/testing/index.ts';
import { sendJson } from '../support/hosts.ts';
import type { Host } from '../support/hosts.ts';
import { ownRoutes } from '../support/own-sign-in.ts';
import type { OwnSignIn } from '../support/own-sign-in.ts';
import type { Visitor } from '../support/visitor.ts';

const cookieOptions = { partitioned: true, sameSite: 'none' } as const;

describe('cookieOptions.partitioned', () => {
  const because = 'with cookieOptions.partitioned, or browsers drop the cookies in a frame';

  const [b2b, backend] = [createB2bTestKit().options, createBackendTestKit().options];

  describe.each([
    ['b2bAuth', (cookieOptions: object) => b2bAuth({ ...b2b, cookieOptions })],
    ['backendAuth', (cookieOptions: object) => backendAuth({ ...backend, cookieOptions })],
  ])('of %s', (_name, create) => {
    const problemsOf = (given: object): readonly string[] => {
      try {
        create(given);
        return [];
      } catch (error) {
        if (!(error instanceof ConfigurationError)) throw error;
        return error.problems;
      }
    };

    it.each([
      [{}, [`cookieOptions.sameSite must be 'none' ${because}`]],
      [{ sameSite: 'lax' }, [`cookieOptions.sameSite must be 'none' ${because}`]],
      [{ sameSite: 'none', secure: false }, [`cookieOptions.secure must not be false ${because}`]],
      [{ sameSite: 'none' }, []],
      [{ sameSite: 'none', secure: true }, []],
    ])('needs sameSite none and secure: %j', (given, problems) => {
      expect(problemsOf({ ...given, partitioned: true })).toEqual(problems);
      expect(problemsOf({ ...given, partitioned: false })).toEqual([]);
    });
  });
});

interface Walk {
  readonly app: B2bApp | BackendApp;
  /** Requests that write every kind of cookie that the adapter has, in turn, each with kinds that it writes. */
  readonly steps: readonly (readonly [kinds: readonly string[], step: Step])[];
}

type Step = (visitor: Visitor) => Promise<{ readonly setCookies: readonly string[] }>;

const own: OwnSignIn = { tokens: undefined };
const addPages = (host: Host): void =>
  host.all('/fresh', requireSession({ maxAge: 60 }), (_req, res) => sendJson(res, {}));

async function b2bWalk(): Promise<Walk> {
  const app: B2bApp = await startB2bApp({
    options: { cookieOptions },
    after: (host, auth) => {
      ownRoutes(host, () => auth, own);
      addPages(host);
    },
  });
  const signIn = async (visitor: Visitor) => {
    const start = await visitor.get('/login');
    const done = await visitor.get((await app.workos.authorize(start.location, { user: demoUsers.personal })).href);
    return { setCookies: [...start.setCookies, ...done.setCookies] };
  };
  return {
    app,
    steps: [
      [['session', 'flow'], signIn],
      [['nonce'], (visitor) => visitor.getJson('/own/nonce')],
      [[], (visitor) => visitor.postJson('/own/take')],
      [
        [],
        (visitor) => {
          app.clock.advance(310_000);
          return visitor.get('/api/me');
        },
      ],
      [['fresh'], (visitor) => visitor.get('/fresh')],
      [[], (visitor) => visitor.get('/login')],
      [[], (visitor) => visitor.post('/logout')],
    ],
  };
}

async function backendWalk(): Promise<Walk> {
  const app: BackendApp = await startBackendApp({
    options: { cookieOptions, providers: ['github'], signInMethods: ['password', 'code', 'passkey'], throttle: false },
    standIn: { passkeys: true },
    after: (host, auth) => {
      ownRoutes(host, () => auth, own);
      addPages(host);
    },
  });
  const ada = { email: 'ada@example.com', password: 'correct horse battery' };
  return {
    app,
    steps: [
      [['state', 'code-verifier'], (visitor) => visitor.get('/auth/login?provider=github')],
      [['state', 'code-verifier'], (visitor) => visitor.postJson('/auth/forgot', { email: ada.email })],
      [['ceremony'], (visitor) => visitor.postJson('/auth/passkey', {})],
      [['nonce'], (visitor) => visitor.getJson('/own/nonce')],
      [[], (visitor) => visitor.postJson('/own/take')],
      [['session'], (visitor) => visitor.postJson('/auth/login', ada)],
      [
        [],
        (visitor) => {
          app.clock.advance(3_700_000);
          return visitor.get('/api/me');
        },
      ],
      [['fresh'], (visitor) => visitor.get('/fresh')],
      [
        ['pending'],
        async (visitor) => {
          const second = { email: 'grace@example.com', password: 'correct horse battery' };
          app.supabase.addUser(second);
          app.supabase.addFactor(second.email);
          return visitor.postJson('/auth/login', second);
        },
      ],
      [[], (visitor) => visitor.post('/auth/logout')],
    ],
  };
}

describe.each([
  ['b2bAuth', b2bWalk],
  ['backendAuth', backendWalk],
])('with cookieOptions.partitioned, the cookies of %s', (_adapter, start) => {
  let walk: Walk;
  beforeEach(async () => {
    walk = await start();
  });
  afterEach(() => walk.app.close());

  it('are all partitioned, and each also removes the one that was set before', async () => {
    const visitor = walk.app.visitor();
    const seen = new Set<string>();
    for (const [, step] of walk.steps) {
      const { setCookies } = await step(visitor);
      const partitioned = setCookies.filter((line) =>
        /; Secure; SameSite=None; Partitioned$|; Partitioned; SameSite=None$/.test(line),
      );
      const others = setCookies.filter((line) => !partitioned.includes(line));
      const nameOf = (line: string): string => line.slice(0, line.indexOf('='));
      for (const line of others) expect(line).toMatch(/^[^=]+=; Max-Age=0; .*; Secure; SameSite=None$/);
      // In front of its partitioned one: to a client that knows no partitions both are one cookie.
      expect(setCookies.map(nameOf)).toEqual(partitioned.flatMap((line) => [nameOf(line), nameOf(line)]));
      expect(setCookies.filter((_, index) => index % 2 === 1)).toEqual(partitioned);
      partitioned.forEach((line) => seen.add(nameOf(line)));
    }
    const kinds = [...seen].map(
      (name) =>
        /(?<=-)(?:flow|state|code-verifier|pending|nonce|fresh|challenge|ceremony)(?=$|-[0-9a-f]{16}$)/.exec(
          name,
        )?.[0] ?? 'session',
    );
    expect(new Set(kinds)).toEqual(new Set(walk.steps.flatMap(([sets]) => sets)));
  });
});
