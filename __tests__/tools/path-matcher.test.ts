import fc from 'fast-check';
import {
  createPathMatcher,
  isReachableUnder,
  patternProblem,
  widenForConnect,
} from '../../lib/tools/paths/path-matcher.ts';

const isMatchedBy = (pattern: string, target: string) => createPathMatcher([pattern])(target);

describe('patternProblem', () => {
  it.each([
    '/',
    '/dashboard',
    '/dashboard/',
    '/dashboard(.*)',
    '/dashboard/(.*)',
    '/(.*)',
    '/:id',
    '/users/:id/files/:file.pdf',
  ])('finds nothing wrong with %s', (pattern) => {
    expect(patternProblem(pattern)).toBeUndefined();
  });

  it.each([
    '/:id(.*)',
    '/a/:b/(.*)',
    '/:from-:to',
    '/café',
    '/caf%C3%A9',
    '/a b',
    '/a%28b%29',
    '/.well-known/(.*)',
    '/100%',
  ])('finds nothing wrong with %s', (pattern) => {
    expect(patternProblem(pattern)).toBeUndefined();
  });

  it.each([
    [undefined, 'must be a string'],
    [/x/, 'must be a string'],
    ['', 'must start with "/": write "/"'],
    ['dashboard', 'write "/dashboard"'],
    ['(.*)', 'write "/(.*)"'],
    ['https://example.com/dashboard', 'is a URL'],
    ['h2c://example.com', 'is a URL'],
    ['/to/http://example.com', 'an empty segment'],
    [' dashboard ', 'write "/dashboard"'],
    ['/a(.*)/b', '"(.*)" before its end'],
    ['/a(.*)(.*)', '"(.*)" before its end'],
    ['/a?', 'optional part, write two patterns'],
    ['/a?x=1', 'write the path alone'],
    ['/a#b', 'write the path alone'],
    ['/a/*', 'write "(.*)" at the end'],
    ['/a/*rest', 'write "(.*)" at the end'],
    ['/a{/:b}', 'write two patterns'],
    ['/a/:id(\\d+)', 'reserved character'],
    ['/a+', 'reserved character'],
    ['/[ab]', 'reserved character'],
    ['/!a', 'reserved character'],
    ['/:"a b"', 'reserved character'],
    ['/a\\b', 'a backslash or an encoded slash'],
    ['/a%5Cb', 'a backslash or an encoded slash'],
    ['/a%2Fb', 'a backslash or an encoded slash'],
    ['/a\n', 'control character'],
    ['/a%00', 'control character'],
    ['/a%7f', 'control character'],
    ['//a', 'an empty segment'],
    ['/a//(.*)', 'an empty segment'],
    ['/a/../b', '".." segment'],
    ['/a/%2e', '".." segment'],
    ['/a ', 'a blank at its end'],
    ['/a/:', 'a ":" without a name'],
    ['/a/:1', 'a ":" without a name'],
    ['/:a:b', 'a ":" without a name'],
  ])('explains what is wrong with %j', (pattern, problem) => {
    expect(patternProblem(pattern)).toContain(problem);
    expect(patternProblem(pattern)).toMatch(/^(A|The) path pattern .*\.$/);
  });

  it('never throws, and agrees with createPathMatcher', () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom('/', 'a', ':', ':x', '(.*)', '%', '%2e', '.', '{', '}', '\ud800', '\\', '"', 'é')),
        (parts) => {
          const pattern = parts.join('');
          const problem = patternProblem(pattern);
          if (problem === undefined) expect(createPathMatcher([pattern])('/a')).toEqual(expect.any(Boolean));
          else expect(() => createPathMatcher([pattern])).toThrow(new TypeError(problem));
        },
      ),
    );
  });
});

