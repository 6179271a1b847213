import http from 'node:http';
import { jest } from '@jest/globals';
import express from 'express';
import type { Router } from 'express';
import {
  b2bAuth,
  backendAuth,
  ConfigurationError,
  endSession,
  getSession,
  protectResource,
  renewSession,
  requireSession,
  sessionEnded,
} from '../../../lib/index.ts';
import { createB2bTestKit, createBackendTestKit } from '../../../lib/testing/index.ts';
import { closeAfterEach } from '../../support/close-after-each.ts';
import { createClock } from '../../support/clock.ts';
import { serve } from '../../support/servers.ts';
import { createShared } from '../../support/shared-memory.ts';
import { until } from '../../support/until.ts';

const closed = closeAfterEach();

beforeEach(() =>
  jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask', 'Date', 'performance'] }),
);
afterEach(() => jest.useRealTimers());

/** Turns in which everything under way without a timer settles. */
const settle = async (): Promise<void> => {
  for (let turn = 0; turn < 30; turn += 1) await new Promise((resolve) => setImmediate(resolve));
};

interface Streamed {
  /** What the server sent: `open`, then why the session ended. */
  readonly text: () => string;
  readonly isOpen: () => boolean;
  readonly leave: () => void;
}

/** One application of one adapter, in as many processes as needed, that streams until the session ends. */
function createStreams(name: 'b2b' | 'backend', extra: object = {}) {
  const clock = createClock();
  const kit = name === 'b2b' ? createB2bTestKit({ now: clock.now }) : createBackendTestKit({ now: clock.now });
  const signals: AbortSignal[] = [];

  async function start() {
    const auth: Router =
      name === 'b2b' ? b2bAuth({ ...kit.options, ...extra }) : backendAuth({ ...kit.options, ...extra });
    const app = express();
    app.use(
      protectResource(auth, {
        path: '/mcp',
        ...(name === 'backend' ? { clients: 'any', audience: 'authenticated' } : {}),
      } as never),
    );
    app.use(auth);
    const stream: express.RequestHandler = (req, res) => {
      const ended = sessionEnded(req);
      expect(sessionEnded(req)).toBe(ended);
      signals.push(ended);
      res.writeHead(200, { 'Content-Type': 'text/event-stream' });
      res.write('open');
      ended.addEventListener('abort', () => res.end(` ${(ended.reason as { reason: string }).reason}`));
    };
    app.get('/stream', requireSession({ credentials: ['cookie', 'bearer'], clients: ['client_x'] }), stream);
    app.get('/mcp', stream);
    app.get('/late/:user', requireSession(), async (req, res) => {
      await endSession(auth, { userId: String(req.params['user']) });
      stream(req, res, () => undefined);
    });
    app.get('/unguarded', async (req, res) => {
      await getSession(req);
      try {
        res.json(sessionEnded(req));
      } catch (error) {
        res.status(500).json({ isClear: error instanceof ConfigurationError, message: String(error) });
      }
    });
    const server = await closed(serve(app));
    return {
      ...server,
      auth,
      get: (path: string, headers: Readonly<Record<string, string>> = {}, method = 'GET') =>
        fetch(server.origin + path, { method, headers: { origin: server.origin, ...headers }, redirect: 'manual' }),
      async open(headers: Readonly<Record<string, string>>, path = '/stream'): Promise<Streamed> {
        const known = signals.length;
        let [text, isOpen] = ['', true];
        const request = http.get(server.origin + path, { headers, agent: false }, (response) => {
          response.on('data', (chunk: Buffer) => (text += chunk.toString()));
          response.on('close', () => (isOpen = false));
        });
        request.on('error', () => undefined);
        await until(() => signals.length > known && text !== '');
        await settle();
        return { text: () => text, isOpen: () => isOpen, leave: () => request.destroy() };
      },
    };
  }

  return {
    clock,
    kit,
    signals,
    start,
    /** Time passes for the clock and for timers. */
    pass: async (ms: number): Promise<void> => {
      clock.advance(ms);
      await jest.advanceTimersByTimeAsync(ms);
      await settle();
    },
    /** Seconds that an access token lives. */
    lifetime: name === 'b2b' ? 300 : 3_600,
    logoutPath: name === 'b2b' ? '/logout' : '/auth/logout',
    /** The cookie after a response that may have renewed it. */
    cookieAfter: (response: Response, cookie: string): string => {
      const set = response.headers.getSetCookie().map((line) => line.slice(0, line.indexOf(';')));
      return set.length === 0 ? cookie : set.join('; ');
    },
  };
}

