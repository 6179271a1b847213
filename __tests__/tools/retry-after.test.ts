import { retryAfterOf } from '../../lib/tools/rest.ts';

const sent = 'Sun, 06 Nov 1994 08:49:37 GMT';

describe('Retry-After', () => {
  it.each([
    ['7', 7],
    [' 120 ', 120],
    ['1.5', 1.5],
    ['999999999', 999_999_999],
    ['Sun, 06 Nov 1994 08:50:07 GMT', 30],
    ['Sunday, 06-Nov-94 08:50:07 GMT', 30],
    ['Sun Nov  6 08:50:07 1994', 30],
  ])('%j counts from the response’s own date', (value, seconds) => {
    expect(retryAfterOf(new Headers({ 'retry-after': value, date: sent }))).toBe(seconds);
  });

  it.each(['', '0', '-5', 'soon', '1e9', 'Infinity', sent, 'Sun, 06 Nov 1994 08:49:00 GMT', 'Sun, 99 Foo 1994'])(
    '%j says nothing',
    (value) => expect(retryAfterOf(new Headers({ 'retry-after': value, date: sent }))).toBeUndefined(),
  );

  it('with a date counts from now, where the response has none of its own', () => {
    const value = new Date(Date.now() + 30_000).toUTCString();
    expect(retryAfterOf(new Headers({ 'retry-after': value }))).toBeCloseTo(30, -1);
    expect(retryAfterOf(new Headers({ 'retry-after': value, date: 'yesterday' }))).toBeCloseTo(30, -1);
    expect(retryAfterOf(new Headers())).toBeUndefined();
  });
});
