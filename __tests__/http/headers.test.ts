import type { ServerResponse } from 'node:http';
import { jarOf } from '../../lib/http/cookie-jar.ts';
import { keepPrivate, varyOn } from '../../lib/http/message.ts';
import { serve } from '../support/servers.ts';

async function answerOf(prepare: (res: ServerResponse) => void): Promise<Headers> {
  const server = await serve((_req, res) => {
    prepare(res);
    res.end();
  });
  const { headers } = await fetch(server.origin);
  await server.close();
  return headers;
}

describe('Vary', () => {
  it.each<[string, string | string[], string]>([
    ['stays and is added to', 'Accept', 'Accept, Cookie'],
    ['stays where it comes in several lines', ['Accept', 'Origin'], 'Accept, Origin, Cookie'],
    ['is not added to where the field is there', 'Accept,Cookie', 'Accept,Cookie'],
    ['is not added to where the field is there in other letters', 'Accept , cOOKIE', 'Accept , cOOKIE'],
    ['is not added to where it is a star', '*', '*'],
    ['is added to where the field is only a part of another', 'X-Cookie', 'X-Cookie, Cookie'],
  ])('%s', async (_what, present, expected) => {
    const headers = await answerOf((res) => {
      res.setHeader('Vary', present);
      varyOn(res, 'Cookie');
    });
    expect(headers.get('vary')).toBe(expected);
  });

  it('is set if there is none', async () => {
    expect((await answerOf((res) => varyOn(res, 'Cookie'))).get('vary')).toBe('Cookie');
  });
});

describe('a page that depends on the session', () => {
  it('is not cached and varies by cookie', async () => {
    const headers = await answerOf(keepPrivate);
    expect([headers.get('cache-control'), headers.get('vary')]).toEqual(['private, no-store', 'Cookie']);
  });

  it('is not cached despite earlier headers, and a later header may override that', async () => {
    const before = await answerOf((res) => {
      res.setHeader('Cache-Control', 'public, max-age=3600');
      keepPrivate(res);
    });
    expect([before.get('cache-control'), before.get('vary')]).toEqual(['private, no-store', 'Cookie']);
    const later = await answerOf((res) => {
      keepPrivate(res);
      res.setHeader('Cache-Control', 'private, max-age=60');
    });
    expect([later.get('cache-control'), later.get('vary')]).toEqual(['private, max-age=60', 'Cookie']);
  });

  it('is sent unchanged if its head was already sent', async () => {
    const headers = await answerOf((res) => {
      res.flushHeaders();
      keepPrivate(res);
    });
    expect([headers.get('cache-control'), headers.get('vary')]).toEqual([null, null]);
  });
});

describe('a response that depends on the session', () => {
  it.each<[string, string | string[] | undefined, string | null]>([
    ['without Cache-Control', undefined, null],
    ['with several lines of Cache-Control', ['private', 'max-age=600'], 'private, max-age=600'],
    ['that may be stored by the browser', 'max-age=600', 'max-age=600'],
    ['that was to be public', 'public, max-age=600', 'private, max-age=600'],
    ['that was to be public, in other letters', 'max-age=600,PUBLIC', 'max-age=600,private'],
    ['that has a directive of a similar name', 'x-public, publicly=1', 'x-public, publicly=1'],
    ['that is not stored at all', 'no-store', 'no-store'],
  ])('%s varies on the cookie and is not public', async (_what, set, expected) => {
    const headers = await answerOf((res) => {
      jarOf(res).dependOnSession();
      if (set !== undefined) res.setHeader('Cache-Control', set);
      res.setHeader('Vary', 'Origin');
    });
    expect([headers.get('cache-control'), headers.get('vary')]).toEqual([expected, 'Origin, Cookie']);
  });

  it('is not public where the head is written in one call', async () => {
    const server = await serve((_req, res) => {
      jarOf(res).dependOnSession();
      res.writeHead(200, { 'Cache-Control': 'public, max-age=600' });
      res.end();
    });
    const { headers } = await fetch(server.origin);
    await server.close();
    expect([headers.get('cache-control'), headers.get('vary')]).toEqual(['private, max-age=600', 'Cookie']);
  });

  it('stays as it is once the head has gone', async () => {
    const server = await serve((_req, res) => {
      res.flushHeaders();
      jarOf(res).dependOnSession();
      res.end();
    });
    const { headers, status } = await fetch(server.origin);
    await server.close();
    expect([status, headers.get('vary')]).toEqual([200, null]);
  });
});
