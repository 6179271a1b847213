import { inspect } from 'node:util';
import type { CookieWrite } from '../../lib/core/cookies.ts';
import type { Adapter } from '../../lib/http/adapter.ts';
import { createBrands } from '../../lib/http/page-options.ts';
import { sharedText } from '../../lib/http/page-text.ts';
import { firstAuthRequest, passAdapter } from '../../lib/http/passed-adapters.ts';
import { AuthRequest } from '../../lib/http/auth-request.ts';
import { redirectOrJson } from '../../lib/http/reply.ts';
import type { Resolution } from '../../lib/session/source.ts';
import type { Session } from '../../lib/types.ts';
import { serve } from '../support/servers.ts';
import { until } from '../support/until.ts';

const signedOut: Resolution = { session: null, cookies: [] };

const unused = {
  isConfirmed: () => true,
  isShared: false,
  resolveBearer: () => Promise.resolve(undefined),
  endSession: () => Promise.resolve(),
  renewSession: () => Promise.resolve(),
  endOver: () => Promise.reject(new Error('unused')),
  watchSession: () => Promise.resolve(() => undefined),
};

const session: Session = {
  adapter: 'b2b',
  credential: 'cookie',
  user: { id: 'user_1', email: 'ada@example.com' },
  accessToken: 'token',
  claims: { sub: 'user_1', exp: 2_000_000_000 },
  expiresAt: 2_000_000_000_000,
};

type Change = Omit<Partial<Adapter>, 'resolver'> & { readonly resolver?: Partial<Adapter['resolver']> };

function createDefinition(change: Change = {}): Adapter {
  return {
    adapter: 'b2b',
    name: 'b2bAuth',
    ownPaths: new Map([['/login', { path: '/login', option: 'loginPath' }]]),
    protectedRoutes: [],
    signInPage: undefined,
    openPages: [],
    loginPath: '/login',
    stylesheetPath: '/auth/pages.css',
    freshSignIn: { authenticatedAt: () => undefined, signInId: () => '', parameters: () => ({}) },
    foreignClient: () => undefined,
    now: Date.now,
    timeoutMs: 5_000,
    guardStatusForForms: 303,
    cookieName: 'session',
    cookieOptions: { path: '/', sameSite: 'lax', httpOnly: true, maxAge: undefined },
    appBaseUrl: undefined,
    trustedOrigins: [],
    onError: undefined,
    brands: createBrands(sharedText, {}),
    emit: () => undefined,
    explain: () => undefined,
    ...change,
    resolver: {
      ...unused,
      cachedSession: () => undefined,
      resolve: () => Promise.resolve(signedOut),
      ...change.resolver,
    },
  };
}

/** What an exchange says of one request to `/somewhere?a=1`. */
async function ask<Said>(
  change: Change,
  prefix: string,
  question: (exchange: AuthRequest) => Said | Promise<Said>,
): Promise<{ readonly said: Said; readonly origin: string; readonly headers: Headers }> {
  const definition = createDefinition(change);
  const answer = Promise.withResolvers<Said>();
  const server = await serve((req, res) => {
    const exchange = passAdapter(definition, req, res, prefix);
    void Promise.resolve(question(exchange))
      .then(answer.resolve, answer.reject)
      .finally(() => res.end());
  });
  const { headers } = await fetch(`${server.origin}/somewhere?a=1`);
  const said = await answer.promise;
  await server.close();
  return { said, origin: server.origin, headers };
}

it('tells a client that wants JSON where to go', async () => {
  const { said } = await ask({}, '', (request) => redirectOrJson(request, '/', 302));
  expect(said).toEqual({ status: 200, body: { kind: 'json', value: { redirectTo: '/' } } });
});

