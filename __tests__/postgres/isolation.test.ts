import type { IncomingMessage } from 'node:http';
import { withUser } from '../../lib/backend/index.ts';
import type { SqlTransaction } from '../../lib/backend/index.ts';
import { setSession } from '../support/backend-app.ts';
import { describeOnPostgres } from '../support/postgres-server.ts';
import { startSqlApp, userOf } from '../support/sql-app.ts';
import type { SqlApp } from '../support/sql-app.ts';

interface Note {
  readonly user_id: string;
  readonly body: string;
}

const userCount = 20;
const notesOfEach = 3;
const allNotes = 'select user_id, body from notes';

describeOnPostgres('withUser on PostgreSQL with row-level security', () => {
  let sql: SqlApp;
  /** Every row that a callback has seen, under the user of its request. */
  const seen = new Map<string, Note[]>();

  /** Reads all notes, and remembers whose rows came back. */
  async function read(tx: SqlTransaction, req: IncomingMessage): Promise<readonly Note[]> {
    const { rows } = await tx.query<Note>(allNotes);
    const user = userOf(req);
    seen.set(user, [...(seen.get(user) ?? []), ...rows]);
    return rows;
  }

  beforeAll(async () => {
    sql = await startSqlApp(userCount);
  }, 60_000);
  afterAll(() => sql.close());
  beforeEach(async () => {
    seen.clear();
    await sql.reset(notesOfEach);
  });

  it('shows the rows of the user, where the same query of the pool shows all', async () => {
    sql.work = { read };
    const { rows } = await sql.pool.query(allNotes);
    expect(rows).toHaveLength(userCount * notesOfEach);
    const { json } = await sql.ask(sql.users[0]!, 'read');
    expect(json.result).toHaveLength(notesOfEach);
    expect(new Set(json.result.map((row: Note) => row.user_id))).toEqual(new Set([sql.users[0]!.id]));
    await sql.expectCleanPool();
  });

  it('gives PostgreSQL all claims, whatever characters they have', async () => {
    const name = `O'Brien \\ "x" $1 \u{1F600}; drop table notes; --`;
    const email = 'quotes@example.com';
    sql.app.supabase.addUser({ email, password: 'long enough' });
    sql.app.supabase.setMetadata(email, { name });
    const visitor = sql.app.visitor();
    setSession(visitor, await sql.app.supabase.issueSession(email));
    sql.work = {
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
    sql.work = {
      anon: async (tx) => [
        (await tx.query('select body from news')).rows,
        (await tx.query('select current_user as role, auth.uid() as id, auth.jwt() as claims')).rows[0],
      ],
      'anon-notes': (tx) => tx.query('select body from notes'),
    };
    expect((await sql.app.visitor().getJson('/sql/anon')).json.result).toEqual([
      [{ body: 'for all' }],
      { role: 'anon', id: null, claims: { role: 'anon' } },
    ]);
    await sql.app.visitor().getJson('/sql/anon-notes');
    expect(sql.rejections).toMatchObject([{ message: 'permission denied for table notes' }]);
    await sql.expectCleanPool();
  });

  it('keeps 200 parallel requests of 20 users apart in a pool of two, whatever goes wrong in them', async () => {
    const pidOf = async (tx: SqlTransaction): Promise<number> =>
      (await tx.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]!.pid;
    sql.work = {
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
        withUser(sql.pool, req, async (inner) => {
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
        await sql.admin.query('select pg_terminate_backend($1)', [await pidOf(tx)]);
        return read(tx, req);
      },
      timeout: async (tx, req) => {
        await tx.query("set local statement_timeout = '5ms'");
        await read(tx, req);
        await tx.query("insert into notes (body) values ('lost')");
        return tx.query('select pg_sleep(10)');
      },
      'ended-by-itself': (tx) => tx.query('select 1; rollback; set role authenticated'),
      'changed-role': (tx) => tx.query("select set_config('role', 'none', false)"),
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
    const names = Object.keys(sql.work);
    const answers = await Promise.all(
      Array.from({ length: 200 }, async (_, index) => {
        const user = index % userCount;
        // Each user gets most of them.
        const name = names[(user + Math.floor(index / userCount)) % names.length]!;
        const answer = await sql.ask(sql.users[user]!, name).catch(() => undefined);
        return [name, answer?.status] as const;
      }),
    );
    const statuses = new Map(
      names.map((name) => [name, new Set(answers.filter(([of]) => of === name).map(([, status]) => status))]),
    );
    const fine = ['read', 'write', 'nested', 'leak', 'leak-older'];
    for (const name of names)
      expect([name, ...statuses.get(name)!]).toEqual([
        name,
        name === 'abort' ? undefined : fine.includes(name) ? 200 : 500,
      ]);
    expect(seen.size).toBe(userCount);
    for (const [user, rows] of seen) expect(new Set(rows.map((row) => row.user_id))).toEqual(new Set([user]));
    await sql.expectCleanPool();

    const { rows } = await sql.admin.query<Note>("select user_id, body from notes where body not like 'note %'");
    expect(new Set(rows.map(({ body }) => body))).toEqual(new Set(['written']));
    const count = (name: string): number => answers.filter(([of]) => of === name).length;
    expect(rows).toHaveLength(count('write') + count('nested'));
  }, 60_000);
});
