import { Client } from 'pg';
import { startTourProcess } from '../support/show.ts';
import type { TourProcess } from '../support/show.ts';
import { describeOnPostgres, startPostgresServer } from '../support/postgres-server.ts';
import type { PostgresServer } from '../support/postgres-server.ts';
import { createVisitor } from '../support/visitor.ts';

describeOnPostgres('the tour with TOUR_DATABASE_URL', () => {
  let server: PostgresServer;
  let example: TourProcess;

  beforeAll(async () => {
    server = await startPostgresServer();
    example = startTourProcess({ PORT: '0', TOUR_CONFIRM_EMAIL: 'false', TOUR_DATABASE_URL: server.url });
    await example.printed('Ctrl+C');
  }, 60_000);
  afterAll(async () => {
    await example.stop();
    await server.stop();
  });

  it('shows the notes of the user, read by SQL, and where it cannot, the terminal says why', async () => {
    const visitor = createVisitor(/http:\/\/localhost:\d+/.exec(example.output())![0]);
    const account = { email: 'grace@example.com', password: 'correct horse battery' };
    expect((await visitor.postJson('/auth/signup', account)).status).toBe(200);
    const before = await visitor.get('/account');
    expect(before.text).toContain('The notes could not be read, and the terminal says why.');
    expect(example.output()).toContain('column "created_at" does not exist');

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
