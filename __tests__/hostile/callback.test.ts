import { jest } from '@jest/globals';
import { demoUsers } from '../support/b2b-app.ts';
import { startBothApp } from '../support/both-app.ts';
import type { BothApp } from '../support/both-app.ts';
import type { Answer, Visitor } from '../support/visitor.ts';

/** One adapter's sign-in at its provider, up to the callback. */
interface Side {
  readonly path: string;
  readonly session: string;
  readonly cookie: string;
  /** Starts a sign-in in this browser and goes through the provider's page; resolves to the callback's URL. */
  readonly walk: (visitor: Visitor, returnTo?: string) => Promise<URL>;
  /** Continues from a callback that started over, up to the next one. */
  readonly resume: (visitor: Visitor, startedOver: Answer) => Promise<URL>;
  /** The codes that the token endpoint received, in order. */
  readonly codesAsked: () => (string | undefined)[];
  readonly failToken: () => void;
  readonly heal: () => void;
}

let app: BothApp;
beforeAll(async () => {
  app = await startBothApp();
});
afterAll(() => app.close());

const b2b: Side = {
  path: '/callback',
  session: '/b2b/session',
  cookie: 'b2b-session',
  async walk(visitor, returnTo = '/') {
    const start = await visitor.get(`/login?returnTo=${encodeURIComponent(returnTo)}`);
    return app.workos.authorize(start.location, { user: demoUsers.personal });
  },
  resume: (_visitor, { headers }) => app.workos.authorize(headers.location ?? '', { user: demoUsers.personal }),
  codesAsked: () =>
    app.workos.requests
      .filter(({ grantType }) => grantType === 'authorization_code')
      .map(({ body }) => textOf(Reflect.get(Object(body), 'code'))),
  failToken: () => {
    app.workos.switches.outage = { token: 'html502' };
  },
  heal: () => {
    app.workos.switches.outage = {};
  },
};
const backend: Side = {
  path: '/auth/callback',
  session: '/auth/session',
  cookie: 'sb-127-auth-token',
  async walk(visitor, returnTo = '/') {
    const start = await visitor.get(`/auth/login?provider=github&returnTo=${encodeURIComponent(returnTo)}`);
    return new URL(await app.supabase.authorize(start.location, { approve: true }));
  },
  async resume(visitor, { headers }) {
    expect(headers.location).toBe('/auth/login?returnTo=%2Faccount');
    const start = await visitor.get(`${headers.location ?? ''}&provider=github`);
    return new URL(await app.supabase.authorize(start.location, { approve: true }));
  },
  codesAsked: () =>
    app.supabase.requests
      .filter(({ endpoint }) => endpoint === 'pkce')
      .map(({ body }) => textOf(Reflect.get(Object(typeof body === 'string' ? JSON.parse(body) : body), 'auth_code'))),
  failToken: () => app.supabase.fail('pkce', 'html502'),
  heal: () => app.supabase.heal(),
};
const sides = [
  ['the B2B adapter', b2b],
  ['the backend adapter', backend],
] as const;

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

const isSignedIn = async (side: Side, visitor: Visitor): Promise<boolean> =>
  (await visitor.get(side.session)).status === 200;

function expectNobody(side: Side, answer: Answer): void {
  expect(answer.status).toBeLessThan(500);
  expect(answer.setCookies.filter((line) => line.startsWith(`${side.cookie}=`) && !line.includes('Max-Age=0'))).toEqual(
    [],
  );
}

const codeOf = (callback: URL): string => callback.searchParams.get('code') ?? '';
const timesAsked = (side: Side, callback: URL): number =>
  side.codesAsked().filter((code) => code === codeOf(callback)).length;

