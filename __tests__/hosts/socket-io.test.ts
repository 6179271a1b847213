import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { Server } from 'socket.io';
import type { Socket as ServerSocket } from 'socket.io';
import { io } from 'socket.io-client';
import type { Socket } from 'socket.io-client';
import { b2bAuth, getSession, requireSession } from '../../lib/b2b/index.ts';
import { createB2bTestKit } from '../../lib/testing/index.ts';
import type { AuthEvent } from '../../lib/types.ts';

const kit = createB2bTestKit();

describe.each(['polling', 'websocket'] as const)('Socket.IO over %s', (transport) => {
  let server: Server;
  let origin: string;
  const events: AuthEvent[] = [];
  const clients: Socket[] = [];
  /** What the server's side of a connection says of its session. */
  const sessions: Promise<string | undefined>[] = [];

  beforeAll(async () => {
    const listener = http.createServer();
    server = new Server(listener);
    server.engine.use(b2bAuth({ ...kit.options, onEvent: (event) => events.push(event) }));
    server.engine.use(requireSession());
    server.on('connection', (socket: ServerSocket) => {
      // The handshake is answered: nothing can be written to its response anymore.
      sessions.push(getSession(socket.request).then((session) => session?.user.id));
    });
    await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
    origin = `http://127.0.0.1:${(listener.address() as AddressInfo).port}`;
  });
  afterEach(() => {
    for (const client of clients.splice(0)) client.disconnect();
    events.length = 0;
    sessions.length = 0;
  });
  afterAll(() => server.close());

  /** `connected`, or the error that the client gets. */
  function connect(cookie?: string): Promise<string> {
    const extraHeaders = cookie === undefined ? {} : { cookie };
    const client = io(origin, { transports: [transport], extraHeaders, reconnection: false });
    clients.push(client);
    return new Promise((resolve) => {
      client.on('connect', () => resolve('connected'));
      client.on('connect_error', ({ message }) => resolve(message));
    });
  }

  it('lets a session connect, and makes it available to the connection', async () => {
    expect(await connect(await kit.cookie({ user: { id: 'user_7' } }))).toBe('connected');
    expect(await Promise.all(sessions)).toEqual(['user_7']);
  });

  it('refuses a request without a session', async () => {
    expect(await connect()).toBe(`${transport === 'polling' ? 'xhr poll' : 'websocket'} error`);
    expect(await connect('b2b-session=unreadable')).not.toBe('connected');
    expect(sessions).toEqual([]);
  });

  it('uses a refresh token only if the new one can be delivered', async () => {
    const told = await connect(await kit.cookie({ expired: true }));
    const types = events.map(({ type }) => type);
    if (transport === 'polling') expect([told, types]).toEqual(['connected', ['session_refreshed']]);
    else expect([told, types]).toEqual(['websocket error', ['refresh_skipped']]);
  });
});
