import { postForm } from '../../support/backend-app.ts';
import type { Visitor } from '../../support/visitor.ts';
import { useRealApp } from '../support/application.ts';
import { describeGoTrue } from '../support/describe-with.ts';

const maxAge = 2;

describeGoTrue('a guard that requires a recent sign-in', () => {
  const real = useRealApp({ guarded: { '/recent': { adapter: 'backend', maxAge } } });
  const stale = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, (maxAge + 1) * 1000));

  it('lets a new one pass, asks an old one for the password again, and redirects back', async () => {
    const user = await real.project.addUser();
    const visitor: Visitor = await real.app.signedIn(user);
    expect((await visitor.get('/recent')).status).toBe(200);
    await stale();
    const asked = await visitor.getJson('/recent');
    expect([asked.status, asked.json.error.code]).toEqual([401, 'fresh_sign_in_required']);
    const sent = await visitor.get('/recent?page=2');
    expect([sent.status, new URL(sent.location).pathname]).toEqual([307, '/auth/login']);
    const form = await visitor.get(sent.location);
    expect([form.status, form.text.includes(`value="${user.email}"`)]).toEqual([200, true]);
    const { email, password } = user;
    const done = await postForm(visitor, '/auth/login', { email, password, returnTo: '/recent?page=2' });
    expect([done.status, done.headers.location]).toEqual([303, '/recent?page=2']);
    expect((await visitor.get('/recent?page=2')).status).toBe(200);
  });

  it('is not satisfied by a refresh, which keeps the time of the sign-in', async () => {
    const visitor = await real.app.signedIn(await real.project.addUser());
    await stale();
    await real.app.asVisitor(visitor, (client) => client.auth.refreshSession());
    expect((await visitor.getJson('/recent')).status).toBe(401);
    expect((await visitor.getJson('/api/me')).status).toBe(200);
  });
});
