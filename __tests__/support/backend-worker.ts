/**
 * One process of an application with the backend adapter that runs in several: Express, and the throttle on Redis. Its options come as
 * JSON in the first argument; it tells its parent where it listens. The header `x-test-address` is the visitor's address.
 */
import express from 'express';
import { createClient } from 'redis';
import { buildBackend } from './build-adapter.ts';
import { serve } from './servers.ts';

export interface BackendWorkerOptions {
  readonly redisUrl: string;
  readonly url: string;
  readonly anonKey: string;
}

// The parent ended, one way or another.
process.on('disconnect', () => process.exit());

const { redisUrl, url, anonKey } = JSON.parse(process.argv[2] ?? '') as BackendWorkerOptions;
const redis = createClient({ url: redisUrl, socket: { reconnectStrategy: 20 } });
redis.on('error', () => undefined);
await redis.connect();

const app = express();
app.use(
  buildBackend({
    url,
    anonKey,
    signInMethods: ['password', 'code', 'passkey'],
    mailAnswerMs: 0,
    throttle: { redis },
    clientAddress: (req) => String(req.headers['x-test-address']),
  }),
);
const { origin } = await serve(app);
process.send?.({ origin });
