import fc from 'fast-check';
import { startB2bApp } from '../support/b2b-app.ts';
import type { B2bApp } from '../support/b2b-app.ts';
import { rawRequest, sendRaw } from '../support/raw-socket.ts';
import type { RawAnswer } from '../support/raw-socket.ts';

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'TRACE', 'PROPFIND', 'BREW'];

const routes = [
  '/login',
  '/signup',
  '/callback',
  '/logout',
  '/auth/session',
  '/auth/pages.css',
  '/dashboard/x',
  '/api/me',
  '/whoami',
];

const targets = [
  '//',
  '/%',
  '/%00',
  '/%ff',
  '/%2e%2e/%2e%2e',
  '/\\evil',
  '*',
  'http://evil.test/login',
  'http://a:b@evil.test/dashboard',
  '/login?returnTo=//evil.test',
  '/login?returnTo=%00',
  '/login?returnTo[]=x&returnTo=y',
  '/login?__proto__=x&constructor=y',
  '/callback?code=%ff&state=%ff',
  '/callback?code=a&code=b&state=c&state=d',
  '/callback?error=%3Cscript%3E&error_description=%3Cscript%3Ealert(1)%3C/script%3E',
  '/callback?error=access_denied',
  '/callback?state=',
  '/callback?code=',
  `/login?returnTo=/${'a'.repeat(6000)}`,
  '/login?returnTo=/\u00e9',
  '/LOGIN/',
  '/login/%2e',
  '/login;x=1',
  '/login#frag',
  '/dashboard/../login',
];

const cookies = [
  'b2b-session',
  'b2b-session=',
  '=',
  ';;;;',
  'b2b-session=Fe26.2',
  'b2b-session=Fe26.2*1*a*b*c*d*e*f~2',
  'b2b-session=Fe26.2*__proto__*a*b*c**e*f~2',
  'b2b-session=Fe26.2*constructor*a*b*c**e*f~2',
  'b2b-session=%',
  'b2b-session=%E0%A4%A',
  '__proto__=x; hasOwnProperty=1; constructor=2; toString=3',
  'b2b-session.0=a; b2b-session.2=c',
  `b2b-session.99999999999999999999=x`,
  `b2b-session=${'x'.repeat(12_000)}`,
  Array.from({ length: 400 }, (_, i) => `b2b-session.${i}=x`).join('; '),
  Array.from({ length: 300 }, () => 'b2b-session=Fe26.2*1*a*b*c*d*e*f~2').join('; '),
  Array.from({ length: 100 }, (_, i) => `b2b-session-flow-${i}=Fe26.2*1*a*b*c*d*e*f~2`).join('; '),
  'b2b-session="quoted"',
  'b2b-session=\u00e9\u0080',
  'b2b-session=j:{"a":1}',
];

const hosts = [
  '',
  'a b',
  'evil.test/path',
  'user@evil.test',
  'evil.test:99999',
  '[::1',
  '[::1]:80',
  '127.0.0.1:80:80',
  '\u00e9.test',
  'a'.repeat(300),
  '%00',
  '..',
  'x'.repeat(64) + '.test',
  '<script>',
];

const bodies: readonly (readonly [string[], string])[] = [
  [['Content-Type: application/json', 'Content-Length: 5'], '{"a":'],
  [['Content-Type: application/json', 'Content-Length: 0'], ''],
  [['Content-Type: text/plain', 'Content-Length: 3'], 'abc'],
  [['Content-Type: application/json', 'Content-Length: 20000'], 'x'.repeat(20_000)],
  [['Content-Type: application/x-www-form-urlencoded', 'Transfer-Encoding: chunked'], '3\r\na=b\r\n0\r\n\r\n'],
  [['Content-Type: application/json; charset=utf-99', 'Content-Length: 2'], '{}'],
  [['Content-Type: ', 'Content-Length: 2'], '{}'],
  [['Content-Encoding: gzip', 'Content-Type: application/json', 'Content-Length: 4'], 'nope'],
];

/** What may never happen: a 5xx that is not documented, a crash, a hang. No answer at all is Node refusing the bytes. */
function expectSane(answer: RawAnswer, bytes: string): void {
  const isAllowed = answer.status < 500 || answer.status === 502 || answer.status === 503;
  if (!isAllowed) throw new Error(`${answer.status} for ${bytes.slice(0, 200)}\n${answer.body.slice(0, 500)}`);
  if (/<script/i.test(answer.body)) throw new Error(`reflected: ${bytes.slice(0, 200)}`);
}

