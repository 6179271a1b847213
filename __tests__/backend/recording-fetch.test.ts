import type { RequestListener } from 'node:http';
import { createRecordingFetch } from '../../lib/backend/connection.ts';
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

it('passes through the 204 of a sign-out without a body', async () => {
  say(204, '');
  const { response, text, answer: seen } = await ask(undefined, '/auth/v1/logout?scope=local');
  expect([response.status, text]).toEqual([204, '']);
  expect(seen).toMatchObject({ kind: 'answered', status: 204 });
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
