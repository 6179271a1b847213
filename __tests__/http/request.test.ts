import { inspect } from 'node:util';
import { AuthError } from '../../lib/errors.ts';
import { partKey, Parts } from '../../lib/http/adapter.ts';
import { AuthRequest } from '../../lib/http/request.ts';
import { firstAuthRequest } from '../../lib/http/passed-adapters.ts';
import { refuseUnsafeMountPath } from '../../lib/http/request/urls.ts';
import { redirectOrJson } from '../../lib/http/reply.ts';
import { ask } from '../support/auth-request.ts';
import { bareAdapter } from '../support/bare-request.ts';

/** The code of the `AuthError` that a call throws. */
function problemOf(call: () => unknown): string | undefined {
  try {
    call();
    return undefined;
  } catch (error) {
    return error instanceof AuthError ? error.code : String(error);
  }
}

it('tells a client that wants JSON where to go', async () => {
  const { said } = await ask({}, '', (request) => redirectOrJson(request, '/', 302));
  expect(said).toEqual({ status: 200, body: { kind: 'json', value: { redirectTo: '/' } }, leadsTo: '/' });
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

it.each(['//evil.example', '/\\evil.example'])(
  'leaves a mount path out of its URLs that would lead to another site, and refuses it: %s',
  async (prefix) => {
    const { said } = await ask({}, prefix, (request) => ({
      path: request.localPath('/callback'),
      refusal: problemOf(() => refuseUnsafeMountPath(request)),
    }));
    expect(said).toEqual({ path: '/callback', refusal: 'invalid_request' });
  },
);

it.each(['', '/app', '/app/v1.0'])('does not refuse the mount path "%s"', async (prefix) => {
  const { said } = await ask({}, prefix, (request) => problemOf(() => refuseUnsafeMountPath(request)));
  expect(said).toBeUndefined();
});

describe('the client’s address', () => {
  it('is what the application’s own function says, else the socket’s peer', async () => {
    const peerBy = async (clientAddress?: () => string | undefined) =>
      (await ask({ clientAddress }, '', (request) => request.peer)).said;
    expect(await peerBy(() => '203.0.113.7')).toBe('203.0.113.7');
    expect(await peerBy(() => undefined)).toBe('127.0.0.1');
    expect(await peerBy()).toBe('127.0.0.1');
  });
});

describe('a cookie of a pending sign-in', () => {
  /** Whether the request counts as one over https: only then the cookie's name has the prefix. */
  const isPrefixed = async (secure: boolean | undefined, appBaseUrl: string | undefined, isEncrypted: boolean) => {
    const cookieOptions = { ...bareAdapter().cookieOptions, ...(secure === undefined ? {} : { secure }) };
    const question = (request: AuthRequest): unknown => {
      if (isEncrypted) Object.assign(request.req.socket, { encrypted: true });
      request.writeCookies([{ name: 'session-flow', value: 'new' }]);
      return request.cookies.get('session-flow');
    };
    const cookie = 'session-flow=bare; __Host-session-flow=prefixed';
    const { said, headers } = await ask({ cookieOptions, appBaseUrl }, '', question, { cookie });
    const [line = ''] = headers.getSetCookie();
    return [said, line.split('=', 1)[0], line.includes('; Secure')];
  };
  const prefixed = [['prefixed'], '__Host-session-flow', true];
  const bare = [['bare'], 'session-flow', false];

  it.each([
    ['the request came over https', undefined, undefined, true, prefixed],
    ['the request came over http', undefined, undefined, false, bare],
    ['appBaseUrl is https', undefined, 'https://app.example', false, prefixed],
    ['appBaseUrl is http', undefined, 'http://app.example', true, bare],
    ['cookieOptions.secure is true', true, 'http://app.example', false, prefixed],
    ['cookieOptions.secure is false', false, 'https://app.example', true, bare],
  ])('has the prefix __Host- or not, if %s', async (_what, secure, appBaseUrl, isEncrypted, expected) => {
    expect(await isPrefixed(secure, appBaseUrl, isEncrypted)).toEqual(expected);
  });
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

describe('the parts of an adapter', () => {
  it('are found by their key alone, whatever it is called', () => {
    const one = partKey<number>('count');
    const other = partKey<number>('count');
    const parts = new Parts();
    expect(parts.set(one, 1)).toBe(1);
    expect([parts.find(one), parts.get(one), parts.find(other)]).toEqual([1, 1, undefined]);
    expect(new Parts().find(one)).toBeUndefined();
  });

  it('say which one is missing, where it has to be there from the start', () => {
    expect(() => new Parts().get(partKey('backend'))).toThrow("there is no part 'backend'");
  });
});