describe.each(sides)('the callback of %s', (_title, side) => {
  it('exchanges a code once, however often and however many times in parallel it is called', async () => {
    const visitor = app.visitor();
    const callback = await side.walk(visitor, '/account');
    const cookie = visitor.cookieHeader();
    const parallel = await Promise.all(
      Array.from({ length: 8 }, () => app.visitor().get(callback.href, { headers: { cookie } })),
    );
    expect(parallel.map(({ status, headers }) => [status, headers.location])).toEqual(
      parallel.map(() => [303, '/account']),
    );
    const replayed = await app.visitor().get(callback.href, { headers: { cookie } });
    expect(replayed.status).toBeLessThan(500);
    expect(timesAsked(side, callback)).toBe(1);
  });

  it('never sends a code that this browser did not start', async () => {
    const stolen = await side.walk(app.visitor());
    const victim = app.visitor();
    for (const again of [1, 2]) {
      expectNobody(side, await victim.get(stolen.href));
      expect([again, await isSignedIn(side, victim)]).toEqual([again, false]);
    }
    expect(timesAsked(side, stolen)).toBe(0);
  });

  it('signs no one in by another browser’s code beside a sign-in of its own', async () => {
    const stolen = await side.walk(app.visitor());
    const victim = app.visitor();
    await side.walk(victim);
    for (const again of [1, 2]) {
      expectNobody(side, await victim.get(stolen.href));
      expect([again, await isSignedIn(side, victim)]).toEqual([again, false]);
    }
  });

  it('keeps the session of a signed-in user when an attacker’s callback is loaded', async () => {
    const victim = app.visitor();
    await victim.get((await side.walk(victim)).href);
    const before = (await victim.get(side.session)).text;
    const stolen = await side.walk(app.visitor());
    await victim.get(stolen.href);
    expect((await victim.get(side.session)).text).toBe(before);
    expect(timesAsked(side, stolen)).toBe(0);
  });

  it.each([
    ['no code', (url: URL) => url.searchParams.delete('code')],
    ['an empty code', (url: URL) => url.searchParams.set('code', '')],
    ['a made-up code', (url: URL) => url.searchParams.set('code', 'made-up')],
    ['a code of 6,000 characters', (url: URL) => url.searchParams.set('code', 'x'.repeat(6000))],
    ['a code that is no text', (url: URL) => url.searchParams.set('code', '\u0000\ud800')],
    ['an error beside the code', (url: URL) => url.searchParams.set('error', 'access_denied')],
    ['an unknown error', (url: URL) => url.searchParams.set('error', 'constructor')],
  ])('signs no one in with %s', async (_name, change) => {
    const visitor = app.visitor();
    const callback = await side.walk(visitor);
    const original = new URL(callback);
    change(callback);
    expectNobody(side, await visitor.get(callback.href));
    expect(await isSignedIn(side, visitor)).toBe(false);
    expect(timesAsked(side, original)).toBe(0);
  });

  it('uses the first of repeated codes, and never exchanges two', async () => {
    const visitor = app.visitor();
    const callback = await side.walk(visitor);
    const asked = side.codesAsked().length;
    const twice = new URL(callback);
    twice.searchParams.append('code', 'other');
    await visitor.get(twice.href);
    expect(side.codesAsked().slice(asked)).toEqual([codeOf(callback)]);
    const first = new URL(await side.walk(visitor));
    first.search = first.search.replace('?', '?code=other&');
    await visitor.get(first.href);
    expect(side.codesAsked().slice(asked + 1)).toEqual(['other']);
  });

  it('has no effect without the cookies of its start, nor after ten minutes', async () => {
    const visitor = app.visitor();
    const callback = await side.walk(visitor);
    expectNobody(side, await app.visitor().get(callback.href));
    app.clock.advance(11 * 60_000);
    const late = await visitor.get(callback.href);
    expectNobody(side, late);
    expect(await isSignedIn(side, visitor)).toBe(false);
  });

  it('survives an outage of the token endpoint: a reload starts over, and does not send the code again', async () => {
    const visitor = app.visitor();
    const callback = await side.walk(visitor, '/account');
    const before = visitor.cookieHeader();
    side.failToken();
    const failed = await visitor.get(callback.href);
    side.heal();
    expect([failed.status, failed.headers['retry-after'] !== undefined]).toEqual([503, true]);
    // Not even if the answer was lost, and with it the cookie that records it.
    expect((await app.visitor().get(callback.href, { headers: { cookie: before } })).status).toBe(503);
    const startedOver = await visitor.get(callback.href);
    expect(startedOver.status).toBe(303);
    expect(timesAsked(side, callback)).toBe(1);
    const fresh = await side.resume(visitor, startedOver);
    const signedIn = await visitor.get(fresh.href);
    expect([signedIn.status, signedIn.headers.location]).toEqual([303, '/account']);
    expect(await isSignedIn(side, visitor)).toBe(true);
  });

  it('restores no session when it is replayed after a sign-out', async () => {
    const visitor = app.visitor();
    const callback = await side.walk(visitor);
    await visitor.get(callback.href);
    const cookie = visitor.cookieHeader();
    const logout = side === b2b ? '/logout' : '/auth/logout';
    await app.visitor().post(logout, { headers: { cookie } });
    const replayed = await app.visitor().get(callback.href, { headers: { cookie } });
    expectNobody(side, replayed);
    expect(timesAsked(side, callback)).toBe(1);
  });
});

