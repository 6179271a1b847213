import type { CookieAttributes } from '../../lib/tools/cookies.ts';
import { cookieProblems, readHostCookies, toHostCookie } from '../../lib/http/cookie-jar.ts';

const cookieOptions: Omit<CookieAttributes, 'secure'> = { path: '/', sameSite: 'lax', httpOnly: true, maxAge: 60 };
const adapter = { cookieName: 'session', cookieOptions };

/** Adapters whose cookies of a sign-in in progress keep their names, and whether the origin is https. */
const unprefixed: [string, typeof adapter, boolean][] = [
  ['the origin is http', adapter, false],
  ['a domain is set', { ...adapter, cookieOptions: { ...cookieOptions, domain: 'example.com' } }, true],
  ['httpOnly is false', { ...adapter, cookieOptions: { ...cookieOptions, httpOnly: false } }, true],
  ['the session cookie has the prefix already', { ...adapter, cookieName: '__Host-session' }, true],
  [
    'a domain is set and the origin is http',
    { ...adapter, cookieOptions: { ...cookieOptions, domain: 'example.com' } },
    false,
  ],
];

describe('a cookie of a sign-in in progress', () => {
  const attributes = { maxAge: 600, path: '/auth', secure: false, domain: 'example.com', sameSite: 'lax' } as const;

  it('is sent with the prefix over https, for this host and all its paths', () => {
    expect(toHostCookie({ name: 'session-flow-1', value: 'x', attributes }, adapter, true)).toEqual({
      name: '__Host-session-flow-1',
      value: 'x',
      attributes: { maxAge: 600, sameSite: 'lax', path: '/', secure: true, domain: undefined },
    });
  });

  it('is read under its own name over https, and only if it came with the prefix', () => {
    const sent = new Map([
      ['session', ['s']],
      ['session-flow-1', ['tossed']],
      ['__Host-session-flow-2', ['own', 'twice']],
      ['__Host-other-flow', ['o']],
      ['other-session-', ['p']],
    ]);
    expect([...readHostCookies(sent, adapter, true)]).toEqual([
      ['session', ['s']],
      ['session-flow-2', ['own', 'twice']],
      ['__Host-other-flow', ['o']],
      ['other-session-', ['p']],
    ]);
  });

  it.each(unprefixed)('keeps its name, its attributes and what was sent where %s', (_where, other, isSecure) => {
    const write = { name: `${other.cookieName}-flow-1`, value: 'x', attributes };
    expect(toHostCookie(write, other, isSecure)).toBe(write);
    const sent = new Map([
      [write.name, ['x']],
      [`__Host-${write.name}`, ['y']],
    ]);
    expect([...readHostCookies(sent, other, isSecure)]).toEqual([...sent]);
  });
});

it.each(['session', 'session.0', 'sessions-flow-1'])('the cookie %s keeps its name over https', (name) => {
  const write = { name, value: 'x', attributes: { path: '/auth' } };
  expect(toHostCookie(write, adapter, true)).toBe(write);
});

describe('cookieOptions that browsers would refuse with the prefix of cookieName', () => {
  const whole = { domain: 'example.com', path: '/app', secure: false };
  const because = (prefix: string): string => `where cookieName starts with ${prefix}, or browsers drop the cookie`;

  it.each(['__Host-', '__host-', '__HOST-'])('are all named for %s', (prefix) => {
    expect(cookieProblems({ cookieName: `${prefix}session`, cookieOptions: whole })).toEqual([
      `cookieOptions.domain must be left out ${because(prefix)}`,
      `cookieOptions.path must be '/' ${because(prefix)}`,
      `cookieOptions.secure must not be false ${because(prefix)}`,
    ]);
  });

  it.each(['__Secure-', '__SECURE-'])('are only secure: false for %s', (prefix) => {
    const expected = [`cookieOptions.secure must not be false ${because(prefix)}`];
    expect(cookieProblems({ cookieName: `${prefix}session`, cookieOptions: whole })).toEqual(expected);
  });

  it.each([{}, { path: '/' }, { secure: true }, { path: '/', secure: true, domain: undefined }, null, undefined])(
    'are none in %j',
    (given) => {
      expect(cookieProblems({ cookieName: '__Host-session', cookieOptions: given })).toEqual([]);
    },
  );

  it.each(['session', '_Host-session', 'my__Host-session', '__Hosts', undefined, 7, ['__Host-session']])(
    'are none with the name %j, which has no prefix',
    (cookieName) => {
      expect(cookieProblems({ cookieName, cookieOptions: whole })).toEqual([]);
    },
  );
});
