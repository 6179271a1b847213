import { runInNewContext } from 'node:vm';
import { asError, passToNext, isError } from '../../lib/http/next.ts';

describe('what an application throws', () => {
  it.each([
    ['an error', new TypeError('x')],
    ['an error of another realm', runInNewContext("new TypeError('x')") as Error],
    ['an object that inherits from Error', Object.create(Error.prototype) as Error],
    ['a DOMException', new DOMException('x', 'AbortError')],
  ])('stays what it is where it is %s', (_what, error) => {
    expect([isError(error), asError(error) === error]).toEqual([true, true]);
  });

  it.each([undefined, null, '', 'route', 'router', 0, { message: 'x' }])(
    'becomes the cause of an error, because Express takes some values for success: %j',
    (thrown) => {
      const error = asError(thrown);
      expect([isError(thrown), error instanceof Error, error.cause]).toEqual([false, true, thrown]);
      expect(error.message).toBe('A value that is no Error was thrown');
    },
  );

  it('goes to next in a turn of its own, and success is a call without an argument', async () => {
    const calls: unknown[][] = [];
    const next = (...given: unknown[]): void => void calls.push(given);
    const error = new Error('x');
    passToNext(next);
    passToNext(next, error);
    expect(calls).toEqual([]);
    await new Promise<void>((resolve) => process.nextTick(resolve));
    expect(calls).toStrictEqual([[], [error]]);
  });
});
