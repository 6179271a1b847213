import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import express from 'express';
import { jest } from '@jest/globals';
import {
  createMountCheck,
  isAnsweredLater,
  isAuthRoute,
  isRival,
  mountedElsewhere,
} from '../../lib/http/mount/mounts.ts';
import type { HostRequest } from '../../lib/http/message.ts';
import { applicationOf, createAdapter, passed, routerOf } from '../support/mounted-adapter.ts';
import type { Passed } from '../support/mounted-adapter.ts';

/** The problems of a request, without the name of the adapter. */
const problemsOf = (request: Passed): string | undefined =>
  createMountCheck(request.definition)(request)?.message.replace(/^b2bAuth: /, '');

const swallowed = expect.stringMatching(/^it is mounted by a pattern that takes the whole path/);

describe('an adapter below a pattern', () => {
  it.each<[string, string, string | RegExp, unknown]>([
    ['takes the whole path', '/a/b', '/{*path}', swallowed],
    ['takes the whole path from the second segment on', '/v1/a', '/v1/*path', swallowed],
    ['takes one segment', '/a', '/:tenant', undefined],
    ['takes a second segment where there is one', '/a', '/:tenant{/:part}', undefined],
    ['takes a second and a third segment where both are there', '/a', '/:tenant{/:part/:detail}', undefined],
    ['is a path', '/a', '/a', undefined],
  ])('that %s', (_what, prefix, pattern, problems) => {
    const adapter = createAdapter();
    const other = createAdapter({ adapter: 'backend' });
    for (const mounts of [
      [[pattern, adapter]],
      [
        ['/', other],
        [pattern, adapter],
      ],
    ] as const) {
      const app = applicationOf(...mounts);
      expect(problemsOf(passed(adapter, { app, prefix }))).toEqual(problems);
      expect(problemsOf({ ...passed(adapter, { app, prefix }), req: { app } })).toEqual(problems);
    }
  });

  it('that takes the whole path is no problem of a request for the start page, of which it takes nothing', () => {
    const adapter = createAdapter();
    expect(problemsOf(passed(adapter, { app: applicationOf(['/{*path}', adapter]) }))).toBeUndefined();
  });

  it.each<[string, string, object, boolean]>([
    ['a wildcard of the whole path', '/a/b', { path: ['a', 'b'] }, true],
    ['a wildcard of the rest of the path', '/v1/a/b', { path: ['a', 'b'] }, true],
    ['a wildcard of decoded text', '/a%20b/c', { path: ['a b', 'c'] }, true],
    ['a wildcard in the middle of the path', '/a/b/edit', { path: ['a', 'b'] }, false],
    ['a wildcard of nothing', '/a/b', { path: [] }, false],
    ['a wildcard in a path that cannot be decoded', '/a/%ff', { path: ['b'] }, false],
    ['a group of the whole path', '/a/b', { 0: '/a/b' }, true],
    ['a group of the whole path without its slash', '/a/b', { 0: 'a/b' }, true],
    ['the last of many groups', '/a/b', { 10: 'a/b' }, true],
    ['a group of one segment', '/a', { 0: 'a' }, false],
    ['a group of the end of the path', '/en/a/b', { 0: 'a/b' }, false],
    ['a group that did not take part', '/a/b', { 0: undefined }, false],
    ['a group in a path that cannot be decoded', '/a/%ff', { 0: 'a/b' }, false],
    ['a parameter with an encoded slash', '/a%2Fb', { tenant: 'a/b' }, false],
    ['a parameter with an encoded slash, whose name ends with a digit', '/a%2Fb', { part1: 'a/b' }, false],
    ['a parameter with an encoded slash, whose name starts with a digit', '/a%2Fb', { '1st': 'a/b' }, false],
  ])('that no search finds, with %s', (_what, prefix, params, isSwallowed) => {
    const problems = problemsOf(passed(createAdapter(), { prefix, params }));
    expect(problems).toEqual(isSwallowed ? swallowed : undefined);
  });
});

