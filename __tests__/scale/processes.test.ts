import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as pass } from 'node:timers/promises';
import { jest } from '@jest/globals';
import { sealData, unsealData } from 'iron-session';
import { demoUsers, startWorkosStandIn } from '../../stand-ins/workos/index.ts';
import type { WorkosStandIn } from '../../stand-ins/workos/index.ts';
import type { WorkerOptions } from '../support/b2b-worker.ts';
import { isRunning, killWorker, startWorker } from '../support/b2b-worker-process.ts';
import type { Worker } from '../support/b2b-worker-process.ts';
import { startRedisServer } from '../support/redis-server.ts';
import type { RedisServer } from '../support/redis-server.ts';
import { createVisitor, send } from '../support/visitor.ts';
import type { Answer, Ask } from '../support/visitor.ts';
import { connectionTo } from '../support/workos-connection.ts';

// Starting four processes takes its time on a busy machine; what a request may take is the adapter's own budget.
jest.setTimeout(60_000);

const processes = 4;
const cookiePassword = randomBytes(32).toString('base64');

let redis: RedisServer;
let workos: WorkosStandIn;
let workers: Worker[] = [];

beforeAll(async () => {
  redis = await startRedisServer();
  workos = await startWorkosStandIn({ clientId: 'client_test', apiKey: randomBytes(16).toString('hex') });
});
afterAll(async () => {
  await Promise.all(workers.map(killWorker));
  await workos.close();
  await redis.stop();
});
beforeEach(async () => {
  Object.assign(workos.switches, { replayGrace: false, authenticateError: null, outage: {}, gate: {} });
  workos.clearRequests();
  // To start a process costs more than most tests: those that a test left running go on.
  workers = await Promise.all(
    Array.from({ length: processes }, async (_, index) => {
      const worker = workers[index];
      return worker !== undefined && isRunning(worker) ? worker : startWorker(workerOptions());
    }),
  );
  for (const worker of workers) {
    // It answers after the last event of the test before.
    await worker.setAhead(0);
    worker.events.length = 0;
  }
});

const workerOptions = (): WorkerOptions => ({
  redisUrl: redis.url,
  password: cookiePassword,
  adapter: { ...connectionTo(workos), cookiePassword },
});

async function untilRefused({ origin }: Worker): Promise<void> {
  for (;;) {
    const answered = await send(new URL('/nothing', origin), {}).then(
      () => true,
      () => false,
    );
    if (!answered) return;
    await pass(5);
  }
}

/** The cookie of a user who signed in a while ago. */
async function createCookie(accessTokenTtlSeconds = -60): Promise<string> {
  const issued = await workos.issueSession({ user: demoUsers.personal, accessTokenTtlSeconds });
  const { accessToken, refreshToken, user } = issued;
  return `b2b-session=${await sealData({ accessToken, refreshToken, user }, { password: cookiePassword })}`;
}

const ask = (worker: Worker, path: string, cookie: string, options: Ask = {}): Promise<Answer> =>
  send(new URL(path, worker.origin), { ...options, headers: { cookie, accept: 'application/json' } });

/** The refresh token of the session that an answer stores. */
async function refreshTokenIn({ setCookies }: Answer): Promise<unknown> {
  const sealed = /^b2b-session=([^;]+)/.exec(setCookies[0] ?? '')?.[1] ?? '';
  return (await unsealData<{ refreshToken?: unknown }>(sealed, { password: cookiePassword })).refreshToken;
}

/** What the workers reported, once `type` is among it from each (or from one) of them: reports travel beside the answers. */
async function eventsOf(list: readonly Worker[], type: string, isReady: 'some' | 'every' = 'some'): Promise<string[]> {
  while (!list[isReady](({ events }) => events.includes(type))) await pass(5);
  return list.flatMap(({ events }) => events);
}

