import type { IncomingMessage } from 'node:http';
import { Pool } from 'pg';
import type { PoolClient } from 'pg';
import { withUser } from '../../lib/backend/index.ts';
import type { SqlTransaction } from '../../lib/backend/index.ts';
import { setSession, startBackendApp } from '../support/backend-app.ts';
import type { BackendApp } from '../support/backend-app.ts';
import { sendJson } from '../support/hosts.ts';
import { describeOnPostgres, startPostgresServer } from '../support/postgres-server.ts';
import type { PostgresServer } from '../support/postgres-server.ts';
import type { Visitor } from '../support/visitor.ts';

interface Note {
  readonly user_id: string;
  readonly body: string;
}

type Work = (tx: SqlTransaction, req: IncomingMessage) => Promise<unknown>;

const userCount = 20;
const notesOfEach = 3;
const allNotes = 'select user_id, body from notes';

describeOnPostgres('withUser on PostgreSQL with row-level security', () => {
  let server: PostgresServer;
  let admin: Pool;
  let pool: Pool;
  let app: BackendApp;
  let users: readonly { readonly id: string; readonly visitor: Visitor }[];
  /** Every row that a callback has seen, under the user of its request. */
  const seen = new Map<string, Note[]>();
  /** What the promises of `withUser` rejected with. */
  let rejections: unknown[] = [];
  let work: Readonly<Record<string, Work>> = {};

  /** Reads all notes, and remembers whose rows came back. */
  async function read(tx: SqlTransaction, req: IncomingMessage): Promise<readonly Note[]> {
    const { rows } = await tx.query<Note>(allNotes);
    const user = userOf(req);
    seen.set(user, [...(seen.get(user) ?? []), ...rows]);
    return rows;
  }
  const userOf = (req: IncomingMessage): string => String(req.headers['x-user-under-test']);

  beforeAll(async () => {
    server = await startPostgresServer();
    admin = new Pool({ connectionString: server.adminUrl, max: 2 });
    pool = new Pool({ connectionString: server.url, max: 2 });
    // An idle connection that was killed.
    pool.on('error', () => undefined);
    app = await startBackendApp({
      after: (host) =>
        host.get(/^\/sql\//, (req, res, next) => {
          const name = String(req.url).split('/')[2] ?? '';
          withUser(pool, req, (tx) => work[name]!(tx, req), name.startsWith('anon') ? { anon: true } : undefined).then(
            (result) => sendJson(res, { result }),
            (error: unknown) => {
              rejections.push(error);
              if (!res.destroyed) next(error);
            },
          );
        }),
    });
    users = await Promise.all(
      Array.from({ length: userCount }, async (_, index) => {
        const email = `user-${index}@example.com`;
        app.supabase.addUser({ email, password: 'long enough' });
        const session = await app.supabase.issueSession(email);
        const visitor = app.visitor();
        setSession(visitor, session);
        return { id: session.user.id, visitor };
      }),
    );
  }, 60_000);

  afterAll(async () => {
    await app.close();
    await pool.end();
    await admin.end();
    await server.stop();
  });

  beforeEach(async () => {
    seen.clear();
    rejections = [];
    await admin.query('truncate notes, news');
    await admin.query("insert into news (body) values ('for all')");
    for (const { id } of users)
      await admin.query(
        "insert into notes (user_id, body) select $1, 'note ' || n from generate_series(1, $2::int) n",
        [id, notesOfEach],
      );
  });

  const ask = (user: (typeof users)[number], name: string) =>
    user.visitor.get(`/sql/${name}`, { headers: { accept: 'application/json', 'x-user-under-test': user.id } });

  /** Whom each connection of the pool is, and what it keeps. */
  async function expectCleanPool(): Promise<void> {
    const clients: PoolClient[] = [await pool.connect(), await pool.connect()];
    for (const client of clients) {
      const { rows } = await client.query(
        "select current_user, current_setting('role') as role, coalesce(current_setting('request.jwt.claims', true), '') as claims, coalesce(current_setting('request.jwt.claim.sub', true), '') as sub",
      );
      client.release();
      expect(rows).toEqual([{ current_user: 'authenticator', role: 'none', claims: '', sub: '' }]);
    }
    expect([pool.waitingCount, pool.idleCount]).toEqual([0, pool.totalCount]);
    // Transactions that were left open would show here.
    const { rows } = await admin.query("select 1 from pg_stat_activity where state like 'idle in transaction%'");
    expect(rows).toEqual([]);
  }

  function expectOwnRowsOnly(): void {
    for (const [user, rows] of seen) expect(new Set(rows.map((row) => row.user_id))).toEqual(new Set([user]));
  }

  it('shows the rows of the user, where the same query of the pool shows all', async () => {
    work = { read };
    const { rows } = await pool.query(allNotes);
    expect(rows).toHaveLength(userCount * notesOfEach);
    const { json } = await ask(users[0]!, 'read');
    expect(json.result).toHaveLength(notesOfEach);
    expect(new Set(json.result.map((row: Note) => row.user_id))).toEqual(new Set([users[0]!.id]));
    await expectCleanPool();
  });

  it('gives PostgreSQL all claims, whatever characters they have', async () => {
    const name = `O'Brien \\ "x" $1 \u{1F600}; drop table notes; --`;
    const email = 'quotes@example.com';
    app.supabase.addUser({ email, password: 'long enough' });
    app.supabase.setMetadata(email, { name });
    const visitor = app.visitor();
    setSession(visitor, await app.supabase.issueSession(email));
    work = {
      claims: async (tx) =>
        (
          await tx.query(
            "select auth.jwt() -> 'user_metadata' ->> 'name' as name, current_user as role, auth.uid() as id",
          )
        ).rows[0],
    };
    const { json } = await visitor.getJson('/sql/claims');
    expect(json.result).toMatchObject({ name, role: 'authenticated' });
  });

  it('reads as anon without a session where the caller says so', async () => {
    work = {
      anon: async (tx) => [
        (await tx.query('select body from news')).rows,
        (await tx.query('select current_user as role, auth.uid() as id, auth.jwt() as claims')).rows[0],
      ],
      'anon-notes': (tx) => tx.query('select body from notes'),
    };
    expect((await app.visitor().getJson('/sql/anon')).json.result).toEqual([
      [{ body: 'for all' }],
      { role: 'anon', id: null, claims: { role: 'anon' } },
    ]);
    await app.visitor().getJson('/sql/anon-notes');
    expect(rejections).toMatchObject([{ message: 'permission denied for table notes' }]);
    await expectCleanPool();
  });

  it('keeps 200 parallel requests of 20 users apart in a pool of two, whatever goes wrong in them', async () => {
    const pidOf = async (tx: SqlTransaction): Promise<number> =>
      (await tx.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]!.pid;
    work = {
      read,
      write: async (tx, req) => {
        await tx.query("insert into notes (body) values ('written')");
        return read(tx, req);
      },
      throw: async (tx, req) => {
        await tx.query("insert into notes (body) values ('lost')");
        await read(tx, req);
        throw new Error('mine');
      },
      'bad-sql': async (tx, req) => {
        await tx.query("insert into notes (body) values ('lost')");
        await tx.query('select 1 / 0').catch(() => undefined);
        return read(tx, req).catch(() => 'refused');
      },
      nested: (tx, req) =>
        withUser(pool, req, async (inner) => {
          await inner.query("insert into notes (body) values ('written')");
          return [await read(tx, req), await read(inner, req)];
        }),
      abort: async (tx, req) => {
        await tx.query("insert into notes (body) values ('lost')");
        await read(tx, req);
        req.socket.destroy();
        return new Promise(() => undefined);
      },
      kill: async (tx, req) => {
        await tx.query("insert into notes (body) values ('lost')");
        await read(tx, req);
        await admin.query('select pg_terminate_backend($1)', [await pidOf(tx)]);
        return read(tx, req);
      },
      timeout: async (tx, req) => {
        await tx.query("set local statement_timeout = '5ms'");
        await read(tx, req);
        await tx.query("insert into notes (body) values ('lost')");
        return tx.query('select pg_sleep(10)');
      },
      commit: async (tx, req) => {
        await tx.query('commit').catch(() => undefined);
        return read(tx, req);
      },
      'hidden-commit': async (tx, req) => {
        await tx.query('select 1; commit').catch(() => undefined);
        return read(tx, req).catch(() => 'refused');
      },
      'hidden-role': async (tx, req) => {
        await tx.query('select 1; reset role').catch(() => undefined);
        return read(tx, req).catch(() => 'refused');
      },
      comment: async (tx, req) => {
        await tx.query('/* /* */ */ rollback').catch(() => undefined);
        return read(tx, req).catch(() => 'refused');
      },
      leak: async (tx, req) => {
        await tx.query(
          "select set_config('role', 'authenticated', false), set_config('request.jwt.claims', current_setting('request.jwt.claims'), false)",
        );
        return read(tx, req);
      },
      'leak-older': async (tx, req) => {
        await tx.query("select set_config('request.jwt.claim.sub', auth.uid()::text, false)");
        return read(tx, req);
      },
    };
    const names = Object.keys(work);
    const answers = await Promise.all(
      Array.from({ length: 200 }, async (_, index) => {
        const name = names[index % names.length]!;
        const answer = await ask(users[index % userCount]!, name).catch(() => undefined);
        return [name, answer?.status] as const;
      }),
    );
    const statuses = new Map(
      names.map((name) => [name, new Set(answers.filter(([of]) => of === name).map(([, status]) => status))]),
    );
    const fine = ['read', 'write', 'nested', 'commit', 'leak', 'leak-older'];
    for (const name of names)
      expect([name, ...statuses.get(name)!]).toEqual([
        name,
        name === 'abort' ? undefined : fine.includes(name) ? 200 : 500,
      ]);
    expect(seen.size).toBe(userCount);
    expectOwnRowsOnly();
    await expectCleanPool();

    const { rows } = await admin.query<Note>("select user_id, body from notes where body not like 'note %'");
    expect(new Set(rows.map(({ body }) => body))).toEqual(new Set(['written']));
    const count = (name: string): number => answers.filter(([of]) => of === name).length;
    expect(rows).toHaveLength(count('write') + count('nested'));
  }, 60_000);
});