describe.each(['b2b', 'backend'] as const)('a stream behind a guard of %s', (name) => {
  it('ends when its session signs out, and another one goes on', async () => {
    const { start, kit, logoutPath } = createStreams(name);
    const app = await start();
    const [cookie, other] = [await kit.cookie(), await kit.cookie({ user: { id: 'user_2' } })];
    const [mine, others] = [await app.open({ cookie }), await app.open({ cookie: other })];
    expect([mine.text(), others.text()]).toEqual(['open', 'open']);
    await app.get(logoutPath, { cookie }, 'POST');
    await until(() => !mine.isOpen());
    expect([mine.text(), others.text(), others.isOpen()]).toEqual(['open signed_out', 'open', true]);
    others.leave();
  });

  it.each(['cookie', 'bearer'] as const)(
    'ends by endSession with its %s, and not by renewSession',
    async (credential) => {
      const { start, kit } = createStreams(name);
      const app = await start();
      const person = { user: { id: 'user_1' } };
      const stream = await app.open(
        credential === 'cookie' ? { cookie: await kit.cookie(person) } : { authorization: await kit.bearer(person) },
      );
      await renewSession(app.auth, { userId: 'user_1' });
      await settle();
      expect(stream.isOpen()).toBe(true);
      await endSession(app.auth, { userId: 'user_1' });
      await until(() => !stream.isOpen());
      expect(stream.text()).toBe('open ended');
    },
  );

  it('ends behind protectResource, and not by calls of before its token', async () => {
    const { start, kit, clock } = createStreams(name);
    const app = await start();
    await endSession(app.auth, { userId: 'user_1' });
    clock.advance(2_000);
    const resource = `${app.origin}/mcp`;
    const authorization = await kit.bearer(
      { user: { id: 'user_1' } },
      { client: 'client_x', audience: name === 'b2b' ? resource : 'authenticated' },
    );
    const stream = await app.open({ authorization }, '/mcp');
    expect([stream.text(), stream.isOpen()]).toEqual(['open', true]);
    await endSession(app.auth, { userId: 'user_1' });
    await until(() => !stream.isOpen());
    expect(stream.text()).toBe('open ended');
  });

  it('ends within five seconds where another process ended its session', async () => {
    const { start, kit, pass } = createStreams(name, { coordinator: createShared() });
    const [here, there] = [await start(), await start()];
    const stream = await here.open({ cookie: await kit.cookie({ user: { id: 'user_1' } }) });
    await endSession(there.auth, { userId: 'user_1' });
    await pass(5_000);
    await until(() => !stream.isOpen());
    expect(stream.text()).toBe('open ended');
  });

  it('ends at once where the session ended while the handler waited', async () => {
    const { start, kit } = createStreams(name);
    const app = await start();
    const stream = await app.open({ cookie: await kit.cookie({ user: { id: 'user_1' } }) }, '/late/user_1');
    await until(() => !stream.isOpen());
    expect(stream.text()).toBe('open ended');
  });

  it('ends when the token expires and no request has renewed the session', async () => {
    const { start, kit, pass, lifetime } = createStreams(name);
    const app = await start();
    const stream = await app.open({ cookie: await kit.cookie() });
    await pass((lifetime - 1) * 1_000);
    expect(stream.isOpen()).toBe(true);
    await pass(1_000);
    await until(() => !stream.isOpen());
    expect(stream.text()).toBe('open expired');
  });

  it.each(['this process', 'another one'])('goes on while requests to %s renew the session', async (where) => {
    const { start, kit, pass, lifetime, cookieAfter } = createStreams(name, { coordinator: createShared() });
    const [here, there] = [await start(), await start()];
    let cookie = await kit.cookie();
    const stream = await here.open({ cookie });
    for (let renewals = 0; renewals < 3; renewals += 1) {
      // Nine seconds before the token expires, and one second after it.
      await pass((lifetime - (renewals === 0 ? 9 : 19)) * 1_000);
      expect(stream.isOpen()).toBe(true);
      const renewed = await (where === 'this process' ? here : there).get('/auth/session', { cookie });
      expect(renewed.headers.getSetCookie()).not.toEqual([]);
      cookie = cookieAfter(renewed, cookie);
      await pass(10_000);
      expect(stream.text()).toBe('open');
    }
    await pass(lifetime * 1_000);
    await until(() => !stream.isOpen());
    expect(stream.text()).toBe('open expired');
  });

  it.each(['this process', 'another one'])(
    'goes on where another library has renewed the session, whose new cookie then came to %s',
    async (where) => {
      const { start, kit, pass, lifetime } = createStreams(name, { coordinator: createShared() });
      const [here, there] = [await start(), await start()];
      const person = { user: { id: 'user_1' }, sessionId: 'session_1' };
      const stream = await here.open({ cookie: await kit.cookie(person) });
      await pass((lifetime / 2) * 1_000);
      const cookie = await kit.cookie(person);
      const seen = await (where === 'this process' ? here : there).get('/auth/session', { cookie });
      expect([seen.status, seen.headers.getSetCookie()]).toEqual([200, []]);
      await pass((lifetime / 2 + 1) * 1_000);
      expect(stream.text()).toBe('open');
      await pass((lifetime / 2) * 1_000);
      await until(() => !stream.isOpen());
      expect(stream.text()).toBe('open expired');
    },
  );

  it('ends with its bearer token, although requests renew the session of the cookie', async () => {
    const { start, kit, pass, lifetime } = createStreams(name);
    const app = await start();
    const ids = { user: { id: 'user_1' }, sessionId: 'session_1' };
    const cookie = await kit.cookie(ids);
    const [bearer, of] = [await app.open({ authorization: await kit.bearer(ids) }), await app.open({ cookie })];
    await pass((lifetime - 5) * 1_000);
    await app.get('/auth/session', { cookie });
    await pass(6_000);
    await until(() => !bearer.isOpen());
    expect([bearer.text(), of.text()]).toEqual(['open expired', 'open']);
    of.leave();
  });

  it('leaves nothing behind when its client goes', async () => {
    const { start, kit, signals } = createStreams(name);
    const app = await start();
    const cookie = await kit.cookie({ user: { id: 'user_1' } });
    const streams = [await app.open({ cookie }), await app.open({ cookie }), await app.open({ cookie })];
    const timers = jest.getTimerCount();
    for (const stream of streams) stream.leave();
    await until(() => jest.getTimerCount() === timers - 3);
    await endSession(app.auth, { userId: 'user_1' });
    await settle();
    expect(signals.map(({ aborted }) => aborted)).toEqual([false, false, false]);
  });

  it('is asked for behind a guard only', async () => {
    const { start, kit } = createStreams(name);
    const app = await start();
    const answer = await app.get('/unguarded', { cookie: await kit.cookie() });
    expect(await answer.json()).toEqual({
      isClear: true,
      message:
        'ConfigurationError: sessionEnded: no guard has let this request pass; put requireSession() or protectedRoutes in front of the handler',
    });
  });
});

