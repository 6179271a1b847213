import { jest } from '@jest/globals';
import express from 'express';
import { AuthError } from '../../lib/errors.ts';
import { readFields } from '../../lib/http/body.ts';
import { rawRequest, sendEndless, sendRaw } from '../support/raw-socket.ts';
import { serve } from '../support/servers.ts';
import { createVisitor } from '../support/visitor.ts';
import type { Answer } from '../support/visitor.ts';

const json = 'application/json';
const form = 'application/x-www-form-urlencoded';

/** What is read of a body, after the parsers that an application put in front. */
async function read(body: string, headers: Record<string, string>, ...before: express.Handler[]): Promise<Answer> {
  const app = express();
  for (const handler of before) app.use(handler);
  app.use((req, res) => {
    readFields(req, res).then(
      (fields) => res.json([...fields]),
      (error: unknown) => {
        if (!(error instanceof AuthError)) throw error;
        res.status(error.status).json(error.code);
      },
    );
  });
  const server = await serve(app);
  try {
    return await createVisitor(server.origin).post('/', { headers, body });
  } finally {
    await server.close();
  }
}

const fieldsOf = async (...given: Parameters<typeof read>): Promise<unknown> => (await read(...given)).json;

const setBody =
  (body: unknown): express.Handler =>
  (req, _res, next) => {
    req.resume().on('end', () => {
      req.body = body;
      next();
    });
  };

it.each([
  ['JSON', json, '{"a":"1","b":"2"}'],
  ['JSON with a charset', `${json}; charset=utf-8`, '{"a":"1","b":"2"}'],
  ['JSON in capitals', ' Application/JSON ;x=y', '{"a":"1","b":"2"}'],
  ['a form', form, 'a=1&b=2'],
])('reads %s', async (_what, type, body) => {
  expect(await fieldsOf(body, { 'content-type': type })).toEqual([
    ['a', '1'],
    ['b', '2'],
  ]);
});

it('reads what is not a string as empty, and nothing that is null or inherited', async () => {
  const body = '{"a":"1","b":2,"c":null,"d":["x"],"e":{"f":"x"},"h":true}';
  const empty = ['b', 'd', 'e', 'h'].map((name) => [name, '']);
  expect(await fieldsOf(body, { 'content-type': json })).toEqual([['a', '1'], ...empty]);
});

describe('the field `credential`, a passkey’s answer', () => {
  it.each([
    ['an object', { credential: { id: 'x', response: { a: [1, null] } } }, '{"id":"x","response":{"a":[1,null]}}'],
    ['text', { credential: '{"id":"x"}' }, '{"id":"x"}'],
    ['a list', { credential: ['x'] }, '["x"]'],
    ['null', { credential: null }, 'null'],
    ['a number', { credential: 7 }, '7'],
  ])('is JSON text where a script sent %s', async (_what, body, text) => {
    expect(await fieldsOf(JSON.stringify(body), { 'content-type': json })).toEqual([['credential', text]]);
  });

  it('is the text of a form’s hidden field', async () => {
    expect(await fieldsOf('credential={"id":"x"}', { 'content-type': form })).toEqual([['credential', '{"id":"x"}']]);
  });

  it('is refused with more levels than any passkey’s answer has', async () => {
    const nested = (levels: number) => `{"credential":${'['.repeat(levels)}${']'.repeat(levels)}}`;
    expect(await fieldsOf(nested(32), { 'content-type': json })).toEqual([['credential', nested(32).slice(14, -1)]]);
    const answer = await read(nested(33), { 'content-type': json });
    expect([answer.status, answer.json]).toEqual([400, 'invalid_request']);
  });
});

it('treats an empty body as no fields, whatever its type', async () => {
  expect(await fieldsOf('', {})).toEqual([]);
  expect(await fieldsOf('', { 'content-type': 'text/plain', 'content-length': '0' })).toEqual([]);
});

