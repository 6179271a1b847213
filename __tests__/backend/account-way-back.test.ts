import { ada, postForm, startBackendApp } from '../support/backend-app.ts';
import type { BackendApp } from '../support/backend-app.ts';
import { closeAfterEach } from '../support/close-after-each.ts';
import { createPageBrowser } from '../support/page-browser.ts';

const closing = closeAfterEach();
const start = () => closing(startBackendApp());

describe('a page of the account, signed out', () => {
  it.each(['/auth/enroll', '/auth/password'])('%s leads to sign-in and back to itself', async (path) => {
    const app = await start();
    const visitor = app.visitor();
    const answer = await visitor.get(`${path}?returnTo=/account`, { headers: { accept: 'text/html' } });
    const back = `${path}?returnTo=%2Faccount`;
    expect([answer.status, answer.headers.location]).toEqual([302, `/auth/login?returnTo=${encodeURIComponent(back)}`]);
    const done = await postForm(visitor, '/auth/login', { ...ada, returnTo: back });
    expect(done.headers.location).toBe(back);
    expect((await visitor.get(back)).status).toBe(200);
  });

  it('/auth/password leads to sign-in and back where the session ended before the form was sent', async () => {
    const app = await start();
    const fields = { currentPassword: ada.password, password: 'three unlikely words', returnTo: '/account' };
    const answer = await postForm(app.visitor(), '/auth/password', fields);
    const back = encodeURIComponent('/auth/password?returnTo=%2Faccount');
    expect([answer.status, answer.headers.location]).toEqual([303, `/auth/login?returnTo=${back}`]);
    const { status, json } = await app.visitor().postJson('/auth/password', fields);
    expect([status, json.error.code]).toEqual([401, 'unauthenticated']);
  });
});

describe('/auth/password while a sign-in waits for its second factor', () => {
  const fresh = 'three unlikely words';

  it('leads to the second factor, and then back to the form', async () => {
    const app = await start();
    const factor = app.supabase.addFactor(ada.email);
    const browser = createPageBrowser(app.origin);
    await browser.open('/auth/login?returnTo=/account');
    await browser.submit(ada);
    await browser.open('/auth/password');
    expect(new URL(browser.at.url).pathname).toBe('/auth/verify');
    await browser.submit({ code: app.supabase.codeOf(factor) });
    await browser.submit({ currentPassword: ada.password, password: fresh });
    expect(browser.at.answer.text).toBe('account');
  });

  it.each([{ password: fresh }, { currentPassword: ada.password, password: fresh }])(
    'names it to a script that sends %j',
    async (fields) => {
      const app = await start();
      app.supabase.addFactor(ada.email);
      const visitor = app.visitor();
      await visitor.postJson('/auth/login', ada);
      const { status, json } = await visitor.postJson('/auth/password', { ...fields, returnTo: '/account' });
      const redirectTo = `/auth/verify?returnTo=${encodeURIComponent('/auth/password?returnTo=%2Faccount')}`;
      expect([status, json.error.code, json.redirectTo]).toEqual([403, 'second_factor_required', redirectTo]);
    },
  );
});

describe('/auth/password with a wrong current password', () => {
  it.each([
    ['was deleted', (app: BackendApp) => app.supabase.removeUser(ada.email)],
    [
      'was signed out elsewhere',
      ({ supabase }: BackendApp) => supabase.sessionsOf(ada.email).forEach(({ id }) => supabase.revokeSession(id)),
    ],
  ])('ends the session of a user who %s, and leads to sign-in', async (_what, end) => {
    const app = await start();
    const [visitor, script] = [await app.signedIn(), await app.signedIn()];
    end(app);
    const fields = { currentPassword: 'not that one', password: 'three unlikely words', returnTo: '/account' };
    const answer = await postForm(visitor, '/auth/password', fields);
    const back = encodeURIComponent('/auth/password?returnTo=%2Faccount');
    expect([answer.status, answer.headers.location]).toEqual([303, `/auth/login?returnTo=${back}`]);
    expect((await visitor.getJson('/api/me')).status).toBe(401);
    const { status, json } = await script.postJson('/auth/password', fields);
    expect([status, json.error.code]).toEqual([401, 'unauthenticated']);
  });
});
