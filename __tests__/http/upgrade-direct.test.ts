import http from 'node:http';
import { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import express from 'express';
import { AuthError, authenticateUpgrade, b2bAuth, backendAuth, endSession, refuseUpgrade } from '../../lib/index.ts';
import type { UpgradeOptions } from '../../lib/index.ts';
import { createB2bTestKit, createBackendTestKit } from '../../lib/testing/index.ts';

// `upgrade.test.ts` opens WebSockets; these tests call the functions without a connection.

const kit = createB2bTestKit();

/** The request of a handshake from a page of the application. */
function handshake(headers: http.IncomingHttpHeaders): http.IncomingMessage {
  const req = new http.IncomingMessage(new Socket());
  Object.assign(req.headers, { host: 'app.example', origin: 'http://app.example', ...headers });
  return req;
}

describe('authenticateUpgrade', () => {
  it.each([
    ['another router', () => express.Router(), {}, 'the first argument must be what b2bAuth() or backendAuth()'],
    ['an unknown option', () => b2bAuth(kit.options), { maxAge: 60 }, 'maxAge is not an option'],
    [
      'whenCoordinatorDown without a coordinator',
      () => b2bAuth(kit.options),
      { whenCoordinatorDown: 'refuse' } as const,
      "whenCoordinatorDown: 'refuse' needs the option coordinator of b2bAuth()",
    ],
  ])('names itself in the problem of %s', async (_what, auth, options, problem) => {
    const upgrade = authenticateUpgrade(auth(), handshake({ cookie: await kit.cookie() }), options as UpgradeOptions);
    await expect(upgrade).rejects.toMatchObject({
      name: 'ConfigurationError',
      message: expect.stringContaining(`authenticateUpgrade: ${problem}`),
    });
  });

  it('refuses a session that accept does not let in', async () => {
    const auth = b2bAuth({ ...kit.options, accept: ({ user }) => user.id !== 'user_refused' });
    const upgradeOf = async (id: string) =>
      authenticateUpgrade(auth, handshake({ cookie: await kit.cookie({ user: { id } }) }));
    expect((await upgradeOf('user_in')).session.user.id).toBe('user_in');
    await expect(upgradeOf('user_refused')).rejects.toMatchObject({ code: 'not_accepted', status: 403 });
  });

  it('takes the tokens of the OAuth clients that it names, and of no other', async () => {
    const backendKit = createBackendTestKit();
    const auth = backendAuth(backendKit.options);
    const authorization = await backendKit.bearer({ user: { id: 'user_api' } }, { client: 'client_named' });
    const upgradeFor = (...named: readonly string[]) =>
      authenticateUpgrade(auth, handshake({ authorization }), {
        credentials: ['bearer'],
        ...(named.length === 0 ? {} : { clients: named }),
      });
    expect((await upgradeFor('client_other', 'client_named')).session.user.id).toBe('user_api');
    await expect(upgradeFor('client_other')).rejects.toMatchObject({ code: 'invalid_token' });
    await expect(upgradeFor()).rejects.toMatchObject({ code: 'invalid_token' });
  });

  it('watches no session for a connection that was closed meanwhile', async () => {
    const auth = b2bAuth(kit.options);
    const req = handshake({ cookie: await kit.cookie({ user: { id: 'user_closed' } }) });
    const { ended } = await authenticateUpgrade(auth, req, { check: () => !req.socket.destroy().writable });
    await endSession(auth, { userId: 'user_closed' });
    expect([req.socket.listenerCount('close'), ended.aborted]).toEqual([0, false]);
  });

  it.each(['ended', 'expired'])('says that the session %s meanwhile, and leaves nothing behind', async (reason) => {
    let time = Date.now();
    const clocked = createB2bTestKit({ now: () => time });
    const auth = b2bAuth(clocked.options);
    const req = handshake({ cookie: await clocked.cookie({ user: { id: 'user_1' } }) });
    const { ended } = await authenticateUpgrade(auth, req, {
      async check({ expiresAt }) {
        if (reason === 'ended') await endSession(auth, { userId: 'user_1' });
        else time = expiresAt;
        return true;
      },
    });
    expect(ended.reason).toMatchObject({ code: 'unauthenticated', reason });
    expect(req.socket.listenerCount('close')).toBe(0);
  });
});

describe('refuseUpgrade', () => {
  /** What a client gets that is refused with this error. */
  async function refusalOf(error: unknown): Promise<{ head: readonly string[]; body: unknown }> {
    const chunks: Buffer[] = [];
    const socket = new Duplex({
      read: () => undefined,
      write(chunk: Buffer, _encoding, done) {
        chunks.push(chunk);
        done();
      },
    });
    const closed = new Promise((resolve) => socket.once('close', resolve));
    refuseUpgrade(socket, error);
    await closed;
    const [head = '', body = ''] = Buffer.concat(chunks).toString().split('\r\n\r\n');
    return { head: head.split('\r\n'), body: JSON.parse(body) };
  }
  const common = [
    'Connection: close',
    'Cache-Control: private, no-store',
    'Content-Type: application/json; charset=utf-8',
  ];

  it('tells of an AuthError with its status, its code and its headers', async () => {
    const { head, body } = await refusalOf(new AuthError('unauthenticated', { challenge: 'Bearer' }));
    const length = `Content-Length: ${Buffer.byteLength(JSON.stringify(body))}`;
    expect(head).toEqual(['HTTP/1.1 401 Unauthorized', ...common, length, 'WWW-Authenticate: Bearer']);
    expect(body).toMatchObject({ error: { status: 401, code: 'unauthenticated' } });
  });

  it('tells nothing of another error', async () => {
    const { head, body } = await refusalOf(new Error('secret'));
    expect(head).toEqual(['HTTP/1.1 500 Internal Server Error', ...common, 'Content-Length: 82']);
    expect(body).toEqual({ error: { status: 500, code: 'internal_error', message: 'Something went wrong.' } });
  });

  it('closes the connection where the client has reset it', () => {
    const socket = new Duplex({ read: () => undefined, write: () => undefined });
    refuseUpgrade(socket, new AuthError('unauthenticated'));
    expect(() => socket.emit('error', new Error('read ECONNRESET'))).not.toThrow();
    expect(socket.destroyed).toBe(true);
  });
});