describe('an application with two providers (RFC 9700 §4.4)', () => {
  it.each([
    ['WorkOS', b2b, backend],
    ['Supabase', backend, b2b],
  ])('sends no code of %s where the sign-in began at the other provider', async (_name, side, other) => {
    const visitor = app.visitor();
    const begun = await other.walk(visitor);
    const mixed = await side.walk(app.visitor());
    const state = begun.searchParams.get('state');
    if (state !== null) mixed.searchParams.set('state', state);
    expectNobody(side, await visitor.get(mixed.href));
    expect([timesAsked(side, mixed), timesAsked(other, mixed)]).toEqual([0, 0]);
    expect(await isSignedIn(side, visitor)).toBe(false);
  });
});

describe('the state of the B2B adapter', () => {
  it.each([
    ['is missing', (url: URL) => url.searchParams.delete('state')],
    ['is empty', (url: URL) => url.searchParams.set('state', '')],
    ['is made up', (url: URL) => url.searchParams.set('state', 'x'.repeat(43))],
    [
      'differs in one character',
      (url: URL) => url.searchParams.set('state', changed(url.searchParams.get('state') ?? '')),
    ],
    ['is cut short', (url: URL) => url.searchParams.set('state', (url.searchParams.get('state') ?? '').slice(0, -1))],
    ['comes second', (url: URL) => (url.search = url.search.replace('?', '?state=other&'))],
    ['is a name of JavaScript’s own', (url: URL) => url.searchParams.set('state', '__proto__')],
    ['is very long', (url: URL) => url.searchParams.set('state', 'x'.repeat(6000))],
  ])('stops the code before the token endpoint if it %s', async (_name, change) => {
    const visitor = app.visitor();
    const callback = await b2b.walk(visitor);
    change(callback);
    expectNobody(b2b, await visitor.get(callback.href));
    expect(timesAsked(b2b, callback)).toBe(0);
    expect(await isSignedIn(b2b, visitor)).toBe(false);
  });

  it('of another tab does not authorize a code: each code is sent with the verifier of its own state', async () => {
    const visitor = app.visitor();
    const [one, other] = [await b2b.walk(visitor), await b2b.walk(visitor)];
    const crossed = new URL(one);
    crossed.searchParams.set('state', other.searchParams.get('state') ?? '');
    expectNobody(b2b, await visitor.get(crossed.href));
    expect(await isSignedIn(b2b, visitor)).toBe(false);
  });
});

describe('the verifier of the backend adapter', () => {
  it('of another browser does not exchange a code, and the code still works for its owner', async () => {
    const owner = app.visitor();
    const callback = await backend.walk(owner);
    const thief = app.visitor();
    await backend.walk(thief);
    expectNobody(backend, await thief.get(callback.href));
    expect(await isSignedIn(backend, thief)).toBe(false);
    expect((await owner.get(callback.href)).status).toBe(303);
  });
});

function changed(text: string): string {
  return (text.startsWith('A') ? 'B' : 'A') + text.slice(1);
}

it.each(['provider_refused', 'token_rejected', 'keys_rotated'])(
  'a callback’s query never warns operators in the provider’s name: %s',
  async (code) => {
    const warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    try {
      for (const path of ['/auth/callback', '/callback']) {
        for (const query of [`error=${code}`, `error=x&error_code=${code}`, `error=x&error_description=${code}`]) {
          expect((await app.visitor().get(`${path}?${query}`)).status).toBeLessThan(500);
        }
      }
      expect(warn).not.toHaveBeenCalled();
    } finally {
      warn.mockRestore();
    }
  },
);

it.each([
  { error: 'invalid_request', error_description: 'code is invalid.' },
  { code: 'invalid_request_parameters', message: 'Validation failed.' },
])('a code that WorkOS finds malformed warns no operator, as a visitor can make one up: %j', async (body) => {
  const warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
  app.workos.switches.authenticateError = { status: 400, body };
  try {
    const visitor = app.visitor();
    expect((await visitor.get((await b2b.walk(visitor)).href)).status).toBe(403);
    expect(warn).not.toHaveBeenCalled();
  } finally {
    app.workos.switches.authenticateError = null;
    warn.mockRestore();
  }
});
