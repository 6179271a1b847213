import { jest } from '@jest/globals';
import { sealData } from 'iron-session';
import { demoUsers } from '../support/b2b-app.ts';
import { ada, encodeSession } from '../support/backend-app.ts';
import { startBothApp } from '../support/both-app.ts';
import type { BothApp } from '../support/both-app.ts';
import { flowPrefix } from '../support/variant.ts';
import type { Answer } from '../support/visitor.ts';

/** What a page on a sibling domain can do: add cookies for the whole site, in front of the good ones or behind them. */
let app: BothApp;
beforeAll(async () => {
  app = await startBothApp();
});
afterEach(() => jest.restoreAllMocks());
afterAll(() => app.close());

const storageKey = 'sb-127-auth-token';
const flowId = (index: number): string => index.toString(16).padStart(32, '0');
const verifierCookie = (index: number, value = encoded('"verifier"')): string =>
  `${flowPrefix}${storageKey}-flow-${flowId(index)}-code-verifier=${value}`;
const encoded = (text: string): string => `base64-${Buffer.from(text).toString('base64url')}`;

const get = (path: string, cookie: string): Promise<Answer> => app.visitor().get(path, { headers: { cookie } });
const post = (path: string, cookie: string): Promise<Answer> => app.visitor().post(path, { headers: { cookie } });
const deletions = ({ setCookies }: Answer): string[] => setCookies.filter((line) => line.includes('; Max-Age=0;'));

describe('a cookie whose name no response can set', () => {
  it.each([' ', '\t', 'é', '"', '<', '(', ',', '\\', '%00', '__proto__'])(
    'never breaks sign-in or sign-out (%j in it)',
    async (odd) => {
      const names = [0, 1, 2, 3, 4, 5].flatMap((n) => [
        `b2b-session-flow-a${odd}${n}`,
        `${storageKey}-a${odd}${n}-code-verifier`,
      ]);
      const cookie = names.map((name) => `${name}=x`).join('; ');
      for (const path of ['/login', '/signup', '/callback', '/auth/login?provider=github', '/auth/callback?code=x']) {
        expect((await get(path, cookie)).status).toBeLessThan(500);
      }
      for (const path of ['/logout', '/auth/logout']) expect((await post(path, cookie)).status).toBe(303);
    },
  );

  it('never breaks the callback of a sign-in in progress', async () => {
    const visitor = app.visitor();
    const start = await visitor.get('/auth/login?provider=github');
    const callback = await app.supabase.authorize(start.location, { approve: true });
    const cookie = `${storageKey}-a b-code-verifier=x; b2b-session-flow-a b=x; ${visitor.cookieHeader()}`;
    expect((await get(callback.href, cookie)).status).toBe(303);
  });
});

describe('a great number of cookies', () => {
  const many = (name: (index: number) => string): string =>
    Array.from({ length: 300 }, (_, index) => `${name(index)}=x`).join('; ');

  it.each([
    ['chunks', 'POST', '/auth/logout', many((index) => `${storageKey}.${index}`)],
    ['chunks', 'POST', '/logout', many((index) => `b2b-session.${index}`)],
    ['flows', 'GET', '/login', many((index) => `${flowPrefix}b2b-session-flow-${String(index).padStart(16, '0')}`)],
  ])('get twenty deletions at most (%s at %s %s)', async (_what, method, path, cookie) => {
    const answer = await (method === 'GET' ? get : post)(path, cookie);
    expect(answer.status).toBeLessThan(500);
    expect(deletions(answer)).toHaveLength(20);
  });

  it('that look like chunks are deleted from the first on, as a session begins there', async () => {
    const strays = Array.from({ length: 99 }, (_, index) => `b2b-session.${99 - index}=x`);
    const answer = await post('/logout', [...strays, 'b2b-session.0=x', 'b2b-session=x'].join('; '));
    expect(
      deletions(answer)
        .map((line) => line.split('=', 1)[0])
        .slice(0, 3),
    ).toEqual(['b2b-session', 'b2b-session.0', 'b2b-session.1']);
  });

  it('with an index of many digits are not chunks', async () => {
    const answer = await post(
      '/auth/logout',
      `${storageKey}.${'1'.repeat(4000)}=x; ${storageKey}.100=x; ${storageKey}.99=x`,
    );
    expect(deletions(answer)).toHaveLength(1);
  });
});

