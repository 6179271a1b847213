import { ada, postForm, startBackendApp } from '../support/backend-app.ts';
import type { BackendApp, BackendAppSetup } from '../support/backend-app.ts';
import { itWithoutParsers } from '../support/only.ts';

let app: BackendApp;
const start = async (setup?: BackendAppSetup): Promise<BackendApp> => (app = await startBackendApp(setup));
afterEach(() => app.close());

describe('what a body may be', () => {
  const json = 'application/json';
  const form = 'application/x-www-form-urlencoded';
  async function expectRefused(type: string, body: string, status: number): Promise<void> {
    await start();
    const headers = { 'content-type': type, accept: json };
    const answer = await app.visitor().post('/auth/login', { headers, body });
    expect([answer.status, answer.json.error.status]).toEqual([status, status]);
    expect(app.supabase.calls('password')).toBe(0);
  }

  it.each<[string, string, string, number]>([
    ['another content type', 'text/plain', 'x', 415],
    ['a file upload', 'multipart/form-data; boundary=x', '--x--', 415],
    ['more than 16 KB', json, JSON.stringify({ email: 'x'.repeat(17_000) }), 413],
    ['JSON that is no object', json, '["a"]', 400],
    ['a field that is no text', json, '{"email":{"a":1},"password":["b"]}', 400],
    ['an inherited field', json, '{"__proto__":{"email":"a@b.example","password":"c"}}', 400],
    ['a field twice', form, 'email=a@b.example&email=c@d.example&password=x', 400],
    ['no address', json, '{"email":"unknown","password":"x"}', 400],
    ['a line break in the address', json, '{"email":"a@b.example\\nBcc: c@d.example","password":"x"}', 400],
    ['nothing', json, '', 400],
  ])('%s is refused', (_what, type, body, status) => expectRefused(type, body, status));

  itWithoutParsers.each<[string, string, string, number]>([
    ['broken JSON', json, '{"email":', 400],
    ['a charset of its own', `${json}; charset=latin1`, '{}', 415],
  ])('%s is refused', (_what, type, body, status) => expectRefused(type, body, status));

  it.each([
    ['JSON', async () => (await import('express')).default.json()],
    ['forms', async () => (await import('express')).default.urlencoded({ extended: true })],
    ['text', async () => (await import('express')).default.text({ type: () => true })],
    ['bytes', async () => (await import('express')).default.raw({ type: () => true })],
  ])('is also read after the application’s own parser for %s', async (_what, parser) => {
    const parse = await parser();
    await start({ before: (host) => host.use(parse) });
    expect((await app.visitor().postJson('/auth/login', ada)).status).toBe(200);
    expect((await postForm(app.visitor(), '/auth/login', ada)).status).toBe(303);
  });
});