describe.each(['b2b', 'backend'] as const)('a stream of %s with idleTimeout', (name) => {
  it('ends where no request renews the session in time', async () => {
    const { start, kit, pass } = createStreams(name, { idleTimeout: 200 });
    const app = await start();
    const stream = await app.open({ cookie: await kit.cookie() });
    await pass(199_000);
    expect(stream.isOpen()).toBe(true);
    await pass(1_000);
    await until(() => !stream.isOpen());
    expect(stream.text()).toBe('open expired');
  });

  it('goes on while requests renew it, also through another process', async () => {
    const { start, kit, pass, cookieAfter } = createStreams(name, { idleTimeout: 200, coordinator: createShared() });
    const [app, other] = [await start(), await start()];
    const cookie = await kit.cookie();
    const stream = await app.open({ cookie });
    await pass(150_000);
    const renewed = cookieAfter(await other.get('/auth/session', { cookie }), cookie);
    expect(renewed).not.toBe(cookie);
    await pass(199_000);
    expect(stream.isOpen()).toBe(true);
    await pass(7_000);
    await until(() => !stream.isOpen());
  });
});

it('a stream ends when sessionMaxAge is over, although the session was renewed', async () => {
  const { start, kit, pass, cookieAfter } = createStreams('b2b', { sessionMaxAge: 400 });
  const app = await start();
  const cookie = await kit.cookie();
  const stream = await app.open({ cookie });
  await pass(295_000);
  cookieAfter(await app.get('/auth/session', { cookie }), cookie);
  await pass(104_000);
  expect(stream.isOpen()).toBe(true);
  await pass(1_000);
  await until(() => !stream.isOpen());
  expect(stream.text()).toBe('open expired');
});

it('costs the coordinator nothing where it is not asked for', async () => {
  const coordinator = createShared();
  const merge = jest.spyOn(coordinator, 'merge');
  const { start, kit, pass, lifetime } = createStreams('b2b', { coordinator });
  const app = await start();
  const cookie = await kit.cookie();
  await pass((lifetime - 5) * 1_000);
  expect((await app.get('/auth/session', { cookie })).status).toBe(200);
  expect(merge).not.toHaveBeenCalled();
});

it.each(['this process', 'another one'])(
  'a stream ends with its token where the newer one that came to %s is for another organization',
  async (where) => {
    const { start, kit, pass, lifetime } = createStreams('b2b', { coordinator: createShared() });
    const [here, there] = [await start(), await start()];
    const cookieOf = (organizationId: string): Promise<string> =>
      kit.cookie({ user: { id: 'user_1' }, sessionId: 'session_1', organizationId });
    const stream = await here.open({ cookie: await cookieOf('org_a') });
    await pass((lifetime / 2) * 1_000);
    const app = where === 'this process' ? here : there;
    const cookie = await cookieOf('org_b');
    expect((await app.get('/auth/session', { cookie })).status).toBe(200);
    const other = await here.open({ cookie });
    await pass((lifetime / 2) * 1_000);
    await until(() => !stream.isOpen());
    expect([stream.text(), other.text()]).toEqual(['open expired', 'open']);
    other.leave();
  },
);
