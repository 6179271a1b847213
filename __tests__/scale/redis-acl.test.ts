import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { jest } from '@jest/globals';
import { Redis } from 'ioredis';
import { createClient } from 'redis';
import type { SharedCoordinator, ThrottleRedisClient } from '../../lib/backend/index.ts';
import { createRedisCoordinator } from '../../lib/redis/index.ts';
import type { RedisClient } from '../../lib/redis/index.ts';
import type { AuthEvent } from '../../lib/types.ts';
import { createMemoryApp, createMemoryBrowser, tokenLifetimeMs, visit } from '../support/memory-sessions.ts';
import { startRedisServer } from '../support/redis-server.ts';
import type { RedisServer } from '../support/redis-server.ts';
import { freePortsInARow } from '../support/servers.ts';
import { createThrottle } from '../support/throttle.ts';
import { until } from '../support/until.ts';

jest.setTimeout(60_000);

/** The user of docs/scaling.md, word for word. */
const [line = ''] = /^ACL SETUSER .*$/m.exec(readFileSync('docs/scaling.md', 'utf8')) ?? [];
const [, , user = '', ...rules] = line.split(' ');
const password = rules.find((rule) => rule.startsWith('>'))?.slice(1) ?? '';
const commands = rules.filter((rule) => rule.startsWith('+'));

interface Login {
  readonly username?: string;
  readonly password?: string;
}

type Client = RedisClient & ThrottleRedisClient;
interface Connection {
  readonly client: Client;
  readonly close: () => void;
}

let directory: string;
let server: RedisServer;
let tlsPort: number;
let admin: Redis;
/** Of the whole file: each is told once in a process. */
const warnings: string[] = [];
let open: Connection[] = [];

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'redis-tls-'));
  const [key, certificate] = ['key.pem', 'certificate.pem'].map((name) => join(directory, name)) as [string, string];
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1,DNS:localhost'];
  execFileSync(
    'openssl',
    ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-keyout', key, '-out', certificate, ...subject],
    { stdio: 'ignore' },
  );
  tlsPort = await freePortsInARow(1);
  const files = ['--tls-cert-file', certificate, '--tls-key-file', key, '--tls-ca-cert-file', certificate];
  server = await startRedisServer(['--tls-port', String(tlsPort), ...files, '--tls-auth-clients', 'no']);
  admin = new Redis(server.url);
});
afterAll(async () => {
  admin.disconnect();
  await server.stop();
  rmSync(directory, { recursive: true, force: true });
});

beforeEach(() => {
  jest.spyOn(process, 'emitWarning').mockImplementation((warning) => void warnings.push(String(warning)));
  // Of ioredis: its ready check needs INFO.
  jest.spyOn(console, 'warn').mockImplementation(() => undefined);
});
afterEach(async () => {
  open.forEach(({ close }) => close());
  open = [];
  jest.restoreAllMocks();
  await admin.replicaof('NO', 'ONE');
  await admin.config('SET', 'requirepass', '');
  await admin.flushall();
});

async function permit(...given: readonly string[]): Promise<void> {
  await admin.call('ACL', 'SETUSER', user, 'reset', ...given);
}

const ca = (): string => readFileSync(join(directory, 'certificate.pem'), 'utf8');

const libraries: Readonly<Record<string, (login: Login) => Connection>> = {
  redis(login) {
    let isOver = false;
    const socket = {
      host: 'localhost',
      port: tlsPort,
      tls: true as const,
      ca: ca(),
      reconnectStrategy: () => (isOver ? false : 20),
    };
    const client = createClient({ ...login, socket });
    client.on('error', () => undefined);
    client.connect().catch(() => undefined);
    return {
      client,
      close: () => {
        isOver = true;
        client.destroy();
      },
    };
  },
  ioredis(login) {
    const client = new Redis({
      ...login,
      host: 'localhost',
      port: tlsPort,
      tls: { ca: ca() },
      retryStrategy: () => 20,
      // The default holds the process for two seconds, where a client is closed while it connects.
      disconnectTimeout: 50,
    });
    client.on('error', () => undefined);
    return { client, close: () => client.disconnect() };
  },
};

function connect(library: string, login: Login = { username: user, password }): Client {
  const connection = libraries[library]!(login);
  open.push(connection);
  return connection.client;
}

const coordinatorOf = (client: RedisClient): SharedCoordinator =>
  createRedisCoordinator({ client, password: 'p'.repeat(32) });

