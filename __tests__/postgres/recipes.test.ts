import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { startSupabaseStandIn } from '../../stand-ins/supabase/stand-in.ts';
import type { SupabaseStandIn } from '../../stand-ins/supabase/stand-in.ts';
import { codeBlocks, markdownFiles } from '../support/markdown.ts';
import { describeOnPostgres, startPostgresServer } from '../support/postgres-server.ts';
import type { PostgresServer } from '../support/postgres-server.ts';
import type { ExampleReport } from '../support/run-examples.ts';
import { createVisitor } from '../support/visitor.ts';

/** Inside the repository, so that imports resolve as they do for a reader; never committed. */
const directory = join(process.cwd(), 'reports', `sql-runs-${randomUUID()}`);
const password = 'correct horse battery';
const emails = ['ada@example.com', 'bob@example.com'];

const examples = markdownFiles()
  .filter(({ path }) => path === 'docs/sql.md')
  .flatMap(codeBlocks)
  .filter(({ language, code }) => language === 'ts' && !code.includes('@prisma/client'))
  .map((block, index) => ({ ...block, file: join(directory, `example-${index}.ts`) }));
const path = ({ code }: (typeof examples)[number]): string => /app\.get\('([^']+)'/.exec(code)?.[1] ?? '';
const named = examples.map((example) => [`${example.line}, ${path(example)}`, example] as const);

describeOnPostgres('the examples of docs/sql.md', () => {
  let server: PostgresServer;
  let supabase: SupabaseStandIn;
  let child: ChildProcess;
  const reports = new Map<string, ExampleReport>();

  beforeAll(async () => {
    server = await startPostgresServer();
    supabase = await startSupabaseStandIn({ autoconfirm: true });
    const admin = new Client({ connectionString: server.adminUrl });
    await admin.connect();
    await admin.query("insert into news (body) values ('for all')");
    for (const email of emails) {
      supabase.addUser({ email, password });
      const { user } = await supabase.issueSession(email);
      await admin.query('insert into notes (user_id, body) values ($1, $2)', [user.id, `of ${email}`]);
    }
    await admin.end();
    mkdirSync(directory, { recursive: true });
    for (const { file, code } of examples) writeFileSync(file, `${code}\napp.listen(3000);\n`);
    child = fork(
      '__tests__/support/run-examples.ts',
      examples.map(({ file }) => file),
      {
        execArgv: ['--disable-warning=ExperimentalWarning'],
        stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
        env: {
          PATH: process.env['PATH'],
          BAAS_URL: supabase.url,
          BAAS_PUBLISHABLE_KEY: supabase.publishableKey,
          DATABASE_URL: server.url,
        },
      },
    );
    await new Promise<void>((resolve, reject) => {
      child.on('message', (report: ExampleReport) => {
        if (report.file === '') resolve();
        else reports.set(report.file, report);
      });
      child.on('exit', (code) => reject(new Error(`The examples ended with ${code}`)));
    });
  }, 60_000);

  afterAll(async () => {
    child.removeAllListeners('exit');
    child.kill('SIGKILL');
    await supabase.close();
    await server.stop();
    rmSync(directory, { recursive: true, force: true });
  });

  it('are those of pg, Drizzle, Kysely and postgres.js', () => {
    const libraries = ["from 'pg'", "from 'drizzle-orm'", "from 'kysely'", "from 'postgres'"];
    for (const library of libraries) expect(examples.some(({ code }) => code.includes(library))).toBe(true);
    expect([...reports.values()].filter(({ error }) => error !== undefined)).toEqual([]);
  });

  it.each(named)('line %s: users read their own rows, at the same time; strangers none', async (_, example) => {
    const origin = `http://127.0.0.1:${reports.get(example.file)?.port}`;
    const read = async (email: string): Promise<string[]> => {
      const visitor = createVisitor(origin);
      await visitor.postJson('/auth/login', { email, password });
      const answers = await Promise.all(Array.from({ length: 10 }, () => visitor.getJson(path(example))));
      return answers.flatMap(({ json }) => json.map(({ body }: { body: string }) => body));
    };
    const rows = await Promise.all(emails.map(read));
    const stranger = await createVisitor(origin).getJson(path(example));
    if (path(example) === '/news') {
      expect(new Set(rows.flat())).toEqual(new Set(['for all']));
      expect(stranger.json).toEqual([{ body: 'for all' }]);
      return;
    }
    expect(rows).toEqual(emails.map((email) => Array.from({ length: 10 }, () => `of ${email}`)));
    expect(stranger.status).toBe(401);
  });

  it('the first one writes as the user', async () => {
    const visitor = createVisitor(`http://127.0.0.1:${reports.get(examples[0]!.file)?.port}`);
    await visitor.postJson('/auth/login', { email: emails[0], password });
    expect((await visitor.postJson('/notes', { body: 'written' })).status).toBe(201);
    const { json } = await visitor.getJson('/notes');
    expect(json.map(({ body }: { body: string }) => body)).toEqual([`of ${emails[0]}`, 'written']);
  });
});
