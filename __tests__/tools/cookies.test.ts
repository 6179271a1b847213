import { parseSetCookie } from 'cookie';
import fc from 'fast-check';
import { createCookieFinder, encodeCookieValue, parseCookies, serializeCookie } from '../../lib/tools/cookies.ts';
import type { CookieAttributes } from '../../lib/tools/cookies.ts';
import { httpStateTests, skipped, unquoted } from '../others/http-state.ts';
import type { HttpStateTest } from '../others/http-state.ts';
import { casesNamed } from '../others/proof.ts';
import { charactersRead } from '../support/effort.ts';

const findCookie = (header: string, name: string): string | undefined => createCookieFinder(name)(header);

const attributes: CookieAttributes = { path: '/', sameSite: 'lax', secure: true, httpOnly: true, maxAge: 3600 };
const cookieName = fc.stringMatching(/^[A-Za-z0-9_.-]{1,20}$/);
const headerish = fc
  .array(fc.constantFrom('a', 'b', '=', ';', ' ', '\t', '"', '%', '%20', '%3B', '__proto__'))
  .map((p) => p.join(''));

describe('parseCookies', () => {
  it('keeps every value of every name in the order sent', () => {
    const cookies = parseCookies('a=1; b=2; a=3;c=; a=1');
    expect([...cookies]).toEqual([
      ['a', ['1', '3', '1']],
      ['b', ['2']],
      ['c', ['']],
    ]);
  });

  it('returns no cookies without a header', () => {
    expect(parseCookies(undefined).size).toBe(0);
    expect(parseCookies('').size).toBe(0);
  });

  it('decodes after splitting, so that an encoded separator starts no cookie', () => {
    expect([...parseCookies('a=x%3B%20b=y')]).toEqual([['a', ['x; b=y']]]);
  });

  it('keeps a value that cannot be decoded as it is', () => {
    expect(parseCookies('a=100%; b=%E0%A4%A; c=%zz').get('b')).toEqual(['%E0%A4%A']);
  });

  it('strips one pair of quotes and the blanks around names and values', () => {
    expect(parseCookies(' a =\t"x y" ; b="; c=""; d="\\"').get('a')).toEqual(['x y']);
    expect(parseCookies('b="; c=""; e="x').get('b')).toEqual(['"']);
    expect(parseCookies('b="; c=""; e="x').get('c')).toEqual(['']);
    expect(parseCookies('b="; c=""; e="x').get('e')).toEqual(['"x']);
    expect(parseCookies('f=x"; g="').get('f')).toEqual(['x"']);
  });

  it('skips pairs without a name or an equals sign', () => {
    expect([...parseCookies('a; =b; ;; =; c=d=e')]).toEqual([['c', ['d=e']]]);
  });

  it('skips names that no response can set, so that each cookie that is read can be deleted', () => {
    expect([...parseCookies('a b=1; c\td=2; é=3; \x7f=4; e\0=5; good=6; "q"=7').keys()]).toEqual(['good', '"q"']);
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (header) => {
        for (const name of parseCookies(header).keys()) serializeCookie({ name, value: undefined }, attributes);
      }),
    );
  });

  it('accepts names that objects inherit as names of cookies', () => {
    const cookies = parseCookies('__proto__=1; hasOwnProperty=2; constructor=3; session=good');
    expect(cookies.get('__proto__')).toEqual(['1']);
    expect(cookies.get('hasOwnProperty')).toEqual(['2']);
    expect(cookies.get('session')).toEqual(['good']);
    expect(cookies.get('toString')).toBeUndefined();
  });

  it('never throws', () => {
    fc.assert(fc.property(fc.oneof(headerish, fc.string({ unit: 'binary' })), (header) => void parseCookies(header)));
  });

  const units = [';', '=', ' ', '\t', 'a', 'a;', 'a=;', '"', '%', 'a= ', '; a="%', ' a', 'xa=', 'a=a=  '];

  it.each(units)('scales linearly with the length of the header: %j', (unit) => {
    const effort = (length: number): number => {
      const header = unit.repeat(length);
      return charactersRead(() => {
        parseCookies(header);
        findCookie(header, 'a');
        findCookie(` ${header}`, 'session');
      });
    };
    expect(effort(1000)).toBeGreaterThan(1000);
    expect(effort(4000)).toBeLessThan(4.1 * effort(1000));
  });

  it('finds the cookies in a header of thirty thousand characters', () => {
    expect(parseCookies('a=;'.repeat(10_000)).get('a')).toHaveLength(10_000);
    expect(parseCookies(`${' '.repeat(29_990)}a=1`).get('a')).toEqual(['1']);
    expect(findCookie(`${'xa=;'.repeat(7500)}a=1`, 'a')).toBe('1');
  });
});

describe('createCookieFinder', () => {
  it('finds the first cookie of exactly that name', () => {
    expect(findCookie('a=1; session=one; session=two', 'session')).toBe('one');
    expect(findCookie('session=one', 'session')).toBe('one');
    expect(findCookie('a=1;\t session= one ;b=2', 'session')).toBe('one');
  });

  it('ignores other names and values', () => {
    expect(findCookie('xsession=1; a=session=2; b= session=3; session.0=4; session', 'session')).toBeUndefined();
    expect(findCookie('a=session=2; session=good', 'session')).toBe('good');
    expect(findCookie('sessionsession=1', 'session')).toBeUndefined();
  });

  it('returns the raw value', () => {
    expect(findCookie('session="a%20b"', 'session')).toBe('"a%20b"');
  });

  it('finds the same as a full parse', () => {
    fc.assert(
      fc.property(headerish, (header) => {
        // The fast search accepts no blanks before the equals sign; a full parse does.
        fc.pre(!/[ \t]=/.test(header));
        const raw = findCookie(header, 'a');
        const [first] = parseCookies(header).get('a') ?? [];
        expect(raw === undefined ? undefined : parseCookies(`a=${raw}`).get('a')?.[0]).toBe(first);
      }),
    );
  });
});

