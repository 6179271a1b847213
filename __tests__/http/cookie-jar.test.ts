import http from 'node:http';
import type { ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { CookieAttributes } from '../../lib/core/cookies.ts';
import { createCookieJar } from '../../lib/http/cookie-jar.ts';
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
  it('carries every cookie once, by name, domain and path, as it was written last', async () => {
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

  it('carries twenty deletions at most, and every cookie that has a value', async () => {
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

  it('keeps the cookies of others, one or several, and is in no cache', async () => {
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

  it('is left alone where there is nothing to write, or nothing of it is wanted any more', async () => {
    const headers = await answerOf((res) => {
      const jar = createCookieJar(res);
      jar.write([], attributes);
      jar.write([{ name: 'a', value: '1' }], attributes, { isCurrent: () => false });
      res.end();
    });
    expect([headers.get('set-cookie'), headers.get('cache-control'), headers.get('vary')]).toEqual([null, null, null]);
  });

  it('carries what is still wanted beside what is not', async () => {
    const headers = await answerOf((res) => {
      const jar = createCookieJar(res);
      jar.write([{ name: 'a', value: '1' }], attributes, { isCurrent: () => false });
      jar.write([{ name: 'b', value: '2' }], attributes, { isCurrent: () => true });
      res.end();
    });
    expect(headers.getSetCookie()).toEqual([line('b=2')]);
  });
});

describe('delivery', () => {
  /** Answers by `handle`, and tells what became of the cookies `a` and `b` once the response is over. */
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

  it('is told when the response went out in full', async () => {
    expect(
      await fateOf((res) => {
        writeOn(res);
        res.end('ok');
      }),
    ).toEqual(['delivered']);
  });

  it('is told to have failed, with all names, where the connection broke before the head', async () => {
    expect(await fateOf(() => undefined, true)).toEqual([['a', 'b']]);
  });

  it('is left open where the connection broke after the head: the cookies may have arrived', async () => {
    expect(
      await fateOf((res) => {
        writeOn(res);
        res.write('half');
        setImmediate(() => res.destroy());
      }),
    ).toEqual([]);
  });

  it('is told to have failed at once where the head was out before', async () => {
    expect(
      await fateOf((res) => {
        res.flushHeaders();
        writeOn(res);
        res.end();
      }),
    ).toEqual([['a', 'b']]);
  });

  it('is told to have failed at once where the connection is closed', async () => {
    expect(
      await fateOf((res) => {
        res.destroy();
        void once(res, 'close').then(() => writeOn(res));
      }),
    ).toEqual([['a', 'b']]);
  });

  it('is ignored by default', async () => {
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