describe('the public URL of an own path', () => {
  it('is the request’s origin, the mount path and the path', async () => {
    const { said, origin } = await ask({}, '/app', (exchange) => exchange.publicUrl('/callback'));
    expect(said).toBe(`${origin}/app/callback`);
  });

  it.each([
    ['https://app.example', '', 'https://app.example/callback'],
    ['https://app.example///', '', 'https://app.example/callback'],
    ['https://app.example', '/app', 'https://app.example/app/callback'],
    ['https://app.example/app', '/app', 'https://app.example/app/callback'],
    ['https://app.example/app/', '/app', 'https://app.example/app/callback'],
    ['https://app.example/behind', '/app', 'https://app.example/behind/app/callback'],
    ['https://app.example/app/behind', '/app', 'https://app.example/app/behind/app/callback'],
    ['https://app.example/behind', '', 'https://app.example/behind/callback'],
  ])('with appBaseUrl %s, mounted under "%s", is %s', async (appBaseUrl, prefix, url) => {
    expect((await ask({ appBaseUrl }, prefix, (exchange) => exchange.publicUrl('/callback'))).said).toBe(url);
  });

  it('has the origin of appBaseUrl, without its path', async () => {
    const { said } = await ask({ appBaseUrl: 'https://app.example/base' }, '', (exchange) => exchange.origin);
    expect(said).toBe('https://app.example');
  });
});

describe('the URL of sign-in', () => {
  it.each([
    [undefined, '/app', '/', '/app/login'],
    [undefined, '/app', '/a?b=c', '/app/login?returnTo=%2Fa%3Fb%3Dc'],
    ['/sign-in', '/app', '/a', '/sign-in?returnTo=%2Fa'],
    ['/sign-in?from=app', '', '/a', '/sign-in?from=app&returnTo=%2Fa'],
    ['https://id.example/', '', '/', 'https://id.example/'],
  ])('on page %s, mounted under "%s", with returnTo %s, is %s', async (signInPage, prefix, back, url) => {
    expect((await ask({ signInPage }, prefix, (exchange) => exchange.signInUrl(back))).said).toBe(url);
  });

  it('never returns to its own routes, but to the given path', async () => {
    const { said } = await ask({}, '/app', (exchange) => [
      exchange.returnTo('/a'),
      exchange.returnTo('/app/login'),
      exchange.returnTo('/APP/Login/', '/home'),
      exchange.returnTo('//evil.example'),
    ]);
    expect(said).toEqual(['/a', '/', '/home', '/']);
  });
});

