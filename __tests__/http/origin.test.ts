import net from 'node:net';
import { startB2bApp, startProvider } from '../support/b2b-app.ts';
import type { B2bApp, B2bAppSetup, SharedProvider } from '../support/b2b-app.ts';
import type { Host } from '../support/hosts.ts';
import { describeOnExpress, itWithoutProxy } from '../support/only.ts';

let provider: SharedProvider;
beforeAll(async () => {
  provider = await startProvider();
});
afterAll(() => provider.close());

async function withApp(setup: B2bAppSetup, run: (app: B2bApp) => Promise<void>): Promise<void> {
  const app = await startB2bApp({ provider, ...setup });
  await run(app).finally(() => app.close());
}

const trusting =
  (value: unknown) =>
  ({ express }: Host): unknown =>
    express.set('trust proxy', value);

/** The redirect URI says which origin the adapter takes for its own; `Secure` says which protocol. */
async function originOf(
  app: B2bApp,
  headers: Record<string, string>,
): Promise<{ uri: string | null; secure: boolean }> {
  const start = await app.visitor().get('/login', { headers });
  return {
    uri: new URL(start.location).searchParams.get('redirect_uri'),
    secure: start.setCookies[0]?.includes('Secure') === true,
  };
}

const forwarded = { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'www.example.com' };

const malformed = [
  'a b',
  'a/b',
  'evil.example/',
  'user@evil.example',
  'evil.example#',
  'evil.example?x',
  'evil.example\\x',
  'evil.example:99999',
  'evil.example:',
  'evil.example:80:80',
  '<script>',
  '[::1',
  '256.256.256.256',
  'xn--',
  '%65vil.example',
];

async function expectInvalidHost(app: B2bApp, headers: Record<string, string>): Promise<void> {
  const page = await app.visitor().get('/login', { headers });
  expect([page.status, page.setCookies]).toEqual([400, []]);
  expect(page.text).toContain('invalid_host');
  const answer = await app.visitor().get('/login', { headers: { ...headers, accept: 'application/json' } });
  expect(answer.json.error.code).toBe('invalid_host');
}

itWithoutProxy('forwarded headers are ignored without trust proxy', async () => {
  await withApp({}, async (app) => {
    expect(await originOf(app, forwarded)).toEqual({ uri: `${app.origin}/callback`, secure: false });
  });
});

describeOnExpress('forwarded headers', () => {
  it.each([true, 1, 'loopback', ['127.0.0.1']])('are used if trust proxy is %j', async (value) => {
    await withApp({ before: trusting(value) }, async (app) => {
      expect(await originOf(app, forwarded)).toEqual({ uri: 'https://www.example.com/callback', secure: true });
      const behind = { ...forwarded, 'x-forwarded-host': 'www.example.com:8443, inner.example' };
      expect((await originOf(app, behind)).uri).toBe('https://www.example.com:8443/callback');
      const { uri } = await originOf(app, { 'x-forwarded-proto': 'https, http' });
      expect(uri).toBe(`https://127.0.0.1:${app.port}/callback`);
    });
  });

  it.each([
    ['wss', 'https'],
    ['WSS', 'https'],
    ['Https', 'https'],
    ['wss, http', 'https'],
    ['ws', 'http'],
    ['WS', 'http'],
    ['wsss', 'http'],
  ])('with the protocol %s, as Traefik names a WebSocket, mean %s', async (proto, protocol) => {
    await withApp({ before: trusting('loopback') }, async (app) => {
      const { uri, secure } = await originOf(app, { ...forwarded, 'x-forwarded-proto': proto });
      expect([uri, secure]).toEqual([`${protocol}://www.example.com/callback`, protocol === 'https']);
    });
  });

  it('with the protocol wss are ignored if trust proxy does not trust this peer', async () => {
    await withApp({ before: trusting('10.0.0.1') }, async (app) => {
      expect(await originOf(app, { 'x-forwarded-proto': 'wss' })).toEqual({
        uri: `http://127.0.0.1:${app.port}/callback`,
        secure: false,
      });
    });
  });

  it('are ignored if trust proxy does not trust this peer', async () => {
    await withApp({ before: trusting('10.0.0.1') }, async (app) => {
      const uri = `http://127.0.0.1:${app.port}/callback`;
      expect(await originOf(app, forwarded)).toEqual({ uri, secure: false });
    });
  });

  it.each(malformed)('with the value %j are a 400', async (host) => {
    await withApp({ before: trusting('loopback') }, (app) => expectInvalidHost(app, { 'x-forwarded-host': host }));
  });

  it('are compared with Origin', async () => {
    for (const [value, status] of [
      [true, 303],
      [false, 403],
    ] as const) {
      await withApp({ before: trusting(value) }, async (app) => {
        const headers = { ...forwarded, origin: 'https://www.example.com' };
        expect((await app.visitor().post('/logout', { headers })).status).toBe(status);
      });
    }
  });

  it('are overridden by appBaseUrl', async () => {
    const options = { appBaseUrl: 'https://public.example' };
    await withApp({ before: trusting(true), options }, async (app) => {
      const headers = { 'x-forwarded-proto': 'http', 'x-forwarded-host': 'other.example' };
      expect(await originOf(app, headers)).toEqual({ uri: 'https://public.example/callback', secure: true });
    });
  });
});

describe('the Host header', () => {
  let app: B2bApp;
  beforeAll(async () => {
    app = await startB2bApp({ provider });
  });
  afterAll(() => app.close());

  itWithoutProxy.each([
    ['example.com', 'http://example.com/callback'],
    ['EXAMPLE.com:8080', 'http://example.com:8080/callback'],
    ['example.com:80', 'http://example.com/callback'],
    ['localhost:3000', 'http://localhost:3000/callback'],
    ['[::1]:3000', 'http://[::1]:3000/callback'],
  ])('%s is valid', async (host, uri) => {
    expect((await originOf(app, { host })).uri).toBe(uri);
  });

  it.each(malformed)('%j is a 400 in the client’s format, if an origin is needed', async (host) => {
    await expectInvalidHost(app, { host });
  });

  it('malformed does not prevent a sign-out', async () => {
    const visitor = await app.signedIn();
    expect((await visitor.post('/logout', { headers: { host: 'a b' } })).status).toBe(400);
    expect(visitor.cookies.size).toBe(0);
  });

  it.each(['GET /login HTTP/1.0\r\n\r\n', 'GET /login HTTP/1.1\r\nHost:\r\nConnection: close\r\n\r\n'])(
    'missing or empty (%j) is a 400',
    async (request) => {
      const answer = await new Promise<string>((resolve, reject) => {
        const socket = net.connect(app.port, '127.0.0.1', () => socket.write(request));
        let text = '';
        socket.on('data', (data) => (text += data.toString()));
        socket.on('end', () => resolve(text));
        socket.on('error', reject);
      });
      expect(answer).toMatch(/^HTTP\/1\.1 400 /);
      expect(answer).toContain('invalid_host');
    },
  );
});
