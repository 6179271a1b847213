import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { Duplex } from 'node:stream';
import { jest } from '@jest/globals';
import express from 'express';
import type { Router } from 'express';
import { WebSocket, WebSocketServer } from 'ws';
import {
  AuthError,
  authenticateUpgrade,
  b2bAuth,
  backendAuth,
  endSession,
  refuseUpgrade,
  renewSession,
} from '../../../lib/index.ts';
import type { UpgradeOptions } from '../../../lib/index.ts';
import { createB2bTestKit, createBackendTestKit } from '../../../lib/testing/index.ts';
import type { AuthEvent } from '../../../lib/types.ts';

interface Chat {
  readonly auth: Router;
  readonly origin: string;
  readonly events: AuthEvent[];
  cookie(session?: {
    readonly userId?: string;
    readonly sessionId?: string;
    readonly expired?: boolean;
  }): Promise<string>;
  /** The greeting, or the status and body of the refusal. */
  connect(headers: Readonly<Record<string, string>>): Promise<Connection>;
  close(): Promise<void>;
}

interface Connection {
  readonly greeting: string | undefined;
  readonly status: number | undefined;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: string;
  /** Resolves to what the server says when it closes the connection. */
  readonly closed: Promise<string>;
  readonly close: () => void;
}

/** How far the clock of the kits and adapters is ahead, in milliseconds. */
let aheadMs = 0;
const now = (): number => Date.now() + aheadMs;
const b2bKit = createB2bTestKit({ now });
const backendKit = createBackendTestKit({ now });

const adapters = {
  b2b: (events: AuthEvent[], extra: object) =>
    b2bAuth({
      ...b2bKit.options,
      trustedOrigins: ['https://front.example'],
      ...extra,
      onEvent: (event) => events.push(event),
    }),
  backend: (events: AuthEvent[], extra: object) =>
    backendAuth({
      ...backendKit.options,
      trustedOrigins: ['https://front.example'],
      ...extra,
      onEvent: (event) => events.push(event),
    }),
};