/** Everything that an adapter asks of a coordinator. */
async function coordinate(client: RedisClient): Promise<void> {
  const shared = coordinatorOf(client);
  await shared.merge('user', { ended: 5 }, 60_000);
  expect(await shared.read('user')).toEqual({ ended: 5 });
  const turn = { holder: 'holder' };
  expect(await shared.take('token', turn)).toMatchObject(turn);
  expect(await shared.settle('token', { ...turn, answer: '{}', weight: 1, ttlMs: 60_000 })).toBeUndefined();
  expect((await shared.take('token', turn)).answer).toBe('{}');
  await shared.settle('token', { ttlMs: 0 });
}

/** Everything that the throttle does. @returns its events */
async function throttle(client: ThrottleRedisClient): Promise<AuthEvent[]> {
  const events: AuthEvent[] = [];
  const emit = (event: object): number => events.push({ adapter: 'backend', ...event } as AuthEvent);
  const keyPrefix = `express-auth-adapters:throttle:${crypto.randomUUID()}`;
  const attempts = createThrottle({ store: client, keyPrefix, emit });
  for (const how of ['keep', 'cancel', 'forgive'] as const) {
    await (await attempts.attempt('ada@example.com', '192.0.2.1')).end(how);
  }
  // A count without an end, as after a restore of something else.
  await (await attempts.attempt('ada@example.com', '192.0.2.1')).end('keep');
  for (const key of await admin.keys(`${keyPrefix}:*`)) await admin.persist(key);
  await (await attempts.attempt('ada@example.com', '192.0.2.1')).end('keep');
  for (let count = 0; count < 5; count += 1) await (await attempts.code('factor')).end('keep');
  return events;
}

it('the user of the docs has a password, a pattern of keys and no command of a whole category', () => {
  expect([user, password, rules.filter((rule) => rule.startsWith('~'))]).toEqual([
    expect.stringMatching(/\w/),
    expect.stringMatching(/\w/),
    ['~express-auth-adapters:*'],
  ]);
  expect(commands.filter((command) => command.includes('@'))).toEqual([]);
});

describe.each(Object.keys(libraries))('with a client of %s over TLS', (library) => {
  it('the user of the docs may do what the coordinator and the throttle need', async () => {
    await permit(...rules);
    await coordinate(connect(library));
    expect(await throttle(connect(library))).toEqual([]);
  });

  it('what the page lists for the coordinator alone, or for the throttle alone, is enough', async () => {
    const page = readFileSync('docs/scaling.md', 'utf8');
    const [forCoordinator, forThrottle] = [/in Redis, grant `([^`]+)`/, /alone needs `([^`]+)`/].map(
      (pattern) => pattern.exec(page)?.[1]?.split(' ') ?? [],
    ) as [string[], string[]];
    const others = rules.filter((rule) => !rule.startsWith('+'));
    await permit(...others, ...forCoordinator);
    await coordinate(connect(library));
    await permit(...others, ...forThrottle);
    expect(await throttle(connect(library))).toEqual([]);
    expect(new Set([...forCoordinator, ...forThrottle])).toEqual(new Set(commands));
  });

  it('each of its commands is needed, for a transaction by ioredis alone', async () => {
    await permit(...rules);
    const client = connect(library);
    await coordinate(client);
    for (const command of commands) {
      await permit(...rules, command.replace('+', '-'));
      const failed = await coordinate(client).then(
        () => false,
        () => true,
      );
      const told = await throttle(client);
      expect({ command, isNeeded: failed || told.length > 0 }).toEqual({
        command,
        isNeeded: library === 'ioredis' || !/multi|exec/.test(command),
      });
      await permit(...rules);
      await coordinate(client);
    }
  });

  /** What is told of requests whose tokens expire until `mend`, and first after it. */
  async function tell(client: RedisClient, mend: () => Promise<unknown>): Promise<readonly object[]> {
    const app = createMemoryApp({ shared: coordinatorOf(client) });
    const browser = createMemoryBrowser(app.provider.issue('ada'));
    const told = () => app.events.filter(({ type }) => type.startsWith('coordinator_'));
    const request = async (): Promise<void> => {
      const resolution = await visit(app, browser.header());
      expect(resolution.session?.user.id).toBe('ada');
      browser.receive(resolution);
      app.clock.advance(tokenLifetimeMs);
    };
    for (let round = 0; round < 4; round += 1) await request();
    await until(() => told().length > 0);
    const before = told();
    await mend();
    for (let round = 0; round < 4; round += 1) await request();
    await until(() => told().length > before.length);
    return [...before, told()[before.length]!];
  }

  it('a user who may read and not write is one event with a reason, until it is mended', async () => {
    await permit('on', `>${password}`, '~*', '+hget', '+eval');
    expect(await tell(connect(library), () => permit(...rules))).toEqual([
      { type: 'coordinator_unavailable', operation: 'refresh', reason: 'not_permitted' },
      { type: 'coordinator_recovered' },
    ]);
  });

  it('so is a replica', async () => {
    await permit(...rules);
    const client = connect(library);
    await coordinate(client);
    await admin.config('SET', 'replica-serve-stale-data', 'yes');
    await admin.replicaof('127.0.0.1', 1);
    expect(await tell(client, () => admin.replicaof('NO', 'ONE'))).toEqual([
      { type: 'coordinator_unavailable', operation: 'refresh', reason: 'read_only' },
      { type: 'coordinator_recovered' },
    ]);
  });

  it.each<[string, Login]>([
    ['no password', {}],
    ['a wrong password', { password: 'wrong' }],
    ['the wrong password of a user', { username: user, password: 'wrong' }],
  ])('a client with %s is told as one, by the throttle, too', async (_what, login) => {
    await permit(...rules);
    await admin.config('SET', 'requirepass', 'of the default user');
    const app = createMemoryApp({ shared: coordinatorOf(connect(library, login)) });
    const browser = createMemoryBrowser(app.provider.issue('ada'));
    for (let round = 0; round < 2; round += 1) await visit(app, browser.header());
    const told = app.events.filter(({ type }) => type.startsWith('coordinator_'));
    expect(told).toEqual([{ type: 'coordinator_unavailable', operation: 'record', reason: 'not_authenticated' }]);
    const byThrottle = await throttle(connect(library, login));
    expect(byThrottle).toEqual([
      { adapter: 'backend', type: 'coordinator_unavailable', operation: 'throttle', reason: 'not_authenticated' },
    ]);
  });

  it('requirepass alone, and its password, is enough', async () => {
    await admin.config('SET', 'requirepass', 'of the default user');
    await coordinate(connect(library, { password: 'of the default user' }));
    expect(await throttle(connect(library, { password: 'of the default user' }))).toEqual([]);
  });
});