describe(`${processes} processes with one Redis and a strict provider`, () => {
  it('use a token once for 60 requests, all of which get the same new session', async () => {
    const cookie = await createCookie();
    const answers = await Promise.all(
      Array.from({ length: 60 }, (_, index) => ask(workers[index % processes]!, '/api/me', cookie)),
    );
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    expect(workos.tokenCalls).toBe(1);
    const tokens = new Set(await Promise.all(answers.map(refreshTokenIn)));
    expect(tokens.size).toBe(1);
    expect(tokens).not.toContain(undefined);

    // The cookies that they received are valid in every process.
    const renewed = answers[0]!.setCookies[0]!.split(';')[0]!;
    for (const worker of workers) expect((await ask(worker, '/api/me', renewed)).status).toBe(200);
    expect(workos.tokenCalls).toBe(1);
    expect(await eventsOf(workers, 'session_refreshed')).toEqual(['session_refreshed']);
  });

  it('take over if the holder is killed before the provider did anything', async () => {
    const cookie = await createCookie();
    const [holder, ...others] = workers;
    let calls = 0;
    workos.switches.gate.token = () => (++calls === 1 ? new Promise(() => undefined) : Promise.resolve());
    const lost = expect(ask(holder!, '/api/me', cookie)).rejects.toThrow();
    await workos.arrived('token');
    const answers = others.map((worker) => ask(worker, '/api/me', cookie));
    await killWorker(holder!);
    await lost;
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(workos.tokenCalls).toBe(2);
    expect(await eventsOf(others, 'session_refreshed')).toEqual(['session_refreshed']);
  });

  it('take over with the same token if the holder is killed after the provider rotated it', async () => {
    const cookie = await createCookie();
    const [holder, ...others] = workers;
    // The first answer gets lost, and the holder dies while it asks again.
    workos.switches.replayGrace = true;
    workos.switches.outage.token = { fault: 'lost', calls: 1 };
    let calls = 0;
    workos.switches.gate.token = () => (++calls === 2 ? new Promise(() => undefined) : Promise.resolve());
    const lost = expect(ask(holder!, '/api/me', cookie)).rejects.toThrow();
    await workos.arrived('token', 2);
    const answers = others.map((worker) => ask(worker, '/api/me', cookie));
    await killWorker(holder!);
    await lost;
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(workos.tokenCalls).toBe(3);
  });

  it('sign out together if the provider ended the session, with one call', async () => {
    const cookie = await createCookie();
    workos.switches.authenticateError = { status: 400, body: { error: 'invalid_grant' } };
    const answers = await Promise.all(workers.map((worker) => ask(worker, '/api/me', cookie)));
    expect(answers.map(({ status }) => status)).toEqual([401, 401, 401, 401]);
    for (const { setCookies } of answers) expect(setCookies).toEqual([expect.stringMatching(/^b2b-session=;/)]);
    expect(workos.tokenCalls).toBe(1);
  });

  it('keep every session through an outage, and the first request afterwards is signed in', async () => {
    const cookie = await createCookie();
    workos.switches.outage.token = { status: 500 };
    const answers = await Promise.all(workers.map((worker) => ask(worker, '/api/me', cookie)));
    for (const answer of answers) {
      expect(answer.status).toBe(503);
      expect(answer.headers['retry-after']).toMatch(/^\d+$/);
      expect(answer.setCookies).toEqual([]);
    }
    workos.switches.outage = {};
    expect((await ask(workers[3]!, '/api/me', cookie)).status).toBe(200);
  });

  it('learn of a sign-out in any of them', async () => {
    const cookie = await createCookie(300);
    expect((await ask(workers[0]!, '/api/me', cookie)).status).toBe(200);
    const signOut = await ask(workers[1]!, '/logout', cookie, { method: 'POST' });
    expect(signOut.status).toBe(200);
    expect((await ask(workers[2]!, '/api/me', cookie)).status).toBe(401);
    expect((await ask(workers[3]!, '/api/me', cookie)).status).toBe(401);
  });

  it('let a sign-out in one of them win over a refresh that runs in another', async () => {
    const cookie = await createCookie();
    let letGo: (() => void) | undefined;
    workos.switches.gate.token = () => new Promise<void>((resolve) => (letGo = resolve));
    const refreshing = ask(workers[0]!, '/api/me', cookie);
    await workos.arrived('token');
    expect((await ask(workers[1]!, '/logout', cookie, { method: 'POST' })).status).toBe(200);
    letGo?.();
    const { status, setCookies } = await refreshing;
    expect(status).toBe(401);
    expect(setCookies).not.toContainEqual(expect.stringMatching(/^b2b-session=[^;]/));
  });

  it('continue alone during an outage of Redis, report it, and sign no one out', async () => {
    workos.switches.replayGrace = true;
    const cookie = await createCookie();
    await redis.kill();
    try {
      const answers = await Promise.all(workers.map((worker) => ask(worker, '/api/me', cookie)));
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
      expect(workos.tokenCalls).toBeLessThanOrEqual(processes);
      await eventsOf(workers, 'coordinator_unavailable', 'every');
    } finally {
      // Others would go on alone for a while.
      await Promise.all(workers.map(killWorker));
      await redis.start();
    }
  });
});