describe('the session of a request', () => {
  const cookie: CookieWrite = { name: 'b2b-session', value: 'new' };

  it('is resolved once, and its cookies are sent with the response', async () => {
    let resolutions = 0;
    const resolve = () => {
      resolutions += 1;
      return Promise.resolve({ session, cookies: [cookie] });
    };
    const { said, headers } = await ask(
      { resolver: { cachedSession: () => undefined, resolve } },
      '',
      async (exchange) => [await exchange.resolveSession(), await exchange.resolveSession()],
    );
    expect(said).toEqual([session, session]);
    expect(resolutions).toBe(1);
    expect(headers.getSetCookie()).toEqual(['b2b-session=new; Path=/; HttpOnly; SameSite=Lax']);
  });

  it('that is cached is not resolved', async () => {
    const resolver = {
      cachedSession: () => session,
      resolve: () => Promise.reject(new Error('must not be asked')),
    };
    const { said, headers } = await ask({ resolver }, '', (exchange) => exchange.resolveSession());
    expect(said).toEqual(session);
    expect(headers.has('cache-control')).toBe(false);
  });

  it('has Secure cookies if appBaseUrl is https, whatever the protocol of the request', async () => {
    const resolver = {
      cachedSession: () => undefined,
      resolve: () => Promise.resolve({ session, cookies: [cookie] }),
    };
    const linesWith = async (appBaseUrl: string) =>
      (await ask({ resolver, appBaseUrl }, '', (exchange) => exchange.resolveSession())).headers.getSetCookie();
    expect(await linesWith('https://app.example')).toEqual([expect.stringContaining('; Secure')]);
    expect(await linesWith('http://app.example')).toEqual([expect.not.stringContaining('Secure')]);
  });

  it('renewed ahead of time leaves the cookie of a sign-in that has replaced it in this request', async () => {
    const later = Promise.withResolvers<Resolution | undefined>();
    const resolver = {
      resolve: () => Promise.resolve({ session, cookies: [], later: later.promise }),
    };
    const { headers } = await ask({ resolver }, '', async (request) => {
      await request.resolveSession();
      request.writeCookies([{ name: 'session', value: 'new' }]);
      later.resolve({ session, cookies: [{ name: 'session', value: 'renewed' }], isCurrent: () => false });
      await later.promise;
    });
    expect(headers.getSetCookie()).toEqual([expect.stringMatching(/^session=new;/)]);
  });

  it('renewed ahead of time is sent with the response if it is ready before the head', async () => {
    const later = Promise.resolve({ session, cookies: [cookie] });
    const resolver = {
      cachedSession: () => undefined,
      resolve: () => Promise.resolve({ session, cookies: [], later }),
    };
    const { headers } = await ask({ resolver }, '', async (exchange) => {
      await exchange.resolveSession();
      await later;
      await new Promise((resolve) => setImmediate(resolve));
    });
    expect(headers.getSetCookie()).toHaveLength(1);
  });

  it('renewed ahead of time is no lost cookie if the head was sent first, or if it failed', async () => {
    const events: unknown[] = [];
    for (const outcome of [{ session, cookies: [cookie] }, undefined]) {
      const later = Promise.withResolvers<Resolution | undefined>();
      const resolver = {
        cachedSession: () => undefined,
        resolve: () => Promise.resolve({ session, cookies: [], later: later.promise }),
      };
      const { headers } = await ask({ resolver, emit: (event) => events.push(event) }, '', async (exchange) => {
        await exchange.resolveSession();
        exchange.res.flushHeaders();
        later.resolve(outcome);
        await new Promise((resolve) => setImmediate(resolve));
      });
      expect(headers.has('set-cookie')).toBe(false);
    }
    expect(events).toEqual([]);
  });

  it('whose cookies were lost is reported', async () => {
    const events: unknown[] = [];
    const resolver = {
      cachedSession: () => undefined,
      resolve: () => Promise.resolve({ session, cookies: [cookie] }),
    };
    await ask({ resolver, emit: (event) => events.push(event) }, '', (exchange) => {
      exchange.res.flushHeaders();
      return exchange.resolveSession();
    });
    expect(events).toEqual([{ type: 'cookie_lost', names: ['b2b-session'] }]);
  });

  it.each([
    [true, 1],
    [false, 0],
  ])(
    'learns that its cookies were delivered if they were sent, and does not send outdated ones: %p',
    async (isCurrent, times) => {
      let delivered = 0;
      const outcome = { session, cookies: [cookie], onDelivered: () => (delivered += 1), isCurrent: () => isCurrent };
      const resolver = { cachedSession: () => undefined, resolve: () => Promise.resolve(outcome) };
      let isFinished = false;
      const { headers } = await ask({ resolver }, '', (exchange) => {
        exchange.res.once('finish', () => void setImmediate(() => (isFinished = true)));
        return exchange.resolveSession();
      });
      expect(headers.has('set-cookie')).toBe(isCurrent);
      await until(() => isFinished);
      expect(delivered).toBe(times);
    },
  );
});

describe('the state of a request', () => {
  it('is not printed with the request, and not on copies of the request or objects derived from it', async () => {
    const { said } = await ask({}, '', async (request) => {
      const { req } = request;
      await request.resolveSession();
      return {
        printed: inspect(req, { depth: 9 }).includes('AuthRequest'),
        own: firstAuthRequest(req) === request,
        copy: firstAuthRequest(Object.assign(Object.create(null), req) as typeof req),
        heir: firstAuthRequest(Object.create(req) as typeof req),
      };
    });
    expect(said).toEqual({ printed: false, own: true, copy: undefined, heir: undefined });
  });

  it('cannot be found by other code, so that none reads or replaces it', async () => {
    const { said } = await ask({}, '', ({ req }) => {
      const held = Reflect.ownKeys(req).map((key): unknown => Reflect.get(req, key));
      return held.filter((value) => value instanceof AuthRequest).length;
    });
    expect(said).toBe(0);
  });
});

it('keeps the session of a bearer token that a guard accepted while the cookie’s was being resolved', async () => {
  const cookies = Promise.withResolvers<Resolution>();
  const resolver = { ...unused, cachedSession: () => undefined, resolve: () => cookies.promise };
  const { said } = await ask({ resolver }, '', async (request) => {
    const early = request.resolveSession();
    request.admit({ ...session, credential: 'bearer' });
    cookies.resolve({ session, cookies: [] });
    await early;
    return [request.cachedSession()?.credential, (await request.resolveSession())?.credential];
  });
  expect(said).toEqual(['bearer', 'bearer']);
});
