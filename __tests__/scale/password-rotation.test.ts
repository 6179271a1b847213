import { randomBytes } from 'node:crypto';
import { jest } from '@jest/globals';
import { demoUsers, startWorkosStandIn } from '../../stand-ins/workos/index.ts';
import type { WorkosStandIn } from '../../stand-ins/workos/index.ts';
import { killWorker, startWorker } from '../support/b2b-worker-process.ts';
import type { Worker } from '../support/b2b-worker-process.ts';
import { startRedisServer } from '../support/redis-server.ts';
import type { RedisServer } from '../support/redis-server.ts';
import { createVisitor } from '../support/visitor.ts';
import type { Visitor } from '../support/visitor.ts';
import { connectionTo } from '../support/workos-connection.ts';

// A deployment replaces four processes, one after the other.
jest.setTimeout(120_000);

const processes = 4;
const secret = (): string => randomBytes(32).toString('base64');
/** Of the cookie, and of what rests in Redis. */
const old = { cookie: secret(), redis: secret() };
const next = { cookie: secret(), redis: secret() };
type Passwords = readonly (typeof old)[];

let aheadMs = 0;
let redis: RedisServer;
let workos: WorkosStandIn;
let workers: Worker[] = [];

beforeAll(async () => {
  redis = await startRedisServer();
  const now = (): number => Date.now() + aheadMs;
  workos = await startWorkosStandIn({ clientId: 'client_test', apiKey: secret(), now });
  // A refresh token that is sent twice ends its session.
  workos.switches.replayGrace = false;
});
afterEach(() => Promise.all(workers.map(killWorker)));
afterAll(async () => {
  await workos.close();
  await redis.stop();
});

async function startWith(passwords: Passwords): Promise<Worker> {
  const worker = await startWorker({
    redisUrl: redis.url,
    password: passwords.map((each) => each.redis),
    adapter: { ...connectionTo(workos), cookiePassword: passwords.map((each) => each.cookie) },
  });
  await worker.setAhead(aheadMs);
  workos.redirectUris.push(`${worker.origin}/callback`);
  return worker;
}

async function startAll(passwords: Passwords): Promise<void> {
  workers = await Promise.all(Array.from({ length: processes }, () => startWith(passwords)));
}

/** Replaces one process after the other. */
async function deploy(passwords: Passwords, between: () => Promise<void>): Promise<void> {
  for (let index = 0; index < processes; index += 1) {
    await killWorker(workers[index]!);
    workers[index] = await startWith(passwords);
    await between();
  }
}

async function expireTokens(): Promise<void> {
  aheadMs += 310_000;
  await Promise.all(workers.map((worker) => worker.setAhead(aheadMs)));
}

/** A browser, which a load balancer sends to any of the processes. */
const asks = (visitor: Visitor, worker: Worker, path: string) =>
  visitor.get(new URL(path, worker.origin).href, {
    headers: { accept: 'application/json', cookie: visitor.cookieHeader() },
  });

async function ask(visitor: Visitor, worker: Worker, path = '/api/me'): Promise<number> {
  const { status, setCookies } = await asks(visitor, worker, path);
  for (const line of setCookies) {
    const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
    if (line.includes('; Max-Age=0;')) visitor.cookies.delete(name);
    else visitor.cookies.set(name, value);
  }
  return status;
}

async function startSignIn(visitor: Visitor, worker: Worker): Promise<string> {
  const { location, setCookies } = await visitor.get(new URL('/login', worker.origin).href);
  for (const line of setCookies) visitor.cookies.set(line.slice(0, line.indexOf('=')), /=([^;]*)/.exec(line)![1]!);
  const { search } = await workos.authorize(location, { user: demoUsers.personal });
  return `/callback${search}`;
}

async function signIn(worker: Worker): Promise<Visitor> {
  const visitor = createVisitor('http://any-process.example');
  expect(await ask(visitor, worker, await startSignIn(visitor, worker))).toBe(303);
  return visitor;
}

const all = (statuses: readonly number[]): string => [...new Set(statuses)].join();

describe(`a rolling change of both passwords over ${processes} processes`, () => {
  it('signs no one out in three deployments, forward and back, and loses no sign-in in progress', async () => {
    await startAll([old]);
    const visitors = await Promise.all(workers.map((worker) => signIn(worker)));
    const newcomers: { readonly visitor: Visitor; readonly callback: string }[] = [];
    let refreshes = 0;

    const check = async (): Promise<void> => {
      // Those who began at one process end at another one, which may have the other passwords.
      for (const { visitor, callback } of newcomers.splice(0)) {
        expect(await ask(visitor, workers[3]!, callback)).toBe(303);
        expect(await ask(visitor, workers[0]!)).toBe(200);
      }
      const visitor = createVisitor('http://any-process.example');
      newcomers.push({ visitor, callback: await startSignIn(visitor, workers[0]!) });
      await expireTokens();
      workos.clearRequests();
      // Several tabs at once, at different processes: one refresh, whose answer the others read from Redis.
      for (const each of visitors) {
        expect(all(await Promise.all(workers.map((worker) => ask(each, worker))))).toBe('200');
        expect([...each.cookies.keys()]).toEqual(['b2b-session']);
      }
      expect(workos.tokenCalls).toBe(visitors.length);
      refreshes += workos.tokenCalls;
    };

    const there: readonly Passwords[] = [[old, next], [next, old], [next]];
    const back: readonly Passwords[] = [[next, old], [old, next], [old]];
    for (const passwords of [...there, ...back]) await deploy(passwords, check);
    expect(refreshes).toBe(visitors.length * processes * (there.length + back.length));
  });

  it('that begins with the new password hides sessions from the processes with the old one, and deletes none', async () => {
    await startAll([old]);
    const visitor = await signIn(workers[0]!);
    await killWorker(workers[0]!);
    workers[0] = await startWith([next, old]);
    await expireTokens();
    expect(await ask(visitor, workers[0])).toBe(200);
    expect(await ask(visitor, workers[1]!)).toBe(401);
    await deploy([next, old], () => Promise.resolve());
    for (const worker of workers) expect(await ask(visitor, worker)).toBe(200);
  });
});
