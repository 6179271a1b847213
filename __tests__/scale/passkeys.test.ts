import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { jest } from '@jest/globals';
import { startSupabaseStandIn } from '../../stand-ins/supabase/stand-in.ts';
import type { SupabaseStandIn } from '../../stand-ins/supabase/stand-in.ts';
import { createCredential } from '../support/authenticator.ts';
import type { SoftwareCredential } from '../support/authenticator.ts';
import { ada } from '../support/backend-app.ts';
import type { BackendWorkerOptions } from '../support/backend-worker.ts';
import { party } from '../support/passkeys.ts';
import { startRedisServer } from '../support/redis-server.ts';
import type { RedisServer } from '../support/redis-server.ts';
import { createVisitor } from '../support/visitor.ts';
import type { Answer, Visitor } from '../support/visitor.ts';

jest.setTimeout(60_000);

let redis: RedisServer;
let supabase: SupabaseStandIn;
let workers: { readonly origin: string; readonly child: ChildProcess }[] = [];

beforeAll(async () => {
  redis = await startRedisServer();
  supabase = await startSupabaseStandIn({
    autoconfirm: true,
    passkeys: true,
    keyFactors: true,
    relyingParty: { id: party.id, origins: [party.origin] },
  });
  supabase.addUser(ada);
  workers = await Promise.all([startWorker(), startWorker()]);
});
afterAll(async () => {
  await Promise.all(
    workers.map(async ({ child }) => {
      const exited = once(child, 'exit');
      child.kill('SIGKILL');
      await exited;
    }),
  );
  await supabase.close();
  await redis.stop();
});

async function startWorker() {
  const options: BackendWorkerOptions = { redisUrl: redis.url, url: supabase.url, anonKey: supabase.publishableKey };
  const file = new URL('../support/backend-worker.ts', import.meta.url);
  const child = fork(file, [JSON.stringify(options)], { execArgv: ['--disable-warning=ExperimentalWarning'] });
  const origin = await new Promise<string>((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`A worker ended with ${String(code)} before it listened`)));
    child.once('message', (message: { readonly origin: string }) => resolve(message.origin));
  });
  return { origin, child };
}

type Cookies = Visitor['cookies'];

/** One request of a browser to one of the processes, which keeps what it answers. */
async function post(
  process: number,
  cookies: Cookies,
  path: string,
  body: object,
  network = '192.0.2.1',
): Promise<Answer> {
  const visitor = createVisitor(workers[process]?.origin ?? '');
  for (const [name, value] of cookies) visitor.cookies.set(name, value);
  const answer = await visitor.post(path, {
    headers: { accept: 'application/json', 'content-type': 'application/json', 'x-test-address': network },
    body: JSON.stringify(body),
  });
  cookies.clear();
  for (const [name, value] of visitor.cookies) cookies.set(name, value);
  return answer;
}

async function challenge(process: number, cookies: Cookies, path: string, body: object = {}) {
  const { status, json, text } = await post(process, cookies, path, body);
  if (status !== 200) throw new Error(`${path}: ${status} ${text}`);
  const { options, ...fields } = json;
  return { options, fields };
}

/** Adds a passkey: asked for at one process, answered at the other. */
async function addPasskey(): Promise<SoftwareCredential> {
  const cookies: Cookies = new Map();
  await post(0, cookies, '/auth/login', ada);
  const { options, fields } = await challenge(0, cookies, '/auth/passkeys');
  const credential = createCredential({ ...party, challenge: options.challenge, userHandle: options.user.id });
  const added = await post(1, cookies, '/auth/passkeys', { ...fields, credential: credential.response });
  expect(added.status).toBe(200);
  return credential;
}

const statusesOf = (answers: readonly Answer[]): number[] => answers.map(({ status }) => status).sort();

it('a challenge of one process is answered at the other, and once among both', async () => {
  const passkey = await addPasskey();
  const cookies: Cookies = new Map();
  const { options, fields } = await challenge(0, cookies, '/auth/passkey');
  const answer = () => ({ ...fields, credential: passkey.assert({ challenge: options.challenge }) });
  const answers = await Promise.all(
    [0, 1, 0, 1].map((process) => post(process, new Map(cookies), '/auth/passkey', answer())),
  );
  expect(statusesOf(answers)).toEqual([200, 422, 422, 422]);
  const other: Cookies = new Map();
  await challenge(1, other, '/auth/passkey');
  const foreign = await post(1, other, '/auth/passkey', answer());
  expect([foreign.status, foreign.json.error.code]).toEqual([422, 'challenge_expired']);
});

it('the challenges of a network, and the wrong answers for a key, are counted for both', async () => {
  const asked = await Promise.all(
    Array.from({ length: 104 }, (_none, index) => post(index % 2, new Map(), '/auth/passkey', {}, '198.51.100.7')),
  );
  expect(asked.filter(({ status }) => status === 200)).toHaveLength(100);
  const owner: Cookies = new Map();
  await post(0, owner, '/auth/login', ada);
  const enrolling = await challenge(0, owner, '/auth/enroll', { type: 'webauthn' });
  const key = createCredential({ ...party, challenge: enrolling.options.challenge });
  const added = await post(1, owner, '/auth/enroll', { ...enrolling.fields, credential: key.response });
  expect(added.status).toBe(200);
  const visitor: Cookies = new Map();
  await post(0, visitor, '/auth/login', ada);
  const { factorId } = enrolling.fields;
  // Eight tabs, half of them at each process.
  const tabs = Array.from({ length: 8 }, (_none, index) => ({ process: index % 2, cookies: new Map(visitor) }));
  const wrong = await Promise.all(
    tabs.map(async ({ process, cookies }) => {
      const { fields } = await challenge(process, cookies, '/auth/verify', { challenge: factorId });
      return { process, cookies, answer: { ...fields, credential: key.assert({ challenge: 'AA' }) } };
    }),
  );
  const refused = await Promise.all(
    wrong.map(({ process, cookies, answer }) => post(1 - process, cookies, '/auth/verify', answer)),
  );
  expect(statusesOf(refused)).toEqual([422, 422, 422, 422, 422, 429, 429, 429]);
  const last = await challenge(1, visitor, '/auth/verify', { challenge: factorId });
  const right = { ...last.fields, credential: key.assert({ challenge: last.options.challenge }) };
  expect((await post(0, visitor, '/auth/verify', right)).status).toBe(429);
});
