import type { IncomingMessage } from 'node:http';
import { Pool } from 'pg';
import type { PoolClient } from 'pg';
import { withUser } from '../../lib/backend/index.ts';
import type { SqlTransaction } from '../../lib/backend/index.ts';
import { setSession, startBackendApp } from './backend-app.ts';
import type { BackendApp } from './backend-app.ts';
import { sendJson } from './hosts.ts';
import { startPostgresServer } from './postgres-server.ts';
import type { Answer, Visitor } from './visitor.ts';

export interface SqlUser {
  readonly id: string;
  readonly visitor: Visitor;
}

export type SqlWork = (tx: SqlTransaction, req: IncomingMessage) => Promise<unknown>;

export interface SqlApp {
  /** Of the superuser. */
  readonly admin: Pool;
  /** Of the application's own role, with two connections. */
  readonly pool: Pool;
  readonly app: BackendApp;
  readonly users: readonly SqlUser[];
  /** What the promises of `withUser` rejected with. */
  readonly rejections: unknown[];
  /** The callbacks of `/sql/<name>`; those whose name starts with `anon` need no session. */
  work: Readonly<Record<string, SqlWork>>;
  ask(user: SqlUser, name: string): Promise<Answer>;
  /** Replaces all rows: a piece of news, and notes of each user. */
  reset(notesOfEach: number): Promise<void>;
  /** Fails where a connection keeps a user or an open transaction, or is not given back. */
  expectCleanPool(): Promise<void>;
  close(): Promise<void>;
}

/** Who asks, as `ask` says it to the callbacks. */
export const userOf = (req: IncomingMessage): string => String(req.headers['x-user-under-test']);

/** An application whose users are signed in, with a PostgreSQL of its own behind `withUser`. */
export async function startSqlApp(userCount: number): Promise<SqlApp> {
  const server = await startPostgresServer();
  const admin = new Pool({ connectionString: server.adminUrl, max: 2 });
  const pool = new Pool({ connectionString: server.url, max: 2 });
  // An idle connection that was killed.
  pool.on('error', () => undefined);
  const rejections: unknown[] = [];
  const app = await startBackendApp({
    after: (host) =>
      host.get(/^\/sql\//, (req, res, next) => {
        const name = String(req.url).split('/')[2] ?? '';
        const options = name.startsWith('anon') ? { anon: true as const } : undefined;
        withUser(pool, req, (tx) => sql.work[name]!(tx, req), options).then(
          (result) => sendJson(res, { result }),
          (error: unknown) => {
            rejections.push(error);
            if (!res.destroyed) next(error);
          },
        );
      }),
  });
  const users = await Promise.all(
    Array.from({ length: userCount }, async (_, index) => {
      const email = `user-${index}@example.com`;
      app.supabase.addUser({ email, password: 'long enough' });
      const session = await app.supabase.issueSession(email);
      const visitor = app.visitor();
      setSession(visitor, session);
      return { id: session.user.id, visitor };
    }),
  );
  const sql: SqlApp = {
    admin,
    pool,
    app,
    users,
    rejections,
    work: {},
    ask: (user, name) =>
      user.visitor.get(`/sql/${name}`, { headers: { accept: 'application/json', 'x-user-under-test': user.id } }),
    async reset(notesOfEach) {
      rejections.length = 0;
      await admin.query('truncate notes, news');
      await admin.query("insert into news (body) values ('for all')");
      const insert = "insert into notes (user_id, body) select $1, 'note ' || n from generate_series(1, $2::int) n";
      for (const { id } of users) await admin.query(insert, [id, notesOfEach]);
    },
    async expectCleanPool() {
      const clients: PoolClient[] = [await pool.connect(), await pool.connect()];
      for (const client of clients) {
        const settings = ['request.jwt.claims', 'request.jwt.claim', 'request.jwt.claim.sub'];
        const kept = settings.map((name) => `current_setting('${name}', true)`).join(', ');
        const { rows } = await client.query(
          `select current_user, current_setting('role') as role, concat(${kept}) as kept`,
        );
        client.release();
        expect(rows).toEqual([{ current_user: 'authenticator', role: 'none', kept: '' }]);
      }
      expect([pool.waitingCount, pool.idleCount]).toEqual([0, pool.totalCount]);
      const { rows } = await admin.query("select 1 from pg_stat_activity where state like 'idle in transaction%'");
      expect(rows).toEqual([]);
    },
    async close() {
      await app.close();
      await pool.end();
      await admin.end();
      await server.stop();
    },
  };
  return sql;
}
