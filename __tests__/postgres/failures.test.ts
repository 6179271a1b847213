import { Pool } from 'pg';
import { withUser } from '../../lib/backend/index.ts';
import type { SqlTransaction } from '../../lib/backend/index.ts';
import { describeOnPostgres } from '../support/postgres-server.ts';
import { startSqlApp } from '../support/sql-app.ts';
import type { SqlApp, SqlWork } from '../support/sql-app.ts';
import { until } from '../support/until.ts';

const insert = "insert into notes (body) values ('written')";

/** What the statements of `withUser` call, with other results. */
const shadow = `
create schema shadow;
grant usage on schema shadow to public;
create function shadow.set_config(text, text, boolean) returns text language sql as $$ select $2 $$;
create function shadow.current_setting(text, boolean) returns text language sql as $$ select '' $$;
create function shadow.decode(text, text) returns bytea language sql as $$ select ''::bytea $$;
create function shadow.convert_from(bytea, name) returns text language sql as $$ select '{}' $$;
create function shadow.concat(variadic text[]) returns text language sql as $$ select '' $$;
create function shadow.yes(text, text) returns boolean language sql as $$ select true $$;
create operator shadow.= (leftarg = text, rightarg = text, function = shadow.yes);
create operator shadow.<> (leftarg = text, rightarg = text, function = shadow.yes);
create function shadow.one(integer, integer) returns integer language sql as $$ select 1 $$;
create operator shadow./ (leftarg = integer, rightarg = integer, function = shadow.one);
`;

