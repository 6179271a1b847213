import { createClient } from 'redis';
import { Redis } from 'ioredis';
import { createRedisCoordinator } from '../../lib/redis/index.ts';
import type { RedisCoordinatorOptions } from '../../lib/redis/index.ts';
import { problemsBy } from '../support/problems.ts';

const password = 'p'.repeat(32);
const client = createClient();

const problemsOf = (options: unknown): readonly string[] =>
  problemsBy(() => createRedisCoordinator(options as RedisCoordinatorOptions));

describe('the options of the Redis coordinator', () => {
  it('accept a client of either library, connected or not', () => {
    const ioredis = new Redis({ lazyConnect: true });
    expect(createRedisCoordinator({ client, password })).toBeDefined();
    expect(createRedisCoordinator({ client: ioredis, password: [password, 'q'.repeat(40)] })).toBeDefined();
    expect(
      createRedisCoordinator({ client, password, keyPrefix: 'a:b', commandTimeoutMs: 50, lockTtlMs: 900 }),
    ).toBeDefined();
  });

  it.each<[string, unknown]>([
    ['short', 'p'.repeat(31)],
    ['short in a list', [password, 'p'.repeat(31)]],
    ['missing', undefined],
    ['an empty list', []],
    ['a number', 32],
    ['a buffer', Buffer.alloc(32)],
  ])('refuse a password that is %s', (_name, given) => {
    expect(problemsOf({ client, password: given })).toEqual([expect.stringContaining('password')]);
  });

  it.each<[string, unknown]>([
    ['a URL', 'redis://127.0.0.1'],
    ['an empty object', {}],
    ['null', null],
    ['an object without eval', { hGet: () => undefined }],
    ['an object without get', { eval: () => undefined }],
  ])('refuse %s as the client', (_name, given) => {
    expect(problemsOf({ client: given, password })).toEqual([expect.stringContaining('client')]);
  });

  it('refuse a prefix that would move a cluster’s hash tag', () => {
    for (const keyPrefix of ['', 'a{b', 'a}b', 7]) {
      expect(problemsOf({ client, password, keyPrefix })).toEqual([expect.stringContaining('keyPrefix')]);
    }
  });

  it('refuse times that are not a whole number of milliseconds in range', () => {
    for (const ms of [0, -1, 1.5, NaN, Infinity, 60_001, '500']) {
      expect(problemsOf({ client, password, commandTimeoutMs: ms })).toEqual([
        expect.stringContaining('commandTimeoutMs'),
      ]);
      expect(problemsOf({ client, password, lockTtlMs: ms })).toEqual([expect.stringContaining('lockTtlMs')]);
    }
    expect(problemsOf({ client, password, lockTtlMs: 99 })).toHaveLength(1);
  });

  it('are reported all at once, unknown ones by name, and without a secret', () => {
    const problems = problemsOf({ client: 'redis://user:secret@host', password: 'secret', lockTTL: 5 });
    expect(problems).toHaveLength(3);
    expect(problems.join()).toContain('lockTTL is not an option');
    expect(problems.join()).not.toContain('secret');
  });

  it('are required', () => {
    expect(problemsOf(undefined)).toHaveLength(1);
    expect(problemsOf({})).toHaveLength(2);
  });
});