it.each([undefined, 'text/plain', 'application/jsonp', 'text/application/json', 'multipart/form-data; boundary=x'])(
  'refuses another type: %j',
  async (type) => {
    const answer = await read('a=1', type === undefined ? {} : { 'content-type': type });
    expect([answer.status, answer.json]).toEqual([415, 'unsupported_media_type']);
  },
);

it.each(['multipart/form-data; boundary=x', 'application/vnd.own+json', undefined])(
  'takes the fields that the application has parsed, whatever the type: %j',
  async (type) => {
    const body = Object.assign(Object.create(null) as object, { email: 'ada@example.com', tags: ['a'], file: {} });
    expect(await fieldsOf('x', type === undefined ? {} : { 'content-type': type }, setBody(body))).toEqual([
      ['email', 'ada@example.com'],
      ['tags', ''],
      ['file', ''],
    ]);
  },
);

it.each([
  ['text', 'email=ada@example.com'],
  ['bytes', Buffer.from('email=ada@example.com')],
  ['nothing', undefined],
  ['null', null],
  ['a function', () => 'email'],
])('refuses another type of which the application made %s', async (_what, body) => {
  const answer = await read('x', { 'content-type': 'multipart/form-data; boundary=x' }, setBody(body));
  expect([answer.status, answer.json]).toEqual([415, 'unsupported_media_type']);
});

it('refuses another type whose body is still unread', async () => {
  const answer = await read('x', { 'content-type': 'multipart/form-data; boundary=x' }, (req, _res, next) => {
    req.body = {};
    next();
  });
  expect([answer.status, answer.json]).toEqual([415, 'unsupported_media_type']);
});

it('refuses parsed fields of more than 16 KB, and an array', async () => {
  const type = { 'content-type': 'multipart/form-data; boundary=x' };
  expect((await read('x', type, setBody({ a: 'x'.repeat(17_000) }))).json).toBe('payload_too_large');
  expect((await read('x', type, setBody(['a']))).json).toBe('invalid_request');
});

it.each(['gzip', 'deflate', 'br'])('decompresses nothing (%s)', async (encoding) => {
  const answer = await read('x', { 'content-type': json, 'content-encoding': encoding });
  expect([answer.status, answer.json]).toEqual([415, 'unsupported_media_type']);
});

it.each([
  [json, '{"a":', 'invalid_request'],
  [json, '[]', 'invalid_request'],
  [json, '"text"', 'invalid_request'],
  [form, `${'a=1&'.repeat(101)}a=1`, 'payload_too_large'],
])('refuses what is malformed as %s: %j (%s)', async (type, body, code) => {
  expect((await read(body, { 'content-type': type })).json).toBe(code);
});

it('treats a POST that announces no body as one without fields', async () => {
  const server = await serve((req, res) => {
    readFields(req, res).then(
      (fields) => res.end(JSON.stringify([...fields])),
      (error: unknown) => res.end(String(error)),
    );
  });
  const { body } = await sendRaw(server.port, rawRequest('POST', '/', ['Connection: close']));
  await server.close();
  expect(body).toContain('[]');
});

it('refuses a body that never ends as soon as it is too large', async () => {
  const head = rawRequest('POST', '/', [`Content-Type: ${json}`, 'Transfer-Encoding: chunked']);
  const server = await serve((req, res) => {
    readFields(req, res).catch((error: unknown) => {
      const { status, code } = error as AuthError;
      res.writeHead(status, { 'content-length': code.length, connection: 'close' }).end(code);
    });
  });
  const { status, body } = await sendEndless(server.port, head, `1000\r\n${' '.repeat(4096)}\r\n`);
  await server.close();
  expect([status, body]).toEqual([413, 'payload_too_large']);
});

it('refuses a body that has not arrived after ten seconds', async () => {
  const timeout = jest.spyOn(AbortSignal, 'timeout').mockImplementation(() => {
    const controller = new AbortController();
    setImmediate(() => controller.abort());
    return controller.signal;
  });
  const server = await serve((req, res) => {
    readFields(req, res).catch((error: unknown) => {
      const { status, code } = error as AuthError;
      res.writeHead(status, { 'content-length': code.length, connection: 'close' }).end(code);
    });
  });
  const half = rawRequest('POST', '/', [`Content-Type: ${json}`, 'Content-Length: 9'], '{"a":');
  const { status, body } = await sendRaw(server.port, half);
  await server.close();
  const limits = timeout.mock.calls;
  timeout.mockRestore();
  expect([status, body, limits]).toEqual([400, 'invalid_request', [[10_000]]]);
});

