/**
 * One of the processes that `scale.ts` loads: Express, `b2bAuth` and the coordinator on Redis. It counts its
 * Redis commands and events, and reports them on request, with the heap after garbage collection.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import express from 'express';
import { createClient, createCluster } from 'redis';
import { b2bAuth, requireSession } from '../lib/b2b/index.ts';
import type { B2bAuthOptions } from '../lib/b2b/index.ts';
import { createRedisCoordinator } from '../lib/redis/index.ts';

export interface ScaleAppOptions {
  readonly shape: 'single' | 'cluster';
  readonly redisPorts: readonly number[];
  readonly password: string;
  readonly adapter: B2bAuthOptions;
}

export type ScaleAppReport =
  | { readonly kind: 'listening'; readonly port: number }
  | {
      readonly kind: 'usage';
      readonly heapBytes: number;
      readonly redisCommands: number;
      readonly events: Readonly<Record<string, number>>;
    };

const report = (message: ScaleAppReport): void => void process.send?.(message);
process.on('disconnect', () => process.exit());

const { shape, redisPorts, password, adapter } = JSON.parse(process.argv[2] ?? '') as ScaleAppOptions;
const urls = redisPorts.map((port) => ({ url: `redis://127.0.0.1:${port}` }));
const client = shape === 'cluster' ? createCluster({ rootNodes: urls }) : createClient(urls[0] ?? {});
client.on('error', () => undefined);
await client.connect();

let redisCommands = 0;
/** The same client, counting the coordinator's commands. */
const counted = new Proxy(client, {
  get(target, name) {
    const value: unknown = Reflect.get(target, name, target);
    if (typeof value !== 'function') return value;
    if (name === 'hGet' || name === 'hget' || name === 'eval') redisCommands += 1;
    return value.bind(target) as unknown;
  },
});

const events: Record<string, number> = {};
const app = express();
app.use(
  b2bAuth({
    ...adapter,
    coordinator: createRedisCoordinator({ client: counted, password }),
    onEvent: ({ type }) => (events[type] = (events[type] ?? 0) + 1),
  }),
);
app.get('/me', requireSession(), (_req, res) => void res.send('Hello'));
const server = createServer(app);
server.keepAliveTimeout = 60_000;
await once(server.listen(0, '127.0.0.1'), 'listening');

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;
process.on('message', () => {
  collect();
  report({ kind: 'usage', heapBytes: process.memoryUsage().heapUsed, redisCommands, events });
});
// Construction also reads the client.
redisCommands = 0;
report({ kind: 'listening', port: (server.address() as AddressInfo).port });
