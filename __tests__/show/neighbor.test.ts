import { createServer } from 'node:http';
import type { RequestListener, Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { startGateway } from '../../show/gateway.ts';
import { demoUsers } from '../../stand-ins/workos/index.ts';
import { visitor as hostedPage } from '../../stand-ins/workos/visitor.ts';
import { startTourProcess } from '../support/show.ts';
import type { TourProcess } from '../support/show.ts';
import { rawRequest, sendRaw } from '../support/raw-socket.ts';
import { createVisitor, send } from '../support/visitor.ts';
import type { Visitor } from '../support/visitor.ts';

const html = { headers: { accept: 'text/html' } };
const katherine = demoUsers.twoOrganizations;
const [{ id: organizationId }] = katherine.organizations;

describe('the neighbor of the tour', () => {
  let example: TourProcess;
  let origin: string;

  beforeAll(async () => {
    example = startTourProcess({ PORT: '0' });
    await example.printed('Ctrl+C');
    origin = /http:\/\/localhost:\d+/.exec(example.output())![0];
  }, 30_000);
  afterAll(async () => {
    await example.stop();
  });

  async function signedIn(): Promise<Visitor> {
    const visitor = createVisitor(origin);
    const guarded = await visitor.get('/neighbor/page?from=home', html);
    expect([guarded.status, guarded.location]).toEqual([
      303,
      `${origin}/login?returnTo=${encodeURIComponent('/neighbor/page?from=home')}`,
    ]);
    const hosted = (await visitor.get(guarded.location)).location;
    const callback = await hostedPage.authorize(hosted, { user: katherine, organizationId });
    expect((await visitor.get(callback.href)).location).toBe(`${origin}/neighbor/page?from=home`);
    return visitor;
  }

  it('is a link of the start page', async () => {
    expect((await createVisitor(origin).get('/')).text).toContain('href="/neighbor/page?from=home"');
  });

  it('is told who signed in, and sees no cookie', async () => {
    const page = await (await signedIn()).get('/neighbor/page?from=home', html);
    expect(page.status).toBe(200);
    expect(page.text).toContain(`<dd>${katherine.email}</dd>`);
    expect(page.text).toContain(organizationId);
    expect(page.text).toContain('none: the gateway keeps them');
    expect(page.headers['cache-control']).toBe('private, no-store');
  });

  it('believes no header of a client', async () => {
    const headers = {
      'x-auth-request-email': 'eve@example.com',
      'x-auth-request-user': 'user_eve',
      authorization: 'x',
    };
    const page = await (await signedIn()).get('/neighbor', { headers: { ...headers, ...html.headers } });
    expect(page.text).toContain(katherine.email);
    expect(page.text).not.toMatch(/eve@|user_eve/);
    expect((await createVisitor(origin).get('/neighbor', { headers })).status).toBe(401);
  });

  it('sends scripts without a session a 401, and no redirect', async () => {
    const answer = await createVisitor(origin).getJson('/neighbor');
    expect([answer.status, answer.location]).toEqual([401, '']);
  });

  it.each([
    '/auth/forward',
    '/Auth/Forward',
    '/auth/forward/',
    '/auth/forward?x',
    '/auth/forward/x',
    '/auth/forward/..%2f..%2fx',
    '/auth/forward/../../x',
    '/x/../auth/forward',
  ])('hides the handler from clients: %s', async (path) => {
    const cookie = (await signedIn()).cookieHeader();
    const lines = [`Cookie: ${cookie}`, 'Connection: close'];
    const { head } = await sendRaw(Number(new URL(origin).port), rawRequest('GET', path, lines));
    expect(head).toMatch(/^HTTP\/1.1 404/);
    expect(head).not.toMatch(/^(?:x-auth-|authorization)/im);
  });

  it('takes no changes, which the gateway does not pass on', async () => {
    expect((await (await signedIn()).post('/neighbor')).status).toBe(405);
  });

  it('is gone after the sign-out', async () => {
    const visitor = await signedIn();
    await visitor.post('/logout', { headers: { 'sec-fetch-site': 'same-origin' } });
    expect((await visitor.get('/neighbor', html)).status).toBe(303);
  });
});

describe('the gateway of the tour', () => {
  const open: (() => unknown)[] = [];
  afterEach(async () => {
    for (const close of open.splice(0).reverse()) await close();
  });

  async function startBefore(app: RequestListener, neighbor: RequestListener): Promise<string> {
    const gateway = await startGateway(app, neighbor);
    open.push(() => gateway.close());
    const server: Server = createServer(gateway.handler);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    open.push(() => server.close());
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  it.each([201, 204, 302, 400, 404, 500, 503])('lets no request in where the app answers %d', async (status) => {
    let requests = 0;
    const origin = await startBefore(
      (_req, res) => res.writeHead(status, { 'Retry-After': '7', Location: '/' }).end('body'),
      (_req, res) => void ((requests += 1), res.end()),
    );
    const answer = await send(new URL('/neighbor', origin), {});
    expect([answer.status, answer.headers['retry-after'], requests]).toEqual([503, '7', 0]);
  });

  it('passes on a renewed session, and answers 502 where the app or the neighbor breaks off', async () => {
    const cookie = 'session=new; Path=/';
    const renewed: RequestListener = (_req, res) => res.writeHead(200, { 'Set-Cookie': cookie }).end();
    const broken: RequestListener = (req) => req.socket.destroy();
    const answer = await send(new URL('/neighbor', await startBefore(renewed, (_req, res) => res.end('in'))), {});
    expect([answer.status, answer.text, answer.setCookies]).toEqual([200, 'in', [cookie]]);
    for (const [app, neighbor] of [
      [broken, renewed],
      [renewed, broken],
    ] as const) {
      expect((await send(new URL('/neighbor', await startBefore(app, neighbor)), {})).status).toBe(502);
    }
  });
});