/** A chat that greets each session over a WebSocket, and closes it when the session ends. */
async function startChat(name: 'b2b' | 'backend', options: UpgradeOptions = {}, extra: object = {}): Promise<Chat> {
  const events: AuthEvent[] = [];
  const auth = adapters[name](events, extra);
  const app = express();
  app.use(auth);
  const server = http.createServer(app);
  const sockets = new WebSocketServer({ noServer: true });
  server.on('upgrade', (req, socket, head) => {
    authenticateUpgrade(auth, req, options).then(
      ({ session, ended }) =>
        sockets.handleUpgrade(req, socket, head, (ws) => {
          ended.addEventListener('abort', () => ws.close(4401, String((ended.reason as { reason?: string }).reason)));
          ws.send(`${session.user.id} by ${session.credential}`);
        }),
      (error: unknown) => refuseUpgrade(socket, error),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    auth,
    events,
    origin: `http://${host}`,
    cookie: ({ userId = 'user_1', ...session } = {}) =>
      (name === 'b2b' ? b2bKit : backendKit).cookie({ ...session, user: { id: userId } }),
    connect: (headers) => connect(`ws://${host}/chat`, headers),
    async close() {
      sockets.clients.forEach((client) => client.terminate());
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function connect(url: string, headers: Readonly<Record<string, string>>): Promise<Connection> {
  const ws = new WebSocket(url, { headers });
  const closed = new Promise<string>((resolve) =>
    ws.on('close', (code, reason) => resolve(`${code} ${String(reason)}`)),
  );
  const close = (): void => ws.terminate();
  ws.on('error', () => undefined);
  return new Promise((resolve) => {
    ws.on('message', (data) =>
      resolve({ greeting: (data as Buffer).toString(), status: undefined, headers: {}, body: '', closed, close }),
    );
    ws.on('unexpected-response', (_req, res) => {
      let body = '';
      res.on('data', (chunk: Buffer) => (body += chunk.toString()));
      res.on('close', () =>
        resolve({ greeting: undefined, status: res.statusCode, headers: res.headers, body, closed, close }),
      );
    });
  });
}

const codeOf = ({ body }: Connection): unknown => (JSON.parse(body) as { error: { code: unknown } }).error.code;
let token = '';

describe.each(['b2b', 'backend'] as const)('a WebSocket handshake with %s', (name) => {
  let chat: Chat;
  beforeAll(async () => {
    chat = await startChat(name, {
      credentials: ['cookie', 'bearer'],
      check: (session) => {
        token = session.accessToken;
        return session.user.id !== 'user_blocked';
      },
    });
  });
  beforeEach(() => void (chat.events.length = 0));
  afterAll(() => chat.close());

  it('with a session and the own origin is accepted', async () => {
    const { greeting, close } = await chat.connect({ cookie: await chat.cookie(), origin: chat.origin });
    expect(greeting).toBe('user_1 by cookie');
    close();
  });

  it('without a session gets a 401 in plain HTTP, and the connection is closed', async () => {
    for (const headers of [
      {},
      { origin: chat.origin },
      { origin: chat.origin, cookie: 'b2b-session=x; sb-project-auth-token=x' },
    ]) {
      const refused = await chat.connect(headers);
      expect([refused.status, codeOf(refused)]).toEqual([401, 'unauthenticated']);
      expect(refused.headers).toMatchObject({ connection: 'close', 'cache-control': 'private, no-store' });
      expect(refused.headers['www-authenticate']).toBe('Bearer');
    }
  });

  it.each([
    ['of another site', { origin: 'https://evil.example' }],
    ['of a page without one', { origin: 'null' }],
    ['of nothing', {}],
  ])('with a cookie and the origin %s gets a 403', async (_, headers) => {
    const refused = await chat.connect({ cookie: await chat.cookie(), ...headers });
    expect([refused.status, codeOf(refused)]).toEqual([403, 'cross_site_request']);
  });

  it('accepts an origin from trustedOrigins', async () => {
    const { greeting, close } = await chat.connect({ cookie: await chat.cookie(), origin: 'https://front.example' });
    expect(greeting).toBe('user_1 by cookie');
    close();
  });

  it('is refused if check does not return true', async () => {
    const refused = await chat.connect({ cookie: await chat.cookie({ userId: 'user_blocked' }), origin: chat.origin });
    expect([refused.status, codeOf(refused)]).toEqual([403, 'forbidden']);
  });

  it('uses no refresh token', async () => {
    const refused = await chat.connect({ cookie: await chat.cookie({ expired: true }), origin: chat.origin });
    expect(refused.status).toBe(401);
    expect(chat.events.map(({ type }) => type)).toEqual(['refresh_skipped']);
  });

  it('may have a bearer token without an origin, but not with the origin of another site', async () => {
    (await chat.connect({ cookie: await chat.cookie({ userId: 'user_api' }), origin: chat.origin })).close();
    const authorization = `Bearer ${token}`;
    const { greeting, close } = await chat.connect({ authorization });
    expect(greeting).toBe('user_api by bearer');
    close();
    expect((await chat.connect({ authorization, origin: 'https://evil.example' })).status).toBe(403);
  });

  it('is decided by a bearer token alone, despite the cookie', async () => {
    const refused = await chat.connect({
      authorization: 'Bearer made.up.token',
      cookie: await chat.cookie(),
      origin: chat.origin,
    });
    expect([refused.status, codeOf(refused)]).toEqual([401, 'invalid_token']);
    expect(refused.headers['www-authenticate']).toBe('Bearer error="invalid_token"');
  });

  it('is closed when the session signs out', async () => {
    const cookie = await chat.cookie({ sessionId: 'session_out' });
    const { greeting, closed } = await chat.connect({ cookie, origin: chat.origin });
    expect(greeting).toBe('user_1 by cookie');
    const path = name === 'b2b' ? '/logout' : '/auth/logout';
    await fetch(chat.origin + path, { method: 'POST', headers: { cookie, origin: chat.origin }, redirect: 'manual' });
    expect(await closed).toBe('4401 signed_out');
  });

  it('is closed by endSession, for this user only, and not by renewSession', async () => {
    const mine = await chat.connect({ cookie: await chat.cookie({ userId: 'user_gone' }), origin: chat.origin });
    const other = await chat.connect({ cookie: await chat.cookie({ userId: 'user_stays' }), origin: chat.origin });
    await renewSession(chat.auth, { userId: 'user_stays' });
    await endSession(chat.auth, { userId: 'user_gone' });
    expect(await mine.closed).toBe('4401 ended');
    // A kit's cookie is no sign-in of the adapter, so only a later one continues.
    aheadMs += 1_000;
    const again = await chat.connect({ cookie: await chat.cookie({ userId: 'user_gone' }), origin: chat.origin });
    expect(again.greeting).toBe('user_gone by cookie');
    await endSession(chat.auth, { userId: 'user_stays' });
    expect(await other.closed).toBe('4401 ended');
    again.close();
  });
});

describe('a guarded upgrade', () => {
  it('accepts no bearer token by default', async () => {
    let own = '';
    const chat = await startChat('b2b', { check: ({ accessToken }) => (own = accessToken) !== '' });
    (await chat.connect({ cookie: await chat.cookie(), origin: chat.origin })).close();
    for (const bearer of [own, 'made.up.token']) {
      const refused = await chat.connect({ authorization: `Bearer ${bearer}` });
      expect([refused.status, codeOf(refused)]).toEqual([401, 'unauthenticated']);
      expect(refused.headers).not.toHaveProperty('www-authenticate');
    }
    await chat.close();
  });

  it('accepts no cookie if it requires bearer tokens', async () => {
    const chat = await startChat('b2b', { credentials: ['bearer'] });
    const refused = await chat.connect({ cookie: await chat.cookie(), origin: chat.origin });
    expect([refused.status, codeOf(refused)]).toEqual([401, 'unauthenticated']);
    expect(refused.headers['www-authenticate']).toBe('Bearer');
    await chat.close();
  });

  it('compares the origin with appBaseUrl if it is given', async () => {
    const chat = await startChat('b2b', {}, { appBaseUrl: 'https://app.example/base' });
    const cookie = await chat.cookie();
    const { greeting, close } = await chat.connect({ cookie, origin: 'https://app.example' });
    expect(greeting).toBe('user_1 by cookie');
    close();
    expect((await chat.connect({ cookie, origin: chat.origin })).status).toBe(403);
    await chat.close();
  });

  it.each([undefined, null, 1, 'true'])('is refused if check returns %p', async (answer) => {
    const chat = await startChat('b2b', { check: () => answer as unknown as boolean });
    expect((await chat.connect({ cookie: await chat.cookie(), origin: chat.origin })).status).toBe(403);
    await chat.close();
  });

  it('is refused with the headers of an error that check throws, each in one line', async () => {
    const error = new AuthError('rate_limited', { retryAfter: 7, challenge: 'Own realm="a"\r\nSet-Cookie: a=b' });
    const chat = await startChat('b2b', { check: () => Promise.reject(error) });
    const { status, headers } = await chat.connect({ cookie: await chat.cookie(), origin: chat.origin });
    expect([status, headers['retry-after'], headers['www-authenticate']]).toEqual([
      429,
      '7',
      'Own realm="a"Set-Cookie: a=b',
    ]);
    expect(headers).not.toHaveProperty('set-cookie');
    await chat.close();
  });

  it('is a 500 without details if check throws', async () => {
    const chat = await startChat('b2b', { check: () => Promise.reject(new Error('secret')) });
    const refused = await chat.connect({ cookie: await chat.cookie(), origin: chat.origin });
    expect([refused.status, codeOf(refused)]).toEqual([500, 'internal_error']);
    expect(refused.body).not.toContain('secret');
    await chat.close();
  });

  it('is a 503 with Retry-After if the keys are needed and unreachable', async () => {
    const kit = createB2bTestKit();
    const chat = await startChat('b2b', {}, kit.options);
    const cookie = await kit.cookie();
    kit.simulate('down');
    const refused = await chat.connect({ cookie, origin: chat.origin });
    expect([refused.status, codeOf(refused)]).toEqual([503, 'provider_unavailable']);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    await chat.close();
  });

  it.each([
    [{ check: undefined }, 'check is undefined'],
    [{ check: null }, 'check must be a function'],
    [{ maxAge: 60 }, 'maxAge is not an option'],
    [{ credentials: 'bearer' }, 'credentials must be a list'],
    [{ clients: ['client_x'] }, "clients needs credentials that include 'bearer'"],
    [null, 'options must be an object'],
  ])('refuses the options %p, which would let every session pass', async (options, problem) => {
    const req = new http.IncomingMessage(new (await import('node:net')).Socket());
    const upgrade = authenticateUpgrade(b2bAuth(b2bKit.options), req, options as UpgradeOptions);
    await expect(upgrade).rejects.toThrow(problem);
  });

  it('survives a connection that is reset meanwhile', async () => {
    const req = new http.IncomingMessage(new (await import('node:net')).Socket());
    const auth = b2bAuth(b2bKit.options);
    const upgrades = [1, 2].map(() => authenticateUpgrade(auth, req));
    // An error without a listener is thrown, and ends the process.
    expect(() => req.socket.emit('error', new Error('read ECONNRESET'))).not.toThrow();
    expect(req.socket.listenerCount('error')).toBe(1);
    await Promise.all(upgrades.map((upgrade) => expect(upgrade).rejects.toMatchObject({ code: 'unauthenticated' })));
  });

  it('requires the router of an adapter', async () => {
    const req = new http.IncomingMessage(new (await import('node:net')).Socket());
    await expect(authenticateUpgrade(express.Router(), req)).rejects.toMatchObject({ name: 'ConfigurationError' });
  });
});

describe('the signal of an upgrade', () => {
  const request = async (cookie: string): Promise<http.IncomingMessage> => {
    const { Socket } = await import('node:net');
    const req = new http.IncomingMessage(new Socket());
    Object.assign(req.headers, { cookie, host: 'app.example', origin: 'http://app.example' });
    return req;
  };

  it('aborts when the token expires, by the clock of the adapter', async () => {
    let time = Date.now();
    const now = () => time;
    const kit = createB2bTestKit({ now });
    const auth = b2bAuth(kit.options);
    const req = await request(await kit.cookie());
    jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask', 'Date', 'performance'] });
    try {
      const { session, ended } = await authenticateUpgrade(auth, req);
      time = session.expiresAt - 1;
      jest.advanceTimersByTime(299_000);
      expect(ended.aborted).toBe(false);
      time = session.expiresAt;
      jest.advanceTimersByTime(2_000);
      expect(ended.reason).toMatchObject({ code: 'unauthenticated', reason: 'expired' });
      expect(req.socket.listenerCount('close')).toBe(0);
    } finally {
      jest.useRealTimers();
    }
  });

  it.each(['sessionMaxAge', 'idleTimeout'])(
    'aborts when %s ends the session, although its token is valid for longer',
    async (option) => {
      let time = Date.now();
      const now = () => time;
      const kit = createB2bTestKit({ now });
      const auth = b2bAuth({ ...kit.options, [option]: 60 });
      jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask', 'Date', 'performance'] });
      try {
        const { ended } = await authenticateUpgrade(auth, await request(await kit.cookie()));
        time += 59_000;
        jest.advanceTimersByTime(59_000);
        expect(ended.aborted).toBe(false);
        time += 2_000;
        jest.advanceTimersByTime(2_000);
        expect(ended.reason).toMatchObject({ code: 'unauthenticated', reason: 'expired' });
      } finally {
        jest.useRealTimers();
      }
    },
  );

  it('leaves nothing behind after 10,000 connections', async () => {
    const kit = createB2bTestKit();
    const auth = b2bAuth(kit.options);
    const cookies = await Promise.all(
      Array.from({ length: 20 }, (_, user) => kit.cookie({ user: { id: `user_${user}` } })),
    );
    jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask', 'Date', 'performance'] });
    try {
      const signals: AbortSignal[] = [];
      for (let connection = 0; connection < 10_000; connection += 1) {
        const req = await request(cookies[connection % 20]!);
        const { ended } = await authenticateUpgrade(auth, req);
        signals.push(ended);
        req.socket.destroy();
      }
      await new Promise((resolve) => setImmediate(resolve));
      expect(jest.getTimerCount()).toBe(0);
      await endSession(auth, { userId: 'user_1' });
      expect(signals.filter(({ aborted }) => aborted)).toEqual([]);
    } finally {
      jest.useRealTimers();
    }
  }, 60_000);
});

describe('refuseUpgrade', () => {
  beforeEach(() => jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask'] }));
  afterEach(() => jest.useRealTimers());

  it('closes the connection of a client that does not read within three seconds', () => {
    const unread = new Duplex({ read: () => undefined, write: () => undefined });
    refuseUpgrade(unread, new AuthError('unauthenticated'));
    jest.advanceTimersByTime(2_999);
    expect(unread.destroyed).toBe(false);
    jest.advanceTimersByTime(1);
    expect(unread.destroyed).toBe(true);
  });

  it('leaves no timer behind once the client has read the refusal', async () => {
    const read = new Duplex({ read: () => undefined, write: (_chunk, _encoding, done) => done() });
    refuseUpgrade(read, new AuthError('unauthenticated'));
    await once(read, 'close');
    expect(jest.getTimerCount()).toBe(0);
  });
});
