import { IncomingMessage } from 'node:http';
import type { ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { AuthError, b2bAuth, currentSession, getSession, requireSession } from '../../lib/index.ts';
import type { AuthErrorCode, RequireSessionOptions } from '../../lib/index.ts';
import type { AuthRequest } from '../../lib/http/request.ts';
import { bearerToken, challengeFor, isBearerRequest, tokenSession } from '../../lib/http/guard/bearer.ts';
import { createB2bTestKit } from '../../lib/testing/index.ts';
import { createApplication, publicOrigin } from '../support/application.ts';
import { closeAfterEach } from '../support/close-after-each.ts';
import type { Handler } from '../support/handler-list.ts';
import { sendText } from '../support/hosts.ts';
import type { Host } from '../support/hosts.ts';
import { rawRequest, sendRaw } from '../support/raw-socket.ts';
import { serve } from '../support/servers.ts';
import { createVisitor } from '../support/visitor.ts';
import type { Visitor } from '../support/visitor.ts';

/** A request as Node reads it, with these header lines. */
function requestWith(...lines: readonly (readonly [name: string, value: string])[]): IncomingMessage {
  const req = new IncomingMessage(new Socket());
  req.rawHeaders = lines.flat();
  for (const [name, value] of lines) req.headers[name.toLowerCase()] ??= value;
  return req;
}

describe('the token of a request', () => {
  it.each([
    ['Bearer abc', 'abc'],
    ['bearer   abc==  ', 'abc=='],
    ['Bearer A.b_c~d+e/f-9', 'A.b_c~d+e/f-9'],
  ])('is what follows the scheme: %j', (authorization, token) => {
    expect(bearerToken(requestWith(['Authorization', authorization]))).toBe(token);
  });

  it.each([
    'Bearer',
    'Bearer ',
    ' Bearer abc',
    'Bearer,abc',
    'Bearer abc def',
    'Bearer abc, Bearer def',
    'Bearer a bearer def',
    'Bearer abc=def',
    'Bearer\tabc',
  ])('is empty where the header is malformed: %j', (authorization) => {
    expect(bearerToken(requestWith(['Authorization', authorization]))).toBe('');
  });

  it.each(['Basic abc', 'DPoP bearer abc', 'xbearer abc', 'Digest realm="a", bearer abc', 'Bearer-Like abc', ''])(
    'does not exist where the scheme is another one: %j',
    (authorization) => {
      expect(bearerToken(requestWith(['Authorization', authorization]))).toBeUndefined();
    },
  );

  it('does not exist without the header', () => {
    expect(bearerToken(requestWith(['Host', 'app.example.com'], ['X-Token', 'Bearer abc']))).toBeUndefined();
  });

  it('is empty where the header comes twice, also where only one of them is a bearer token', () => {
    const [good, other] = [
      ['Authorization', 'Bearer abc'],
      ['authorization', 'Basic abc'],
    ] as const;
    expect(bearerToken(requestWith(good, good))).toBe('');
    expect(bearerToken(requestWith(good, other))).toBe('');
    expect(bearerToken(requestWith(other, good))).toBe('');
    expect(bearerToken(requestWith(other, other))).toBeUndefined();
  });

  it('is not doubled by a header in front whose value is the name of this one', () => {
    const asked = ['Access-Control-Request-Headers', 'authorization'] as const;
    expect(bearerToken(requestWith(asked, ['Authorization', 'Bearer abc']))).toBe('abc');
  });

  it('is read from the headers alone where a request that was made by hand has nothing else', () => {
    const byHand = (headers: object): IncomingMessage => ({ headers }) as unknown as IncomingMessage;
    expect(bearerToken(byHand({ authorization: 'Bearer abc' }))).toBe('abc');
    expect(bearerToken(byHand({ authorization: 'Basic abc' }))).toBeUndefined();
    const withEmpty = Object.assign(byHand({ authorization: 'Bearer abc' }), { rawHeaders: [] });
    expect(bearerToken(withEmpty)).toBe('abc');
  });
});

it('a malformed token is refused without a look at the keys', async () => {
  const req = requestWith(['Authorization', 'Bearer a b']);
  const waits = { count: <Value>(waited: Promise<Value>): Promise<Value> => waited };
  const asked: string[] = [];
  const answer = tokenSession({ req, waits } as unknown as AuthRequest, (token) => {
    asked.push(token);
    return Promise.resolve(undefined);
  });
  await expect(answer).rejects.toMatchObject({ code: 'invalid_token' });
  expect(asked).toEqual([]);
});

it.each<[AuthErrorCode, string | undefined]>([
  ['unauthenticated', 'Bearer'],
  ['invalid_token', 'Bearer error="invalid_token"'],
  ['insufficient_scope', 'Bearer error="insufficient_scope"'],
  ['fresh_sign_in_required', 'Bearer error="insufficient_user_authentication", max_age="60"'],
  ['forbidden', undefined],
  ['provider_unavailable', undefined],
])('the challenge for %s is %s', (code, challenge) => {
  expect(challengeFor(new AuthError(code), 60)).toBe(challenge);
});

it('a handshake of Engine.IO, which has no response whose headers could be set, is read like any request', () => {
  const res = {
    getHeader() {
      throw new Error('it has no headers');
    },
  } as unknown as ServerResponse;
  const rules = { isRequired: false, clients: new Set<string>(), maxAge: undefined };
  const isBearer = (authorization: string): boolean =>
    isBearerRequest({ req: requestWith(['Authorization', authorization]), res } as unknown as AuthRequest, rules);
  expect([isBearer('Bearer abc'), isBearer('Basic abc')]).toEqual([true, false]);
});

describe('a guard that accepts bearer tokens', () => {
  const kit = createB2bTestKit();
  const closing = closeAfterEach();
  const guard = (options: RequireSessionOptions): Handler => requireSession(options) as Handler;
  const both = { credentials: ['cookie', 'bearer'] } as const;

  async function start(build: (host: Host) => unknown): Promise<{ visitor: Visitor; port: number }> {
    const { host, listener } = createApplication();
    host.use(b2bAuth(kit.options) as Handler);
    build(host);
    host.onError((error, _req, res) => sendText(res, String(error), 500));
    const server = await closing(serve(listener));
    return { visitor: createVisitor(publicOrigin(server.origin)), port: server.port };
  }

  it('lets pass a response whose head other code has sent', async () => {
    const { visitor } = await start((host) => {
      host.use('/stream', (_req, res, next) => {
        res.flushHeaders();
        next();
      });
      host.use('/stream', guard(both), (req, res) => void res.end(`hello ${currentSession(req).credential}`));
    });
    for (const [headers, credential] of [
      [{ authorization: await kit.bearer() }, 'bearer'],
      [{ cookie: await kit.cookie() }, 'cookie'],
    ] as const) {
      const { status, text } = await visitor.get('/stream', { headers: { ...headers } });
      expect([status, text]).toEqual([200, `hello ${credential}`]);
    }
  });

  it('sends no cookie with a token, also where other code has just renewed the session of the cookies', async () => {
    const { visitor } = await start((host) => {
      host.use('/looked', (req, _res, next) => void getSession(req).then(() => next(), next));
      host.use('/looked', guard(both), (req, res) => sendText(res, currentSession(req).credential));
    });
    const cookie = await kit.cookie({ expired: true });
    const renewed = await visitor.get('/looked', { headers: { cookie, authorization: await kit.bearer() } });
    expect([renewed.status, renewed.text, renewed.setCookies]).toEqual([200, 'bearer', []]);
    // The next request gets what was renewed.
    const next = await visitor.get('/looked', { headers: { cookie } });
    expect([next.status, next.text, next.setCookies]).toEqual([
      200,
      'cookie',
      [expect.stringMatching(/^b2b-session=[^;]+;/)],
    ]);
  });

  it.each([
    ['an error of its own with the status 401', Object.assign(new Error('no bill'), { status: 401 }), 'Error: no bill'],
    ['null', null as unknown as Error, 'Error: A value that is no Error was thrown'],
  ])('passes on what its check throws without a challenge: %s', async (_what, thrown, text) => {
    const { visitor } = await start((host) => {
      host.use('/api', guard({ ...both, check: () => Promise.reject(thrown) }));
    });
    const answer = await visitor.get('/api', { headers: { authorization: await kit.bearer() } });
    expect([answer.status, answer.text, answer.headers['www-authenticate']]).toEqual([500, text, undefined]);
  });

  it('refuses two headers on the wire, whichever one is valid', async () => {
    const { port } = await start((host) => {
      host.use('/api', guard(both), (_req, res) => sendText(res, 'passed'));
    });
    const good = `Authorization: ${await kit.bearer()}`;
    for (const lines of [
      [good, good],
      [good, 'Authorization: Basic eDp5'],
      ['Authorization: Basic eDp5', good],
    ]) {
      const { status, head } = await sendRaw(port, rawRequest('GET', '/api', lines));
      expect([status, /^www-authenticate: .*$/im.exec(head)?.[0]]).toEqual([
        401,
        'WWW-Authenticate: Bearer error="invalid_token"',
      ]);
    }
  });
});