describe('the check of a mount path', () => {
  /** Says how often the check has looked at the adapter, for requests below these paths. */
  function createLooks(): (...prefixes: readonly string[]) => number {
    let looks = 0;
    const adapter = Object.defineProperty(createAdapter(), 'protectedRoutes', {
      get() {
        looks += 1;
        return [];
      },
    });
    const check = createMountCheck(adapter);
    // The first request also looks for a warning.
    check(passed(adapter, { prefix: '/first' }));
    return (...prefixes) => {
      looks = 0;
      for (const prefix of prefixes) expect(check(passed(adapter, { prefix }))).toBeUndefined();
      return looks;
    };
  }

  it('happens once per path', () => {
    const looks = createLooks();
    expect([looks('/one', '/two'), looks('/one', '/two', '/one'), looks('/three')]).toEqual([2, 0, 1]);
  });

  it('remembers 1,000 paths, and then begins anew', () => {
    const looks = createLooks();
    const known = Array.from({ length: 999 }, (_, index) => `/${index}`);
    expect([looks(...known), looks(...known)]).toEqual([999, 0]);
    expect([looks('/one-more'), looks('/one-more'), looks('/0'), looks('/0')]).toEqual([1, 0, 1, 0]);
  });

  it('remembers a path of up to 100 characters', () => {
    const looks = createLooks();
    const [short, long] = [`/${'x'.repeat(99)}`, `/${'x'.repeat(100)}`];
    expect([looks(short), looks(short), looks(long), looks(long)]).toEqual([1, 0, 1, 1]);
  });

  it('never remembers a path with a problem', () => {
    const adapter = createAdapter({ protectedRoutes: ['/one/account'] });
    const check = createMountCheck(adapter);
    const requests = ['/two', '/two', '/one'].map((prefix) => check(passed(adapter, { prefix }))?.message);
    const never = `b2bAuth: protectedRoutes: '/one/account' can never match, because the adapter is mounted under '/two'; patterns are root-relative, so write '/two/one/account' or mount the adapter at the root`;
    expect(requests).toEqual([never, never, undefined]);
  });
});

describe('an adapter beside another one', () => {
  const twice = 'b2bAuth() is mounted twice in one application; mount it once';
  const rivals = `b2bAuth() is mounted twice, and this request has passed both, so adapter: 'b2b' could mean either; mount each where no request passes the other`;

  it('is no rival of itself, nor of one with another name', () => {
    const adapter = createAdapter();
    const others = [adapter, createAdapter(), createAdapter({ adapter: 'backend' })];
    expect(others.map((other) => isRival(adapter, other))).toEqual([false, true, false]);
  });

  it('is refused where one of its name stands elsewhere in the application', () => {
    const adapter = createAdapter();
    const appWith = (other: Passed['definition']): express.Express => applicationOf(['/', adapter], ['/other', other]);
    expect(problemsOf(passed(adapter, { app: appWith(createAdapter()) }))).toBe(twice);
    expect(problemsOf(passed(adapter, { app: appWith(createAdapter({ adapter: 'backend' })) }))).toBeUndefined();
  });

  it('is refused where the request has passed it below another path, or one of its name', () => {
    const paths = { loginPath: '/login' };
    const [adapter, rival] = [createAdapter({ paths }), createAdapter({ paths })];
    const behind = (preceding: Passed): Passed => passed(adapter, { preceding });
    expect(problemsOf(behind(passed(adapter, { prefix: '/x' })))).toBe(twice);
    expect(problemsOf(behind(passed(rival)))).toBe(rivals);
    expect(problemsOf(behind(passed(rival, { isMounted: false })))).toBeUndefined();
  });

  it.each([
    ['the same page', { loginPath: '/in' }, { loginPath: '/in' }, 'loginPath'],
    ['a page and a stylesheet', { loginPath: '/in' }, { stylesheetPath: '/in' }, 'loginPath'],
    ['a stylesheet and a page', { stylesheetPath: '/in' }, { loginPath: '/in' }, 'stylesheetPath'],
    ['the same stylesheet', { stylesheetPath: '/in' }, { stylesheetPath: '/in' }, undefined],
    ['different pages', { loginPath: '/in' }, { loginPath: '/out' }, undefined],
  ])('may not answer its paths, but for the stylesheet: %s', (_what, paths, theirs, option) => {
    const other = createAdapter({ adapter: 'backend', paths: theirs });
    const problem = `${option}: b2bAuth() and backendAuth() both answer '/in'; give ${option} of one of them another path`;
    const request = passed(createAdapter({ paths }), { preceding: passed(other) });
    expect(problemsOf(request)).toBe(option === undefined ? undefined : problem);
  });
});

describe('the warnings about a mount', () => {
  const messages: string[] = [];
  const codes: unknown[] = [];
  beforeEach(() => {
    messages.length = codes.length = 0;
    jest.spyOn(process, 'emitWarning').mockImplementation((_message, options) => {
      codes.push((options as { code?: string }).code);
    });
  });
  afterEach(() => void jest.restoreAllMocks());

  /** The codes of the warnings after requests to an application with a route before the adapter. */
  function warningsOf(route: string, prefix: string, ...protectedRoutes: readonly string[]): unknown[] {
    const adapter = createAdapter({
      protectedRoutes,
      emit(event) {
        if (event.type === 'configuration_warning') messages.push(event.message);
      },
    });
    const app = express();
    app.get(route, (_req, res) => void res.end());
    app.use(prefix === '' ? '/' : '/:tenant', routerOf(adapter));
    const check = createMountCheck(adapter);
    for (const below of [prefix, prefix, `${prefix}2`]) check(passed(adapter, { app, prefix: below }));
    return codes;
  }
  const unguarded = 'EXPRESS_AUTH_ADAPTERS_UNGUARDED';
  const below = 'EXPRESS_AUTH_ADAPTERS_PREFIX';

  it.each<[string, string, string, readonly string[], readonly string[]]>([
    ['a protected route before it', '/account', '', ['/account'], [unguarded]],
    ['a public route before it', '/public', '', ['/account'], []],
    ['a public route where everything is protected', '/public', '', ['/(.*)'], []],
    ['a route that is protected besides everything', '/account', '', ['/(.*)', '/account'], [unguarded]],
    ['a mount path and protected routes', '/public', '/app', ['/app/account'], [below]],
    ['a mount path and no protected route', '/public', '/app', [], []],
    ['both', '/app/account', '/app', ['/app/account'], [unguarded, below]],
  ])('are given once, as events and by the process: %s', (_what, route, prefix, protectedRoutes, expected) => {
    expect(warningsOf(route, prefix, ...protectedRoutes)).toEqual(expected);
    const starts: Readonly<Record<string, string>> = {
      [unguarded]: `b2bAuth: '${route}' is in protectedRoutes, but a route before the adapter answers it, so it is public.`,
      [below]:
        'b2bAuth has protectedRoutes and is mounted under a path, so requests that spell that path in another way',
    };
    expect(messages).toEqual(expected.map((code) => expect.stringContaining(starts[code] ?? '')));
  });
});