it('what another password has sealed is one event, and says so', async () => {
  const events: string[] = [];
  await permit(...rules);
  const shared = coordinatorOf(connect('ioredis'));
  const other = createRedisCoordinator({ client: connect('redis'), password: 'o'.repeat(32) });
  const [app, there] = [createMemoryApp({ shared }), createMemoryApp({ shared: other })];
  const content = app.provider.issue('ada');
  const browser = createMemoryBrowser(content);
  app.clock.advance(tokenLifetimeMs);
  await visit(app, browser.header());
  there.clock.advance(tokenLifetimeMs);
  await visit(there, browser.header());
  events.push(
    ...there.events.flatMap((event) =>
      'reason' in event && event.type === 'coordinator_unavailable' ? [String(event.reason)] : [],
    ),
  );
  expect(events).toEqual(['unreadable']);
});

it('operators read each cause once, with what to change, and no secret', () => {
  const ofThrottle = warnings.filter((text) => text.includes('throttle'));
  const ofCoordinator = warnings.filter((text) => text.includes('the coordinator'));
  expect([...new Set(warnings)]).toEqual(warnings);
  expect([...ofCoordinator, ...ofThrottle].sort()).toEqual([...warnings].sort());
  expect(ofCoordinator).toEqual([
    'b2bAuth: the coordinator answered NOPERM: it does not permit its user what is needed; grant +hget +eval +time +hset +hmget +hdel +pexpire +pttl on the keys ~<keyPrefix>:*. See docs/scaling.md',
    'b2bAuth: the coordinator answered READONLY: it is a read-only replica; connect the client to the master. See docs/scaling.md',
    'b2bAuth: the coordinator answered NOAUTH: it does not accept the user name or password of the client; check them, or REDIS_URL. See docs/scaling.md',
    'b2bAuth: the coordinator holds what cannot be read; check that all processes have the same password, or a keyPrefix that no other program uses. See docs/scaling.md',
  ]);
  expect(ofThrottle).toEqual([
    "backendAuth: the throttle's Redis answered NOPERM eval: it does not permit its user what is needed; grant +eval +set +incrby +pttl +expire +multi +exec +del on the keys ~<throttle.keyPrefix>:*. See docs/scaling.md",
    "backendAuth: the throttle's Redis answered NOAUTH: it does not accept the user name or password of the client; check them, or REDIS_URL. See docs/scaling.md",
  ]);
  expect(warnings.join(' ')).not.toMatch(/change-this-password|of the default user|wrong|sessions|ppp|ada@/);
});
