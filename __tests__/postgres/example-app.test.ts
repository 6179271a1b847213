import { Client } from 'pg';
import { startExampleProcess } from '../support/example-app.ts';
import type { ExampleProcess } from '../support/example-app.ts';
import { describeOnPostgres, startPostgresServer } from '../support/postgres-server.ts';
import type { PostgresServer } from '../support/postgres-server.ts';
import { createVisitor } from '../support/visitor.ts';

describeOnPostgres('the example app with EXAMPLE_DATABASE_URL', () => {
  let server: PostgresServer;
  let example: ExampleProcess;

  beforeAll(async () => {
    server = await startPostgresServer();
    example = startExampleProcess({ PORT: '0', EXAMPLE_CONFIRM_EMAIL: 'false', EXAMPLE_DATABASE_URL: server.url });
    await example.printed('Ctrl+C');
  }, 60_000);
  afterAll(async () => {
    await example.stop();
    await server.stop();
  });

  it('shows the notes of the user, read by SQL, and says why where it cannot', async () => {
    const visitor = createVisitor(/http:\/\/localhost:\d+/.exec(example.output())![0]);
    const account = { email: 'grace@example.com', password: 'correct horse battery' };
    expect((await visitor.postJson('/auth/signup', account)).status).toBe(200);
    const before = await visitor.get('/account');
    expect(before.text).toContain('The table could not be read: column &#34;created_at&#34; does not exist');

    const { id } = (await visitor.getJson('/auth/me')).json.user;
    const admin = new Client({ connectionString: server.adminUrl });
    await admin.connect();
    await admin.query('alter table notes add column created_at timestamptz not null default now()');
    await admin.query("insert into notes (user_id, body) values ($1, 'of Grace'), (gen_random_uuid(), 'of Ada')", [id]);
    await admin.end();
    const after = await visitor.get('/account');
    expect(after.text).toContain('<li>of Grace</li>');
    expect(after.text).not.toContain('of Ada');
    expect(after.text).toContain('<code>withUser(pool, req, …)</code>');
  });
});
