import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { closingOf, connect, listen } from '../../../lib/doors/sql/pool.ts';
import { Parts } from '../../../lib/http/adapter.ts';
import { ConfigurationError } from '../../../lib/errors.ts';

/** A response, as far as its end is concerned. */
const respond = (more: object = {}) =>
  Object.assign(new EventEmitter(), { writableEnded: false, destroyed: false, ...more }) as unknown as ServerResponse;
/** The request of a response. */
const requestOf = (res: ServerResponse) => ({ res, parts: new Parts() });
const abortError = expect.objectContaining({ name: 'AbortError' });

describe('the end of a response', () => {
  it('is one signal, by one listener, for all transactions of its request', () => {
    const res = respond();
    const request = requestOf(res);
    const signal = closingOf(request);
    expect([closingOf(request), res.listenerCount('close'), signal.aborted]).toEqual([signal, 1, false]);
    res.emit('close');
    expect([signal.aborted, res.listenerCount('close')]).toEqual([true, 0]);
    expect(closingOf(requestOf(respond()))).not.toBe(signal);
  });

  it.each([{ writableEnded: true }, { writableEnded: true, destroyed: true }, { once: undefined }])(
    'has come where it was answered, or is only a placeholder: %j',
    (more) =>
      expect(() => closingOf(requestOf(respond(more)))).toThrow(
        'the response has ended; call withUser before you answer',
      ),
  );

  it.each([{ destroyed: true }, { destroyed: undefined, stream: { destroyed: true } }])(
    'has come where its connection or its HTTP/2 stream is gone: %j',
    (more) => expect(() => closingOf(requestOf(respond(more)))).toThrow(abortError),
  );

  it.each([{ stream: undefined }, { destroyed: undefined, stream: { destroyed: false } }])(
    'is still to come: %j',
    (more) => expect(closingOf(requestOf(respond(more))).aborted).toBe(false),
  );
});

describe('a connection of a pool', () => {
  const query = () => Promise.resolve();
  const connectTo = (answer: () => unknown, signal: AbortSignal = new AbortController().signal) =>
    connect({ connect: answer as never }, signal);

  it.each([
    ['at once', (client: object) => client],
    ['later', (client: object) => Promise.resolve(client)],
  ])('is what connect() returns %s', async (_, answer) => {
    const client = { query, release: () => undefined };
    expect(await connectTo(() => answer(client))).toBe(client);
  });

  it.each([[undefined], [null], [7], [{}], [{ query }], [{ release: query }], [{ query: 1, release: 2 }]])(
    'is no %p',
    async (client) => {
      const refused = connectTo(() => Promise.resolve(client));
      await expect(refused).rejects.toBeInstanceOf(ConfigurationError);
      await expect(refused).rejects.toThrow('pass a Pool, not a Client');
    },
  );

  it('that comes after the end of the response goes back, and nothing else is done about what comes', async () => {
    const rejections: unknown[] = [];
    const note = (reason: unknown): void => void rejections.push(reason);
    process.on('unhandledRejection', note);
    const released: unknown[][] = [];
    const late: (() => Promise<unknown>)[] = [
      () => Promise.resolve({ query, release: (...given: unknown[]) => released.push(given) }),
      () => Promise.resolve({ query }),
      () => Promise.resolve({ query, release: () => Promise.reject(new Error('closed')) }),
      () => Promise.reject(new Error('no more')),
    ];
    for (const come of late) {
      const [leaving, connecting] = [new AbortController(), Promise.withResolvers<unknown>()];
      const connected = connectTo(() => connecting.promise, leaving.signal);
      leaving.abort();
      await expect(connected).rejects.toEqual(abortError);
      connecting.resolve(come());
    }
    await new Promise((resolve) => setImmediate(resolve));
    process.off('unhandledRejection', note);
    expect([released, rejections]).toEqual([[[]], []]);
  });

  it('that breaks while it is held ends no process', () => {
    const client = Object.assign(new EventEmitter(), { query, release: () => undefined });
    listen(client, 'on');
    expect(client.emit('error', new Error('broken'))).toBe(true);
    listen(client, 'removeListener');
    expect(client.listenerCount('error')).toBe(0);
  });
});
