import type { Router } from 'express';
import { b2bAuth, forwardAuth } from '../../../lib/b2b/index.ts';
import type { ForwardAuthOptions } from '../../../lib/b2b/index.ts';
import { createB2bTestKit } from '../../../lib/testing/index.ts';
import { createApplication, publicOrigin } from '../../support/application.ts';
import { closeAfterEach } from '../../support/close-after-each.ts';
import type { Handler } from '../../support/handler-list.ts';
import { sendText } from '../../support/hosts.ts';
import type { Host } from '../../support/hosts.ts';
import { itAtRoot, itOnExpress } from '../../support/only.ts';
import { rawRequest, sendRaw } from '../../support/raw-socket.ts';
import { serve } from '../../support/servers.ts';
import { isExpress } from '../../support/variant.ts';
import { createVisitor } from '../../support/visitor.ts';
import type { Answer } from '../../support/visitor.ts';

const kit = createB2bTestKit();
const closing = closeAfterEach();

interface Gateway {
  readonly port: number;
  readonly ask: (headers?: Record<string, string | readonly string[]>, method?: string) => Promise<Answer>;
  /** The head of the answer to a target that no client library repairs, with the session's cookie. */
  readonly head: (target: string) => Promise<string>;
}

async function startWith(
  options: ForwardAuthOptions,
  mount = (host: Host, handler: Handler): unknown => host.use('/auth/forward', handler),
): Promise<Gateway> {
  const { host, listener } = createApplication();
  const auth: Router = b2bAuth(kit.options);
  host.use(auth as Handler);
  mount(host, forwardAuth(auth, options) as Handler);
  // As a single-page application would: a 200 from here would let everyone in.
  host.use((_req, res) => sendText(res, 'the page of everything'));
  const { port, origin } = await closing(serve(listener));
  const cookie = await kit.cookie({ user: { id: 'user_1', email: 'a@example.com' } });
  return {
    port,
    ask: (headers = {}, method = 'GET') =>
      createVisitor(publicOrigin(origin)).ask('/auth/forward', { method, headers: { cookie, ...headers } }),
    head: async (target) => {
      const lines = [`Cookie: ${cookie}`, 'Connection: close'];
      return (await sendRaw(port, rawRequest('GET', target, lines))).head;
    },
  };
}

describe('forwardAuth answers its exact mount path alone', () => {
  /** Each reaches the handler in one way or another, or a gateway's rule for the path misses it. */
  const spellings = [
    '/auth/forward/',
    '/auth/forward/x',
    '/auth/forward/..%2f..%2fx',
    '/auth/forward/../../x',
    '/auth/forward/..%2f',
    '/auth/forward/%2e%2e%2f',
    '/auth/forward//',
    '/auth/forward/.',
    '/Auth/Forward',
    '/AUTH/FORWARD/..%2Fx',
    '/auth/Forward?x',
    '/auth/forward/;x',
    '/auth/forward/?x',
    'http://127.0.0.1/auth/forward',
    '/auth/%66orward',
    '/auth//forward',
    '/auth/./forward',
    '//auth/forward',
    '/auth/forward%2f',
    '/auth/forward.x',
    '/auth/forward;x',
  ];

  itAtRoot.each(spellings)('and not %s', async (target) => {
    const { head } = await startWith({ token: true });
    const answer = await head(target);
    expect(answer).not.toMatch(/^(?:authorization|x-auth-)/im);
    // Where no router takes the path for the handler's, the application itself answers.
    if (/x-content-type-options/i.test(answer)) expect(answer).toMatch(/^HTTP\/1.1 404/);
  });

  itAtRoot.each(['/auth/forward/wiki', '/auth/forward/', '/Auth/Forward'])(
    'and hands %s to no other handler, whose 200 would let everyone in',
    async (target) => {
      const { head } = await startWith({});
      expect(await head(target)).toMatch(/^HTTP\/1.1 404/);
    },
  );

  itAtRoot('with any query', async () => {
    const { head } = await startWith({ token: true });
    expect(await head('/auth/forward?x=/auth/../')).toMatch(/^HTTP\/1.1 200[^]*authorization: bearer/i);
  });

  it('as a person or a program without a session reads it, too', async () => {
    const { ask } = await startWith({});
    expect((await ask({ cookie: '' })).status).toBe(401);
  });

  itAtRoot('as a route, too', async () => {
    const { head } = await startWith({}, (host, handler) => host.all('/auth/forward', handler));
    if (!isExpress) return;
    expect(await head('/auth/forward')).toMatch(/^HTTP\/1.1 200/);
    for (const target of ['/auth/forward/', '/Auth/forward']) expect(await head(target)).toMatch(/^HTTP\/1.1 404/);
  });

  itOnExpress('also after a route that took every path', async () => {
    const { ask } = await startWith({}, (host, handler) => {
      host.all(/./, (_req, _res, next) => next());
      host.use('/auth/forward', handler);
    });
    expect((await ask()).status).toBe(200);
  });

  itAtRoot('and nothing where it is mounted at no path', async () => {
    const { head } = await startWith({}, (host, handler) => host.use(handler));
    expect(await head('/anything')).toMatch(/^HTTP\/1.1 404/);
  });
});

