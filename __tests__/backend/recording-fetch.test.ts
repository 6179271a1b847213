import type { RequestListener } from 'node:http';
import { text } from 'node:stream/consumers';
import { createRecordingFetch, forwarding, outOfTime, reportRefusal } from '../../lib/backend/supabase/connection.ts';
import { AuthError } from '../../lib/errors.ts';
import { serve } from '../support/servers.ts';
import type { RunningServer } from '../support/servers.ts';

let server: RunningServer;
let answer: RequestListener;
beforeAll(async () => {
  server = await serve((req, res) => answer(req, res));
});
afterAll(() => server.close());

const say = (status: number, text: string, headers: Record<string, string> = {}) => {
  answer = (_req, res) => res.writeHead(status, headers).end(text);
};

/** @param signal by default one that a busy machine does not reach */
async function ask(signal: AbortSignal = AbortSignal.timeout(25_000), path = '/') {
  const gateway = createRecordingFetch(fetch, signal);
  const response = await gateway.fetch(server.origin + path);
  return { response, text: await response.text(), answer: gateway.answer() };
}

it('asks as it is told', async () => {
  answer = (req, res) => {
    void text(req).then((body) => res.end(JSON.stringify([req.method, req.headers['x-own'], body])));
  };
  const gateway = createRecordingFetch(fetch, AbortSignal.timeout(25_000));
  const init = { method: 'POST', headers: { 'x-own': 'sent' }, body: 'text' };
  for (const asked of [
    gateway.fetch(`${server.origin}/passkeys`, init),
    gateway.fetch(new URL('/passkeys', server.origin), init),
    gateway.fetch(new Request(`${server.origin}/passkeys`, init)),
  ]) {
    expect(await (await asked).json()).toEqual(['POST', 'sent', 'text']);
  }
});

it('has no answer before the first call', () => {
  expect(createRecordingFetch(fetch, AbortSignal.timeout(5_000)).answer()).toEqual({ kind: 'none' });
});

it('passes a successful answer through unchanged', async () => {
  say(200, '{"a":1}', { 'x-own': 'kept', 'content-type': 'application/json' });
  const { response, text, answer: seen } = await ask();
  expect([response.status, response.headers.get('x-own'), text]).toEqual([200, 'kept', '{"a":1}']);
  expect(seen).toEqual({ kind: 'answered', status: 200, code: undefined, message: undefined, retryAfter: undefined });
});

it.each([
  ['{"error_code":"weak_password","code":422,"msg":"Too weak"}', 'weak_password', 'Too weak'],
  ['{"code":"weak_password","message":"Too weak"}', 'weak_password', 'Too weak'],
  ['{"error":"invalid_client","error_description":"Not yours"}', 'invalid_client', undefined],
  ['{"error":"invalid_grant"}', 'invalid_grant', undefined],
  ['{"error":"requested path is invalid"}', undefined, undefined],
  ['{"error_code":"first","code":"second","message":"one","msg":"two"}', 'first', 'one'],
  ['{"code":422,"msg":7}', undefined, undefined],
  ['["code"]', undefined, undefined],
  ['null', undefined, undefined],
  ['"code"', undefined, undefined],
  ['<html>', undefined, undefined],
  ['', undefined, undefined],
])('records the code and the message of a refusal: %j', async (body, code, message) => {
  say(422, body);
  const { response, text, answer: seen } = await ask();
  expect([response.status, text]).toEqual([422, body]);
  expect(seen).toEqual({ kind: 'answered', status: 422, code, message, retryAfter: undefined });
});

it.each([
  ['7', 7],
  ['0', undefined],
  ['-1', undefined],
  ['soon', undefined],
  ['Sat, 21 Nov 2026 10:00:00 GMT', undefined],
])('records how long a limit lasts: %j', async (value, retryAfter) => {
  say(429, '{}', { 'retry-after': value });
  expect((await ask()).answer).toMatchObject({ status: 429, retryAfter });
});

it.each([500, 502, 503, 599])('hides a %i from the SDK, which would retry it', async (status) => {
  say(status, '{"error_code":"unexpected_failure"}');
  const { response, text, answer: seen } = await ask();
  expect([response.status, JSON.parse(text).error_code]).toEqual([400, 'unavailable']);
  expect(seen).toMatchObject({ kind: 'answered', status, code: 'unexpected_failure' });
});