describe('createPathMatcher', () => {
  it.each([
    [
      '/dashboard',
      [
        '/dashboard',
        '/dashboard/',
        '/DashBoard',
        '/dashboard?x=/y',
        '/dashboard#x',
        'http://h/dashboard',
        'HTTPS://[::1]:80/dashboard?x',
      ],
    ],
    ['/dashboard/', ['/dashboard', '/dashboard/']],
    [
      '/dashboard(.*)',
      ['/dashboard', '/dashboard/', '/dashboards', '/dashboards/x', '/dashboard.json', '/DASHBOARD/a/b'],
    ],
    ['/dashboard/(.*)', ['/dashboard', '/dashboard/', '/dashboard/x', '/dashboard/x/y/']],
    ['/', ['/', '', '/?x', 'http://h', 'http://h?x', '//', '/.']],
    ['/(.*)', ['/', '/x', '/x/y', '*', '']],
    ['/users/:id', ['/users/7', '/users/7/', '/USERS/a.b', '/users/%20', '/users/..', '/users/a%2Fb', '/users/a\\b']],
    ['/users/:id/edit', ['/users/7/edit', '/users/a%2fb/edit']],
    ['/users/:id(.*)', ['/users/7', '/users/7/edit', '/users/7/']],
    ['/users/:id/(.*)', ['/users/7', '/users/7/', '/users/7/edit/x']],
    ['/users/:id/fi(.*)', ['/users/7/fi', '/users/7/files/x']],
    [
      '/:tenant/settings',
      ['/acme/settings', '/../settings', '/x%2f../settings', '/%2525/settings', '/;x\\settings', '//;x\\settings'],
    ],
    ['/:from-:to.html', ['/a-b.html', '/a-b-c.html']],
    ['/café', ['/caf%C3%A9', '/CAF%C3%89', '/caf\xe9', '/caf\xc3\xa9', '/cafe%CC%81', '/caf%25C3%25A9']],
    ['/caf%C3%A9', ['/caf%C3%A9', '/café']],
    ['/ΑΣ(.*)', ['/%CE%B1%CF%83', '/%CE%B1%CF%82', '/%CE%91%CE%A3x']],
    ['/ſtore', ['/store', '/%C5%BFtore', '/STORE']],
    ['/cafe\u0301', ['/caf%C3%A9', '/cafe%CC%81']],
    ['/a b', ['/a%20b']],
    ['/a;b/c', ['/a;b/c', '/a;b\\c', '/a;b//c']],
    ['/100%', ['/100%', '/100%25']],
  ])('matches for %s each of %j', (pattern, targets) => {
    expect(targets.filter((target) => !isMatchedBy(pattern, target))).toEqual([]);
  });

  it.each([
    [
      '/dashboard',
      [
        '/dashboards',
        '/dashboard/x',
        '/',
        '/dash',
        '/x/dashboard',
        '/?/dashboard',
        '/x?y=/../dashboard',
        'http://dashboard/',
      ],
    ],
    ['/dashboard(.*)', ['/dash', '/', '/x/dashboard', '/dash%20board']],
    ['/dashboard/(.*)', ['/dashboards', '/dashboard.json', '/dashboard-x/y']],
    ['/', ['/x', '/x/', '/%20x']],
    ['/users/:id', ['/users', '/users/', '/users/7/edit', '/users/a%20b/c', '/users/caf%C3%A9/edit', '/users?id=7']],
    ['/users/:id/edit', ['/users/edit', '/users/7/8/edit', '/users/7/edits', '/users/a%20b/c/edit']],
    ['/users/:id(.*)', ['/users', '/users/', '/usersx']],
    ['/users/:id/fi(.*)', ['/users/7/', '/users/fi', '/users/7/8/fi']],
    ['/:tenant/settings', ['/settings', '/a/b/settings', '/.well-known/x', '/%20/%20/settings']],
    ['/dashboard/x', ['/dashboard', '/dashboard/..', '/dashboard/%2e/y', '/a/%2e%2e/b%2fc']],
    ['/a(.*)', ['/b%2fa', '/b//a', '/b;a', '/b:a']],
  ])('does not match for %s any of %j', (pattern, targets) => {
    expect(targets.filter((target) => isMatchedBy(pattern, target))).toEqual([]);
  });

  it.each([
    ['doubled slashes', ['//dashboard/x', '/dashboard//x', '///dashboard///x//']],
    [
      'dot segments',
      ['/./dashboard/x', '/a/../dashboard/x', '/dashboard/a/../x', '/dashboard/./x/.', '/../dashboard/x'],
    ],
    [
      'dot segments after doubled slashes, resolved in either order',
      ['/a//../dashboard/x', '/dashboard//../x', '/dashboard/x/a//..'],
    ],
    [
      'percent-encodings',
      ['/%64ashboard/x', '/dashboard/%78', '/dashboard%2fx', '/%2fdashboard/x', '/%2e/dashboard/%2E%2e/dashboard/x'],
    ],
    ['twofold encodings', ['/%2564ashboard/x', '/dashboard%252fx', '/a/%252e%252e/dashboard/x']],
    ['encodings beside a broken one', ['/%zz/../%64ashboard/x', '/%ff/%2e./dashboard/x', '/%ff%2f..%2fdashboard/x']],
    ['backslashes', ['/dashboard\\x', '\\dashboard\\x', '/a\\..\\dashboard/x', '/dashboard%5cx', '/dashboard%255Cx']],
    [
      'absolute-form targets',
      [
        'http://h/dashboard/x',
        'http://h//dashboard/x',
        'http://h:1/a/../dashboard/x?y',
        'https://h-1.example/dashboard%2fx',
      ],
    ],
    ['path parameters', ['/dashboard;v=1/x', '/dashboard/x;a;b', '/;a/../dashboard/x', '/dashboard%3bv/x']],
    [
      'what Windows ignores',
      ['/dashboard./x', '/dashboard/x..', '/dashboard%20/x%20.', '/dashboard/x::$DATA', '/dashboard/x:stream'],
    ],
    ['blanks that Express trims', ['/dashboard/x\xa0', '/dashboard/x\ufeff#', '\xa0/dashboard/x', '/dashboard/x%20']],
    ['controls', ['/dashboard/x%00', '/dashboard/x%00.html', '/dash%09board/x', '/dashboard/%0ax']],
    ['an encoded query or fragment', ['/dashboard/x%3fy', '/dashboard/x%23y', '/dashboard/x%253Fy/../z']],
    ['a path behind two slashes and a host', ['//host/dashboard/x', '/\\host/dashboard/x', '/%2fhost/dashboard/x']],
  ])('handles %s', (_name, targets) => {
    expect(targets.filter((target) => !isMatchedBy('/dashboard/x', target))).toEqual([]);
  });

  it('lets a parameter contain dots if a file server resolves the others', () => {
    const isProtected = createPathMatcher(['/:a/:b/deep/leaf.html']);
    for (const target of [
      '/../../deep/q/../leaf.html',
      '/x/../deep/leaf.html',
      '/./x%2f../q/..%2fdeep/leaf.html',
      '/;/\\/q/../deep/leaf.html\xa0',
    ]) {
      expect([target, isProtected(target)]).toEqual([target, true]);
    }
  });

  it.each([
    ['a user in its origin', 'http://user@h/public'],
    ['a host that parsers cut differently', 'http://a:b/public'],
    ['no host', 'http:///public'],
    ['a backslash in its origin', 'http://h\\public'],
    ['a foreign scheme', 'javascript://h/public'],
    ['more dot segments than a request needs', '/./././././././././public'],
    ['an odd path without end', `/${'%20'.repeat(2000)}`],
  ])('protects an ambiguous target with %s', (_name, target) => {
    expect(isMatchedBy('/dashboard', target)).toBe(true);
    expect(createPathMatcher([])(target)).toBe(false);
  });

  it('checks long plain paths and long queries', () => {
    expect(isMatchedBy('/dashboard', `/${'a'.repeat(10_000)}`)).toBe(false);
    expect(isMatchedBy('/dashboard', `/public?${'%20/../'.repeat(2000)}`)).toBe(false);
    expect(isMatchedBy('/dashboard', `/dashboard?${'%20/../'.repeat(2000)}`)).toBe(true);
  });

  it('makes the slash at the end of a pattern with parameters optional, and not the text before it', () => {
    const isProtected = createPathMatcher(['/:team/members/']);
    expect(['/a/members', '/a/members/', '/a', '/a/', '/a/member'].map(isProtected)).toEqual([
      true,
      true,
      false,
      false,
      false,
    ]);
  });

  it('does not match a part of a Greek word', () => {
    const isProtected = createPathMatcher(['/οδος']);
    expect([isProtected('/%CE%9F%CE%94%CE%9F%CE%A3'), isProtected('/%CE%BF%CE%B4%CE%BF')]).toEqual([true, false]);
  });

  it('matches what any of its patterns matches, and nothing else', () => {
    const pattern = fc
      .array(fc.constantFrom('a', 'b', 'ab', ':x', 'a:x', ':x.b'), { minLength: 1, maxLength: 3 })
      .chain((parts) => fc.constantFrom('', '/', '(.*)', '/(.*)').map((end) => `/${parts.join('/')}${end}`));
    const target = fc
      .array(fc.constantFrom('/', 'a', 'b', 'ab', 'A', '.b', '%61', '..', '//'), { maxLength: 8 })
      .map((parts) => `/${parts.join('')}`);
    fc.assert(
      fc.property(fc.array(pattern, { maxLength: 5 }), target, (patterns, path) => {
        expect(createPathMatcher(patterns)(path)).toBe(patterns.some((each) => isMatchedBy(each, path)));
      }),
    );
  });

  it('agrees on plain paths with a naive matcher', () => {
    const segment = fc.constantFrom('a', 'b', 'ab', 'ba');
    const path = fc.array(segment, { maxLength: 4 }).map((parts) => `/${parts.join('/')}`);
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom('a', 'ab', ':x'), { minLength: 1, maxLength: 3 }),
        fc.boolean(),
        path,
        (parts, isPrefix, target) => {
          const source = parts.map((part) => `/${part.startsWith(':') ? '[^/]+' : part}`).join('');
          const expected = new RegExp(`^${source}${isPrefix ? '' : '$'}`).test(target);
          expect(isMatchedBy(`/${parts.join('/')}${isPrefix ? '(.*)' : ''}`, target)).toBe(expected);
        },
      ),
    );
  });

  it('never throws, whatever the target', () => {
    const isProtected = createPathMatcher(['/dashboard(.*)', '/:a/x/:b', '/é', '/:a-:b/(.*)']);
    const noise = fc.array(
      fc.oneof(
        fc.constantFrom('/', '..', '%', '%2', '%c3', '%ud800', '\ud800', '\0', 'http://', '?', '#', '__proto__'),
        fc.string({ unit: 'binary' }),
      ),
    );
    fc.assert(fc.property(noise, (parts) => typeof isProtected(parts.join('')) === 'boolean'));
  });

  it('runs in linear time on long hostile targets', () => {
    const isProtected = createPathMatcher(['/:a-:b-:c/x/:d/y', '/x/:a/(.*)', '/:a/:b/:c/z']);
    for (const part of ['-', '-a', 'a/', 'x/', '%2f', '..%2f', '\\', ';', '. ', '/x', '%25']) {
      expect(isProtected(`/${part.repeat(4000 / part.length)}`)).toEqual(expect.any(Boolean));
      expect(isProtected(`/${part.repeat(16_000 / part.length)}`)).toEqual(expect.any(Boolean));
    }
  }, 5000);

  it('throws for an invalid pattern, with the sentence that explains the fix', () => {
    expect(() => createPathMatcher(['/a', 'b'])).toThrow(
      new TypeError('The path pattern "b" must start with "/": write "/b".'),
    );
  });
});