describe('the check of forwardAuth gets one path and one method', () => {
  let seen: unknown[] = [];
  beforeEach(() => void (seen = []));
  const check: ForwardAuthOptions['check'] = (_session, _req, { method, path }) => {
    seen.push([method, path]);
    return path !== '/wiki/admin' && !path.startsWith('/wiki/admin/');
  };

  it.each([
    ['/wiki/page', '/wiki/page'],
    ['/wiki/', '/wiki'],
    ['/', '/'],
    ['/?a=/b', '/'],
    ['/Wiki/Page?a=1#b', '/wiki/page'],
    ['/wiki/%70age', '/wiki/page'],
    ['/wiki//page', '/wiki/page'],
    ['/wiki/my%20page', '/wiki/my page'],
    ['/wiki/caf%C3%A9', '/wiki/café'],
    ['/wiki/cafe%CC%81', '/wiki/café'],
    ['/wiki/100%25', '/wiki/100%'],
    ["/wiki/a+b~c@d!$&'()*,=", "/wiki/a+b~c@d!$&'()*,="],
    ['/wiki/file.tar.gz', '/wiki/file.tar.gz'],
    ['/wiki/.well-known', '/wiki/.well-known'],
    ['http://wiki.example/wiki/page', '/wiki/page'],
  ])('of %s, as the matchers read it', async (uri, path) => {
    const { ask } = await startWith({ check });
    expect((await ask({ 'x-original-uri': uri })).status).toBe(200);
    expect(seen).toEqual([['GET', path]]);
  });

  it.each([
    ['an escaped slash', '/wiki/a%2fb'],
    ['an escaped dot segment', '/wiki/%2e%2e/x'],
    ['a dot segment', '/wiki/x/../page'],
    ['a dot', '/wiki/./page'],
    ['a double escape', '/wiki/%2570age'],
    ['a backslash', '/wiki\\page'],
    ['an escaped backslash', '/wiki%5cpage'],
    ['a path parameter', '/wiki/page;x'],
    ['an escaped path parameter', '/wiki/page%3bx'],
    ['a stream name', '/wiki/page:x'],
    ['a NUL', '/wiki/page%00'],
    ['an escaped query', '/wiki/page%3fx'],
    ['an escaped fragment', '/wiki/page%23x'],
    // No browser sends one, and some servers know none.
    ['a fragment', '/wiki/page#/../admin'],
    ['a fragment behind a host', 'http://wiki.example#/wiki/page'],
    ['a line break', '/wiki/pa%0age'],
    ['a dot at the end', '/wiki/page.'],
    ['a space at the end', '/wiki/page%20'],
    ['what is no UTF-8', '/wiki/%ff'],
    ['half an escape', '/wiki/%6'],
    ['bytes without an escape', '/wiki/caf\u00e9'],
    ['a host', '//wiki/page'],
    ['credentials', 'http://a@b/wiki/page'],
    ['no slash', 'wiki/page'],
    ['nothing', ''],
    ['more than 4,096 characters', `/%61${'a'.repeat(5_000)}`],
    ['two values', ['/wiki/page', '/wiki/page']],
  ])('and is not asked where the path has several readings: %s', async (_what, uri) => {
    const { ask } = await startWith({ check });
    const { status, headers } = await ask({ 'x-original-uri': uri as string });
    expect([status, headers['x-auth-request-user'], seen]).toEqual([403, undefined, []]);
  });

  it('and is not asked where no gateway names a path', async () => {
    const { ask } = await startWith({ check });
    expect([(await ask()).status, seen]).toEqual([403, []]);
  });

  it.each([
    ['that differ', { 'x-original-uri': '/wiki/page', 'x-forwarded-uri': '/wiki/admin' }, 403, []],
    ['that differ the other way round', { 'x-original-uri': '/wiki/admin', 'x-forwarded-uri': '/wiki/page' }, 403, []],
    ['of which one is empty', { 'x-original-uri': '/wiki/page', 'x-forwarded-uri': '' }, 403, []],
    [
      'that read alike',
      { 'x-original-uri': '/wiki/%70age?a', 'x-forwarded-uri': '/Wiki/page/' },
      200,
      [['GET', '/wiki/page']],
    ],
    ['one alone', { 'x-forwarded-uri': '/wiki/page' }, 200, [['GET', '/wiki/page']]],
  ])('from two headers %s', async (_what, headers, status, asked) => {
    const { ask } = await startWith({ check });
    expect([(await ask(headers)).status, seen]).toEqual([status, asked]);
  });

  it.each([
    ['GET', {}, 'GET'],
    ['HEAD', {}, 'HEAD'],
    ['POST', {}, 'POST'],
    ['GET', { 'x-original-method': 'POST' }, 'POST'],
    ['GET', { 'x-forwarded-method': 'delete' }, 'DELETE'],
    ['POST', { 'x-original-method': 'POST' }, 'POST'],
    ['POST', { 'x-original-method': 'GET' }, undefined],
    ['HEAD', { 'x-original-method': 'GET' }, undefined],
    ['GET', { 'x-original-method': 'GET', 'x-forwarded-method': 'POST' }, undefined],
    ['GET', { 'x-original-method': ['GET', 'POST'] }, undefined],
    ['GET', { 'x-original-method': '' }, undefined],
  ])('for a %s with %j: %s', async (method, headers, expected) => {
    const { ask } = await startWith({ check });
    const { status } = await ask({ 'x-original-uri': '/wiki/page', ...headers }, method);
    expect(status).toBe(expected === undefined ? 403 : 200);
    expect(seen).toEqual(expected === undefined ? [] : [[expected, '/wiki/page']]);
  });

  it('so that no spelling of a path passes that it refuses', async () => {
    const { ask } = await startWith({ check });
    const spellings = [
      '/wiki/admin', '/wiki/admin/', '/wiki/admin?x', '/wiki/admin/users', '/wiki/Admin', '/WIKI/ADMIN',
      '/wiki/%61dmin', '/wiki/%2561dmin', '/%77iki/admin', '/wiki//admin', '//wiki/admin', '/wiki///admin//',
      '/wiki/./admin', '/./wiki/admin', '/wiki/x/../admin', '/wiki/../wiki/admin', '/wiki/%2e/admin', '/wiki/%2e%2e/wiki/admin',
      '/wiki/x/..%2fadmin', '/wiki%2fadmin', '/wiki%2Fadmin', '/wiki%252fadmin', '/wiki\\admin', '/wiki%5cadmin',
      '/wiki/admin;x', '/wiki;x/admin', '/wiki/admin%3bx', '/wiki/;/admin', '/wiki/admin:x', '/wiki/admin::$DATA',
      '/wiki/admin.', '/wiki/admin%20', '/wiki/admin%00', '/wiki/admin%00.html', '/wiki/ad%0amin', '/wiki/admin%3f', '/wiki/admin%23',
      '/wiki/admin%2f', '/wiki/admin/.', '/wiki/admin/x/..', '/wiki/ADM%49N', '/wiki/%E1%BA%9Fdmin/../admin',
    ]; // prettier-ignore
    for (const uri of spellings) expect([uri, (await ask({ 'x-original-uri': uri })).status]).toEqual([uri, 403]);
    expect(spellings.length).toBeGreaterThan(40);
    expect((await ask({ 'x-original-uri': '/wiki/administration' })).status).toBe(200);
  });
});