it.each(['<html>Sign in to the Wi-Fi</html>', '', 'null', '7', '"text"', '[]'])(
  'treats a 200 that is not a JSON object (%j) as an outage',
  async (page) => {
    say(200, page);
    const { response, answer: seen } = await ask();
    expect(response.status).toBe(400);
    expect(seen).toMatchObject({ kind: 'answered', status: 502 });
  },
);

it('has no code and no message of a success', async () => {
  say(200, '{"code":"a code","error_code":"another","message":"a text","msg":"another"}', { 'retry-after': '7' });
  const { answer: seen } = await ask();
  expect(seen).toEqual({ kind: 'answered', status: 200, code: undefined, message: undefined, retryAfter: 7 });
});

it.each(['/auth/v1/logout?scope=local', '/auth/v1/passkeys/one', '/auth/v1/user/oauth/grants?client_id=x'])(
  'passes through the 204 of %s without a body',
  async (path) => {
    say(204, '');
    const { response, text, answer: seen } = await ask(undefined, path);
    expect([response.status, text]).toEqual([204, '']);
    expect(seen).toMatchObject({ kind: 'answered', status: 204 });
  },
);

it.each(['/auth/v1/passkeys', '/auth/v1/user/oauth/grants'])('passes through the list of %s', async (path) => {
  say(200, '[{"id":1}]');
  const { response, text, answer: seen } = await ask(undefined, path);
  expect([response.status, text]).toEqual([200, '[{"id":1}]']);
  expect(seen).toMatchObject({ kind: 'answered', status: 200 });
});

it.each<[number, string, string]>([
  [204, '', '/auth/v1/passkeys'],
  [204, '', '/auth/v1/passkeys/'],
  [204, '', '/auth/v1/passkeys/one/two'],
  [204, '', '/auth/v1/logout/more'],
  [204, '', '/auth/v1/logouts'],
  [204, '', '/auth/v1/user/oauth/grants/more'],
  [200, '', '/auth/v1/logout'],
  [200, '[]', '/auth/v1/logout'],
  [200, '[]', '/auth/v1/passkeys/one'],
  [200, '[]', '/auth/v1/user/oauth/grants/more'],
  [200, '[]', '/auth/v1/own-passkeys'],
  [200, 'null', '/auth/v1/passkeys'],
])('treats %i %j as an outage where GoTrue answers otherwise: %s', async (status, text, path) => {
  say(status, text);
  expect((await ask(undefined, path)).answer).toMatchObject({ kind: 'answered', status: 502 });
});

it.each([201, 202, 203, 204, 205])(
  'treats a %i without a body as an outage, because the SDK would retry it',
  async (status) => {
    say(status, '');
    const { response, answer: seen } = await ask();
    expect([response.status, seen]).toMatchObject([400, { kind: 'answered', status: 502 }]);
  },
);

it('passes a 304 on, which has no body', async () => {
  say(304, '');
  const { response, text, answer: seen } = await ask();
  expect([response.status, text]).toEqual([304, '']);
  expect(seen).toMatchObject({ kind: 'answered', status: 304 });
});

it('follows no redirect', async () => {
  say(302, '', { location: `${server.origin}/elsewhere` });
  expect((await ask()).answer).toMatchObject({ kind: 'answered', status: 302 });
});

it('passes on a compressed body decompressed', async () => {
  const { gzipSync } = await import('node:zlib');
  answer = (_req, res) => {
    const body = gzipSync('{"a":"text that is longer once it is open"}');
    res.writeHead(200, { 'content-encoding': 'gzip', 'content-length': body.length }).end(body);
  };
  const { response, text } = await ask();
  expect([response.headers.get('content-encoding'), response.headers.get('content-length')]).toEqual([null, null]);
  expect(text).toContain('longer once it is open');
});

it('treats a connection that is cut, and a body that breaks off, as unanswered', async () => {
  answer = (req) => req.socket.destroy();
  expect((await ask()).answer).toMatchObject({ kind: 'unanswered' });
  answer = (req, res) => {
    res.writeHead(200, { 'content-length': '100' });
    res.write('{"a":', () => req.socket.destroy());
  };
  const { response, answer: seen } = await ask();
  expect([response.status, seen.kind]).toEqual([400, 'unanswered']);
});

