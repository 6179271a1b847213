import { ada, postForm, startBackendApp } from '../support/backend-app.ts';
import type { BackendApp } from '../support/backend-app.ts';
import { describeAtRoot } from '../support/only.ts';

let app: BackendApp;
beforeAll(async () => {
  app = await startBackendApp({ options: { pages: { signIn: '/welcome?from=auth', signUp: '/join' } } });
});
afterAll(() => app.close());

const wrong = { email: ada.email, password: 'wrong' };

describeAtRoot('with pages of the application’s own', () => {
  it('redirects keep the query of their URLs, and add returnTo', async () => {
    const plain = await app.visitor().get('/auth/login');
    expect([plain.status, plain.headers.location]).toEqual([302, '/welcome?from=auth']);
    const meant = await app.visitor().get('/auth/login?returnTo=/account');
    expect(meant.headers.location).toBe('/welcome?from=auth&returnTo=%2Faccount');
    expect((await app.visitor().get('/auth/signup?returnTo=/account')).headers.location).toBe(
      '/join?returnTo=%2Faccount',
    );
  });

  it('redirects keep that another account is asked for, and nothing else of the query', async () => {
    const asked = await app.visitor().get('/auth/login?prompt=login&returnTo=/account&x=1');
    expect(asked.headers.location).toBe('/welcome?from=auth&prompt=login&returnTo=%2Faccount');
    const other = await app.visitor().get('/auth/login?prompt=consent');
    expect(other.headers.location).toBe('/welcome?from=auth');
    expect((await app.visitor().getJson('/auth/login?prompt=login')).json).toEqual({
      redirectTo: '/welcome?from=auth&prompt=login',
    });
  });

  it('a failed form redirects to them with the code, never with what was typed', async () => {
    const failed = await postForm(app.visitor(), '/auth/login', wrong);
    expect([failed.status, failed.headers.location]).toEqual([303, '/welcome?from=auth&error=invalid_credentials']);
    const meant = await postForm(app.visitor(), '/auth/login', { ...wrong, returnTo: '/account' });
    expect(meant.headers.location).toBe('/welcome?from=auth&error=invalid_credentials&returnTo=%2Faccount');
    const taken = await postForm(app.visitor(), '/auth/signup', { email: 'unknown', password: 'x' });
    expect([taken.status, taken.headers.location]).toEqual([303, '/join?error=invalid_request']);
  });

  it('a client that wants JSON gets the error as JSON', async () => {
    const failed = await app.visitor().postJson('/auth/login', wrong);
    expect([failed.status, failed.json.error.code]).toEqual([401, 'invalid_credentials']);
  });
});

it.each([
  [{ password: 'x' }, 'The email address is missing.'],
  [{ email: '  ', password: 'x' }, 'The email address is missing.'],
  [{ email: 'unknown', password: 'x' }, 'The email address is not valid.'],
  [{ email: ada.email }, 'The password is missing.'],
  [{ email: ada.email, password: '' }, 'The password is missing.'],
])('refuses %j without asking the backend, and names what is missing', async (fields, message) => {
  const before = app.supabase.calls('password');
  const answer = await app.visitor().postJson('/auth/login', fields);
  expect([answer.status, answer.json.error]).toEqual([400, { status: 400, code: 'invalid_request', message }]);
  expect(app.supabase.calls('password')).toBe(before);
});
