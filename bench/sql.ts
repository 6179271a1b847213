/**
 * What `withUser` costs: one query as the user, over the same query of the pool, and over a transaction by hand that sets the same.
 * The requests of the three take turns, one at a time, so that load of the machine meets all alike. Needs PostgreSQL (on Debian:
 * `apt install postgresql`), which it starts on a free port of its own.
 *
 *     npm run bench:sql [-- <requests of each>]
 */
import express from 'express';
import type { RequestHandler } from 'express';
import { Pool } from 'pg';
import { startPostgresServer } from '../__tests__/support/postgres-server.ts';
import { serve } from '../__tests__/support/servers.ts';
import { send } from '../__tests__/support/visitor.ts';
import { backendAuth, sqlSession, withUser } from '../lib/backend/index.ts';
import { createBackendTestKit } from '../lib/testing/index.ts';

const rounds = Number(process.argv[2] ?? 3_000);
const warmUp = 300;
const query = 'select id, body from notes where id = $1';

const database = await startPostgresServer();
const pool = new Pool({ connectionString: database.url });
let roundTrips = 0;
pool.on('connect', (client) => {
  const own = client.query.bind(client) as (...given: unknown[]) => unknown;
  Object.assign(client, {
    query: (...given: unknown[]) => {
      roundTrips += 1;
      return own(...given);
    },
  });
});

const byHand: RequestHandler = async (req, res) => {
  const { role, claims } = await sqlSession(req);
  const client = await pool.connect();
  try {
    await client.query('begin');
    const values = [JSON.stringify(claims), role];
    await client.query("select set_config('request.jwt.claims', $1, true), set_config('role', $2, true)", values);
    const { rows } = await client.query(query, [1]);
    await client.query('commit');
    res.json(rows);
  } finally {
    client.release();
  }
};

const handlers: Readonly<Record<string, RequestHandler>> = {
  'pool.query': async (req, res) => {
    await sqlSession(req);
    res.json((await pool.query(query, [1])).rows);
  },
  'a transaction by hand': byHand,
  withUser: async (req, res) => {
    res.json((await withUser(pool, req, (tx) => tx.query(query, [1]))).rows);
  },
};

const kit = createBackendTestKit();
const app = express();
app.use(backendAuth(kit.options));
const names = Object.keys(handlers);
names.forEach((name, index) => app.get(`/${index}`, handlers[name]!));
const server = await serve(app);
const cookie = await kit.cookie();

const latencies = new Map<string, number[]>(names.map((name) => [name, []]));
const trips = new Map<string, number>();

async function ask(index: number): Promise<number> {
  const name = names[index]!;
  const before = roundTrips;
  const startedAt = performance.now();
  const { status, text } = await send(new URL(`/${index}`, server.origin), { headers: { cookie } });
  const took = performance.now() - startedAt;
  if (status !== 200) throw new Error(`${name}: ${status} ${text}`);
  trips.set(name, roundTrips - before);
  return took;
}

try {
  for (let round = -warmUp; round < rounds; round += 1) {
    // Another order in each round, so that none always follows the same one.
    for (const offset of names.keys()) {
      const index = (offset + round + warmUp) % names.length;
      const took = await ask(index);
      if (round >= 0) latencies.get(names[index]!)!.push(took);
    }
  }
} finally {
  await server.close();
  await pool.end();
  await database.stop();
}

const median = (values: readonly number[]): number => values.toSorted((one, other) => one - other)[values.length >> 1]!;
const [plain, hand] = names.map((name) => median(latencies.get(name)!));
console.table(
  Object.fromEntries(
    names.map((name) => {
      const ms = median(latencies.get(name)!);
      return [
        name,
        {
          'round trips': trips.get(name),
          'median of a request': `${ms.toFixed(2)} ms`,
          'over pool.query': (ms / plain!).toFixed(2),
          'over a transaction by hand': (ms / hand!).toFixed(2),
        },
      ];
    }),
  ),
);