describe('a process that is shut down', () => {
  async function shutDown({ child }: Worker): Promise<void> {
    const exited = once(child, 'exit');
    child.kill('SIGTERM');
    await exited;
  }

  it('still shares the token of a refresh for which no request waits anymore', async () => {
    const cookie = await createCookie();
    const [leaving, other] = workers;
    let letGo = (): void => undefined;
    workos.switches.gate.token = () => new Promise<void>((resolve) => (letGo = resolve));
    const browser = new AbortController();
    const { signal } = browser;
    const gone = expect(fetch(new URL('/api/me', leaving!.origin), { headers: { cookie }, signal })).rejects.toThrow();
    await workos.arrived('token');
    browser.abort();
    await gone;
    const exited = shutDown(leaving!);
    // It accepts no more requests.
    await expect(untilRefused(leaving!)).resolves.toBeUndefined();
    letGo();
    await exited;
    expect((await ask(other!, '/api/me', cookie)).status).toBe(200);
    expect(workos.tokenCalls).toBe(1);
  });

  it('loses no session when all are restarted in turn under load', async () => {
    const cookies = await Promise.all(Array.from({ length: 48 }, () => createCookie()));
    /** As a load balancer and a browser do: a process that takes no connection is passed over, and a 503 is asked again. */
    async function askAny(cookie: string, first: number): Promise<number> {
      for (let next = first; ; next += 1) {
        try {
          const { status } = await ask(workers[next % processes]!, '/api/me', cookie);
          if (status !== 503) return status;
        } catch {
          // The next one.
        }
        await pass(20);
      }
    }
    const load: Promise<number>[] = [];
    const start = async (part: readonly string[]): Promise<void> => {
      for (const [index, cookie] of part.entries()) {
        load.push(askAny(cookie, index), askAny(cookie, index + 1));
        await pass(10);
      }
    };
    for (let index = 0; index < processes; index += 1) {
      const part = start(cookies.slice(index * 12, index * 12 + 12));
      await pass(30);
      await shutDown(workers[index]!);
      workers[index] = await startWorker(workerOptions());
      await part;
    }
    const statuses = await Promise.all(load);
    expect(statuses).toEqual(statuses.map(() => 200));
  });
});

