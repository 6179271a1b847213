import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { getSession, requireSession } from '../../lib/b2b/index.ts';
import type { RequireSessionOptions } from '../../lib/b2b/index.ts';
import { comparablePath, isAuthRoute } from '../../lib/http/mounts.ts';
import { serve } from '../support/servers.ts';

/** A request that an application of this shape handles. */
const requestIn = (app: unknown): IncomingMessage => Object.assign(new IncomingMessage(new Socket()), { app });

const routerWith = (stack: unknown) => Object.assign(() => undefined, { stack });

describe('a path as Express compares it', () => {
  it.each([
    ['/', '/'],
    ['', ''],
    ['/login', '/login'],
    ['/Login/', '/login'],
    ['/a/B//', '/a/b/'],
  ])('%j is %j', (path, expected) => {
    expect(comparablePath(path)).toBe(expected);
  });
});

describe('looking for own routes in an application', () => {
  const layer = (change: object) => ({ handle: () => undefined, match: () => true, ...change });
  const strange = [
    null,
    undefined,
    7,
    'layer',
    {},
    { match: () => true },
    { handle: () => undefined },
    layer({ handle: 'no function' }),
    layer({ match: 'no function' }),
    layer({ handle: routerWith('no list') }),
    layer({ handle: routerWith([null]) }),
    layer({
      match: () => {
        throw new URIError('cannot be decoded');
      },
    }),
  ];

  it.each<[string, unknown]>([
    ['Express 5', Object.assign(() => undefined, { router: routerWith(strange) })],
    ['Express 4', Object.assign(() => undefined, { _router: routerWith(strange) })],
    ['one that has no router yet', Object.assign(() => undefined, { _router: undefined })],
    ['a function of another kind', () => undefined],
    ['one whose router is something else', Object.assign(() => undefined, { router: { stack: strange } })],
    ['one whose router has no layers', Object.assign(() => undefined, { router: () => undefined })],
    ['no function', { router: routerWith(strange) }],
    ['nothing', undefined],
    ['null', null],
  ])('walks past whatever is no layer: %s', (_what, app) => {
    expect(isAuthRoute(requestIn(app), '/login')).toBe(false);
  });
});

describe('a guard or a question without an adapter', () => {
  it.each<[string, RequireSessionOptions | undefined, string]>([
    ['any session', undefined, 'b2bAuth() or backendAuth()'],
    ['a session of one adapter', { adapter: 'backend' }, 'backendAuth()'],
    ['an organization', { organization: true }, 'b2bAuth()'],
  ])('is an error that names who asked for %s', async (_what, options, names) => {
    const told: unknown[] = [];
    const server = await serve((req, res) => {
      (options === undefined ? requireSession() : requireSession(options))(
        req as never,
        res as never,
        (error?: unknown) => {
          told.push(String(error));
          res.end();
        },
      );
    });
    await fetch(server.origin);
    await server.close();
    expect(told).toEqual([expect.stringMatching(/^ConfigurationError: requireSession\b/)]);
    expect(told).toEqual([expect.stringContaining(`mount ${names} with`)]);
  });

  it('is an error of getSession where that was asked', async () => {
    await expect(getSession(requestIn(undefined))).rejects.toThrow(/^getSession\b/);
  });

  it.each([7, [], null, { aal: 'aal3' }])(
    'is an error of requireSession from the start with the options %j',
    (options) => {
      expect(() => requireSession(options as RequireSessionOptions)).toThrow(/^requireSession\b/);
    },
  );
});
