/**
 * One process of a B2B application that runs in several: Express, the adapter, the coordinator on Redis, and `/api/me` behind a
 * guard. Its options come as JSON in the first argument; it reports to its parent where it listens and what happens. SIGTERM shuts it
 * down as docs/deployment.md says.
 */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { createClient } from 'redis';
import {
  authenticateUpgrade,
  b2bAuth,
  endSession,
  forwardAuth,
  getSession,
  renewSession,
  requireSession,
} from '../../lib/b2b/index.ts';
import type { B2bAuthOptions } from '../../lib/b2b/index.ts';
import { createRedisCoordinator } from '../../lib/redis/index.ts';

export interface WorkerOptions {
  readonly redisUrl: string;
  /** Of the coordinator. */
  readonly password: string | readonly string[];
  readonly adapter: B2bAuthOptions;
}

export type WorkerReport =
  | { readonly kind: 'listening'; readonly origin: string }
  | { readonly kind: 'event'; readonly type: string }
  | { readonly kind: 'clock' };

/** Sets the worker's clock ahead; it answers with `clock`. */
export interface WorkerClock {
  readonly aheadMs: number;
}

const report = (message: WorkerReport): void => void process.send?.(message);
// The parent ended, one way or another.
process.on('disconnect', () => process.exit());

const { redisUrl, password, adapter } = JSON.parse(process.argv[2] ?? '') as WorkerOptions;
const client = createClient({ url: redisUrl, socket: { reconnectStrategy: 20 } });
client.on('error', () => undefined);
await client.connect();

let aheadMs = 0;
process.on('message', (clock: WorkerClock) => {
  ({ aheadMs } = clock);
  report({ kind: 'clock' });
});

const app = express();
const auth = b2bAuth({
  ...adapter,
  now: () => Date.now() + aheadMs,
  coordinator: createRedisCoordinator({ client, password }),
  onEvent: ({ type }) => report({ kind: 'event', type }),
});
app.use(auth);
app.use('/auth/forward', forwardAuth(auth));
app.get('/api/strict', requireSession({ whenCoordinatorDown: 'refuse' }), (_req, res) => {
  res.sendStatus(200);
});
app.get('/api/me', requireSession(), async (req, res) => {
  const session = await getSession(req, 'b2b');
  res.json({ user: session?.user.email, sessionId: session?.sessionId });
});
app.post('/server/end/:userId', async (req, res) => {
  await endSession(auth, { userId: req.params.userId });
  res.sendStatus(204);
});
app.post('/server/renew/:userId', async (req, res) => {
  await renewSession(auth, { userId: req.params.userId });
  res.sendStatus(204);
});
// Answers when the session ends, as a WebSocket would be closed.
app.get('/until-ended', async (req, res) => {
  const { ended } = await authenticateUpgrade(auth, req);
  res.flushHeaders();
  ended.addEventListener('abort', () => res.end(String((ended.reason as { readonly reason?: string }).reason)));
});
const server = app.listen(0, '127.0.0.1');
await once(server, 'listening');
report({ kind: 'listening', origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
process.once('SIGTERM', () => {
  server.close();
  server.closeIdleConnections();
  // The process ends by itself when its last response and its last refresh are through.
  client.unref();
  process.channel?.unref();
});