describe('a path', () => {
  const [first, second] = ['backend', 'b2b'].map((adapter, index) =>
    createAdapter({
      adapter: adapter as 'b2b' | 'backend',
      paths: { loginPath: `/in${index}` },
      pages: [`/page${index}`],
    }),
  ) as [Passed['definition'], Passed['definition']];

  it('is a route of every adapter that the request has passed, but for pages to return to', () => {
    const routesOf = (request: Passed): string[] =>
      ['/in1', '/IN0/', '/page0', '/x/in0', '/x/page0'].filter((path) => isAuthRoute(request, path));
    expect(routesOf(passed(second))).toEqual(['/in1']);
    expect(routesOf(passed(second, { preceding: passed(first) }))).toEqual(['/in1', '/IN0/']);
    expect(routesOf(passed(second, { following: passed(first) }))).toEqual(['/in1', '/IN0/']);
    expect(routesOf(passed(second, { following: passed(first, { prefix: '/X' }) }))).toEqual(['/in1', '/x/in0']);
    expect(routesOf(passed(second, { app: applicationOf(['/x', first]) }))).toEqual(['/in1', '/x/in0']);
  });

  it('is none of an adapter whose own router has not seen the request', () => {
    for (const place of ['preceding', 'following']) {
      const request = passed(second, { [place]: passed(first, { isMounted: false }) });
      expect([isAuthRoute(request, '/in0'), isAuthRoute(request, '/in1')]).toEqual([false, true]);
    }
  });

  it('is answered later only by adapters behind this one', () => {
    const third = createAdapter({ paths: { loginPath: '/in2' } });
    const app = applicationOf(['/', first], ['/', second], ['/', third]);
    const answered = (definition: Passed['definition']): string[] =>
      ['/in0', '/in1', '/in2', '/page1', '/else'].filter((path) => isAnsweredLater(passed(definition, { app }), path));
    expect([first, second, third].map(answered)).toEqual([['/in1', '/in2', '/page1'], ['/in2'], []]);
    // An adapter that the stack does not show may stand anywhere.
    expect(answered(createAdapter())).toEqual([]);
  });
});

describe('a request that has passed no adapter', () => {
  const request = (app: unknown, url: string): HostRequest =>
    Object.assign(new IncomingMessage(new Socket()), { app, url });

  it('is told of the adapter that was asked for, if that is mounted below another path', () => {
    const [b2b, backend] = [createAdapter(), createAdapter({ adapter: 'backend' })];
    const app = applicationOf(['/org', b2b], ['/shop', backend]);
    createMountCheck(backend)(passed(backend, { app, prefix: '/shop' }));
    const told = (name: 'b2b' | 'backend' | undefined, url: string): unknown =>
      /^.* do not pass it/.exec(mountedElsewhere(request(app, url), name) ?? '')?.[0];
    const [notOrg, notShop] = ['b2bAuth() is mounted below a path', 'backendAuth() is mounted under /shop'];
    expect([told('b2b', '/x?y'), told('backend', '/x'), told(undefined, '/x'), told(undefined, '/org/x')]).toEqual([
      `${notOrg}: requests to /x do not pass it`,
      `${notShop}: requests to /x do not pass it`,
      `${notOrg}: requests to /x do not pass it`,
      `${notShop}: requests to /org/x do not pass it`,
    ]);
  });

  it('is told nothing of an adapter that takes such requests, but later', () => {
    const app = applicationOf(['/', createAdapter()]);
    expect([mountedElsewhere(request(app, '/x'), 'b2b'), mountedElsewhere(request(app, '/x'), undefined)]).toEqual([
      undefined,
      undefined,
    ]);
    expect(mountedElsewhere(request(undefined, '/x'), undefined)).toBeUndefined();
  });
});
