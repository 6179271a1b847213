import { ada, startBackendApp } from '../support/backend-app.ts';
import type { BackendApp, BackendAppSetup } from '../support/backend-app.ts';

let app: BackendApp;
const start = async (setup?: BackendAppSetup): Promise<BackendApp> => (app = await startBackendApp(setup));
afterEach(() => app.close());

describe('the cookie', () => {
  async function signInWith(bytes: number) {
    await start();
    const email = `big${bytes}@example.com`;
    app.supabase.addUser({ email, password: 'long enough', metadata: { bio: 'x'.repeat(bytes) } });
    const visitor = app.visitor();
    return { visitor, answer: await visitor.postJson('/auth/login', { email, password: 'long enough' }) };
  }

  it('is chunked as @supabase/ssr does, and whole again when read', async () => {
    const { visitor } = await signInWith(800);
    expect([...visitor.cookies.keys()]).toEqual([`${app.cookieName}.0`, `${app.cookieName}.1`]);
    expect((await visitor.getJson('/auth/session')).json.user.userMetadata.bio).toHaveLength(800);
  });

  it('over 8 KB raises an event', async () => {
    const { answer } = await signInWith(2400);
    expect(answer.status).toBe(200);
    expect(app.eventTypes()).toContain('session_large');
  });

  it.each([4_000, 8_000])('over 12 KB refuses the sign-in (%i bytes of metadata)', async (bytes) => {
    const { visitor, answer } = await signInWith(bytes);
    expect([answer.status, answer.json.error.code]).toEqual([422, 'session_too_large']);
    expect(visitor.cookies.size).toBe(0);
  });

  it('keeps its attributes: domain, path, sameSite, secure, maxAge and httpOnly', async () => {
    const cookieOptions = {
      domain: 'example.com',
      path: '/app',
      sameSite: 'strict',
      secure: true,
      maxAge: 60,
      httpOnly: false,
    } as const;
    await start({ options: { cookieOptions } });
    const answer = await app.visitor().postJson('/auth/login', ada);
    expect(answer.setCookies[0]).toMatch(/; Max-Age=60; Domain=example.com; Path=\/app; Secure; SameSite=Strict$/);
  });

  it('ends with the browser where maxAge is null', async () => {
    await start({ options: { cookieOptions: { maxAge: null } } });
    expect((await app.visitor().postJson('/auth/login', ada)).setCookies[0]).not.toContain('Max-Age');
  });

  it('is deleted in its own domain and on this host, where a former configuration may have left it', async () => {
    await start({ options: { cookieOptions: { domain: 'example.com' } } });
    const visitor = await app.signedIn({});
    const deletions = (await visitor.post('/auth/logout')).setCookies;
    expect(deletions.map((line) => line.includes('Domain=example.com')).sort()).toEqual([false, true]);
  });
});
