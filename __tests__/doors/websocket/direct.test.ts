import http from 'node:http';
import { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import express from 'express';
import type { Router } from 'express';
import { AuthError, authenticateUpgrade, b2bAuth, backendAuth, endSession, refuseUpgrade } from '../../../lib/index.ts';
import type { UpgradeOptions } from '../../../lib/index.ts';
import { createB2bTestKit, createBackendTestKit } from '../../../lib/testing/index.ts';
import { serve } from '../../support/servers.ts';
import { createShared } from '../../support/shared-memory.ts';

// `upgrade.test.ts` opens WebSockets; these tests call the functions without a connection.

const kit = createB2bTestKit();

/** The request of a handshake from a page of the application. */
function handshake(headers: http.IncomingHttpHeaders): http.IncomingMessage {
  const req = new http.IncomingMessage(new Socket());
  Object.assign(req.headers, { host: 'app.example', origin: 'http://app.example', ...headers });
  return req;
}

async function signOut(auth: Router, cookie: string): Promise<void> {
  const server = await serve(express().use(auth));
  const { origin } = server;
  const { status } = await fetch(`${origin}/logout`, {
    method: 'POST',
    headers: { cookie, origin },
    redirect: 'manual',
  });
  expect(status).toBeLessThan(400);
  await server.close();
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

  it.each(['ended', 'expired', 'signed_out'])('refuses a session that is %s during check', async (reason) => {
    let time = Date.now();
    const clocked = createB2bTestKit({ now: () => time });
    const auth = b2bAuth(clocked.options);
    const cookie = await clocked.cookie({ user: { id: 'user_1' } });
    const req = handshake({ cookie });
    const upgrade = authenticateUpgrade(auth, req, {
      async check({ expiresAt }) {
        if (reason === 'ended') await endSession(auth, { userId: 'user_1' });
        if (reason === 'expired') time = expiresAt;
        if (reason === 'signed_out') await signOut(auth, cookie);
        return true;
      },
    });
    await expect(upgrade).rejects.toMatchObject({ code: 'unauthenticated', status: 401, reason });
    expect(req.socket.listenerCount('close')).toBe(0);
  });

  it('refuses a session that ends while accept is asked', async () => {
    const auth: Router = b2bAuth({
      ...kit.options,
      async accept({ user }) {
        await endSession(auth, { userId: user.id });
        return true;
      },
    });
    const req = handshake({ cookie: await kit.cookie({ user: { id: 'user_1' } }) });
    await expect(authenticateUpgrade(auth, req)).rejects.toMatchObject({ status: 401, reason: 'ended' });
    expect(req.socket.listenerCount('close')).toBe(0);
  });

  it('refuses a bearer session that ends during check', async () => {
    const auth = b2bAuth(kit.options);
    const authorization = await kit.bearer({ user: { id: 'user_1' } });
    const upgrade = authenticateUpgrade(auth, handshake({ authorization }), {
      credentials: ['bearer'],
      check: ({ user }) => endSession(auth, { userId: user.id }).then(() => true),
    });
    await expect(upgrade).rejects.toMatchObject({ status: 401, reason: 'ended' });
  });

  it.each(['before the handshake', 'during check'])(
    'refuses a session that another process ended %s, although this one knew it a moment ago',
    async (when) => {
      const coordinator = createShared();
      const [here, there] = [1, 2].map(() => b2bAuth({ ...kit.options, coordinator }));
      const cookie = await kit.cookie({ user: { id: 'user_1' } });
      await authenticateUpgrade(here!, handshake({ cookie }));
      const end = () => endSession(there!, { userId: 'user_1' });
      if (when === 'before the handshake') await end();
      const upgrade = authenticateUpgrade(here!, handshake({ cookie }), { check: () => end().then(() => true) });
      await expect(upgrade).rejects.toMatchObject({ status: 401, reason: 'ended' });
    },
  );

  it('lets in what this process knows while the coordinator is down', async () => {
    const coordinator = createShared();
    const auth = b2bAuth({ ...kit.options, coordinator });
    coordinator.isDown = true;
    const { ended } = await authenticateUpgrade(auth, handshake({ cookie: await kit.cookie() }));
    expect(ended.aborted).toBe(false);
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