describe(`a switch of the organization over ${processes} processes`, () => {
  const { twoOrganizations } = demoUsers;
  const [north, south] = twoOrganizations.organizations;

  async function createMember(accessTokenTtlSeconds?: number): Promise<string> {
    const issued = await workos.issueSession({
      user: twoOrganizations,
      organizationId: north.id,
      ...(accessTokenTtlSeconds === undefined ? {} : { accessTokenTtlSeconds }),
    });
    return `b2b-session=${await sealData(issued, { password: cookiePassword })}`;
  }
  const switchOn = (worker: Worker, cookie: string, organizationId = south.id): Promise<Answer> =>
    send(new URL('/organization', worker.origin), {
      method: 'POST',
      headers: { cookie, accept: 'application/json', 'content-type': 'application/json' },
      body: JSON.stringify({ organizationId, returnTo: '/reports' }),
    });
  const organizationsOf = async (answers: readonly Promise<Answer>[]): Promise<Set<unknown>> =>
    new Set((await Promise.all(answers)).map(({ status, json }) => json.organizationId ?? status));
  const written = (answers: readonly Answer[]): Set<string> =>
    new Set(answers.flatMap(({ setCookies }) => setCookies.map((line) => line.split(';', 1)[0] ?? '')));
  /** @param count spread over all processes */
  const readSession = (cookie: string, count: number): Promise<Answer>[] =>
    Array.from({ length: count }, (_, index) => ask(workers[index % processes]!, '/auth/session', cookie));
  function holdTokenCalls(): () => void {
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    workos.switches.gate.token = () => held;
    return () => release();
  }

  it('makes one token call, and 50 requests that wait for it get the new organization', async () => {
    const cookie = await createMember(-60);
    const release = holdTokenCalls();
    const arrived = workos.arrived('token');
    const switching = switchOn(workers[0]!, cookie);
    await arrived;
    const waiting = readSession(cookie, 50);
    release();
    expect((await switching).json).toEqual({ redirectTo: '/reports' });
    expect(await organizationsOf(waiting)).toEqual(new Set([south.id]));
    expect(workos.tokenCalls).toBe(1);
    for (const newCookie of written(await Promise.all(waiting))) {
      expect(await organizationsOf(readSession(newCookie, processes))).toEqual(new Set([south.id]));
    }
    expect(workos.tokenCalls).toBe(1);
  });

  it('reaches processes that first see the old cookie later, while its token is valid', async () => {
    const cookie = await createMember();
    expect((await switchOn(workers[0]!, cookie)).status).toBe(200);
    const answers = readSession(cookie, 50);
    expect(await organizationsOf(answers)).toEqual(new Set([south.id]));
    for (const newCookie of written(await Promise.all(answers))) {
      expect(await organizationsOf(readSession(newCookie, processes))).toEqual(new Set([south.id]));
    }
    expect(workos.tokenCalls).toBe(1);
  });

  it('is one switch, however many processes are called', async () => {
    const cookie = await createMember();
    const answers = await Promise.all(Array.from({ length: 20 }, (_, n) => switchOn(workers[n % processes]!, cookie)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(workos.tokenCalls).toBe(1);
  });

  it('that one process refuses does not stop the refresh of another one', async () => {
    const cookie = await createMember(-60);
    const release = holdTokenCalls();
    const arrived = workos.arrived('token');
    const switching = switchOn(workers[0]!, cookie, 'org_01ELSEWHERE');
    await arrived;
    const waiting = readSession(cookie, processes);
    release();
    expect((await switching).status).toBe(403);
    expect(await organizationsOf(waiting)).toEqual(new Set([north.id]));
    // The refused call, and one refresh.
    expect(workos.tokenCalls).toBe(2);
    expect(await organizationsOf(readSession(cookie, processes))).toEqual(new Set([north.id]));
  });

  it('loses to a sign-out in another process', async () => {
    const cookie = await createMember();
    const release = holdTokenCalls();
    const arrived = workos.arrived('token');
    const switching = switchOn(workers[0]!, cookie);
    await arrived;
    const signedOut = await ask(workers[1]!, '/logout', cookie, { method: 'POST' });
    expect(signedOut.status).toBe(200);
    release();
    const answer = await switching;
    expect([answer.status, answer.json.error.code]).toEqual([401, 'unauthenticated']);
    expect(await organizationsOf(readSession(cookie, processes))).toEqual(new Set([401]));
  });
});

describe('endSession and renewSession over processes', () => {
  /** A user who goes through the hosted page, in one of the processes. */
  async function signIn({ origin }: Worker): Promise<string> {
    workos.redirectUris.push(`${origin}/callback`);
    const visitor = createVisitor(origin);
    const { location } = await visitor.get('/login');
    const callback = await workos.authorize(location, { user: demoUsers.personal });
    expect((await visitor.get(callback.href)).status).toBe(303);
    return visitor.cookieHeader();
  }

  const call = (worker: Worker, what: 'end' | 'renew') =>
    ask(worker, `/server/${what}/${demoUsers.personal.id}`, '', { method: 'POST' });

  /** Asks until the answer has this status: the processes look at Redis every five seconds. */
  async function until(status: number, worker: Worker, cookie: string): Promise<Answer> {
    for (;;) {
      const answer = await ask(worker, '/api/me', cookie);
      if (answer.status === status) return answer;
      await pass(50);
    }
  }

  it('a session ends in every process even if the called one is killed; the next sign-in works in all', async () => {
    const [called, ...others] = workers;
    const cookie = await signIn(called!);
    for (const worker of workers) expect((await ask(worker, '/api/me', cookie)).status).toBe(200);
    expect((await call(called!, 'end')).status).toBe(204);
    const again = await signIn(others[0]!);
    await killWorker(called!);
    await Promise.all(others.map((worker) => until(401, worker, cookie)));
    for (const worker of others) expect((await ask(worker, '/api/me', again)).status).toBe(200);
  });

  it('an open connection ends in another process', async () => {
    const [called, other] = workers;
    const cookie = await signIn(called!);
    // It resolves with the head: the connection is open.
    const open = await fetch(`${other!.origin}/until-ended`, { headers: { cookie, origin: other!.origin } });
    expect((await call(called!, 'end')).status).toBe(204);
    expect(await open.text()).toBe('ended');
  });

  it('a session is refreshed once, and the old cookie yields the new token in every process', async () => {
    const cookie = await signIn(workers[0]!);
    for (const worker of workers) expect((await ask(worker, '/api/me', cookie)).status).toBe(200);
    workos.clearRequests();
    expect((await call(workers[0]!, 'renew')).status).toBe(204);
    const [first] = (await ask(workers[0]!, '/api/me', cookie)).setCookies;
    const renewed = first!.split(';')[0]!;
    for (const worker of workers) expect((await ask(worker, '/api/me', renewed)).status).toBe(200);
    for (const worker of workers) expect((await ask(worker, '/api/me', renewed)).setCookies).toEqual([]);
    expect(workos.tokenCalls).toBe(1);
  });
});