describe('made-up verifiers', () => {
  it('cause at most five backend calls for a code, however many there are', async () => {
    const owner = app.visitor();
    const start = await owner.get('/auth/login?provider=github');
    const callback = await app.supabase.authorize(start.location, { approve: true });
    const before = app.supabase.calls('pkce');
    for (let round = 0; round < 3; round += 1) {
      const cookie = Array.from({ length: 40 }, (_, index) => verifierCookie(round * 100 + index)).join('; ');
      expect((await get(callback.href, cookie)).status).toBe(400);
    }
    expect(app.supabase.calls('pkce') - before).toBe(5);
  });

  it.each(['x', 'base64-', 'base64-!', 'base64-_w', encoded('{'), 'base64-eyJ', '"x"'])(
    'in a form that the SDK does not write (%j) log nothing and break no flow',
    async (value) => {
      const warn = jest.spyOn(console, 'warn').mockImplementation(() => undefined);
      const visitor = app.visitor();
      const start = await visitor.get('/auth/login?provider=github');
      const callback = await app.supabase.authorize(start.location, { approve: true });
      const own = [...visitor.cookies.keys()].filter((name) => name.endsWith('-code-verifier'));
      const cookie = [
        verifierCookie(1, value),
        `${storageKey}-code-verifier=${value}`,
        `${storageKey}-code-verifier.0=${value}`,
        ...own.map((name) => `${name}=${value}`),
        visitor.cookieHeader(),
      ].join('; ');
      expect((await get('/auth/login?provider=github', cookie)).status).toBe(302);
      expect((await get('/notes', cookie)).status).toBe(200);
      expect((await get(callback.href, cookie)).status).toBe(303);
      expect(warn).not.toHaveBeenCalled();
    },
  );
});

describe('tossed sessions', () => {
  /** With all parts of a seal, which no password opens. */
  const sealOf = (index: number): string =>
    `Fe26.2*1*${index.toString(16).padStart(64, '0')}*${'b'.repeat(22)}*${'A'.repeat(64)}**${'c'.repeat(64)}*${'d'.repeat(43)}~2`;

  const seal = (value: unknown): Promise<string> =>
    sealData(value, { password: String(app.b2bOptions.cookiePassword), ttl: 0 });
  const encode = (session: unknown): string => encodeSession(session);
  const sides = [
    {
      adapter: 'b2b',
      name: 'b2b-session',
      issue: async () => seal(await app.workos.issueSession({ user: demoUsers.personal })),
      junk: (index: number) => `x${index}`,
      plausible: (index: number) => sealOf(index),
    },
    {
      adapter: 'backend',
      name: storageKey,
      issue: async () => encode(await app.supabase.issueSession(ada.email)),
      junk: (index: number) => encode({ access_token: `x${index}`, refresh_token: 'y' }),
      plausible: (index: number) => {
        const claims = Buffer.from(JSON.stringify({ iss: `${app.supabase.url}/auth/v1`, index })).toString('base64url');
        return encode({ access_token: `e30.${claims}.e30`, refresh_token: 'y' });
      },
    },
  ];

  const many = (side: (typeof sides)[number], form: 'junk' | 'plausible', count: number, from = 0): string[] =>
    Array.from({ length: count }, (_, index) => `${side.name}=${side[form](from + index)}`);
  const ask = (side: (typeof sides)[number], cookies: readonly string[]): Promise<Answer> =>
    app
      .visitor()
      .get(`/guard/${side.adapter}`, { headers: { cookie: cookies.join('; '), accept: 'application/json' } });

  it.each(sides)('that cannot be a session hide no good session of $adapter, however many there are', async (side) => {
    const good = `${side.name}=${await side.issue()}`;
    const answer = await ask(side, [...many(side, 'junk', 60), good, ...many(side, 'junk', 60, 60)]);
    expect([answer.status, answer.setCookies]).toEqual([200, []]);
  });

  it.each([
    ['its beginning', (index: number) => `Fe26.2*${index}`],
    ['its separators', (index: number) => `Fe26.2*1*${index}*a*b*c*d*e~2`],
    ['a short salt', (index: number) => sealOf(index).replace('0'.repeat(32), '')],
    ['no content', (index: number) => sealOf(index).replace(/A{64}/, '')],
    ['a short signature', (index: number) => sealOf(index).replace('d'.repeat(43), 'd'.repeat(42))],
    ['text after it', (index: number) => `${sealOf(index)}2`],
    ['a part too many', (index: number) => `${sealOf(index).slice(0, -2)}*~2`],
  ])('that have of a seal only %s hide no good session, however many surround it', async (_what, junk) => {
    const side = sides[0]!;
    const values = (count: number, from = 0) =>
      Array.from({ length: count }, (_, index) => `${side.name}=${junk(from + index)}`);
    const good = `${side.name}=${await side.issue()}`;
    const answer = await ask(side, [...values(6), good, ...values(6, 6)]);
    expect([answer.status, answer.setCookies]).toEqual([200, []]);
  });

  it.each(sides)('that could be a session clear no cookie of $adapter, however many surround it', async (side) => {
    const good = `${side.name}=${await side.issue()}`;
    const few = await ask(side, [...many(side, 'plausible', 5), good, ...many(side, 'plausible', 5, 5)]);
    expect(few.status).toBe(200);
    const answer = await ask(side, [...many(side, 'plausible', 20), good, ...many(side, 'plausible', 20, 20)]);
    expect([answer.status, answer.setCookies]).toEqual([401, []]);
  });

  it.each(sides)('that could be a session and are none stay, also if nothing else came', async (side) => {
    const answer = await ask(side, many(side, 'plausible', 5));
    expect([answer.status, answer.setCookies]).toEqual([401, []]);
  });
});
