import http from 'node:http';
import type { IncomingMessage } from 'node:http';
import http2 from 'node:http2';
import { jest } from '@jest/globals';
import type { SupabaseClient } from '@supabase/supabase-js';
import { backendAuth, getSession, getSupabaseClient, renewSession } from '../../lib/backend/index.ts';
import type { BackendAuthOptions } from '../../lib/backend/index.ts';
import { ada, startBackendApp } from '../support/backend-app.ts';
import { closeAfterEach } from '../support/close-after-each.ts';
import type { Host } from '../support/hosts.ts';
import { describeAtRoot, itWithoutProxy } from '../support/only.ts';
import { createShared } from '../support/shared-memory.ts';
import { until } from '../support/until.ts';
import type { Visitor } from '../support/visitor.ts';

const closed = closeAfterEach();
const hour = 3_600_000;
const grace = { email: 'grace@example.com', password: 'nanoseconds of wire' };

beforeEach(() =>
  jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask', 'Date', 'performance'] }),
);
afterEach(() => jest.useRealTimers());

type Work = (req: IncomingMessage) => Promise<unknown>;

/** Two processes; a page of the first one does some work, and answers once it is told to. */
async function startTwo(work: Work = getSession) {
  let now = (): number => 0;
  const coordinator = createShared(() => now());
  const { promise: released, resolve: release } = Promise.withResolvers<undefined>();
  let waiting = 0;
  const after = (host: Host): void => {
    host.get('/slow', (req, res, next) => {
      work(req)
        .then(() => {
          waiting += 1;
          return released;
        })
        .then(() => res.end(), next);
    });
  };
  const one = await closed(startBackendApp({ standIn: { reuse: 'strict' }, options: { coordinator }, after }));
  const { clock, supabase, cookieName } = one;
  now = clock.now;
  const options: BackendAuthOptions = { coordinator, url: supabase.url, anonKey: supabase.publishableKey, now };
  const two = await closed(startBackendApp({ options: { ...options, cookieName } }));
  const browser = await one.signedIn();
  clock.advance(hour + 1_000);

  const pass = async (ms: number): Promise<void> => {
    clock.advance(ms);
    await jest.advanceTimersByTimeAsync(ms);
    for (let turn = 0; turn < 30; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  };
  /** The same browser at another process. */
  const at = (visitor: Visitor): Visitor => {
    visitor.cookies.clear();
    browser.cookies.forEach((value, name) => visitor.cookies.set(name, value));
    return visitor;
  };
  const slow = at(one.visitor());
  const cookie = slow.cookieHeader();
  const answer = slow.get('/slow');
  // A test that fails does not wait for it.
  answer.catch(() => undefined);
  await until(() => waiting === 1);
  return {
    coordinator,
    one: { ...one, waiting: () => waiting },
    cookie,
    two,
    supabase,
    clock,
    browser,
    pass,
    answer,
    release: () => release(undefined),
    at,
  };
}

describe('a slow response', () => {
  // The other process' answer is forgotten after 25 seconds.
  it.each([1, 40])('brings no tokens that another process exchanged %i seconds ago', async (seconds) => {
    const { two, supabase, pass, answer, release, at } = await startTwo();
    const browser = at(two.visitor());
    await browser.get('/account');
    supabase.setMetadata(ada.email, { role: 'admin' });
    await renewSession(two.auth, { userId: supabase.users()[0]!.id });
    await browser.get('/account');
    for (let second = 0; second < seconds; second += 1) await pass(1_000);
    release();
    expect((await answer).setCookies).toEqual([]);
    await pass(60_000);
    expect((await browser.get('/account')).status).toBe(200);
  });

  it('brings no tokens of a person whom another one has replaced at another process', async () => {
    const { two, supabase, pass, answer, release, at } = await startTwo();
    supabase.addUser(grace);
    await at(two.visitor()).postJson('/auth/login', grace);
    await pass(1_000);
    release();
    expect((await answer).setCookies).toEqual([]);
  });

  it('brings its tokens where no other process knows more, however long it takes', async () => {
    const { pass, answer, release } = await startTwo();
    for (let second = 0; second < 40; second += 1) await pass(1_000);
    release();
    expect((await answer).setCookies).toHaveLength(1);
  });

  it('brings its tokens while the coordinator does not answer', async () => {
    const { coordinator, pass, answer, release } = await startTwo();
    coordinator.isDown = true;
    await pass(2_000);
    release();
    expect((await answer).setCookies).toHaveLength(1);
  });

  // The request has neither a prefix nor a proxy's headers.
  describeAtRoot('over plain http', () => {
    itWithoutProxy('asks the other processes no more once its connection is closed', async () => {
      const { coordinator, one, pass, cookie, answer, release } = await startTwo();
      const take = jest.spyOn(coordinator, 'take');
      const request = http.get(`${one.origin}/slow`, { headers: { cookie } }).on('error', () => undefined);
      await until(() => one.waiting() === 2);
      await pass(1_000);
      expect(take).toHaveBeenCalledTimes(2);
      request.destroy();
      await new Promise((resolve) => request.once('close', resolve));
      await pass(1_000);
      await pass(1_000);
      expect(take).toHaveBeenCalledTimes(4);
      release();
      await answer;
    });
  });

  it('asks the other processes once a second, until it is sent', async () => {
    const { coordinator, pass, answer, release } = await startTwo();
    const take = jest.spyOn(coordinator, 'take');
    await pass(999);
    expect(take).not.toHaveBeenCalled();
    for (let second = 0; second < 3; second += 1) await pass(1_000);
    expect(take).toHaveBeenCalledTimes(3);
    release();
    await answer;
    await pass(10_000);
    expect(take).toHaveBeenCalledTimes(3);
  });

  it('asks the other processes no more once its stream of HTTP/2 is closed', async () => {
    const { coordinator, one, supabase, clock, pass, cookie, answer, release } = await startTwo();
    const { cookieName, url, publishableKey: anonKey } = { ...supabase, cookieName: one.cookieName };
    const auth = backendAuth({ coordinator, url, anonKey, cookieName, now: clock.now });
    let [waiting, closed] = [0, 0];
    const server = http2.createServer((req, res) => {
      res.stream.once('close', () => (closed += 1));
      const host = [req, res] as unknown as [IncomingMessage, http.ServerResponse];
      Reflect.apply(auth, undefined, [...host, () => void getSession(host[0]).then(() => (waiting += 1))]);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    const client = http2.connect(`http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`);
    const stream = client.request({ ':path': '/page', cookie }).on('error', () => undefined);
    await until(() => waiting === 1);
    release();
    await answer;
    const take = jest.spyOn(coordinator, 'take');
    await pass(1_000);
    expect(take).toHaveBeenCalledTimes(1);
    stream.close(http2.constants.NGHTTP2_CANCEL);
    await until(() => closed === 1);
    await pass(1_000);
    await pass(1_000);
    expect(take).toHaveBeenCalledTimes(1);
    client.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
});

const sdk =
  (call: (client: SupabaseClient) => Promise<{ readonly error: unknown }>): Work =>
  async (req) => {
    const { error } = await call(await getSupabaseClient(req));
    if (error !== null) throw new Error('the SDK failed', { cause: error });
  };

describe.each([
  ['refreshSession', sdk((client) => client.auth.refreshSession())],
  ['updateUser', sdk((client) => client.auth.updateUser({ data: { nick: 'x' } }))],
  ['signOut', sdk((client) => client.auth.signOut({ scope: 'local' }))],
])('a slow response whose handler calls %s of its Supabase client', (_name, work) => {
  it.each(['here', 'there'] as const)('leaves the cookie to a person who signs in meanwhile: %s', async (place) => {
    const { one, two, supabase, pass, answer, release, at } = await startTwo(work);
    supabase.addUser(grace);
    await pass(1_000);
    await at((place === 'here' ? one : two).visitor()).postJson('/auth/login', grace);
    await pass(1_000);
    release();
    expect((await answer).setCookies).toEqual([]);
  });

  it('brings its cookie where nothing came meanwhile', async () => {
    const { answer, release } = await startTwo(work);
    release();
    expect((await answer).setCookies).not.toEqual([]);
  });
});
