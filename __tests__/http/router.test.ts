import http, { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import express from 'express';
import { b2bAuth } from '../../lib/b2b/index.ts';
import { backendAuth } from '../../lib/backend/index.ts';
import { createB2bTestKit } from '../../lib/testing/index.ts';
import { serve } from '../support/servers.ts';
import type { RunningServer } from '../support/servers.ts';
import { createVisitor } from '../support/visitor.ts';

const kit = createB2bTestKit();

describe('an own route', () => {
  let server: RunningServer;
  beforeAll(async () => {
    server = await serve(express().use(b2bAuth({ ...kit.options, trustedOrigins: ['https://front.example'] })));
  });
  afterAll(() => server.close());

  it.each([
    ['OPTIONS', '/auth/session', 204, 'GET, HEAD, OPTIONS'],
    ['OPTIONS', '/logout', 204, 'GET, HEAD, POST, OPTIONS'],
    ['OPTIONS', '/auth/pages.css', 204, 'GET, HEAD, OPTIONS'],
    ['DELETE', '/logout', 405, 'GET, HEAD, POST, OPTIONS'],
    ['DELETE', '/auth/session', 405, 'GET, HEAD, OPTIONS'],
    ['HEAD', '/auth/session', 401, undefined],
    ['HEAD', '/auth/pages.css', 200, undefined],
    ['GET', '/login', 302, undefined],
  ])('says what it allows: %s %s is a %i with %s', async (method, path, status, allow) => {
    const answer = await createVisitor(server.origin).ask(path, { method });
    expect([answer.status, answer.headers.allow]).toEqual([status, allow]);
  });

  it('has no effect on a HEAD where a GET would have one', async () => {
    const { status, headers, setCookies } = await createVisitor(server.origin).ask('/login', { method: 'HEAD' });
    expect([status, headers.location, setCookies]).toEqual([204, undefined, []]);
  });

  it.each<[string, (origin: string) => Readonly<Record<string, string>>, number, number]>([
    ['a page of the application', (origin) => ({ origin }), 302, 303],
    ['a page of a trusted origin', () => ({ origin: 'https://front.example' }), 302, 303],
    ['a script of the application', (origin) => ({ origin, 'sec-fetch-mode': 'cors' }), 200, 200],
    ['a navigation from another site', () => ({ origin: 'https://x.example', 'sec-fetch-mode': 'navigate' }), 302, 403],
    ['a script of another site', () => ({ origin: 'https://x.example', 'sec-fetch-mode': 'cors' }), 403, 403],
    ['a prefetch', () => ({ 'sec-purpose': 'prefetch' }), 403, 303],
  ])('with effects answers whom it should: %s', async (_who, headersOf, signIn, signOut) => {
    const headers = headersOf(server.origin);
    const [start, end] = [
      await createVisitor(server.origin).get('/login', { headers }),
      await createVisitor(server.origin).post('/logout', { headers }),
    ];
    expect([start.status, end.status]).toEqual([signIn, signOut]);
  });
});

/** The status for a request target that no URL parser has seen. */
function statusOf(port: number, path: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const req = http.get({ host: '127.0.0.1', port, path, agent: false }, (res) => {
      res.resume();
      resolve(res.statusCode);
    });
    req.on('error', reject);
  });
}

it('an own route below a mount path that would lead to another site is refused', async () => {
  const server = await serve(express().use('/:tenant', b2bAuth(kit.options)));
  const paths = ['/acme/auth/session', '/\\x.example/auth/session', '/acme/login', '/\\x.example/login'];
  const statuses = await Promise.all(paths.map((path) => statusOf(server.port, path)));
  await server.close();
  expect(statuses).toEqual([401, 400, 302, 400]);
});

it('a sign-in page on another host opens no path here, also not for a request target that names that host', async () => {
  const pages = { signIn: 'https://accounts.example/account', signUp: '/account/join' };
  const auth = backendAuth({
    url: 'http://127.0.0.1:9',
    anonKey: 'sb_publishable_test',
    protectedRoutes: '/account(.*)',
    pages,
  });
  const server = await serve(express().use(auth, (_req, res) => void res.end('page')));
  const paths = ['/account/join', '/account', pages.signIn, 'http://127.0.0.1/account'];
  const statuses = await Promise.all(paths.map((path) => statusOf(server.port, path)));
  await server.close();
  expect(statuses).toEqual([200, 307, 307, 307]);
});

describe('a public request', () => {
  /** Who has it right after the adapter's router was called. */
  function ownersOf(added: readonly string[]): string[] {
    const auth = b2bAuth(kit.options);
    const owners: string[] = [];
    for (const name of added) auth.use(() => void owners.push(name));
    const req = Object.assign(new IncomingMessage(new Socket()), { method: 'GET', url: '/public' });
    auth(req as never, new ServerResponse(req) as never, () => void owners.push('application'));
    return owners;
  }

  it('is passed on at once, as no router does that has layers', () => {
    expect(ownersOf([])).toEqual(['application']);
  });

  it('is passed to the handlers that the application has added to the router', () => {
    expect(ownersOf(['added', 'never'])).toEqual(['added']);
  });
});