describe('serializeCookie', () => {
  it('writes all attributes', () => {
    const cookie = serializeCookie({ name: 'session', value: 'v' }, { ...attributes, domain: 'example.com' });
    expect(parseSetCookie(cookie)).toEqual({
      name: 'session',
      value: 'v',
      domain: 'example.com',
      path: '/',
      sameSite: 'lax',
      secure: true,
      httpOnly: true,
      maxAge: 3600,
    });
  });

  it('writes no lifetime for a cookie that ends with the browser session', () => {
    const cookie = serializeCookie({ name: 'session', value: 'v' }, { ...attributes, maxAge: undefined });
    expect(cookie).not.toMatch(/max-age|expires/i);
  });

  it('caps the lifetime at 400 days and writes whole seconds', () => {
    const maxAge = (seconds: number) =>
      parseSetCookie(serializeCookie({ name: 'a', value: 'v' }, { ...attributes, maxAge: seconds })).maxAge;
    expect(maxAge(10 ** 9)).toBe(34_560_000);
    expect(maxAge(Infinity)).toBe(34_560_000);
    expect(maxAge(1.9)).toBe(1);
  });

  it('deletes with an empty value, both expiries, and every attribute repeated', () => {
    const adapter = { ...attributes, domain: 'example.com', sameSite: 'none' } as const;
    const cookie = serializeCookie({ name: 'session', value: undefined }, adapter);
    expect(parseSetCookie(cookie)).toEqual({
      name: 'session',
      value: '',
      maxAge: 0,
      expires: new Date(0),
      domain: 'example.com',
      path: '/',
      sameSite: 'none',
      secure: true,
      httpOnly: true,
    });
  });

  it('prefers the attributes of the cookie', () => {
    const write = { name: 'flow', value: 'v', attributes: { path: '/callback', maxAge: 600, domain: undefined } };
    expect(serializeCookie(write, { ...attributes, domain: 'example.com' })).toBe(
      'flow=v; Max-Age=600; Path=/callback; HttpOnly; Secure; SameSite=Lax',
    );
  });

  it('leaves a seal and base64url as they are', () => {
    const seal = 'Fe26.2*1*0a1b*AZaz09-_*_-x*1700000000000*ff*Zz~2';
    expect(serializeCookie({ name: 's', value: seal }, attributes)).toContain(`s=${seal};`);
    expect(serializeCookie({ name: 's', value: 'a/b+c=d:e' }, attributes)).toContain('s=a/b+c=d:e;');
  });

  it('round-trips any value', () => {
    fc.assert(
      fc.property(cookieName, fc.string({ unit: 'grapheme' }), fc.string({ unit: 'binary' }), (name, a, b) => {
        for (const value of [a, b, `"${a}"`, ` ${b}%`]) {
          const [pair = ''] = serializeCookie({ name, value }, attributes).split(';');
          expect(
            parseCookies(`x=1; ${pair}; y=2`)
              .get(name)
              ?.at(name === 'y' ? 0 : -1),
          ).toBe(value);
        }
      }),
    );
  });

  it('replaces a lone surrogate, which cannot be encoded', () => {
    expect(decodeURIComponent(encodeCookieValue('a\uD800b\uDC00 \u{1F600}'))).toBe('a\uFFFDb\uFFFD \u{1F600}');
  });

  it.each(['a\r\nSet-Cookie: b=c', 'a;b', 'a b', 'a=b', ''])('refuses the name %j', (name) => {
    expect(() => serializeCookie({ name, value: 'v' }, attributes)).toThrow(TypeError);
  });

  it('encodes control characters and separators in a value', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (value) => {
        const [pair = '', ...rest] = serializeCookie({ name: 'a', value }, attributes).split('; ');
        expect(pair).toMatch(/^a=[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]*$/);
        expect(rest).toEqual(['Max-Age=3600', 'Path=/', 'HttpOnly', 'Secure', 'SameSite=Lax']);
      }),
    );
  });
});

describe('the tests of the http-state working group', () => {
  const isListed = (tests: readonly string[], { test }: HttpStateTest): boolean => tests.includes(test);
  const pairsOf = (header: string): [string, string][] =>
    [...parseCookies(header)].flatMap(([name, values]) => values.map((value): [string, string] => [name, value]));

  it('hold as many cookies as docs/contributing/proofs.md says', () => {
    expect(casesNamed('http-state')).toBe(httpStateTests.flatMap(({ sent }) => sent).length);
  });

  it.each(httpStateTests)('$test is read as sent, but for the differences that are listed', (test) => {
    const expected = test.sent.map(({ name, value }): [string, string] => [
      name,
      isListed(unquoted, test) ? value.replace(/^"(.*)"$/, '$1') : value,
    ]);
    expect(pairsOf(test.header)).toEqual(isListed(skipped, test) ? [] : expected);
  });

  it.each(httpStateTests)('$test has its raw value found', ({ header, sent }) => {
    for (const { name } of sent) expect(findCookie(header, name)).toBe(sent.find((pair) => pair.name === name)?.value);
  });
});
