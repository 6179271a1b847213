import http2 from 'node:http2';
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { b2bAuth, currentSession, requireSession } from '../../lib/b2b/index.ts';
import { createB2bTestKit, createBackendTestKit } from '../../lib/testing/index.ts';
import { backendAuth, withUser } from '../../lib/backend/index.ts';
import { startSupabaseStandIn } from '../../stand-ins/supabase/stand-in.ts';
import type { SupabaseStandIn } from '../../stand-ins/supabase/stand-in.ts';
import { createRecordingPool } from '../support/recording-pool.ts';

const kit = createB2bTestKit();
const auth = b2bAuth({ ...kit.options }) as unknown as Handler;
const guard = requireSession() as unknown as Handler;
type Handler = (req: unknown, res: unknown, next: (error?: unknown) => void) => void;

describe('HTTP/2, in the compatibility mode of Node', () => {
  let server: http2.Http2Server;
  let client: http2.ClientHttp2Session;
  let host: string;
  beforeAll(async () => {
    server = http2.createServer((req, res) => {
      auth(req, res, () => guard(req, res, () => res.end(currentSession(req as never).user.id)));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    client = http2.connect(`http://${host}`);
  });
  afterAll(() => {
    client.close();
    server.close();
  });

  async function ask(
    path: string,
    headers: OutgoingHttpHeaders = {},
    body = '',
  ): Promise<{ headers: IncomingHttpHeaders; body: string }> {
    const stream = client.request({ ':path': path, ...headers }, { endStream: body === '' });
    const answered = new Promise<IncomingHttpHeaders>((resolve) => stream.once('response', resolve));
    if (body !== '') stream.end(body);
    return { headers: await answered, body: await text(stream) };
  }

  it('signs in with the origin of :authority, guards, reads the session', async () => {
    const guarded = await ask('/page');
    expect([guarded.headers[':status'], guarded.headers.location]).toEqual([307, '/login?returnTo=%2Fpage']);
    const start = await ask('/login?returnTo=/page');
    const authorize = new URL(start.headers.location!);
    expect(authorize.searchParams.get('redirect_uri')).toBe(`http://${host}/callback`);
    const [flow = ''] = start.headers['set-cookie'] ?? [];
    const callback = await ask(kit.authorize(authorize.href), { cookie: flow.split(';')[0] });
    expect([callback.headers[':status'], callback.headers.location]).toEqual([303, '/page']);
    const cookie = callback.headers['set-cookie']?.find((line) => line.startsWith('b2b-session='))?.split(';')[0];
    expect((await ask('/page', { cookie })).body).toMatch(/^user_/);
    expect(JSON.parse((await ask('/auth/session', { cookie })).body)).toMatchObject({ authenticated: true });
    const out = await ask('/logout', { cookie, ':method': 'POST', origin: `http://${host}` }, 'a=b');
    expect(out.headers[':status']).toBe(303);
  });

  it('uses :authority and not a Host header beside it', async () => {
    const start = await ask('/login', { ':authority': host, host: 'elsewhere.example' });
    expect(new URL(start.headers.location!).searchParams.get('redirect_uri')).toBe(`http://${host}/callback`);
  });
});

it('guards by a bearer token, whose header HTTP/2 keeps elsewhere', async () => {
  const supabase = await startSupabaseStandIn({ autoconfirm: true });
  supabase.addUser({ email: 'ada@example.com', password: 'correct horse battery' });
  const { access_token: token } = await supabase.issueSession('ada@example.com');
  const backend = backendAuth({ url: supabase.url, anonKey: supabase.publishableKey }) as unknown as Handler;
  const bearer = requireSession({ credentials: ['cookie', 'bearer'] }) as unknown as Handler;
  const server = http2.createServer((req, res) => {
    try {
      backend(req, res, () => bearer(req, res, () => res.end(String(currentSession(req as never).user.email))));
    } catch (error) {
      res.end(String(error));
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const client = http2.connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const ask = async (authorization: string): Promise<unknown[]> => {
    const stream = client.request({ ':path': '/page', accept: 'application/json', authorization });
    const answered = new Promise<IncomingHttpHeaders>((resolve) => stream.once('response', resolve));
    return [(await answered)[':status'], await text(stream)];
  };
  expect(await ask(`Bearer ${token}`)).toEqual([200, 'ada@example.com']);
  expect(await ask('Bearer made-up')).toEqual([401, expect.stringContaining('invalid_token')]);
  expect(await ask('Basic YTpi')).toEqual([401, expect.stringContaining('unauthenticated')]);
  client.destroy();
  server.close();
  await supabase.close();
});

describe('a body over HTTP/2, which needs no length', () => {
  const ada = { email: 'ada@example.com', password: 'correct horse battery' };
  const json = 'application/json';
  let supabase: SupabaseStandIn;
  let server: http2.Http2Server;
  let client: http2.ClientHttp2Session;
  beforeAll(async () => {
    supabase = await startSupabaseStandIn({ autoconfirm: true });
    supabase.addUser(ada);
    const backend = backendAuth({ url: supabase.url, anonKey: supabase.publishableKey }) as unknown as Handler;
    server = http2.createServer((req, res) => backend(req, res, () => res.end()));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    client = http2.connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  });
  afterAll(async () => {
    client.destroy();
    server.close();
    await supabase.close();
  });

  /** @param frames of data; without any the stream ends with its headers */
  async function post(path: string, headers: OutgoingHttpHeaders, frames?: readonly string[]): Promise<number> {
    const head = { ':path': path, ':method': 'POST', accept: json, ...headers };
    const stream = client.request(head, { endStream: frames === undefined });
    const answered = new Promise<IncomingHttpHeaders>((resolve) => stream.once('response', resolve));
    for (const frame of frames ?? []) stream.write(frame);
    if (frames !== undefined) stream.end();
    const { ':status': status } = await answered;
    await text(stream.resume());
    return Number(status);
  }

  const written = JSON.stringify(ada);
  it.each<[string, number, OutgoingHttpHeaders, readonly string[] | undefined]>([
    ['in one frame', 200, { 'content-type': json }, [written]],
    ['in several frames', 200, { 'content-type': json }, [written.slice(0, 20), written.slice(20)]],
    ['as a form', 200, { 'content-type': 'application/x-www-form-urlencoded' }, [new URLSearchParams(ada).toString()]],
    ['with a length', 200, { 'content-type': json, 'content-length': written.length }, [written]],
    ['that is too long', 413, { 'content-type': json }, ['x'.repeat(17_000)]],
    ['of another type', 415, { 'content-type': 'text/plain' }, ['x']],
    ['that is broken', 400, { 'content-type': json }, ['{']],
    ['without anything in it', 400, { 'content-type': json }, []],
    ['that does not exist, as the stream ends with its headers', 400, { 'content-type': json }, undefined],
  ])('is read %s: %i', async (_, status, headers, frames) => {
    expect(await post('/auth/login', headers, frames)).toBe(status);
  });

  it('may be none at all, also where an empty frame follows the headers', async () => {
    for (const frames of [undefined, []]) expect(await post('/auth/logout', {}, frames)).toBe(200);
  });
});

it.each(['before', 'during'])('a stream that is closed %s withUser commits nothing', async (when) => {
  const supabase = createBackendTestKit();
  const backend = backendAuth(supabase.options) as unknown as Handler;
  const pool = createRecordingPool();
  const outcome = Promise.withResolvers<unknown>();
  const server = http2.createServer((req, res) => {
    const closed = new Promise((resolve) => res.once('close', resolve));
    const leave = async (): Promise<void> => {
      stream.close(http2.constants.NGHTTP2_CANCEL);
      await closed;
    };
    backend(req, res, () => {
      const ready = when === 'before' ? leave() : Promise.resolve();
      const call = ready.then(() => withUser(pool, req as never, leave));
      call.then(outcome.resolve, outcome.resolve);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const client = http2.connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const stream = client.request({ ':path': '/page', cookie: await supabase.cookie() });
  stream.on('error', () => undefined);
  expect(await outcome.promise).toMatchObject({ name: 'AbortError' });
  const rolledBack = ['begin', 'rollback'];
  expect(pool.connections.map(({ words }) => words)).toEqual(when === 'before' ? [] : [rolledBack]);
  client.destroy();
  server.close();
});