describe('isReachableUnder', () => {
  it.each([
    ['/dashboard', ''],
    ['/dashboard', '/'],
    ['/app', '/app'],
    ['/app', '/app/'],
    ['/app/', '/app'],
    ['/app/x', '/app'],
    ['/App/x', '/aPP'],
    ['/app/x/:y', '/app'],
    ['/:a/x', '/app'],
    ['/:a', '/app'],
    ['/(.*)', '/app'],
    ['/ap(.*)', '/app'],
    ['/app(.*)', '/app'],
    ['/app/(.*)', '/app'],
    ['/app/x(.*)', '/app'],
    ['/app/(.*)', '/app/admin'],
    ['/app/admin', '/app/admin'],
    ['/app/admin/x', '/app/admin'],
    ['/:a/:b(.*)', '/app/admin/x'],
    ['/café/x', '/caf%C3%A9'],
  ])('reports %s as reachable under %j', (pattern, mountPath) => {
    expect(isReachableUnder(pattern, mountPath)).toBe(true);
  });

  it.each([
    ['/dashboard', '/app'],
    ['/dashboard(.*)', '/app'],
    ['/', '/app'],
    ['/apps', '/app'],
    ['/app', '/app/admin'],
    ['/app/x(.*)', '/app/admin'],
    ['/application/(.*)', '/app'],
    ['/:a', '/app/admin'],
    ['/:a/x', '/app/admin'],
    ['/a:b/x', '/b'],
  ])('reports %s as unreachable under %j', (pattern, mountPath) => {
    expect(isReachableUnder(pattern, mountPath)).toBe(false);
  });
});

it('a folder also covers what Connect gives its middleware', () => {
  expect(widenForConnect(['/admin/(.*)', '/a/b/(.*)'])).toEqual([
    '/admin/(.*)',
    '/admin.(.*)',
    '/a/b/(.*)',
    '/a/b.(.*)',
  ]);
  const asTheyAre = ['/', '/(.*)', '/admin', '/admin/', '/admin(.*)', '/files/:name'];
  expect(widenForConnect(asTheyAre)).toEqual(asTheyAre);
});
