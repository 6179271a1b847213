import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { createPathMatcher } from '../../lib/tools/paths/path-matcher.ts';
import { MAX_RETURN_TO_LENGTH, sanitizeReturnTo } from '../../lib/tools/paths/return-to.ts';
import { everySpelling } from '../others/redirects.ts';
import { checkInputs } from '../support/inputs.ts';

const ownRoutes = ['/login', '/auth/session', '/Callback'];
const options = { fallback: '/home', isOwnRoute: createPathMatcher(ownRoutes) };
const sanitize = (value: unknown) => sanitizeReturnTo(value, options);

/** Strings from open redirects in other libraries, and from the parsers that caused them. */
const hostile = [
  '',
  '/login',
  'dashboard',
  'https://evil.example',
  'https:evil.example',
  'https:/evil.example',
  'http:/\\evil.example',
  'javascript:alert(1)',
  'JaVaScRiPt:alert(1)',
  'data:text/html,x',
  '//evil.example',
  '//return-to.invalid/a',
  '/\\return-to.invalid/a',
  '/.//return-to.invalid/a',
  '///evil.example',
  '////evil.example',
  '/\\evil.example',
  '\\/evil.example',
  '\\\\evil.example',
  '/\\/evil.example',
  '//\\evil.example',
  '/\t/evil.example',
  '/\n/evil.example',
  '/\r\n/evil.example',
  '\t//evil.example',
  ' //evil.example',
  '/ /evil.example',
  '/\0/evil.example',
  '/\x7f/evil.example',
  '/\x85/evil.example',
  '/\u2028/evil.example',
  '/\xa0/evil.example',
  '/\ufeff/evil.example',
  '/%09/evil.example',
  '/%0a/evil.example',
  '/%0d%0a/evil.example',
  '/%2f/evil.example',
  '/%2F%2Fevil.example',
  '/%5cevil.example',
  '/%5C/evil.example',
  '/%252fevil.example',
  '/%255cevil.example',
  '/%2509/evil.example',
  '/%20/evil.example',
  '/.//evil.example',
  '/..//evil.example',
  '/./\\evil.example',
  '/%2e//evil.example',
  '/%2e%2e//evil.example',
  '/.%2E//evil.example',
  '/a/..//evil.example',
  '/a/../..//evil.example',
  '/a/%2e%2e//evil.example',
  '/./%2fevil.example',
  '/a/..%2f/evil.example/..//evil.example',
  '/../%5cevil.example',
  '/x\\..\\..\\\\evil.example',
  '/a\\b',
  '@evil.example',
  ':80/',
  '?x',
  '#x',
  '*',
  'undefined',
  '/a\r\nSet-Cookie: x=1',
  '/a\nb',
  '/a\0',
  '/\ud800',
  '/a\udc00b',
  '/?q=\ud800',
  '/%2523/..%2f/evil.example',
  `${'/%252e'.repeat(9)}/login`,
  `/${'a/../'.repeat(500)}b`,
  `/${'a'.repeat(3000)}`,
  `/${'é'.repeat(400)}`,
  `/?${' '.repeat(700)}x`,
];
const hostileParts = fc.constantFrom(
  '/',
  '//',
  '\\',
  '.',
  '..',
  '%2e',
  '%2E%2e',
  '%2f',
  '%5c',
  '%252f',
  '%09',
  '\t',
  '\n',
  '\r',
  '\0',
  ' ',
  '\xa0',
  '\u2028',
  '／',
  '。',
  '@',
  ':',
  '?',
  '#',
  ';',
  'evil.example',
  'http:',
  'javascript:',
  'login',
  'LOGIN',
  '%6cogin',
  'auth',
  'session',
  'a',
  'é',
  '\ud800',
  '%',
  '%zz',
  '[',
  '[::1]',
  '%00',
);
const anything = fc.oneof(
  fc.array(hostileParts, { maxLength: 8 }).map((parts) => parts.join('')),
  fc.array(hostileParts, { maxLength: 8 }).map((parts) => `/${parts.join('')}`),
  fc.string({ unit: 'binary' }).map((text) => `/${text}`),
  fc.webUrl({ withQueryParameters: true, withFragments: true }),
  fc.constantFrom(...hostile),
  fc.anything(),
);