it('respects its time limit', async () => {
  answer = () => undefined;
  const { response, answer: seen } = await ask(AbortSignal.timeout(20));
  expect(response.status).toBe(400);
  expect(seen).toMatchObject({ kind: 'unanswered', cause: { name: 'TimeoutError' } });
});

it.each(['endless', 'compressed from much'])('stops reading an answer that is %s', async (kind) => {
  const { gzipSync } = await import('node:zlib');
  const chunk = Buffer.alloc(65_536, 'a');
  let sent = 0;
  answer = (_req, res) => {
    if (kind !== 'endless') {
      const body = gzipSync(Buffer.alloc(50_000_000, 'a'));
      res.writeHead(200, { 'content-encoding': 'gzip' }).end(body);
      return;
    }
    const more = (): void => {
      while (!res.closed && sent < 20_000_000 && res.write(chunk)) sent += chunk.length;
      // Long enough to be noticed, but finite, so that a failing test ends.
      if (sent >= 20_000_000) res.end();
    };
    res.writeHead(200).on('drain', more);
    more();
  };
  const { response, answer: seen } = await ask();
  expect([response.status, seen]).toMatchObject([400, { kind: 'unanswered' }]);
  expect(String(seen.kind === 'unanswered' ? seen.cause : '')).toContain('larger than 1048576 bytes');
  expect(sent).toBeLessThan(20_000_000);
});

it('records the last answer only', async () => {
  const gateway = createRecordingFetch(fetch, AbortSignal.timeout(5_000));
  say(422, '{"code":"weak_password"}');
  await gateway.fetch(server.origin);
  say(200, '{}');
  await gateway.fetch(server.origin);
  expect(gateway.answer()).toMatchObject({ status: 200, code: undefined });
});

describe('the visitor’s address', () => {
  const told = async (isOn: boolean, address: string | undefined, ...asked: Parameters<typeof fetch>) => {
    const seen: Request[] = [];
    const fetch: typeof globalThis.fetch = (input, init) => {
      seen.push(new Request(input, init));
      return Promise.resolve(Response.json({}));
    };
    await forwarding({ fetch, forwardClientAddress: isOn }, address)(...asked);
    const [{ method, headers }] = seen as [Request];
    return [method, headers.get('x-own'), headers.get('x-forwarded-for')];
  };
  const url = 'http://127.0.0.1:1/';
  const init = { method: 'POST', headers: { 'x-own': 'sent', 'x-forwarded-for': 'made up' } };

  it('goes along with the request’s own headers', async () => {
    expect(await told(true, '203.0.113.7', url, init)).toEqual(['POST', 'sent', '203.0.113.7']);
    expect(await told(true, '203.0.113.7', new Request(url, init))).toEqual(['POST', 'sent', '203.0.113.7']);
    expect(await told(true, '203.0.113.7', new Request(url), init)).toEqual(['POST', 'sent', '203.0.113.7']);
    expect(await told(true, '203.0.113.7', url)).toEqual(['GET', null, '203.0.113.7']);
  });

  it.each([
    [false, '203.0.113.7'],
    [true, undefined],
  ])('does not where it is off or unknown: %p, %p', async (isOn, address) => {
    expect(await told(isOn, address, url, { headers: { 'x-own': 'sent' } })).toEqual(['GET', 'sent', null]);
  });
});

it('a refusal that only operators can mend is reported, and no other', () => {
  const events: unknown[] = [];
  const emit = (event: unknown): void => void events.push(event);
  for (const code of ['provider_refused', 'provider_unavailable', 'invalid_credentials'] as const) {
    const error = new AuthError(code);
    expect(reportRefusal(error, emit)).toBe(error);
  }
  expect(events).toEqual([
    { type: 'configuration_warning', message: expect.stringContaining('check url and anonKey') },
  ]);
});

it('a call that took too long is an outage, which may pass soon', () => {
  expect(outOfTime()).toMatchObject({ code: 'provider_unavailable', reason: 'timeout', retryAfter: 5 });
});
