import fc from 'fast-check';
import * as v from 'valibot';
import { serializeCookie } from '../../lib/tools/cookies.ts';
import {
  cookieAttributes,
  cookieEntries,
  issuers,
  pageUrl,
  queryParameters,
  routePath,
  sharedEntries,
} from '../../lib/options/shared.ts';

const schema = v.strictObject(sharedEntries);

const isGood = (options: object): boolean => v.safeParse(schema, options).success;
const messagesOf = (options: object): string[] =>
  (v.safeParse(schema, options).issues ?? []).map(({ message }) => message);

describe('appBaseUrl', () => {
  it.each(['https://app.example', 'http://localhost:3000', 'HTTPS://app.example/base/', 'https://app.example/a'])(
    'may be %s',
    (appBaseUrl) => expect(isGood({ appBaseUrl })).toBe(true),
  );

  it.each([
    'https://*.example.com',
    'app.example',
    '/base',
    'ftp://app.example',
    'x-https://app.example',
    'https://',
    'https://app.example?a',
    'https://app.example#a',
    'https://ada@app.example',
    'https://:secret@app.example',
    7,
  ])('cannot be %p', (appBaseUrl) => expect(isGood({ appBaseUrl })).toBe(false));

  it.each([
    ['HTTPS://App.Example.com:443/', 'https://app.example.com'],
    ['http://localhost:3000', 'http://localhost:3000'],
    ['https://app.example.com/Shop//', 'https://app.example.com/Shop'],
  ])('%s is read as %s', (appBaseUrl, read) => expect(v.parse(schema, { appBaseUrl }).appBaseUrl).toBe(read));
});

describe('a route’s path', () => {
  it.each(['/assets/auth.css', '/a..b', '/.well-known/auth.css'])('may be %s', (path) =>
    expect(v.is(routePath('/a'), path)).toBe(true),
  );

  it.each(['/a/../b', '/..', '/.', '/a/.', './a', '/a/', 'a', '/', '/:id', '/a b'])('cannot be %s', (path) =>
    expect(v.is(routePath('/a'), path)).toBe(false),
  );
});

describe('a page of the application', () => {
  const isPage = (value: unknown): boolean => v.safeParse(pageUrl, value).success;

  it.each(['/sign-in', '/', '/sign-in?from=app#form', 'https://id.example/sign-in', 'http://localhost:3000/'])(
    'may be %s',
    (value) => expect(isPage(value)).toBe(true),
  );

  it.each(['/登录', '/über', '/sign in', '/a\r\nX: y', '/a\tb', 'https://id.example/登录'])(
    'cannot be %j, which has characters that no header can contain',
    (value) => {
      expect(isPage(value)).toBe(false);
      expect(isPage(encodeURI(value))).toBe(true);
    },
  );

  it.each([
    'https://*.example/sign-in',
    'sign-in',
    '//evil.example',
    '/\\evil.example',
    'x/y',
    'javascript:alert(1)',
    'https://',
    '',
    7,
  ])('cannot be %p', (value) => expect(isPage(value)).toBe(false));
});

describe('trustedOrigins', () => {
  it('may have other letters, however often they are read', () => {
    const parse = (): boolean => v.is(schema, { trustedOrigins: ['https://bücher.example'] });
    expect(Array.from({ length: 20_000 }, parse).filter((isValid) => !isValid)).toEqual([]);
  });

  it('are compared as browsers write them', () => {
    const given = [
      'HTTPS://WWW.Example.com',
      'http://localhost:3000',
      'https://www.example.com:443',
      'http://[::1]:80',
    ];
    expect(v.parse(schema, { trustedOrigins: [...given, 'https://bücher.example'] })).toMatchObject({
      trustedOrigins: [
        'https://www.example.com',
        'http://localhost:3000',
        'https://www.example.com',
        'http://[::1]',
        'https://xn--bcher-kva.example',
      ],
    });
  });

  it.each([
    'https://www.example.com/',
    'https://www.example.com?a',
    'https://www.example.com#a',
    'https://user@www.example.com',
    'https://*.example.com',
    'https://*',
    ' https://www.example.com',
    'https://www.example.com ',
    'https://www.example.com\\',
    'https://www.exa\tmple.com',
    'https:www.example.com',
    'www.example.com',
    'null',
    '*',
    'ws://a.example',
  ])('cannot be %s', (origin) => expect(isGood({ trustedOrigins: [origin] })).toBe(false));
});

describe('protectedRoutes', () => {
  it('can be one pattern or several', () => {
    expect(v.parse(schema, { protectedRoutes: '/a(.*)' }).protectedRoutes).toEqual(['/a(.*)']);
    expect(v.parse(schema, { protectedRoutes: ['/a', '/b'] }).protectedRoutes).toEqual(['/a', '/b']);
    expect(v.parse(schema, {}).protectedRoutes).toEqual([]);
  });

  it('are explained if a pattern is invalid', () => {
    expect(messagesOf({ protectedRoutes: ['/a', 'b'] })).toEqual([
      'The path pattern "b" must start with "/": write "/b".',
    ]);
  });
});

