import type { Router } from 'express';
import {
  authenticateUpgrade,
  endSession,
  forwardAuth,
  getSession,
  requireSession,
  AuthError,
  ConfigurationError,
} from '../../lib/index.ts';
import type { RequireSessionOptions } from '../../lib/index.ts';
import { adapters } from '../support/apps-under-test.ts';
import type { AppUnderTest } from '../support/apps-under-test.ts';
import type { Handler } from '../support/handler-list.ts';
import { sendJson } from '../support/hosts.ts';
import type { Host } from '../support/hosts.ts';
import { createShared } from '../support/shared-memory.ts';
import type { SharedMemory } from '../support/shared-memory.ts';
import { variant } from '../support/variant.ts';
import { createVisitor } from '../support/visitor.ts';
import type { Visitor } from '../support/visitor.ts';

/** How long a read of the coordinator counts. */
const readMs = 5_000;

const guard = (options: RequireSessionOptions): Handler => requireSession(options) as Handler;
const refuse = { whenCoordinatorDown: 'refuse' } as const;

describe.each(adapters)("whenCoordinatorDown: 'refuse' with $name", ({ start }) => {
  let shared: SharedMemory;
  let app: AppUnderTest;
  let auth: Router;

  function addPages(host: Host, router: Router): void {
    auth = router;
    host.use('/strict', guard(refuse), (_req, res) => sendJson(res, {}));
    host.use('/serving', guard({ whenCoordinatorDown: 'serve' }), (_req, res) => sendJson(res, {}));
    host.use('/nested', guard({ whenCoordinatorDown: 'serve' }), guard(refuse), (_req, res) => sendJson(res, {}));
    host.use(
      '/asked',
      (req, _res, next) => void getSession(req).then(() => next(), next),
      guard(refuse),
      (_req, res) => sendJson(res, {}),
    );
    host.use('/checked', guard({ ...refuse, check: () => false }), (_req, res) => sendJson(res, {}));
    host.use('/bearer', guard({ ...refuse, credentials: ['bearer'] }), (_req, res) => sendJson(res, {}));
    host.use('/forward', forwardAuth(router, { ...refuse, token: true }) as Handler);
    host.use('/upgrade', (req, res, next) => {
      authenticateUpgrade(auth, req, refuse).then(
        () => sendJson(res, {}),
        (error: unknown) => (error instanceof AuthError ? sendJson(res, {}, error.status) : next(error)),
      );
    });
  }

  beforeEach(async () => {
    let now = (): number => 0;
    shared = createShared(() => now());
    app = await start({ options: { coordinator: shared }, after: addPages });
    ({ now } = app.clock);
  });
  afterEach(() => app.close());

  const headers = (): Record<string, string> => ({ accept: 'application/json', origin: app.origin });
  const statusOf = async (visitor: Visitor, path: string): Promise<number> =>
    (await visitor.get(path, { headers: headers() })).status;
  const statusesOf = (visitor: Visitor, paths: readonly string[]): Promise<number[]> =>
    Promise.all(paths.map((path) => statusOf(visitor, path)));
  const all = ['/strict', '/forward', '/upgrade', '/serving', '/api/me'];

  it('passes while the coordinator answers', async () => {
    const visitor = await app.signedIn();
    expect(await statusesOf(visitor, all)).toEqual([200, 200, 200, 200, 200]);
  });

  it('answers 503 with Retry-After for a session that only this process was asked about', async () => {
    const visitor = await app.signedIn();
    shared.isDown = true;
    app.clock.advance(readMs + 1);
    expect(await statusesOf(visitor, all)).toEqual([503, 503, 503, 200, 200]);
    const answer = await visitor.getJson('/strict');
    expect([answer.headers['retry-after'], answer.json.error.code, answer.setCookies]).toEqual([
      '5',
      'provider_unavailable',
      [],
    ]);
    expect((await visitor.get('/strict', { headers: { accept: 'text/html' } })).status).toBe(503);
  });

  it('passes again once the coordinator answers, and loses no one', async () => {
    const visitor = await app.signedIn();
    shared.isDown = true;
    app.clock.advance(readMs + 1);
    expect(await statusOf(visitor, '/strict')).toBe(503);
    shared.isDown = false;
    app.clock.advance(readMs + 1);
    expect(await statusOf(visitor, '/strict')).toBe(200);
  });

  it('counts an answer of the coordinator for five seconds', async () => {
    const visitor = await app.signedIn();
    expect(await statusOf(visitor, '/strict')).toBe(200);
    shared.isDown = true;
    app.clock.advance(readMs);
    const isCounted = (await statusOf(visitor, '/strict')) === 200;
    app.clock.advance(1);
    expect(await statusOf(visitor, '/strict')).toBe(503);
    // Without the cache each request asks.
    expect(isCounted).toBe(variant.isCached);
  });

  it('answers 503, and not 403, before the check is asked', async () => {
    const visitor = await app.signedIn();
    expect(await statusOf(visitor, '/checked')).toBe(403);
    shared.isDown = true;
    app.clock.advance(readMs + 1);
    expect(await statusOf(visitor, '/checked')).toBe(503);
  });

  it('answers 401 to who is signed out, and to who was signed out or ended here', async () => {
    const [leaving, ended] = [await app.signedIn(), await app.otherSignedIn()];
    const cookies = leaving.cookieHeader();
    const { user } = (await ended.getJson('/api/me')).json;
    shared.isDown = true;
    app.clock.advance(readMs + 1);
    expect(await statusOf(createVisitor(app.origin), '/strict')).toBe(401);
    await app.signOut(leaving);
    const late = await createVisitor(app.origin).get('/strict', { headers: { ...headers(), cookie: cookies } });
    expect(late.status).toBe(401);
    await expect(endSession(auth, { userId: user.id })).rejects.toMatchObject({ status: 503 });
    // Another process may have spared it, as ever.
    expect([401, 503]).toContain(await statusOf(ended, '/strict'));
  });

  it('answers 503 to a session that was renewed meanwhile, and delivers its cookie', async () => {
    const visitor = await app.signedIn();
    shared.isDown = true;
    app.expireTokens();
    const former = visitor.cookieHeader();
    expect(await statusOf(visitor, '/strict')).toBe(503);
    expect(visitor.cookieHeader()).not.toBe(former);
    expect(await statusOf(visitor, '/serving')).toBe(200);
    shared.isDown = false;
    app.clock.advance(readMs + 1);
    expect(await statusOf(visitor, '/strict')).toBe(200);
  });

  it('answers 503 where one of the two records is out of reach', async () => {
    const visitor = await app.signedIn();
    const read = shared.read.bind(shared);
    for (const part of [':session:', ':user:']) {
      app.clock.advance(readMs + 1);
      shared.read = (subject) =>
        subject.includes(part) ? Promise.reject(new Error('its master is away')) : read(subject);
      expect([part, await statusOf(visitor, '/strict')]).toEqual([part, 503]);
      expect(await statusOf(visitor, '/serving')).toBe(200);
    }
  });

  // Clients of Redis can give a hash as a Map or a list, which have no times by name.
  it.each([
    ['a text', 'nonsense'],
    ['a Map', new Map([['ended', 1]])],
    ['a list', ['ended', '1']],
    ['no time', { ended: 'soon' }],
  ])('answers 503 where the coordinator gives %s for a record', async (_, answer) => {
    const visitor = await app.signedIn();
    app.clock.advance(readMs + 1);
    shared.read = () => Promise.resolve(answer as never);
    expect(await statusesOf(visitor, ['/strict', '/serving'])).toEqual([503, 200]);
  });

  it.each(['throws at once', 'never answers'])('answers 503 where the coordinator %s', async (kind) => {
    const visitor = await app.signedIn();
    app.clock.advance(readMs + 1);
    shared.read = () => {
      if (kind === 'throws at once') throw new Error('down');
      return new Promise<never>(() => undefined);
    };
    expect(await statusesOf(visitor, ['/strict', '/nested', '/asked', '/forward', '/upgrade'])).toEqual(
      Array.from({ length: 5 }, () => 503),
    );
  });

  it('counts an answer of the coordinator no longer where the clock is set back', async () => {
    const visitor = await app.signedIn();
    const { authorization = '' } = (await visitor.get('/forward')).headers;
    const bearer = createVisitor(app.origin);
    const statuses = async (): Promise<unknown[]> => [
      await statusOf(visitor, '/strict'),
      (await bearer.get('/bearer', { headers: { authorization } })).status,
    ];
    app.clock.advance(readMs + 1);
    expect(await statuses()).toEqual([200, 200]);
    shared.isDown = true;
    app.clock.advance(-60_000);
    expect(await statuses()).toEqual([503, 503]);
  });

  it('answers 503 to a bearer token likewise', async () => {
    const visitor = await app.signedIn();
    const { authorization = '' } = (await visitor.get('/forward')).headers;
    const status = async (): Promise<number> =>
      (await createVisitor(app.origin).get('/bearer', { headers: { authorization } })).status;
    expect(await status()).toBe(200);
    shared.isDown = true;
    app.clock.advance(readMs + 1);
    expect(await status()).toBe(503);
  });
});

