import { randomBytes } from 'node:crypto';
import { startWorkos } from './workos.ts';
import type { WorkosStandIn } from '../../stand-ins/workos/index.ts';
import { killWorker, startWorker } from './b2b-worker-process.ts';
import type { Worker } from './b2b-worker-process.ts';
import { startRedisServer } from './redis-server.ts';
import type { RedisServer } from './redis-server.ts';
import { connectionTo } from './workos-connection.ts';

/** Two processes of an application, with one Redis and one stand-in for WorkOS. */
export interface TwoProcesses {
  readonly redis: RedisServer;
  readonly workos: WorkosStandIn;
  readonly workers: readonly [Worker, Worker];
  /** For the processes and the provider; Redis keeps the time of day. */
  advance(ms: number): Promise<void>;
  close(): Promise<void>;
}

export async function startTwoProcesses(): Promise<TwoProcesses> {
  let aheadMs = 0;
  const now = (): number => Date.now() + aheadMs;
  const redis = await startRedisServer();
  const apiKey = randomBytes(16).toString('hex');
  const workos = await startWorkos({ clientId: 'client_test', apiKey, now });
  const cookiePassword = randomBytes(32).toString('base64');
  const adapter = { ...connectionTo(workos), cookiePassword };
  const start = (): Promise<Worker> => startWorker({ redisUrl: redis.url, password: cookiePassword, adapter });
  const workers = await Promise.all([start(), start()]);
  return {
    redis,
    workos,
    workers,
    async advance(ms) {
      aheadMs += ms;
      await Promise.all(workers.map((worker) => worker.setAhead(aheadMs)));
    },
    async close() {
      await Promise.all(workers.map(killWorker));
      await workos.close();
      await redis.stop();
    },
  };
}