describe('parameters of a provider’s URL', () => {
  const parameters = queryParameters(v.string('must hold strings'), {
    form: /^[a-z_]+$/,
    example: 'connection_id',
    isOwn: (name) => ['state', 'nonce'].includes(name),
  });
  const problemsOf = (value: unknown): string[] =>
    (v.safeParse(parameters, value).issues ?? []).map(({ message }) => message);

  it('may have any name that the sign-in does not set', () => {
    expect(v.parse(parameters, { connection_id: 'conn_1', my_state: 'x' })).toEqual({
      connection_id: 'conn_1',
      my_state: 'x',
    });
    expect(v.parse(parameters, {})).toEqual({});
  });

  it('cannot replace those of the sign-in, and all of these are named', () => {
    expect(problemsOf({ state: 'x', hint: 'x' })).toEqual(['must not set state: the sign-in sets this itself']);
    expect(problemsOf({ state: 'x', hint: 'x', nonce: 'y' })).toEqual([
      'must not set state, nonce: the sign-in sets this itself',
    ]);
  });

  it.each([null, undefined, 7, 'state=x'])('cannot be %p', (value) => {
    expect(problemsOf(value)).toEqual(['must be an object, such as { connection_id: "…" }']);
  });

  it('with a wrong value or name are explained by that alone', () => {
    expect(problemsOf({ state: 7 })).toEqual(['must hold strings']);
    expect(problemsOf({ 'a b': 'x' })).toEqual([
      'must name parameters as in the provider’s URL, such as connection_id',
    ]);
  });
});

describe('issuers', () => {
  it('can be one or several', () => {
    expect(v.parse(issuers, 'https://auth.example')).toEqual(['https://auth.example']);
    expect(v.parse(issuers, ['https://a.example', 'https://b.example'])).toEqual([
      'https://a.example',
      'https://b.example',
    ]);
  });
});

describe('a callback', () => {
  it.each(['fetch', 'onError', 'onEvent', 'now'])('%s must be a function', (name) => {
    expect(isGood({ [name]: () => undefined })).toBe(true);
    expect(messagesOf({ [name]: 'a function' })).toEqual([expect.stringMatching(/^must be a function: \(/)]);
  });
});

describe('a coordinator', () => {
  const names = ['read', 'merge', 'take', 'settle'];
  const whole = Object.fromEntries(names.map((name) => [name, () => undefined]));

  it('is any object with the four functions', () => {
    expect(isGood({ coordinator: whole })).toBe(true);
  });

  it.each([null, 'redis', 7, () => whole, {}])('cannot be %p', (coordinator) => {
    expect(messagesOf({ coordinator })).toEqual(['must be a coordinator, such as createRedisCoordinator() makes']);
  });

  it.each(names)('cannot be without %s', (name) => {
    expect(isGood({ coordinator: { ...whole, [name]: undefined } })).toBe(false);
  });
});

describe('the cookie', () => {
  const days400 = 400 * 24 * 60 * 60;

  it('has safe attributes by default', () => {
    expect(cookieAttributes()).toEqual({
      domain: undefined,
      path: '/',
      sameSite: 'lax',
      httpOnly: true,
      maxAge: days400,
    });
  });

  it('uses the given values', () => {
    const given = { domain: 'example.com', path: '/app', sameSite: 'strict', httpOnly: false, maxAge: 60 } as const;
    expect(cookieAttributes({ ...given, secure: false })).toEqual({ ...given, secure: false });
  });

  it('expires with the browser session if its lifetime is null', () => {
    expect(cookieAttributes({ maxAge: null }).maxAge).toBeUndefined();
  });

  it('is Secure if other sites may send it, whatever was given', () => {
    expect(cookieAttributes({ sameSite: 'none', secure: false }).secure).toBe(true);
    expect(cookieAttributes({ secure: true }).secure).toBe(true);
    expect('secure' in cookieAttributes({ sameSite: 'lax' })).toBe(false);
  });

  it.each([
    ['__Host-session', true],
    ['__secure-session', true],
    ['session__Host-', false],
    ['__Hostsession', false],
  ])('is Secure if browsers ask for it by the start of its name: %s', (name, secure) => {
    expect(cookieAttributes({ secure: false }, name).secure).toBe(secure);
  });

  const attributes = v.strictObject(cookieEntries);
  const isAccepted = (given: object): boolean => v.safeParse(attributes, given).success;

  it.each([{ domain: 'example.com' }, { domain: '.example.com' }, { domain: 'a-b.example' }, { path: '/app/(x)' }])(
    'may have %j',
    (given) => expect(isAccepted(given)).toBe(true),
  );

  const write = { name: 'session', value: 'x' };

  it.each([
    { domain: '-a.example' },
    { domain: 'a-.example' },
    { domain: `${'a'.repeat(64)}.example` },
    { domain: 'bücher.example' },
    { domain: 'example.com.' },
    { path: '/ä' },
    { path: '/<id>' },
    { path: '/a;b' },
    { path: '/\u007f' },
  ])('cannot have %j, with which no cookie can be written', (given) => {
    expect(isAccepted(given)).toBe(false);
    expect(() => serializeCookie(write, { ...cookieAttributes(given), secure: true })).toThrow(TypeError);
  });

  it.each(['app', '', '/a b'])('cannot have the path %j', (path) => expect(isAccepted({ path })).toBe(false));

  it('can be written with each domain and path that is accepted', () => {
    const given = fc.record({
      domain: fc.domain(),
      path: fc.string({ unit: 'binary-ascii' }).map((rest) => `/${rest}`),
    });
    fc.assert(
      fc.property(given, (chosen) => {
        fc.pre(isAccepted(chosen));
        serializeCookie(write, { ...cookieAttributes(chosen), secure: true });
      }),
      { numRuns: 500 },
    );
  });
});