/** The routes of an Express app that would answer, computed without the matcher. */
function isPlainlyOwn(path: string): boolean {
  const bare = path
    .replace(/[?#].*$/, '')
    .replaceAll(/\/+/g, '/')
    .replace(/(?<=.)\/$/, '')
    .toLowerCase();
  return ownRoutes.some((route) => route.toLowerCase() === bare);
}

describe('sanitizeReturnTo', () => {
  it.each([
    '/',
    '/a',
    '/a/b/',
    '/a?',
    '/a#',
    '/a?b=c&d#e',
    '/a?next=http://x',
    '/a?next=//x',
    '/caf%C3%A9',
    '/search?q=a%20b',
    '/search?q=a+b',
    '/a%2Fb',
    '/%7Efoo',
    "/~foo/-_.!$&'()*+,;=:@",
    '/a?x=%0A%0D',
    '/a?p=c:\\x',
    '/a?x=/../y#//z',
    '/a//b',
    '/a;v=1',
    '/login/help',
    '/logins',
    '/auth',
    '/?login',
    '/?a=/login',
    '/#/login',
    '/100%25',
    '/a%',
    '/.well-known/x',
    '/[a]',
    `/${'a'.repeat(MAX_RETURN_TO_LENGTH - 1)}`,
  ])('returns %s unchanged', (value) => {
    expect(sanitize(value)).toBe(value);
  });

  it.each([
    ['/café', '/caf%C3%A9'],
    ['/search?q=a b', '/search?q=a%20b'],
    ['/a?q=é#ü', '/a?q=%C3%A9#%C3%BC'],
    ['/日本/😀', '/%E6%97%A5%E6%9C%AC/%F0%9F%98%80'],
    ['/a/../b', '/b'],
    ['/a/./b/%2e%2e/c', '/a/c'],
    ['/a b/"<c>"', '/a%20b/%22%3Cc%3E%22'],
  ])('encodes %s for a header as a browser would: %s', (value, expected) => {
    expect(sanitize(value)).toBe(expected);
  });

  it.each(hostile)('falls back for %j', (value) => {
    expect(sanitize(value)).toBe('/home');
  });

  it.each([
    undefined,
    null,
    0,
    7,
    true,
    {},
    [],
    ['/a'],
    ['/a', '/b'],
    { toString: () => '/a' },
    Symbol('/a'),
    () => '/a',
    new String('/a'),
    7n,
  ])('falls back for %p, which is not a string', (value) => {
    expect(sanitize(value)).toBe('/home');
  });

  it.each([
    '/login',
    '/login/',
    '/login?returnTo=/a',
    '/login#x',
    '/LOGIN',
    '/%6cogin',
    '/%256cogin',
    '/a/../login',
    '/a/%2e%2e/login',
    '/a%2f..%2flogin',
    '/login//',
    '/login/.',
    '/login;v=1',
    '/login%00',
    '/login%20',
    '/login%3Fx',
    '/./login',
    '/auth/session',
    '/auth//session',
    '/auth%2fsession',
    '/auth/x/../session',
    '/auth%5csession',
    '/auth/x%2f..%2fsession',
    '/callback',
    '/Callback',
  ])('never returns to %s, a route of its own', (value) => {
    expect(sanitize(value)).toBe('/home');
  });

  it('passes every reading of the path to a simple comparison, so that nothing slips past it', () => {
    const simple = { fallback: '/home', isOwnRoute: (path: string) => path === '/login' };
    for (const value of ['/login', '/LOGIN/', '/%6Cogin', '/a%2f..//login', '/%256cogin?x', '/login;x']) {
      expect([value, sanitizeReturnTo(value, simple)]).toEqual([value, '/home']);
    }
    expect(sanitizeReturnTo('/a', simple)).toBe('/a');
    // Too many readings to pass on all of them.
    expect(sanitizeReturnTo(`${'/%252e'.repeat(9)}/a`, simple)).toBe('/home');
    expect(sanitizeReturnTo('/Login', { ...simple, isOwnRoute: (path) => path === '/Login' })).toBe('/home');
  });

  it('measures the characters that will be sent', () => {
    expect(sanitize(`/${'a'.repeat(2048)}`)).toBe('/home');
    const spaced = `/?${' '.repeat(681)}abc`;
    expect(sanitize(spaced)).toHaveLength(MAX_RETURN_TO_LENGTH);
    expect(sanitize(`${spaced}d`)).toBe('/home');
  });

  it('answers anything with a printable root-relative path of this origin, never with a route of its own', async () => {
    await checkInputs(
      fc.property(anything, (value) => {
        const path = sanitize(value);
        expect(path).toMatch(/^\/(?![/\\])[\x21-\x7e]*$/);
        expect(path.length).toBeLessThanOrEqual(MAX_RETURN_TO_LENGTH);
        for (const origin of ['http://app.example', 'https://app.example:8443', 'http://[::1]:3000']) {
          expect(new URL(path, origin).origin).toBe(origin);
          expect(new URL(path, `${origin}/deep/page?x`).href).toBe(origin + path);
        }
        for (const reading of [
          path,
          decodeURIComponentOrSame(path),
          decodeURIComponentOrSame(decodeURIComponentOrSame(path)),
        ]) {
          expect(reading).not.toMatch(/^\/[\s\0-\x1f]*[/\\]/);
          expect([path, isPlainlyOwn(reading)]).toEqual([path, false]);
        }
      }),
      { least: 3_000, variable: 'RETURN_TO_RUNS' },
    );
  });

  it('returns the same when it is called with its own result', async () => {
    await checkInputs(
      fc.property(anything, (value) => {
        expect(sanitize(sanitize(value))).toBe(sanitize(value));
      }),
      { least: 1_000, variable: 'RETURN_TO_RUNS' },
    );
  });

  it('returns the URLs of a browser’s address bar unchanged', () => {
    const words = fc.string({
      unit: fc.constantFrom('a', 'b', 'X', '0', '-', '_', '~', 'é', 'ß', '日', '😀', ' ', '&', '=', '+'),
      minLength: 1,
      maxLength: 12,
    });
    const page = fc.record({
      path: fc.array(words),
      query: fc.dictionary(words, words, { maxKeys: 3 }),
      hash: fc.option(words),
    });
    fc.assert(
      fc.property(page, ({ path, query, hash }) => {
        const url = new URL(`https://app.example/${path.map(encodeURIComponent).join('/')}`);
        for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
        if (hash !== null) url.hash = hash;
        const inBar = url.href.slice(url.origin.length);
        fc.pre(inBar.length <= MAX_RETURN_TO_LENGTH && !/^\/(?:%20)*\//.test(inBar));
        expect(sanitize(inBar)).toBe(inBar);
      }),
    );
  });
});

function decodeURIComponentOrSame(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

it('lets no payload or test of others leave the origin, however it is spelled', () => {
  const page = 'https://app.example.com/auth/login';
  const spelled = everySpelling();
  const answers = new Set(spelled.map((value) => sanitize(value)));
  // Other code may decode a path before it redirects.
  const leaving = [...answers].filter((answer) =>
    [answer, decodeURIComponentOrSame(answer)].some((path) => URL.parse(path, page)?.origin !== new URL(page).origin),
  );
  expect(leaving).toEqual([]);
  // Most are refused. As many paths remain.
  expect(readFileSync('docs/contributing/proofs.md', 'utf8')).toContain(spelled.length.toLocaleString('en-US'));
  expect(answers.size).toBeGreaterThan(15_000);
});
