import type { IncomingMessage, ServerResponse } from 'node:http';
import http from 'node:http';
import { AuthError, ConfigurationError, requireSession, sqlSession, withUser } from '../../../lib/backend/index.ts';
import type { SqlPool, SqlSessionOptions, SqlTransaction } from '../../../lib/backend/index.ts';
import { ada, startBackendApp } from '../../support/backend-app.ts';
import type { BackendApp, BackendAppSetup } from '../../support/backend-app.ts';
import { sendJson } from '../../support/hosts.ts';
import { createRecordingPool } from '../../support/recording-pool.ts';
import type { RecordingPool } from '../../support/recording-pool.ts';
import { until } from '../../support/until.ts';

type Handle = (req: IncomingMessage, res: ServerResponse) => Promise<unknown>;

let app: BackendApp;
let pool: RecordingPool;
/** What the handler's promise rejected with. */
let thrown: unknown[];
beforeEach(() => {
  pool = createRecordingPool();
  thrown = [];
});
afterEach(() => app.close());

/** An application with `/sql`, which answers what `handle` resolves to. */
async function start(handle: Handle, setup: BackendAppSetup = {}): Promise<void> {
  app = await startBackendApp({
    ...setup,
    after: (host, ...rest) => {
      setup.after?.(host, ...rest);
      host.get('/sql', (req, res, next) => {
        handle(req, res).then(
          (result) => sendJson(res, { result: result ?? null }),
          (error: unknown) => {
            thrown.push(error);
            if (res.destroyed || res.writableEnded) return;
            if (error instanceof AuthError) next(error);
            else sendJson(res, { thrown: String(error) }, 500);
          },
        );
      });
    },
  });
}

const selectOne = (tx: SqlTransaction): Promise<unknown> => tx.query('select 1').then(({ rows }) => rows);

/** Both functions, as the handler of `/sql`. */
const bothFunctions: readonly (readonly [string, (options?: SqlSessionOptions) => Handle])[] = [
  ['withUser', (options) => (req) => withUser(pool, req, selectOne, options)],
  ['sqlSession', (options) => (req) => sqlSession(req, options)],
];

/** The JSON that a statement of ours carries. */
function claimsIn(text: string): unknown {
  const [, encoded = ''] = /decode\('([\w+/=]+)', 'base64'\)/.exec(text) ?? [];
  return JSON.parse(Buffer.from(encoded, 'base64').toString());
}

async function refusal(handle: Handle, setup?: BackendAppSetup): Promise<unknown> {
  await start(handle, setup);
  await (await app.signedIn()).getJson('/sql');
  return thrown[0];
}

