import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { getSession, requireSession } from '../../lib/b2b/index.ts';
import type { RequireSessionOptions } from '../../lib/b2b/index.ts';
import { comparablePath } from '../../lib/http/message.ts';
import { serve } from '../support/servers.ts';

/** A request that an application of this shape handles. */
const requestIn = (app: unknown): IncomingMessage => Object.assign(new IncomingMessage(new Socket()), { app });

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

describe('a guard or a function without an adapter', () => {
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

  it('is an error of getSession if it was called', async () => {
    await expect(getSession(requestIn(undefined))).rejects.toThrow(/^getSession\b/);
  });

  it.each([7, [], null, { aal: 'aal3' }])('is an immediate error of requireSession with the options %j', (options) => {
    expect(() => requireSession(options as RequireSessionOptions)).toThrow(/^requireSession\b/);
  });
});