describeOnPostgres('what goes wrong with withUser on PostgreSQL', () => {
  let sql: SqlApp;
  beforeAll(async () => {
    sql = await startSqlApp(2);
  }, 60_000);
  afterAll(() => sql.close());
  beforeEach(() => sql.reset(1));
  afterEach(() => sql.expectCleanPool());

  /** Runs one callback as the first user; returns the status and what `withUser` rejected with. */
  async function run(work: SqlWork): Promise<{ status: number | undefined; error: any; result: any }> {
    sql.rejections.length = 0;
    sql.work = { one: work };
    const answer = await sql.ask(sql.users[0]!, 'one').catch(() => undefined);
    if (answer === undefined) await until(() => sql.rejections.length > 0);
    const result = answer?.status === 200 ? answer.json.result : undefined;
    return { status: answer?.status, error: sql.rejections[0], result };
  }

  const written = async (): Promise<number> =>
    (await sql.admin.query("select 1 from notes where body = 'written'")).rows.length;
  const pidOf = async (tx: SqlTransaction): Promise<number> =>
    (await tx.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]!.pid;
  /** Resolves once PostgreSQL has closed the connection. */
  async function ended(pid: number): Promise<void> {
    const { rowCount } = await sql.admin.query('select 1 from pg_stat_activity where pid = $1', [pid]);
    if (rowCount !== 0) await ended(pid);
  }
  const kill = (pid: number) => sql.admin.query('select pg_terminate_backend($1)', [pid]);

  it('a row for another user is refused by the policy, and rolls everything back', async () => {
    const { error } = await run(async (tx) => {
      await tx.query(insert);
      return tx.query('insert into notes (user_id, body) values ($1, $2)', [sql.users[1]!.id, 'written']);
    });
    expect(error).toMatchObject({ code: '42501', message: expect.stringContaining('row-level security') });
    expect(await written()).toBe(0);
  });

  it('an error that the callback catches leaves nothing, and withUser names it as the cause', async () => {
    const { error } = await run(async (tx) => {
      await tx.query(insert);
      await tx.query('select 1 / 0').catch(() => undefined);
    });
    expect(error).toMatchObject({
      message: expect.stringContaining('nothing was committed'),
      cause: { code: '22012' },
    });
    expect(await written()).toBe(0);
  });

  it('a savepoint lets the callback go on after an error', async () => {
    const { status } = await run(async (tx) => {
      await tx.query(insert);
      await tx.query('savepoint a');
      await tx.query('select 1 / 0').catch(() => undefined);
      await tx.query('rollback to savepoint a');
      await tx.query(insert);
    });
    expect(status).toBe(200);
    expect(await written()).toBe(2);
  });

  it('a commit that fails, for a deferred constraint, is the error of withUser', async () => {
    await sql.admin.query('create table once (id int constraint once_id unique deferrable initially deferred)');
    await sql.admin.query('grant insert on once to authenticated');
    const { error } = await run(async (tx) => {
      await tx.query(insert);
      await tx.query('insert into once values (1), (1)');
    });
    expect(error).toMatchObject({ code: '23505' });
    expect(await written()).toBe(0);
  });

  it('a connection that is killed while the callback does something else does not end the process', async () => {
    const { error } = await run(async (tx) => {
      await tx.query(insert);
      const pid = await pidOf(tx);
      const before = sql.pool.totalCount;
      await kill(pid);
      await ended(pid);
      expect(sql.pool.totalCount).toBe(before);
      await new Promise((resolve) => setImmediate(resolve));
    });
    expect(error).toBeInstanceOf(Error);
    expect(await written()).toBe(0);
  });

  it('a connection that is killed during a statement is closed', async () => {
    const { error } = await run(async (tx) => {
      await tx.query(insert);
      const pid = await pidOf(tx);
      const sleeping = tx.query('select pg_sleep(60)');
      await Promise.all([kill(pid), sleeping]);
    });
    expect(error).toMatchObject({ code: '57P01' });
    expect(await written()).toBe(0);
  });

  it('statement and idle timeouts roll back', async () => {
    const slow = await run(async (tx) => {
      await tx.query(insert);
      await tx.query("set local statement_timeout = '5ms'");
      await tx.query('select pg_sleep(60)');
    });
    expect(slow.error).toMatchObject({ code: '57014' });
    const idle = await run(async (tx) => {
      await tx.query(insert);
      const pid = await pidOf(tx);
      await tx.query("set local idle_in_transaction_session_timeout = '5ms'");
      await ended(pid);
    });
    expect(idle.error).toBeInstanceOf(Error);
    expect(await written()).toBe(0);
  });

  it('a timeout of the driver, which leaves its statement running, commits nothing', async () => {
    const pool = new Pool({ ...sql.pool.options, query_timeout: 300, max: 1 });
    const { error } = await run((_tx, req) =>
      withUser(pool, req, async (tx) => {
        await tx.query(insert);
        await tx.query('select pg_sleep(0.7)').catch(() => undefined);
      }),
    );
    expect(String(error)).toContain('Query read timeout');
    await pool.end();
    expect(await written()).toBe(0);
  });

  it('an aborted request is rolled back, and its callback that never settles holds no connection', async () => {
    for (let times = 0; times < 3; times += 1) {
      const { error } = await run(async (tx, req) => {
        await tx.query(insert);
        req.socket.destroy();
        return new Promise(() => undefined);
      });
      expect(error).toMatchObject({ name: 'AbortError' });
    }
    expect(await written()).toBe(0);
    expect(sql.pool.idleCount).toBe(sql.pool.totalCount);
  });

  it('an aborted request that waits for a connection never uses it', async () => {
    const held = [await sql.pool.connect(), await sql.pool.connect()];
    sql.work = { one: (tx) => tx.query(insert) };
    const leaving = new AbortController();
    const headers = { cookie: sql.users[0]!.visitor.cookieHeader() };
    const asked = fetch(`${sql.app.origin}/sql/one`, { headers, signal: leaving.signal }).catch(() => undefined);
    await until(() => sql.pool.waitingCount === 1);
    leaving.abort();
    await asked;
    await until(() => sql.rejections.length > 0);
    for (const client of held) client.release();
    expect(sql.rejections).toMatchObject([{ name: 'AbortError' }]);
    await sql.expectCleanPool();
    expect(await written()).toBe(0);
  });

  it('more nested and concurrent calls than connections do not block each other', async () => {
    sql.work = {
      one: (_tx, req) => {
        const nested = (depth: number): Promise<unknown> =>
          withUser(sql.pool, req, (tx) => (depth === 0 ? tx.query(insert) : nested(depth - 1)));
        return Promise.all([nested(5), nested(5)]);
      },
    };
    const answers = await Promise.all(Array.from({ length: 10 }, (_, index) => sql.ask(sql.users[index % 2]!, 'one')));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(await written()).toBe(20);
  });

  it('concurrent calls beside each other in one request have a connection each', async () => {
    const pool = new Pool({ ...sql.pool.options, max: 2 });
    const pids = new Set<number>();
    const meet = Promise.withResolvers<undefined>();
    let arrived = 0;
    const { status } = await run((_tx, req) =>
      Promise.all(
        [1, 2].map(() =>
          withUser(pool, req, async (tx) => {
            pids.add(await pidOf(tx));
            arrived += 1;
            if (arrived === 2) meet.resolve(undefined);
            await meet.promise;
          }),
        ),
      ),
    );
    expect([status, pids.size]).toEqual([200, 2]);
    await pool.end();
  });

  it('an error of a nested call leaves nothing, although the outer callback catches it', async () => {
    const { error } = await run(async (tx, req) => {
      await tx.query(insert);
      await withUser(sql.pool, req, () => Promise.reject(new Error('mine'))).catch(() => undefined);
      await withUser(sql.pool, req, (again) => again.query(insert)).catch(() => undefined);
    });
    expect(String(error)).toBe('Error: mine');
    expect(await written()).toBe(0);
  });

  describe('a callback that ends the transaction or changes its role', () => {
    /** Connections while the callback ran. */
    let held = 0;
    const runTexts = (...texts: readonly string[]) =>
      run(async (tx) => {
        held = sql.pool.totalCount;
        for (const text of texts) await tx.query(text);
      });
    const refused = { message: expect.stringContaining('has ended the transaction or changed its role') };

    it.each([
      'set local role none',
      'reset role',
      "select set_config('role', 'none', true)",
      "do $$ begin perform set_config('role', 'none', false); end $$",
      "select set_config('request.jwt.claims', '{}', true)",
      'rollback',
      'rollback and chain',
      'select 1; rollback; begin',
      'select 1; rollback; set role authenticated',
    ])('by %s gets an error, nothing is committed, and the connection is closed', async (text) => {
      const { error } = await runTexts(insert, text);
      expect(error).toMatchObject(refused);
      expect(await written()).toBe(0);
      expect(sql.pool.totalCount).toBe(held - 1);
    });

    it('by commit has committed, and gets the same error', async () => {
      const { error } = await runTexts(insert, 'commit');
      expect(error).toMatchObject(refused);
      expect(await written()).toBe(1);
      expect(sql.pool.totalCount).toBe(held - 1);
    });
  });

  it('statements of withUser mean pg_catalog’s functions and operators, whatever the search path names before it', async () => {
    await sql.admin.query(shadow);
    const path = '-c search_path=shadow,pg_catalog,public';
    const pool = new Pool({ ...sql.pool.options, options: path, max: 1 });
    const runText = (text: string) =>
      run((_tx, req) => withUser(pool, req, async (tx) => (await tx.query<Record<string, string>>(text)).rows[0]));
    const own = await runText(
      "select pg_catalog.current_setting('role') as role, pg_catalog.current_setting('request.jwt.claims') as claims",
    );
    expect(own.result.role).toBe('authenticated');
    expect(JSON.parse(own.result.claims)).toMatchObject({ sub: sql.users[0]!.id });
    expect([pool.totalCount, pool.idleCount]).toEqual([1, 1]);

    const { error } = await runText("select pg_catalog.set_config('role', 'none', true)");
    expect(error).toMatchObject({ message: expect.stringContaining('changed its role') });

    expect((await runText("select pg_catalog.set_config('request.jwt.claim.sub', 'kept', false)")).status).toBe(200);
    expect(pool.totalCount).toBe(0);
    await pool.end();
  });

  it('a procedure cannot end the transaction', async () => {
    const { error } = await run(async (tx) => {
      await tx.query(insert);
      await tx.query('do $$ begin commit; end $$');
    });
    expect(error).toMatchObject({ code: '2D000' });
    expect(await written()).toBe(0);
  });

  it('a prepared statement of one name shows each user their own rows', async () => {
    sql.work = { one: (tx) => tx.query({ name: 'all-notes', text: 'select user_id from notes' }) };
    for (let times = 0; times < 20; times += 1) {
      const user = sql.users[times % 2]!;
      const { json } = await sql.ask(user, 'one');
      expect(json.result.rows).toEqual([{ user_id: user.id }]);
    }
  });

  it('claims that an earlier user of the connection has left do not count, in either form', async () => {
    const { id } = sql.users[1]!;
    for (const name of ['request.jwt.claim.sub', 'request.jwt.claims', 'request.jwt.claim']) {
      const left = name.endsWith('.sub') ? id : JSON.stringify({ sub: id });
      for (const client of [await sql.pool.connect(), await sql.pool.connect()]) {
        await client.query('select set_config($1, $2, false)', [name, left]);
        client.release();
      }
      const { result } = await run(
        async (tx) => (await tx.query('select auth.uid() as id, auth.jwt() as jwt')).rows[0],
      );
      expect([result.id, result.jwt.sub]).toEqual([sql.users[0]!.id, sql.users[0]!.id]);
      // The other connection was not used, and is replaced here.
      for (const client of [await sql.pool.connect(), await sql.pool.connect()]) client.release(true);
    }
  });

  it('a role that may not become a user gets PostgreSQL’s error, and keeps its connection', async () => {
    await sql.admin.query('create role stranger login');
    const pool = new Pool({
      connectionString: String(sql.pool.options.connectionString).replace('authenticator', 'stranger'),
    });
    const { error } = await run((_tx, req) => withUser(pool, req, (tx) => tx.query(insert)));
    expect(error).toMatchObject({ code: '42501', message: expect.stringContaining('permission denied to set role') });
    expect([pool.totalCount, pool.idleCount]).toEqual([1, 1]);
    await pool.end();
  });
});
