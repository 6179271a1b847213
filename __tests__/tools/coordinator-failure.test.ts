import { EventEmitter, errorMonitor } from 'node:events';
import { failureOf, UnreadableAnswer, watchConnection } from '../../lib/tools/coordinator-failure.ts';

describe('why a coordinator failed', () => {
  it.each<[string, object]>([
    [
      "NOPERM this user has no permissions to run the 'hget' command",
      { reason: 'not_permitted', answer: 'NOPERM', command: 'hget' },
    ],
    [
      "NOPERM this user has no permissions to run the 'acl|list' command",
      { reason: 'not_permitted', answer: 'NOPERM', command: 'acl|list' },
    ],
    [
      'NOPERM this user has no permissions to access one of the keys used as arguments',
      { reason: 'not_permitted', answer: 'NOPERM' },
    ],
    ["NOPERM User <b>ada</b> may not run the 'a secret value' command", { reason: 'not_permitted', answer: 'NOPERM' }],
    [
      "ERR The user executing the script can't run this command or subcommand script: 9b, on @user_script:1.",
      { reason: 'not_permitted', answer: 'NOPERM' },
    ],
    [
      "EXECABORT Transaction discarded because of: NOPERM this user has no permissions to run the 'exec' command",
      { reason: 'not_permitted', answer: 'NOPERM', command: 'exec' },
    ],
    ['EXECABORT Transaction discarded because of previous errors.', { reason: 'refused', answer: 'EXECABORT' }],
    [
      'WRONGPASS invalid username-password pair or user is disabled.',
      { reason: 'not_authenticated', answer: 'WRONGPASS' },
    ],
    ['NOAUTH Authentication required.', { reason: 'not_authenticated', answer: 'NOAUTH' }],
    ["READONLY You can't write against a read only replica.", { reason: 'read_only', answer: 'READONLY' }],
    ["OOM command not allowed when used memory > 'maxmemory'.", { reason: 'refused', answer: 'OOM' }],
    ['-MISCONF Redis is configured to save RDB snapshots', { reason: 'refused', answer: 'MISCONF' }],
    ["ERR unknown command 'EVAL'", { reason: 'refused', answer: 'ERR' }],
    ['LOADING Redis is loading the dataset in memory', { reason: 'unavailable', answer: 'LOADING' }],
    ['CLUSTERDOWN The cluster is down', { reason: 'unavailable', answer: 'CLUSTERDOWN' }],
    ['HTTP 500 of a coordinator of an application', { reason: 'unavailable' }],
    ['connect ECONNREFUSED 127.0.0.1:6379', { reason: 'unavailable' }],
  ])('is read from what Redis answers: %s', (message, failure) => {
    expect(failureOf(new Error(message))).toEqual(failure);
    expect(failureOf(new Error('Redis is not connected', { cause: new Error(message) }))).toEqual(failure);
  });

  it.each([undefined, null, 'NOPERM a text', {}, new Error('')])(
    'is unavailable where nothing says more: %j',
    (thrown) => {
      expect(failureOf(thrown)).toEqual({ reason: 'unavailable' });
    },
  );

  it('is that of the first command of a transaction that was given up', () => {
    const error = new Error('ERR EXEC without MULTI');
    const before = [new Error("NOPERM this user has no permissions to run the 'multi' command"), error];
    expect(failureOf(Object.assign(error, { previousErrors: before }))).toMatchObject({ command: 'multi' });
  });

  it('is known of what cannot be read, and ends with causes that go in a circle', () => {
    expect(failureOf(new UnreadableAnswer('of another password'))).toEqual({ reason: 'unreadable' });
    const error = new Error('in a circle');
    error.cause = error;
    expect(failureOf(error)).toEqual({ reason: 'unavailable' });
  });
});

it('a connection is watched without handling its errors', () => {
  const client = new EventEmitter();
  const last = watchConnection(client);
  const error = new Error('WRONGPASS');
  expect(last()).toBeUndefined();
  expect(() => client.emit('error', error)).toThrow('WRONGPASS');
  expect(last()).toBe(error);
  expect(watchConnection({})()).toBeUndefined();
});

it('is one listener a client, however many adapters share it', () => {
  const client = new EventEmitter();
  const all = Array.from({ length: 20 }, () => watchConnection(client));
  expect(client.listenerCount(errorMonitor)).toBe(1);
  client.on('error', () => undefined);
  client.emit('error', 'WRONGPASS');
  expect(all.map((last) => last())).toEqual(all.map(() => 'WRONGPASS'));
});