describe.each([
  ['without trust proxy', false],
  ['with trust proxy', true],
])('bytes that no browser sends, %s', (_title, trust) => {
  let app: B2bApp;
  beforeAll(async () => {
    app = await startB2bApp({ before: (express) => void express.set('trust proxy', trust) });
  });
  afterAll(() => app.close());

  async function survives(bytes: string): Promise<void> {
    expectSane(await sendRaw(app.port, bytes), bytes);
  }

  afterEach(async () => {
    expect((await app.visitor().get('/')).text).toBe('home');
  });

  it.each(methods)('%s on every route', async (method) => {
    for (const route of routes) await survives(rawRequest(method, route, ['Connection: close']));
  });

  it('targets', async () => {
    for (const target of targets) {
      for (const method of ['GET', 'POST']) await survives(rawRequest(method, target, ['Connection: close']));
    }
  });

  it('cookies', async () => {
    for (const cookie of cookies) {
      for (const route of routes) await survives(rawRequest('GET', route, [`Cookie: ${cookie}`, 'Connection: close']));
      await survives(rawRequest('POST', '/logout', [`Cookie: ${cookie}`, 'Connection: close']));
    }
  });

  it('hosts, in Host and in forwarded headers', async () => {
    for (const host of hosts) {
      for (const route of ['/login', '/logout', '/dashboard/x']) {
        for (const method of ['GET', 'POST']) {
          await survives(rawRequest(method, route, [`Host: ${host}`, 'Origin: http://x', 'Connection: close']));
          const forwarded = [`X-Forwarded-Host: ${host}`, `X-Forwarded-Proto: ${host}`, 'X-Forwarded-For: ,,,'];
          await survives(rawRequest(method, route, [...forwarded, 'Connection: close']));
        }
      }
    }
    await survives('GET /login HTTP/1.1\r\nConnection: close\r\n\r\n');
    await survives('GET /login HTTP/1.0\r\n\r\n');
    await survives('GET /login HTTP/1.1\r\nHost: a\r\nHost: b\r\nConnection: close\r\n\r\n');
  });

  it('bodies', async () => {
    for (const [headers, body] of bodies) {
      for (const route of routes) await survives(rawRequest('POST', route, [...headers, 'Connection: close'], body));
    }
  });

  it('a body that promises more than it sends does not hold an answer back', async () => {
    const bytes = rawRequest('POST', '/logout', ['Content-Type: application/json', 'Content-Length: 1000'], '{"a":');
    expect((await sendRaw(app.port, bytes)).status).toBe(200);
  });

  it('negotiation and metadata headers', async () => {
    const lines = [
      'Accept: ',
      'Accept: ;;;',
      'Accept: application/json;q=x',
      `Accept: ${'a/b,'.repeat(2000)}`,
      'Sec-Fetch-Mode: \u0080',
      'Sec-Fetch-Site: constructor',
      'Sec-Purpose: prefetch;prerender',
      'Origin: null',
      'Origin: %',
      'Accept-Language: \u00ff',
      'X-Forwarded-Host: a, b',
      'Content-Type: \u0000',
    ];
    for (const line of lines) {
      for (const route of routes) {
        await survives(rawRequest('GET', route, [line, 'Connection: close']));
        await survives(rawRequest('POST', route, [line, 'Connection: close']));
      }
    }
  });

  it('whatever a generator comes up with', async () => {
    const junk = fc.string({ unit: 'binary', maxLength: 60 }).map((text) => text.replace(/[\r\n]/g, ''));
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...methods),
        fc.constantFrom(...routes),
        junk,
        junk,
        junk,
        async (method, route, query, cookie, accept) => {
          const line = Buffer.from(
            rawRequest(method, `${route}?returnTo=${query.replaceAll(' ', '')}`, [
              `Cookie: b2b-session=${cookie}`,
              `Accept: ${accept}`,
              'Connection: close',
            ]),
            'utf8',
          ).toString('latin1');
          await survives(line);
        },
      ),
      { numRuns: 300 },
    );
  });
});
