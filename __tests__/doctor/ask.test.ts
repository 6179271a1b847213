import { ask, explain, parseObject } from '../../lib/doctor/ask.ts';
import { serve } from '../support/servers.ts';

const withCode = (code: string): Error => Object.assign(new Error('secret'), { code });

describe('a failed connection', () => {
  it('is explained by its cause', () => {
    const cause = new AggregateError([withCode('EHOSTUNREACH'), withCode('ECONNREFUSED')]);
    expect(explain(new TypeError('fetch failed', { cause }))).toBe('nothing listens there (ECONNREFUSED)');
  });

  it.each(['SELF_SIGNED_CERT_IN_CHAIN', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'CERT_HAS_EXPIRED'])(
    'due to an untrusted certificate is explained: %s',
    (code) => {
      expect(explain(new TypeError('fetch failed', { cause: withCode(code) }))).toBe(
        `its TLS certificate is not trusted (${code})`,
      );
    },
  );

  it('of an unknown kind is shown by its code, never by its message', () => {
    expect(explain(withCode('EWHATEVER'))).toBe('EWHATEVER');
    expect(explain(new Error('secret'))).toBe('the connection failed');
    expect(explain(new TypeError('fetch failed', { cause: new Error('bad port') }))).toBe('bad port');
  });

  it.each(['text', null, undefined, 7])('may have any cause: %j', (error) => {
    expect(explain(error)).toBe('the connection failed');
  });

  it('with circular causes is handled', () => {
    const error = new Error('round');
    error.cause = error;
    expect(explain(error)).toBe('the connection failed');
  });
});

it.each([
  ['Sat, 01 Jan 2000 00:00:00 GMT', 946_684_800_000],
  ['yesterday', undefined],
])('reads the provider’s clock from %j', async (date, serverTime) => {
  const server = await serve((_req, res) => res.setHeader('date', date).end('{}'));
  expect(await ask(server.origin, { fetch, timeoutMs: 5_000 })).toEqual({
    kind: 'answered',
    status: 200,
    text: '{}',
    serverTime,
  });
  await server.close();
});

it('works without a clock if the provider sends none', async () => {
  const server = await serve((_req, res) => {
    res.sendDate = false;
    res.end();
  });
  expect(await ask(server.origin, { fetch, timeoutMs: 5_000 })).toMatchObject({ serverTime: undefined });
  await server.close();
});

it.each(['[]', 'null', '"text"', '1', '{', ''])('treats %j as no object', (text) => {
  expect(parseObject(text)).toBeUndefined();
});

it('reads at most a megabyte of a response', async () => {
  const server = await serve((_req, res) => {
    const more = (): void => {
      while (!res.destroyed && res.write('x'.repeat(64 * 1024)));
    };
    res.on('drain', more);
    more();
  });
  expect(await ask(server.origin, { fetch, timeoutMs: 30_000 })).toEqual({
    kind: 'unreachable',
    reason: 'The answer is larger than 1048576 bytes',
  });
  await server.close();
});