it.each<[string, string, Record<string, string>, express.Handler[]]>([
  ['malformed', '{"a":', { 'content-type': json }, []],
  ['malformed and read by the application', '{"a":', { 'content-type': json }, [express.text({ type: () => true })]],
  ['encoded', 'x', { 'content-type': json, 'content-encoding': 'gzip' }, []],
  ['made of too many fields', 'a=1&'.repeat(102), { 'content-type': form }, []],
])('records for the log what was wrong with a body that is %s', async (_what, body, headers, before) => {
  const failures: unknown[] = [];
  const app = express();
  for (const handler of before) app.use(handler);
  app.use((req, res) => {
    readFields(req, res).catch((error: unknown) => {
      failures.push(error);
      res.end();
    });
  });
  const server = await serve(app);
  await createVisitor(server.origin).post('/', { headers, body });
  await server.close();
  expect(failures).toEqual([
    expect.objectContaining({ cause: expect.objectContaining({ stack: expect.any(String) }) }),
  ]);
});

describe('the size of a body', () => {
  const headers = { 'content-type': json };
  const bodyOf = (bytes: number) => JSON.stringify({ a: 'x'.repeat(bytes - 8) });

  it('is limited to exactly 16 KB', async () => {
    expect((await read(bodyOf(16_384), headers)).status).toBe(200);
    const answer = await read(bodyOf(16_385), headers);
    expect([answer.status, answer.json]).toEqual([413, 'payload_too_large']);
  });

  it('is limited without a Content-Length, too', async () => {
    const chunked = { ...headers, 'transfer-encoding': 'chunked' };
    expect((await read(bodyOf(16_384), chunked)).status).toBe(200);
    expect((await read(bodyOf(16_385), chunked)).json).toBe('payload_too_large');
  });

  it('is limited after the application’s own parser, for names and values together, in bytes', async () => {
    const filled = (name: string, value: string) => read('{}', headers, setBody({ [name]: value }));
    expect((await filled('ä', 'x'.repeat(16_382))).status).toBe(200);
    expect((await filled('ä', 'x'.repeat(16_383))).json).toBe('payload_too_large');
    expect((await filled('a'.repeat(16_380), 'ää')).status).toBe(200);
    expect((await filled('a'.repeat(16_381), 'ää')).json).toBe('payload_too_large');
  });
});

describe('after the application’s own parser', () => {
  it.each([
    ['text', express.text({ type: () => true })],
    ['bytes', express.raw({ type: () => true })],
  ])('that sets %s, forms and JSON are read', async (_what, parser) => {
    expect(await fieldsOf('a=1&b=ä', { 'content-type': form }, parser)).toEqual([
      ['a', '1'],
      ['b', 'ä'],
    ]);
    expect(await fieldsOf('{"a":"ä"}', { 'content-type': json }, parser)).toEqual([['a', 'ä']]);
    const broken = await read('{"a":', { 'content-type': json }, parser);
    expect([broken.status, broken.json]).toEqual([400, 'invalid_request']);
  });

  it.each([undefined, null])('that set %j, there are no fields', async (body) => {
    expect(await fieldsOf('{}', { 'content-type': json }, setBody(body))).toEqual([]);
  });

  it.each([[7], [true], [['a']], [() => 'a']])('that set %j, it is refused', async (body) => {
    const answer = await read('{}', { 'content-type': json }, setBody(body));
    expect([answer.status, answer.json]).toEqual([400, 'invalid_request']);
  });

  it('for another type, the body can still be read', async () => {
    const parser = express.urlencoded({ extended: true });
    expect(await fieldsOf('{"a":"1"}', { 'content-type': json }, parser)).toEqual([['a', '1']]);
  });
});
