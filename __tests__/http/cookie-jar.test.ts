import http from 'node:http';
import http2 from 'node:http2';
import type { ServerResponse } from 'node:http';
import { once } from 'node:events';
import { Socket } from 'node:net';
import { jest } from '@jest/globals';
import type { CookieAttributes } from '../../lib/tools/cookies.ts';
import { createCookieJar, jarOf } from '../../lib/http/cookie-jar.ts';
import { serve } from '../support/servers.ts';
import type { RunningServer } from '../support/servers.ts';

const attributes: CookieAttributes = { path: '/', sameSite: 'lax', secure: false, httpOnly: true, maxAge: 60 };
const line = (pair: string, path = '/'): string => `${pair}; Max-Age=60; Path=${path}; HttpOnly; SameSite=Lax`;

let server: RunningServer | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

async function answerOf(handle: (res: ServerResponse) => void): Promise<Headers> {
  server = await serve((_req, res) => handle(res));
  const { headers } = await fetch(server.origin);
  return headers;
}

describe('a response', () => {
  it('sends every cookie once, by name, domain and path, with its latest value', async () => {
    const headers = await answerOf((res) => {
      const jar = createCookieJar(res);
      jar.write([{ name: 'a', value: '1' }], attributes);
      jar.write([{ name: 'b', value: '2' }], attributes);
      jar.write([{ name: 'a', value: '3' }], attributes);
      jar.write([{ name: 'b', value: '4', attributes: { path: '/login' } }], attributes);
      jar.write([{ name: 'b', value: '5' }], { ...attributes, domain: 'example.com' });
      jar.write([{ name: 'b', value: '6' }], { ...attributes, domain: 'example.org' });
      res.end();
    });
    expect(headers.getSetCookie()).toEqual([
      line('b=2'),
      line('a=3'),
      line('b=4', '/login'),
      'b=5; Max-Age=60; Domain=example.com; Path=/; HttpOnly; SameSite=Lax',
      'b=6; Max-Age=60; Domain=example.org; Path=/; HttpOnly; SameSite=Lax',
    ]);
  });

  it('sends the latest value alone, in its place, where several adapters write a cookie', async () => {
    const headers = await answerOf((res) => {
      jarOf(res).write([{ name: 'a', value: '1' }], attributes);
      jarOf(res).write([{ name: 'b', value: '2' }], attributes);
      jarOf(res).write([{ name: 'a', value: '3' }], attributes);
      res.end();
    });
    expect(headers.getSetCookie()).toEqual([line('b=2'), line('a=3')]);
  });

  it('sends at most twenty deletions, and every cookie that has a value', async () => {
    const headers = await answerOf((res) => {
      const jar = createCookieJar(res);
      const names = Array.from({ length: 50 }, (_, index) => `stray${index}`);
      jar.write([...names.map((name) => ({ name, value: undefined })), { name: 'kept', value: '1' }], attributes);
      res.end();
    });
    const lines = headers.getSetCookie();
    expect([lines.length, lines[0]?.slice(0, 7), lines[19]?.slice(0, 8), lines[20]]).toEqual([
      21,
      'stray0=',
      'stray19=',
      line('kept=1'),
    ]);
  });

  it('keeps cookies of other code, one or several, and is not cached', async () => {
    for (const foreign of ['theirs=1', ['theirs=1', 'others=2']]) {
      const headers = await answerOf((res) => {
        createCookieJar(res).write([{ name: 'a', value: '1' }], attributes);
        res.setHeader('Set-Cookie', foreign);
        res.setHeader('Cache-Control', 'public, max-age=60');
        res.end();
      });
      expect(headers.getSetCookie()).toEqual([foreign, line('a=1')].flat());
      expect([headers.get('cache-control'), headers.get('vary')]).toEqual(['private, no-store', 'Cookie']);
      await server?.close();
    }
  });

  it('is left alone if there is nothing to write, or if all of it is outdated', async () => {
    const headers = await answerOf((res) => {
      const jar = createCookieJar(res);
      jar.write([], attributes);
      jar.write([{ name: 'a', value: '1' }], attributes, { isCurrent: () => false });
      res.end();
    });
    expect([headers.get('set-cookie'), headers.get('cache-control'), headers.get('vary')]).toEqual([null, null, null]);
  });

  it('sends current cookies without outdated ones', async () => {
    const headers = await answerOf((res) => {
      const jar = createCookieJar(res);
      jar.write([{ name: 'a', value: '1' }], attributes, { isCurrent: () => false });
      jar.write([{ name: 'b', value: '2' }], attributes, { isCurrent: () => true });
      res.end();
    });
    expect(headers.getSetCookie()).toEqual([line('b=2')]);
  });
});

