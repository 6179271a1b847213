import { decodeLeniently, foldCase, pathReadings, requestPath } from '../../lib/tools/paths/request-path.ts';

describe('the path of a request target', () => {
  it.each([
    ['/a/b?c#d', '/a/b'],
    ['/a#d?c', '/a'],
    ['/', '/'],
    ['http://app.example', '/'],
    ['http://app.example?a', '/'],
    ['HTTPS://[::1]:3000/a/b?c', '/a/b'],
    ['*', '/*'],
    ['', '/'],
    ['?a', '/'],
    ['#a?b', '/'],
  ])('of %j is %s', (target, path) => {
    expect(requestPath(target)).toBe(path);
  });

  it.each(['a/b', '**', '*/a', 'http://a:b@app.example/a', 'http://app.example:x/a', 'ftp://app.example/a', 'x?a'])(
    'is undefined for %j, on which parsers disagree',
    (target) => {
      expect(requestPath(target)).toBeUndefined();
    },
  );
});

describe('the readings of a path', () => {
  it('are computed up to 4,096 characters and 8 dot segments, and no further', () => {
    expect(pathReadings(`/%61${'a'.repeat(4092)}`)).toContain(`/${'a'.repeat(4093)}`);
    expect(pathReadings(`/%61${'a'.repeat(4093)}`)).toBeUndefined();
    expect(pathReadings(`${'/x/..'.repeat(8)}/login`)).toContain('/login');
    expect(pathReadings(`${'/x/..'.repeat(9)}/login`)).toBeUndefined();
  });

  it('count an empty segment both as one that ".." removes, and as none', () => {
    const readings = pathReadings('/a//../b');
    expect(readings).toContain('/a/b');
    expect(readings).toContain('/b');
  });

  it('treat as a host only the text after two or more slashes at the beginning', () => {
    expect(pathReadings('//host/a')).toContain('/a');
    expect(pathReadings('///host/a')).toContain('/a');
    expect(pathReadings('/a//host/b')).not.toContain('/a/b');
  });

  it('decode bytes of UTF-8 that Node reads as Latin-1', () => {
    expect(pathReadings(Buffer.from('/café').toString('latin1'))).toContain('/café');
  });

  it('treat composed and decomposed letters as the same', () => {
    expect(pathReadings('/cafe\u0301')).toContain('/caf\u00e9');
  });
});

describe('one form for all letter cases', () => {
  it('is the same for every form of sigma, and differs without one', () => {
    expect(new Set(['ΟΔΟΣ', 'οδος', 'οδοσ'].map(foldCase)).size).toBe(1);
    expect(foldCase('οδος')).not.toBe(foldCase('οδο'));
  });

  it('also joins letters that are the same in upper case only', () => {
    expect(foldCase('/paſs')).toBe('/pass');
    expect(foldCase('/ADMIN')).toBe('/admin');
  });
});

describe('lenient decoding', () => {
  it.each([
    ['/a%20b', '/a b'],
    ['/100%', '/100%'],
    ['/%61%zz', '/a%zz'],
    ['/%c3%a9%zz', '/é%zz'],
    ['/%41%ff', '/A%ff'],
    ['/%C3%2F', '/%C3/'],
    ['/%7F%80', '/\x7f%80'],
    ['/%2e%FE%2E', '/.%FE.'],
  ])('decodes %s to %j', (text, decoded) => {
    expect(decodeLeniently(text)).toBe(decoded);
  });
});