describe('withUser', () => {
  it('begins with role and verified claims, runs the callback, and commits, in two round trips of its own', async () => {
    await start((req) => withUser(pool, req, (tx) => tx.query('select $1::int as one', [1])));
    app.supabase.setMetadata(ada.email, { name: "O'Brien \\ \u{1F600} $1 --" });
    const visitor = await app.signedIn();
    expect((await visitor.getJson('/sql')).json.result).toMatchObject({ rows: [{ one: 1 }] });
    const [connection, ...others] = pool.connections;
    expect(others).toEqual([]);
    expect(connection!.words).toEqual(['begin', 'select', 'commit']);
    const [begin = '', work, commit = ''] = connection!.texts;
    const { id } = (await visitor.getJson('/auth/session')).json.user;
    expect(claimsIn(begin)).toMatchObject({ sub: id, role: 'authenticated', email: ada.email });
    expect(claimsIn(begin)).toMatchObject({ user_metadata: { name: "O'Brien \\ \u{1F600} $1 --" } });
    expect(claimsIn(commit)).toEqual(claimsIn(begin));
    expect(begin).toContain("set_config('role', 'authenticated', true)");
    expect(begin).toMatch(
      /^begin; select pg_catalog\.set_config\('request\.jwt\.claims', pg_catalog\.convert_from\([^']+'[\w+/=]+', 'base64'\), 'UTF8'\), true\), /,
    );
    expect(begin).not.toContain('Brien');
    expect([work, connection!.values[1]]).toEqual(['select $1::int as one', [1]]);
    expect(connection!.released).toEqual(['kept']);
  });

  it('neutralizes the claims that functions of older projects read first', async () => {
    await start((req) => withUser(pool, req, selectOne));
    await (await app.signedIn()).getJson('/sql');
    for (const name of ['', '.sub', '.role', '.email'])
      expect(pool.connections[0]!.texts[0]).toContain(`set_config('request.jwt.claim${name}', '', true)`);
  });

  it('returns what the callback returns, also from a callback that is not async', async () => {
    await start((req) => withUser(pool, req, () => 42));
    expect((await (await app.signedIn()).getJson('/sql')).json).toEqual({ result: 42 });
  });
});

describe.each(bothFunctions)('%s', (name, handle) => {
  it.each([
    [undefined, 'private, no-store'],
    ['public, max-age=600', 'private, max-age=600'],
  ])('keeps the response from public caches, signed in or not, after the handler has set %j', async (set, expected) => {
    const work = handle({ anon: true });
    await start(async (req, res) => {
      const result = await work(req, res);
      if (set !== undefined) res.setHeader('Cache-Control', set);
      return result;
    });
    for (const visitor of [await app.signedIn(), app.visitor()]) {
      const { headers } = await visitor.getJson('/sql');
      expect([headers['cache-control'], headers.vary]).toEqual([expected, expect.stringMatching(/cookie/i)]);
    }
  });

  it('refuses a request without a session, before it asks for a connection', async () => {
    await start(handle());
    const { status } = await app.visitor().getJson('/sql');
    expect([status, thrown]).toMatchObject([401, [{ code: 'unauthenticated' }]]);
    expect(pool.connections).toEqual([]);
  });

  it('acts as anon without a session where the caller says so', async () => {
    await start(handle({ anon: true }));
    const { json } = await app.visitor().getJson('/sql');
    if (name === 'sqlSession') {
      expect(json.result).toEqual({ role: 'anon', claims: { role: 'anon' } });
      return;
    }
    const [begin = ''] = pool.connections[0]!.texts;
    expect(claimsIn(begin)).toEqual({ role: 'anon' });
    expect(begin).toContain("set_config('role', 'anon', true)");
  });

  it('acts as the user also where anon would be enough', async () => {
    await start(handle({ anon: true }));
    const { json } = await (await app.signedIn()).getJson('/sql');
    if (name === 'sqlSession')
      expect(json.result).toMatchObject({ role: 'authenticated', claims: { email: ada.email } });
    else expect(pool.connections[0]!.texts[0]).toContain("set_config('role', 'authenticated', true)");
  });

  const roles = ['service_role', 'editor', 'anon', '', null, ['authenticated']];
  it.each(roles.flatMap((role) => [undefined, { anon: true as const }].map((options) => [role, options])))(
    'refuses a token with the role %j, with options %j',
    async (role, options) => {
      await start(handle(options as SqlSessionOptions | undefined));
      app.supabase.switches.tokenClaims = { role: role as string };
      const visitor = await app.signedIn({});
      const { status } = await visitor.getJson('/sql');
      expect([status, thrown]).toMatchObject([403, [{ code: 'forbidden', reason: 'role' }]]);
      expect(pool.connections).toEqual([]);
    },
  );

  it.each([undefined, { anon: true as const }])(
    'refuses a session whose renewed token has another role, with options %j',
    async (options) => {
      await start(handle(options));
      const visitor = await app.signedIn({ ttl: -60 });
      app.supabase.switches.tokenClaims = { role: 'editor' };
      const { status } = await visitor.getJson('/sql');
      expect([status, thrown]).toMatchObject([403, [{ code: 'forbidden', reason: 'role' }]]);
      expect(pool.connections).toEqual([]);
    },
  );

  it('treats a session that accept refuses as requireSession does, and as none with anon', async () => {
    let options: SqlSessionOptions = {};
    let accepted = true;
    await start((req, res) => handle(options)(req, res), { options: { accept: () => accepted } });
    const visitor = await app.signedIn({});
    accepted = false;
    expect((await visitor.getJson('/sql')).status).toBe(403);
    expect(thrown).toMatchObject([{ code: 'not_accepted' }]);
    options = { anon: true };
    expect((await visitor.getJson('/sql')).status).toBe(200);
  });

  it('passes on an outage of the backend, also with anon', async () => {
    await start(handle({ anon: true }));
    const visitor = await app.signedIn({ ttl: -60 });
    app.supabase.fail('refresh', 503);
    expect((await visitor.getJson('/sql')).status).toBe(503);
    expect(thrown).toMatchObject([{ code: 'provider_unavailable' }]);
    expect(visitor.cookies.size).toBeGreaterThan(0);
  });

  it('uses a bearer token behind a guard that accepts it, and none elsewhere', async () => {
    const setup: BackendAppSetup = {
      after: (host) => host.get('/sql', requireSession({ credentials: ['cookie', 'bearer'] }) as never),
    };
    await start(handle(), setup);
    const { access_token: token } = await app.supabase.issueSession(ada.email);
    const headers = { accept: 'application/json', authorization: `Bearer ${token}` };
    expect((await app.visitor().get('/sql', { headers })).status).toBe(200);
    await app.close();
    await start(handle());
    const { access_token: other } = await app.supabase.issueSession(ada.email);
    const again = { accept: 'application/json', authorization: `Bearer ${other}` };
    expect((await app.visitor().get('/sql', { headers: again })).status).toBe(401);
  });

  it('says that the adapter is not mounted before it', async () => {
    let error: unknown;
    await start(() => Promise.resolve(), {
      before: (host) =>
        host.get('/before', (req, res) => {
          handle()(req, res).catch((found: unknown) => {
            error = found;
            sendJson(res, {});
          });
        }),
    });
    await app.visitor().getJson('/before');
    expect(error).toBeInstanceOf(ConfigurationError);
    expect(String(error)).toContain(
      `${name}: no adapter has seen this request; backendAuth() is mounted after this handler`,
    );
  });

  it.each([{ anon: false }, { anon: 'yes' }, { anon: 1 }, { anon: null }, null, 'anon', true])(
    'reports %j',
    async (given) => {
      const error = await refusal(handle(given as unknown as SqlSessionOptions));
      expect(String(error)).toBe(
        `ConfigurationError: ${name}: anon must be true, or left out where a session is required`,
      );
    },
  );
});

describe('wrong arguments of withUser', () => {
  it.each([undefined, null, {}, () => undefined, { connect: 1 }])('a pool that has no connect(): %p', async (wrong) => {
    const error = await refusal((req) => withUser(wrong as unknown as SqlPool, req, selectOne));
    expect(error).toBeInstanceOf(ConfigurationError);
    expect(String(error)).toContain('pool must have connect()');
  });

  it('a client in place of a pool', async () => {
    const client = { connect: () => Promise.resolve(), query: () => Promise.resolve() };
    const error = await refusal((req) => withUser(client as unknown as SqlPool, req, selectOne));
    expect(String(error)).toContain('pass a Pool, not a Client');
  });

  it('a callback that is no function', async () => {
    const error = await refusal((req) => withUser(pool, req, 'select 1' as never));
    expect(String(error)).toContain('the callback must be a function');
    expect(pool.connections).toEqual([]);
  });

  it.each([undefined, 1, {}, { text: 1 }, []])('a statement without text: %j', async (statement) => {
    const error = await refusal((req) => withUser(pool, req, (tx) => tx.query(statement as never)));
    expect(String(error)).toContain('tx.query takes the text of a statement');
  });
});

describe('the transaction of withUser', () => {
  it('is rolled back for an error of the callback, also one that is thrown at once', async () => {
    for (const fail of [
      () => Promise.reject(new Error('mine')),
      () => {
        throw new Error('mine');
      },
    ]) {
      const error = await refusal((req) => withUser(pool, req, fail));
      expect(String(error)).toBe('Error: mine');
      const connection = pool.connections.at(-1)!;
      expect([connection.words, connection.released]).toEqual([['begin', 'rollback'], ['kept']]);
      await app.close();
    }
  });

  it('closes the connection where the rollback fails', async () => {
    pool.answer = (text) => (text.startsWith('rollback') ? Promise.reject(new Error('gone')) : undefined);
    const error = await refusal((req) => withUser(pool, req, () => Promise.reject(new Error('mine'))));
    expect(String(error)).toBe('Error: mine');
    expect(pool.connections[0]!.released).toMatchObject([{ message: 'gone' }]);
  });

  it('closes the connection also where the rollback fails with something that is no error', async () => {
    const nothing = undefined as unknown as Error;
    pool.answer = (text) => (text.startsWith('rollback') ? Promise.reject(nothing) : undefined);
    await refusal((req) => withUser(pool, req, () => Promise.reject(new Error('mine'))));
    expect(pool.connections[0]!.released[0]).toBeInstanceOf(Error);
  });

  it.each([
    ['a commit', 'commit'],
    ['a rollback', 'rollback'],
  ])('closes a connection that keeps a user after %s', async (_, word) => {
    pool.answer = (text) => (text.includes(`${word};`) ? [{ rows: [{ state: 'kept' }] }] : undefined);
    await start((req) =>
      withUser(pool, req, () => (word === 'commit' ? Promise.resolve(1) : Promise.reject(new Error('mine')))),
    );
    await (await app.signedIn()).getJson('/sql');
    expect(pool.connections[0]!.released).toMatchObject([{ message: expect.stringContaining('may keep a user') }]);
    expect(thrown).toHaveLength(word === 'commit' ? 0 : 1);
  });

  it.each([
    ['nothing', undefined],
    ['no rows', [{ rows: [] }]],
    ['a row of null', [{ rows: [null] }]],
    ['no array of rows', { rows: 'clean' }],
  ])('closes a connection of a driver that answers %s', async (_, answer) => {
    pool.answer = (text) => (text.includes('commit;') ? (answer ?? {}) : undefined);
    await start((req) => withUser(pool, req, selectOne));
    expect((await (await app.signedIn()).getJson('/sql')).status).toBe(200);
    expect(pool.connections[0]!.released[0]).toBeInstanceOf(Error);
  });

  it.each([
    ['the last result alone', { rows: [{ state: 'clean' }] }],
    ['rows as arrays', [{ rows: [['clean']] }]],
  ])('keeps the connection of a driver that answers %s', async (_, answer) => {
    pool.answer = (text) => (text.includes('commit;') ? answer : undefined);
    await start((req) => withUser(pool, req, selectOne));
    await (await app.signedIn()).getJson('/sql');
    expect(pool.connections[0]!.released).toEqual(['kept']);
  });

  it('passes on the errors of connect, begin and commit, and keeps no connection', async () => {
    await start((req) => withUser(pool, req, selectOne));
    const visitor = await app.signedIn();
    for (const word of ['begin;', 'commit;']) {
      const failure = Object.assign(new Error(word), { code: '40001' });
      pool.answer = (text) => (text.includes(word) ? Promise.reject(failure) : undefined);
      await visitor.getJson('/sql');
      expect(thrown.pop()).toBe(failure);
      expect(pool.connections.at(-1)!.words.at(-1)).toBe('rollback');
      expect(pool.connections.at(-1)!.released).toEqual(['kept']);
    }
    pool.beforeConnect = () => Promise.reject(new Error('no more'));
    await visitor.getJson('/sql');
    expect(String(thrown.pop())).toBe('Error: no more');
  });

  const gone = new Error('gone');
  it.each<[unknown, object]>([
    [gone, { message: 'gone' }],
    ['text', { message: 'withUser: rollback failed', cause: 'text' }],
    [null, { message: expect.stringContaining('may keep a user') }],
    [undefined, { message: expect.stringContaining('may keep a user') }],
  ])('closes a connection whose rollback fails with %p', async (failure, closedFor) => {
    pool.answer = (text) => {
      // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors
      return text.startsWith('rollback') ? Promise.reject(failure) : undefined;
    };
    await start((req) => withUser(pool, req, () => Promise.reject(new Error('mine'))));
    await (await app.signedIn()).getJson('/sql');
    expect(String(thrown[0])).toBe('Error: mine');
    expect(pool.connections[0]!.released).toEqual([expect.objectContaining(closedFor)]);
  });

  it('stops listening to a connection that cannot be released', async () => {
    await start((req) =>
      withUser(pool, req, () => {
        pool.connections[0]!.release = () => {
          throw new Error('released twice');
        };
      }),
    );
    await (await app.signedIn()).getJson('/sql');
    expect(String(thrown[0])).toContain('released twice');
    expect(pool.connections[0]!.listenerCount('error')).toBe(0);
  });

  it.each([
    ['a text', 'text'],
    ['nothing', undefined],
  ])('passes on a commit that fails with %s', async (_, failure) => {
    pool.answer = (text) => {
      // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors
      return text.includes('commit;') ? Promise.reject(failure) : undefined;
    };
    await start((req) => withUser(pool, req, selectOne));
    await (await app.signedIn()).getJson('/sql');
    expect(thrown).toEqual([failure]);
    expect(pool.connections[0]!.words).toEqual(['begin', 'select', 'commit', 'rollback']);
  });

  it('says that nothing was committed where the database calls the transaction failed', async () => {
    const failed = Object.assign(new Error('current transaction is aborted'), { code: '25P02' });
    pool.answer = (text) => (text.includes('commit;') ? Promise.reject(failed) : undefined);
    const error = await refusal((req) => withUser(pool, req, selectOne));
    expect(error).toMatchObject({ message: expect.stringContaining('nothing was committed'), cause: failed });
  });

  it('fails where a statement has failed, although the callback went on', async () => {
    const failed = Object.assign(new Error('mine'), { code: '23505' });
    pool.answer = (text) => {
      if (text === 'insert') return Promise.reject(failed);
      return text.includes('commit;') ? Promise.reject(Object.assign(new Error('x'), { code: '25P02' })) : undefined;
    };
    const error = await refusal((req) => withUser(pool, req, (tx) => tx.query('insert').catch(() => 'fine')));
    expect(error).toMatchObject({ message: expect.stringContaining('nothing was committed'), cause: failed });
  });

  it.each([{}, { code: 'ETIMEDOUT' }, { code: 57 }])(
    'is rolled back where the driver gave up on a statement, although the callback went on: %j',
    async (facts) => {
      const timeout = Object.assign(new Error('Query read timeout'), facts);
      pool.answer = (text) => (text === 'insert' ? Promise.reject(timeout) : undefined);
      const later: unknown[] = [];
      const error = await refusal((req) =>
        withUser(pool, req, async (tx) => {
          await tx.query('insert').catch(() => 'fine');
          await tx.query('select 1').catch((refused: unknown) => later.push(refused));
        }),
      );
      expect([error, ...later]).toEqual([timeout, timeout]);
      expect(pool.connections[0]!.words).toEqual(['begin', 'insert', 'rollback']);
    },
  );

  it('gives tx away for the callback alone', async () => {
    let kept: SqlTransaction | undefined;
    await start((req) =>
      withUser(pool, req, (tx) => {
        kept = tx;
        return tx.query('select 1');
      }),
    );
    await (await app.signedIn()).getJson('/sql');
    await expect(kept!.query('select 2')).rejects.toThrow('tx was used after its callback had settled');
    expect(pool.connections[0]!.texts).toHaveLength(3);
  });

  it('waits for statements that the callback did not wait for, and sends one after another', async () => {
    await start((req) =>
      withUser(pool, req, async (tx) => {
        void tx.query('select 1');
        void tx.query('insert');
        await Promise.all([tx.query('update'), tx.query('delete')]);
        void tx.query('select 3');
      }),
    );
    expect((await (await app.signedIn()).getJson('/sql')).status).toBe(200);
    expect(pool.connections[0]!.words).toEqual(['begin', 'select', 'insert', 'update', 'delete', 'select', 'commit']);
  });

  it.each([
    { name: 'one', text: 'select 1', values: [1] },
    { text: 'select 1', submit: 'no function' },
  ])('passes on the statement object %j', async (statement) => {
    await start((req) => withUser(pool, req, (tx) => tx.query(statement)));
    await (await app.signedIn()).getJson('/sql');
    expect(pool.connections[0]!.texts[1]).toEqual(statement);
  });

  it('refuses a cursor or stream of the driver, which would hold the connection after an aborted request', async () => {
    const cursor = { text: 'select 1', submit: () => undefined };
    const error = await refusal((req) => withUser(pool, req, (tx) => tx.query(cursor)));
    expect(String(error)).toContain('takes no cursor or stream');
    expect(pool.connections[0]!.words).toEqual(['begin', 'rollback']);
  });

  it.each(['commit', 'set role service_role', 'select 1; rollback'])('sends %j as it is', async (text) => {
    await start((req) => withUser(pool, req, (tx) => tx.query(text)));
    expect((await (await app.signedIn()).getJson('/sql')).status).toBe(200);
    expect(pool.connections[0]!.texts).toHaveLength(3);
    expect(pool.connections[0]!.texts[1]).toBe(text);
  });

  it('returns the results of several statements', async () => {
    pool.answer = (text) => (text === 'select 2' ? [{ rows: [1] }, { rows: [2] }] : undefined);
    await start((req) => withUser(pool, req, (tx) => tx.query('select 2')));
    expect((await (await app.signedIn()).getJson('/sql')).json.result).toHaveLength(2);
  });

  it('refuses to commit a transaction that is no longer its own, and closes the connection', async () => {
    const division = Object.assign(new Error('division by zero'), { code: '22012' });
    pool.answer = (text) => (text.includes('commit;') ? Promise.reject(division) : undefined);
    const error = await refusal((req) => withUser(pool, req, selectOne));
    expect(error).toMatchObject({ message: expect.stringContaining('has ended the transaction'), cause: division });
    expect(pool.connections[0]!.released[0]).toBeInstanceOf(Error);
  });

  it('listens to errors of its connection while it holds it', async () => {
    let listeners = 0;
    await start((req) =>
      withUser(pool, req, () => {
        listeners = pool.connections[0]!.listenerCount('error');
        pool.connections[0]!.emit('error', new Error('terminating connection'));
      }),
    );
    await (await app.signedIn()).getJson('/sql');
    expect([listeners, pool.connections[0]!.listenerCount('error')]).toEqual([1, 0]);
  });

  it('works with clients that emit no events', async () => {
    const query = (text: string) => pool.connect().then((client) => client.query(text));
    const plain: SqlPool = { connect: () => Promise.resolve({ query, release: () => undefined }) };
    await start((req) => withUser(plain, req, selectOne));
    expect((await (await app.signedIn()).getJson('/sql')).json).toEqual({ result: [{ one: 1 }] });
  });
});

describe('nested calls of withUser', () => {
  it('share the transaction of the same pool and request', async () => {
    await start((req) =>
      withUser(pool, req, async (tx) => {
        await tx.query('insert');
        const inner = await withUser(pool, req, (same) => withUser(pool, req, () => same.query('update')));
        await tx.query('delete');
        return inner;
      }),
    );
    expect((await (await app.signedIn()).getJson('/sql')).json.result).toMatchObject({ rows: [{ one: 1 }] });
    expect(pool.connections.map(({ words }) => words)).toEqual([['begin', 'insert', 'update', 'delete', 'commit']]);
  });

  it('have a transaction of their own for another pool', async () => {
    const other = createRecordingPool();
    await start((req) =>
      withUser(pool, req, () => withUser(other, req, () => withUser(pool, req, (tx) => tx.query('update')))),
    );
    await (await app.signedIn()).getJson('/sql');
    expect(pool.connections.map(({ words }) => words)).toEqual([['begin', 'update', 'commit']]);
    expect(other.connections.map(({ words }) => words)).toEqual([['begin', 'commit']]);
  });

  it('have a transaction of their own for another request', async () => {
    const other = Promise.withResolvers<IncomingMessage>();
    const done = Promise.withResolvers<undefined>();
    await start(async (req) => {
      if (req.url?.includes('other') === true) {
        other.resolve(req);
        return done.promise;
      }
      const theirs = await other.promise;
      await withUser(pool, req, async (tx) => {
        await tx.query('insert');
        await withUser(pool, theirs, (same) => same.query('update'));
      });
      done.resolve(undefined);
    });
    const visitor = await app.signedIn();
    await Promise.all([visitor.getJson('/sql?other'), visitor.getJson('/sql')]);
    expect(pool.connections.map(({ words }) => words)).toEqual([
      ['begin', 'insert', 'commit'],
      ['begin', 'update', 'commit'],
    ]);
  });

  it('have a transaction of their own for another user, whose bearer token a guard has accepted meanwhile', async () => {
    const guard = requireSession({ credentials: ['cookie', 'bearer'] }) as unknown as (
      ...handled: readonly unknown[]
    ) => void;
    await start((req, res) =>
      withUser(pool, req, async () => {
        await new Promise((resolve) => guard(req, res, resolve));
        await withUser(pool, req, selectOne);
      }),
    );
    app.supabase.addUser({ email: 'bob@example.com', password: 'long enough' });
    const { access_token: token } = await app.supabase.issueSession('bob@example.com');
    const visitor = await app.signedIn();
    await visitor.get('/sql', { headers: { accept: 'application/json', authorization: `Bearer ${token}` } });
    const users = pool.connections.map(({ texts: [begin = ''] }) => claimsIn(begin));
    expect(users).toMatchObject([{ email: ada.email }, { email: 'bob@example.com' }]);
  });

  it('fail the whole transaction, also where the outer callback catches the error', async () => {
    const mine = new Error('mine');
    const later: unknown[] = [];
    const error = await refusal((req) =>
      withUser(pool, req, async (tx) => {
        await tx.query('insert');
        await withUser(pool, req, () => Promise.reject(mine)).catch(() => undefined);
        later.push(await tx.query('update').catch((found: unknown) => found));
        later.push(await withUser(pool, req, selectOne).catch((found: unknown) => found));
      }),
    );
    expect([error, ...later]).toEqual([mine, mine, mine]);
    expect(pool.connections.map(({ words }) => words)).toEqual([['begin', 'insert', 'rollback']]);
  });

  it('that are refused fail by themselves', async () => {
    await start((req) =>
      withUser(
        pool,
        req,
        async (tx) => {
          const refused = await withUser(pool, req, selectOne).catch((found: unknown) => found);
          await tx.query('insert');
          return refused instanceof AuthError ? refused.code : refused;
        },
        { anon: true },
      ),
    );
    expect((await app.visitor().getJson('/sql')).json).toEqual({ result: 'unauthenticated' });
    expect(pool.connections[0]!.words).toEqual(['begin', 'insert', 'commit']);
  });

  it('are waited for, also where the outer callback does not', async () => {
    await start((req) =>
      withUser(pool, req, () => {
        void withUser(pool, req, async (tx) => {
          await tx.query('insert');
          await tx.query('update');
        });
      }),
    );
    expect((await (await app.signedIn()).getJson('/sql')).status).toBe(200);
    expect(pool.connections.map(({ words }) => words)).toEqual([['begin', 'insert', 'update', 'commit']]);
  });

  it('lose their tx with their own callback', async () => {
    const error = await refusal((req) =>
      withUser(pool, req, async () => {
        const kept = await withUser(pool, req, (tx) => ({ tx }));
        await kept.tx.query('insert');
      }),
    );
    expect(String(error)).toContain('tx was used after its callback had settled');
  });

  it('that begin after the transaction have one of their own', async () => {
    let later: Promise<unknown> | undefined;
    let goOn = (): void => undefined;
    const gate = new Promise<void>((resolve) => (goOn = resolve));
    await start(async (req) => {
      await withUser(pool, req, () => {
        later = gate.then(() => withUser(pool, req, selectOne));
      });
      goOn();
      return later;
    });
    expect((await (await app.signedIn()).getJson('/sql')).status).toBe(200);
    expect(pool.connections.map(({ words }) => words)).toEqual([
      ['begin', 'commit'],
      ['begin', 'select', 'commit'],
    ]);
  });
});

it('concurrent calls of withUser have transactions of their own, and fail alone', async () => {
  await start((req) =>
    Promise.allSettled([
      withUser(pool, req, (tx) => tx.query('insert')),
      withUser(pool, req, () => Promise.reject(new Error('mine'))),
      withUser(pool, req, (tx) => tx.query('update')),
    ]).then((all) => all.map(({ status }) => status)),
  );
  const { json } = await (await app.signedIn()).getJson('/sql');
  expect(json.result).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  expect(pool.connections.map(({ words }) => words).toSorted()).toEqual([
    ['begin', 'insert', 'commit'],
    ['begin', 'rollback'],
    ['begin', 'update', 'commit'],
  ]);
});

describe('a request that is aborted', () => {
  /** The visitor goes away as soon as `/sql` has called `leave`. */
  async function abortedRequest(): Promise<void> {
    await (await app.signedIn()).getJson('/sql').catch(() => undefined);
    await until(() => thrown.length > 0);
  }
  const leave = (req: IncomingMessage): void => void req.socket.destroy();

  it('is rolled back, although its callback never settles', async () => {
    let tx: SqlTransaction | undefined;
    await start((req) =>
      withUser(pool, req, async (given) => {
        tx = given;
        await given.query('insert');
        leave(req);
        return new Promise(() => undefined);
      }),
    );
    await abortedRequest();
    expect(thrown).toMatchObject([{ name: 'AbortError' }]);
    expect(pool.connections[0]!.words).toEqual(['begin', 'insert', 'rollback']);
    expect(pool.connections[0]!.released).toEqual(['kept']);
    await expect(tx!.query('update')).rejects.toMatchObject({ name: 'AbortError' });
  });

  it('waits for the statement that is under way, and sends none that waits behind it', async () => {
    let answer = (): void => undefined;
    pool.answer = (text) => (text === 'slow' ? new Promise<void>((resolve) => (answer = resolve)) : undefined);
    const outcomes: unknown[] = [];
    await start((req) =>
      withUser(pool, req, async (tx) => {
        const note = (sent: Promise<unknown>) =>
          sent.then(
            () => outcomes.push('sent'),
            (error: unknown) => outcomes.push((error as Error).name),
          );
        const all = Promise.all([note(tx.query('slow')), note(tx.query('next'))]);
        leave(req);
        req.socket.once('close', () => setImmediate(() => setImmediate(() => answer())));
        await all;
      }),
    );
    await abortedRequest();
    expect(pool.connections[0]!.words).toEqual(['begin', 'slow', 'rollback']);
    expect(outcomes).toEqual(['sent', 'AbortError']);
  });

  it('gives back a connection that it got too late', async () => {
    let connected = (): void => undefined;
    await start((req) => {
      pool.beforeConnect = () => {
        leave(req);
        return new Promise((resolve) => (connected = resolve));
      };
      return withUser(pool, req, selectOne);
    });
    await abortedRequest();
    expect(thrown).toMatchObject([{ name: 'AbortError' }]);
    connected();
    await new Promise((resolve) => setImmediate(resolve));
    expect([pool.connections[0]!.texts, pool.connections[0]!.released]).toEqual([[], ['kept']]);
  });

  it('is rolled back where the response closes during begin', async () => {
    await start((req) => withUser(pool, req, selectOne));
    pool.answer = (text, connection) => {
      if (!text.startsWith('begin')) return undefined;
      const [socket] = sockets;
      return new Promise((resolve) => {
        socket!.once('close', () => setImmediate(() => resolve(connection)));
        socket!.destroy();
      });
    };
    const sockets: IncomingMessage['socket'][] = [];
    await app.close();
    await start((req) => {
      sockets.push(req.socket);
      return withUser(pool, req, selectOne);
    });
    await abortedRequest();
    expect(thrown).toMatchObject([{ name: 'AbortError' }]);
    expect(pool.connections[0]!.words).toEqual(['begin', 'rollback']);
  });

  it('gets no connection once it is over', async () => {
    await start(async (req) => {
      const closed = new Promise((resolve) => req.socket.once('close', resolve));
      leave(req);
      await closed;
      await new Promise((resolve) => setImmediate(resolve));
      return withUser(pool, req, selectOne);
    });
    await abortedRequest();
    expect(thrown).toMatchObject([{ name: 'AbortError' }]);
    expect(pool.connections).toEqual([]);
  });
});

it('withUser refuses a request that was answered', async () => {
  await start((req, res) => {
    sendJson(res, {});
    return withUser(pool, req, selectOne);
  });
  await (await app.signedIn()).getJson('/sql');
  await until(() => thrown.length > 0);
  // Middleware such as express-session ends the response later than its handler.
  expect(String(thrown[0])).toMatch(/call withUser before you answer|the response closed first/);
  expect(pool.connections.flatMap(({ words }) => words)).not.toContain('commit');
});

it('withUser commits what a callback did that has answered and settled', async () => {
  await start((req, res) =>
    withUser(pool, req, async (tx) => {
      await tx.query('insert');
      sendJson(res, {});
    }).then(() => new Promise(() => undefined)),
  );
  await (await app.signedIn()).getJson('/sql');
  await until(() => pool.connections[0]!.released.length > 0);
  expect(pool.connections[0]!.words).toEqual(['begin', 'insert', 'commit']);
});

it('many calls of one request add one listener to its response', async () => {
  let listeners = 0;
  await start(async (req, res) => {
    // The one that keeps the response from public caches.
    await sqlSession(req);
    const before = res.listenerCount('close');
    await Promise.all(Array.from({ length: 30 }, () => withUser(pool, req, selectOne)));
    listeners = res.listenerCount('close') - before;
  });
  await (await app.signedIn()).getJson('/sql');
  expect([listeners, pool.connections.length]).toEqual([1, 30]);
});

it('a placeholder of a response, as Engine.IO has for a WebSocket, gets no transaction', async () => {
  let error: unknown;
  await start(() => Promise.resolve());
  const req = Object.assign(new http.IncomingMessage({} as never), { url: '/', headers: {} });
  app.auth(req as never, { setHeader: () => undefined, getHeader: () => undefined } as never, () => undefined);
  await withUser(pool, req, selectOne, { anon: true }).catch((found: unknown) => (error = found));
  expect(String(error)).toContain('the response has ended');
});

it('in onSignIn withUser and sqlSession act as the new user, also in a browser of another one', async () => {
  const subjects: unknown[] = [];
  await start(() => Promise.resolve(), {
    options: {
      async onSignIn({ session, req }) {
        await withUser(pool, req, selectOne);
        const { claims } = await sqlSession(req);
        const [begin = ''] = pool.connections.at(-1)!.texts;
        subjects.push([session.user.id, claims['sub'], claimsIn(begin)]);
      },
    },
  });
  const bob = { email: 'bob@example.com', password: 'long enough' };
  app.supabase.addUser(bob);
  const visitor = await app.signedIn();
  await visitor.postJson('/auth/login', bob);
  const ids = subjects.map((each) => (each as readonly [string])[0]);
  expect(new Set(ids).size).toBe(2);
  expect(subjects).toEqual(ids.map((id) => [id, id, expect.objectContaining({ sub: id })]));
});