describe('cookies for a gateway', () => {
  const writeFor = (res: ServerResponse, names: readonly string[], delivery = {}): void => {
    const jar = createCookieJar(res);
    jar.answerGateway();
    jar.write(
      names.map((name) => ({ name, value: '1' })),
      attributes,
      delivery,
    );
  };

  it.each([
    ['are sent where there is one', ['a'], undefined, ['a']],
    ['are withheld where there are several', ['a', 'b'], undefined, []],
    ['are withheld beside a cookie of other code', ['a'], 'theirs=1', ['theirs']],
    ['are withheld beside several of other code', ['a'], ['theirs=1', 'others=2'], ['theirs', 'others']],
  ])('%s', async (_what, names, foreign, expected) => {
    const headers = await answerOf((res) => {
      if (foreign !== undefined) res.setHeader('Set-Cookie', foreign);
      writeFor(res, names);
      res.end();
    });
    expect(headers.getSetCookie().map((each) => each.split('=')[0])).toEqual(expected);
  });

  it('do not count as delivered', async () => {
    const told: string[] = [];
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const headers = await answerOf((res) => {
      res.once('close', () => resolve(undefined));
      writeFor(res, ['a'], { onDelivered: () => told.push('delivered') });
      res.end();
    });
    await promise;
    expect([headers.getSetCookie(), told]).toEqual([[line('a=1')], []]);
  });

  it('are reported as lost where the response is over, or breaks off, before they can be sent', async () => {
    const told: string[] = [];
    const write = (jar: ReturnType<typeof createCookieJar>, name: string): void =>
      jar.write([{ name, value: '1' }], attributes, { onLost: () => told.push(name) });
    await answerOf((res) => {
      const jar = createCookieJar(res);
      jar.answerGateway();
      res.end();
      write(jar, 'late');
    });
    await server?.close();
    const { promise, resolve } = Promise.withResolvers<undefined>();
    await answerOf((res) => {
      const jar = createCookieJar(res);
      jar.answerGateway();
      write(jar, 'broken');
      res.once('close', () => {
        write(jar, 'closed');
        resolve(undefined);
      });
      res.destroy();
    }).catch(() => undefined);
    await promise;
    expect(told).toEqual(['late', 'broken', 'closed']);
  });
});

it('a response without a connection is asked about for ten minutes', async () => {
  jest.useFakeTimers({ now: 0 });
  try {
    const recheck = jest.fn(() => Promise.resolve());
    const res = new http.ServerResponse(new http.IncomingMessage(new Socket()));
    createCookieJar(res).write([{ name: 'a', value: '1' }], attributes, { recheck });
    await jest.advanceTimersByTimeAsync(3_600_000);
    expect(recheck).toHaveBeenCalledTimes(600);
  } finally {
    jest.useRealTimers();
  }
});

