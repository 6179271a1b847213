import type { ServerResponse } from 'node:http';
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
