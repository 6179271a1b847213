import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { jest } from '@jest/globals';
import { startSupabaseStandIn } from '../../stand-ins/supabase/stand-in.ts';
import type { SupabaseStandIn } from '../../stand-ins/supabase/stand-in.ts';
import { ada } from '../support/backend-app.ts';
import type { BackendWorkerOptions } from '../support/backend-worker.ts';
import { startRedisServer } from '../support/redis-server.ts';
import type { RedisServer } from '../support/redis-server.ts';
import { createVisitor } from '../support/visitor.ts';
import type { Answer, Visitor } from '../support/visitor.ts';

interface Worker {
  readonly origin: string;
  readonly child: ChildProcess;
}

jest.setTimeout(60_000);

let redis: RedisServer;
let supabase: SupabaseStandIn;
let workers: Worker[] = [];

beforeAll(async () => {
  redis = await startRedisServer();
  supabase = await startSupabaseStandIn({ autoconfirm: true });
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

async function startWorker(): Promise<Worker> {
  const options: BackendWorkerOptions = { redisUrl: redis.url, url: supabase.url, anonKey: supabase.publishableKey };
  const file = new URL('../support/backend-worker.ts', import.meta.url);
  const child = fork(file, [JSON.stringify(options)], { execArgv: ['--disable-warning=ExperimentalWarning'] });
  const origin = await new Promise<string>((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`A worker ended with ${String(code)} before it listened`)));
    child.once('message', (message: { readonly origin: string }) => resolve(message.origin));
  });
  return { origin, child };
}

/** In turn in both processes, each time from another network. */
let asked = 0;
function post(path: string, body: Record<string, string>, cookies?: Visitor['cookies']): Promise<Answer> {
  asked += 1;
  const visitor = createVisitor(workers[asked % workers.length]?.origin ?? '');
  for (const [name, value] of cookies ?? []) visitor.cookies.set(name, value);
  const headers = {
    accept: 'application/json',
    'content-type': 'application/json',
    'x-test-address': `192.0.${asked >> 8}.${asked & 255}`,
  };
  return visitor.post(path, { headers, body: JSON.stringify(body) });
}

const wrong = (right: string): string => (right === '000000' ? '111111' : '000000');
const statusesOf = (answers: readonly Answer[]): number[] => answers.map(({ status }) => status).sort();
const closed = (count: number, tries = 5): number[] => [
  ...Array<number>(tries).fill(422),
  ...Array<number>(count - tries).fill(429),
];

describe('six digits, guessed at two processes in parallel', () => {
  it('get five tries for each second factor, and then the right code is refused', async () => {
    const factor = supabase.addFactor(ada.email);
    const visitor = createVisitor(workers[0]?.origin ?? '');
    await visitor.postJson('/auth/login', ada);
    const right = supabase.codeOf(factor);
    const codes = Array.from({ length: 41 }, (_none, index) => String(100_000 + index)).filter(
      (code) => code !== right,
    );
    const guesses = codes.slice(0, 40).map((code) => post('/auth/verify', { code }, visitor.cookies));
    expect(statusesOf(await Promise.all(guesses))).toEqual(closed(40));
    expect(supabase.calls('verify-factor')).toBe(5);
    for (let count = 0; count < 2; count += 1) {
      const refused = await post('/auth/verify', { code: supabase.codeOf(factor) }, visitor.cookies);
      expect([refused.status, refused.json.error.code]).toEqual([429, 'rate_limited']);
      expect(Number(refused.headers['retry-after'])).toBeGreaterThan(14 * 60);
    }
    const other = supabase.addFactor(ada.email);
    const given = { factorId: other.id, code: supabase.codeOf(other) };
    expect((await post('/auth/verify', given, visitor.cookies)).status).toBe(200);
  });

  it('get thirty tries, from as many networks, for each address to which a code was sent', async () => {
    const email = 'grace@example.com';
    expect((await post('/auth/code', { email })).status).toBe(200);
    const right = supabase.mails.at(-1)?.token ?? '';
    const spellings = [email, 'Grace@Example.com', ' GRACE@EXAMPLE.COM'];
    const guesses = Array.from({ length: 40 }, (_none, index) =>
      post('/auth/code', { email: spellings[index % 3] ?? '', code: wrong(right), returnTo: `/${index}` }),
    );
    expect(statusesOf(await Promise.all(guesses))).toEqual(closed(40, 30));
    for (let count = 0; count < 2; count += 1) {
      expect((await post('/auth/code', { email, code: right })).status).toBe(429);
    }
    expect(supabase.calls('verify')).toBe(30);
  });

  it('are sent in one email a minute, whichever process gets the request', async () => {
    const wishes = Array.from({ length: 6 }, (_none, index) =>
      post('/auth/code', { email: 'mia@example.com', returnTo: `/${index}` }),
    );
    expect(statusesOf(await Promise.all(wishes))).toEqual([200, ...Array<number>(5).fill(429)]);
    expect(supabase.calls('otp')).toBe(2);
  });
});