describe.each(adapters)("whenCoordinatorDown: 'refuse' with $name and no coordinator", ({ start }) => {
  it('is a ConfigurationError on the request, where another process could never be heard of', async () => {
    const errors: unknown[] = [];
    const app = await start({
      after(host, auth) {
        host.use('/strict', guard(refuse));
        host.use('/forward', forwardAuth(auth, refuse) as Handler);
        host.use('/serving', guard({ whenCoordinatorDown: 'serve' }), (_req, res) => sendJson(res, {}));
        host.onError((error, _req, res) => {
          errors.push(error);
          sendJson(res, {}, 500);
        });
      },
    });
    const visitor = await app.signedIn();
    for (const path of ['/strict', '/forward']) expect((await visitor.getJson(path)).status).toBe(500);
    expect(errors).toEqual([expect.any(ConfigurationError), expect.any(ConfigurationError)]);
    expect(errors.map(String)).toEqual([
      expect.stringMatching(/^ConfigurationError: requireSession: .* needs the option coordinator/),
      expect.stringMatching(/^ConfigurationError: forwardAuth: .* needs the option coordinator/),
    ]);
    expect((await visitor.getJson('/serving')).status).toBe(200);
    expect((await createVisitor(app.origin).getJson('/strict')).status).toBe(401);
    await app.close();
  });
});

it.each([
  [{ whenCoordinatorDown: undefined }, 'is undefined'],
  [{ whenCoordinatorDown: 'fail' }, "must be 'serve' or 'refuse'"],
  [{ whenCoordinatorDown: true }, "must be 'serve' or 'refuse'"],
])('requireSession refuses %j at once', (options, message) => {
  expect(() => requireSession(options as unknown as RequireSessionOptions)).toThrow(message);
});
