import { globSync, readFileSync } from 'node:fs';
import { demoUsers } from '../../stand-ins/workos/index.ts';
import { startAppProcesses } from '../support/app-process.ts';
import { createVisitor } from '../support/visitor.ts';
import type { Visitor } from '../support/visitor.ts';

let apps: Awaited<ReturnType<typeof startAppProcesses>>;
beforeAll(async () => {
  apps = await startAppProcesses();
});
afterAll(() => apps.providers.close());

const withoutSpace = (text: string): string => text.replaceAll(/\s/g, '');
const source = (file: string): string => readFileSync(`example-app/${file}`, 'utf8');

it('supabase.mjs shows the notes of the user, and a page to admins alone', async () => {
  const { demo, admin, standIn } = apps.providers.supabase!;
  await apps.running('example-app/supabase.mjs', async (origin) => {
    const [visitor, boss] = [createVisitor(origin), createVisitor(origin)];
    expect((await visitor.get('/')).text).toContain('href="/auth/login?returnTo=/account"');
    expect((await visitor.get('/api/me')).status).toBe(401);
    expect((await visitor.get('/account')).location).toBe(`${origin}/auth/login?returnTo=%2Faccount`);
    await visitor.postJson('/auth/login', demo);
    expect((await visitor.get('/account')).text).toMatch(/Hello Dorothy Vaughan[^]*This row came from the database/);

    const body = new URLSearchParams({ body: '<b>Milk</b>' });
    const headers = { 'content-type': 'application/x-www-form-urlencoded', origin };
    const added = await visitor.post('/account/notes', { headers, body: body.toString() });
    expect([added.status, added.location]).toEqual([303, `${origin}/account`]);
    expect((await visitor.get('/account')).text).toContain('<li>&#60;b&#62;Milk&#60;/b&#62;</li>');
    const elsewhere = { ...headers, origin: 'https://evil.example' };
    expect((await visitor.post('/account/notes', { headers: elsewhere, body: 'body=no' })).status).toBe(403);

    expect((await visitor.get('/admin')).status).toBe(403);
    expect((await visitor.getJson('/api/me')).json).toMatchObject({ email: demo.email });
    // Margaret is at Google, too.
    const start = await boss.get('/auth/login?provider=google');
    await boss.get((await standIn.authorize(start.location, { approve: true, user: admin.email })).href);
    expect((await boss.get('/admin')).text).toContain('Only admins see this page.');
    standIn.fail('rest', 'html502', 1);
    expect((await visitor.get('/account')).text).toContain('The notes cannot be read right now.');
  });
}, 30_000);

it('workos.mjs shows its pages to members and admins alone', async () => {
  const { workos } = apps.providers;
  await apps.running('example-app/workos.mjs', async (origin) => {
    const signedIn = async (user: { id: string }): Promise<Visitor> => {
      const visitor = createVisitor(origin);
      const start = await visitor.get((await visitor.get('/dashboard')).location);
      const done = await visitor.get((await workos!.authorize(start.location, { user })).href);
      expect(done.location).toBe(`${origin}/dashboard`);
      return visitor;
    };
    const [ada, grace, margaret] = [
      await signedIn(demoUsers.personal),
      await signedIn(demoUsers.oneOrganization),
      await signedIn(demoUsers.admin),
    ];
    expect((await ada.get('/dashboard')).text).toContain('Hello Ada of no organization');
    expect((await margaret.get('/dashboard')).text).toContain('Your role here: admin');
    const status = async (visitor: Visitor, path: string) => (await visitor.get(path)).status;
    for (const [visitor, team, admin] of [
      [ada, 403, 403] as const,
      [grace, 200, 403] as const,
      [margaret, 200, 200] as const,
    ])
      expect([await status(visitor, '/team'), await status(visitor, '/admin')]).toEqual([team, admin]);
    expect((await grace.getJson('/api/me')).json).toMatchObject({ email: demoUsers.oneOrganization.email });
  });
}, 30_000);

it.each(['supabase.mjs', 'workos.mjs'])('%s has the adapter’s lines and the API of README', (file) => {
  const readme = readFileSync('README.md', 'utf8');
  const name = file === 'supabase.mjs' ? 'backendAuth' : 'b2bAuth';
  const [mount = ''] = new RegExp(`app\\.use\\(${name}\\(.*\\)\\);`).exec(readme) ?? [];
  const [guard = ''] = /app\.use\('\/api', requireSession\(.*\)\);/.exec(readme) ?? [];
  expect([mount.length > 30, guard.length > 30]).toEqual([true, true]);
  // The formatter adds a comma where it breaks a line.
  const code = withoutSpace(source(file)).replaceAll(',)', ')');
  for (const line of [mount, guard]) expect(code).toContain(withoutSpace(line));
});

it('has about 300 lines in all', () => {
  const lines = globSync('example-app/*').map((path) => readFileSync(path, 'utf8').split('\n').length);
  expect(lines.reduce((sum, count) => sum + count, 0)).toBeLessThan(320);
});