describe('delivery', () => {
  /** Answers with `handle`, and resolves to the outcome of the cookies `a` and `b` after the response. */
  async function fateOf(handle: (res: ServerResponse) => void, leave = false) {
    const told: unknown[] = [];
    let over: () => void;
    const closed = new Promise<void>((resolve) => (over = resolve));
    server = await serve((req, res) => {
      res.on('close', () => setImmediate(over));
      const delivery = {
        onDelivered: () => told.push('delivered'),
        onLost: (names: readonly string[]) => told.push(names),
      };
      const write = (): void =>
        createCookieJar(res).write(
          ['a', 'b'].map((name) => ({ name, value: '1' })),
          attributes,
          delivery,
        );
      if (leave) {
        write();
        req.socket.destroy();
      } else {
        handle(Object.assign(res, { writeCookies: write }));
      }
    });
    const request = http.get(server.origin, { agent: false });
    request.on('error', () => undefined);
    request.on('response', (res) => res.resume().on('error', () => undefined));
    await closed;
    return told;
  }
  const writeOn = (res: ServerResponse): void => (res as ServerResponse & { writeCookies(): void }).writeCookies();

  it('is reported when the response was sent in full', async () => {
    expect(
      await fateOf((res) => {
        writeOn(res);
        res.end('ok');
      }),
    ).toEqual(['delivered']);
  });

  it('is reported as failed, with all names, if the connection broke before the head', async () => {
    expect(await fateOf(() => undefined, true)).toEqual([['a', 'b']]);
  });

  it('is undecided if the connection broke after the head: the cookies may have arrived', async () => {
    expect(
      await fateOf((res) => {
        writeOn(res);
        res.write('half');
        setImmediate(() => res.destroy());
      }),
    ).toEqual([]);
  });

  it('is reported as failed at once if the head was already sent', async () => {
    expect(
      await fateOf((res) => {
        res.flushHeaders();
        writeOn(res);
        res.end();
      }),
    ).toEqual([['a', 'b']]);
  });

  it('is reported as failed at once if the connection is closed', async () => {
    expect(
      await fateOf((res) => {
        res.destroy();
        void once(res, 'close').then(() => writeOn(res));
      }),
    ).toEqual([['a', 'b']]);
  });

  it('is not reported where there is nothing to write, before or after the head', async () => {
    const told: unknown[] = [];
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const delivery = { onDelivered: () => told.push('delivered'), onLost: () => told.push('lost') };
    await answerOf((res) => {
      res.once('close', () => resolve(undefined));
      const jar = createCookieJar(res);
      jar.write([], attributes, delivery);
      res.flushHeaders();
      jar.write([], attributes, delivery);
      res.end();
    });
    await promise;
    expect(told).toEqual([]);
  });

  it('is reported for the cookies that were sent, not for outdated ones', async () => {
    const told: string[] = [];
    const { promise, resolve } = Promise.withResolvers<undefined>();
    await answerOf((res) => {
      res.once('close', () => resolve(undefined));
      const jar = createCookieJar(res);
      for (const name of ['old', 'new']) {
        jar.write([{ name, value: '1' }], attributes, {
          isCurrent: () => name === 'new',
          onDelivered: () => told.push(name),
        });
      }
      res.end();
    });
    await promise;
    expect(told).toEqual(['new']);
  });

  it('is not reported for cookies that a later write has replaced, though that one is dropped', async () => {
    const told: string[] = [];
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const headers = await answerOf((res) => {
      res.once('close', () => resolve(undefined));
      const jar = createCookieJar(res);
      jar.write([{ name: 'a', value: '1' }], attributes, { onDelivered: () => told.push('first') });
      jar.write([{ name: 'a', value: '2' }], attributes, { isCurrent: () => false });
      res.end();
    });
    await promise;
    expect([headers.getSetCookie(), told]).toEqual([[], []]);
  });

  it.each([
    ['is reported by a stream of HTTP/2 that was sent in full', false, ['delivered']],
    ['is not reported by a stream of HTTP/2 that was canceled before its head', true, [['a']]],
  ])('%s', async (_title, isCanceled, expected) => {
    const told: unknown[] = [];
    const { promise: arrived, resolve: arrive } = Promise.withResolvers<undefined>();
    const { promise: closed, resolve: close } = Promise.withResolvers<undefined>();
    const h2 = http2.createServer((_req, response) => {
      const res = response as unknown as ServerResponse;
      res.once('close', () => close(undefined));
      createCookieJar(res).write([{ name: 'a', value: '1' }], attributes, {
        onDelivered: () => told.push('delivered'),
        onLost: (names) => told.push(names),
      });
      if (!isCanceled) res.end('ok');
      arrive(undefined);
    });
    await new Promise<void>((resolve) => h2.listen(0, '127.0.0.1', resolve));
    const address = h2.address();
    const client = http2.connect(`http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`);
    const stream = client.request({ ':path': '/' }).on('error', () => undefined);
    await arrived;
    if (isCanceled) stream.close(http2.constants.NGHTTP2_CANCEL);
    else stream.resume();
    await closed;
    client.close();
    await new Promise((resolve) => h2.close(resolve));
    expect(told).toEqual(expected);
  });

  it('is reported as failed to those who asked, if the connection broke before the head', async () => {
    const told: unknown[] = [];
    const { promise, resolve } = Promise.withResolvers<undefined>();
    await answerOf((res) => {
      const jar = createCookieJar(res);
      jar.write([{ name: 'a', value: '1' }], attributes);
      jar.write([{ name: 'b', value: '1' }], attributes, { onLost: (names) => resolve(void told.push(names)) });
      res.destroy();
    }).catch(() => undefined);
    await promise;
    expect(told).toEqual([['b']]);
  });

  it('is not reported by default', async () => {
    const headers = await answerOf((res) => {
      const jar = createCookieJar(res);
      jar.write([{ name: 'a', value: '1' }], attributes);
      res.flushHeaders();
      jar.write([{ name: 'b', value: '1' }], attributes);
      res.end();
    });
    expect(headers.getSetCookie()).toEqual([line('a=1')]);
  });
});
