import { sealData } from 'iron-session';
import { addOrganization, addUser, clientId, describeEmulator, expire, startRealB2b } from '../support/workos.ts';
import type { RealB2b } from '../support/workos.ts';
import type { Visitor } from '../../support/visitor.ts';

describeEmulator('a cookie shared with an app on WorkOS’ own SDK', (url) => {
  let app: RealB2b;
  let north = '';
  beforeAll(async () => {
    app = await startRealB2b(url);
    north = await addOrganization(app, 'North');
  });
  afterAll(() => app.close());

  const holderOf = (sealed: string): Visitor => {
    const visitor = app.visitor();
    visitor.cookies.set('b2b-session', sealed);
    return visitor;
  };
  const load = (visitor: Visitor) =>
    app.sdk.userManagement.loadSealedSession({
      sessionData: visitor.cookies.get('b2b-session') ?? '',
      cookiePassword: app.cookiePassword,
    });
  async function withPassword(organizations: readonly string[] = []) {
    const user = await addUser(app, organizations);
    await app.sdk.userManagement.updateUser({ userId: user.id, password: 'correct horse battery staple' });
    return { user, credentials: { clientId, email: user.email, password: 'correct horse battery staple' } };
  }

  it.each([['without an organization'], ['with one']])('is opened, renewed and passed on by both, %s', async (name) => {
    const organizations = name === 'with one' ? [north] : [];
    const { user, credentials } = await withPassword(organizations);
    const { cookiePassword } = app;
    const session = { sealSession: true, cookiePassword };
    const { sealedSession } = await app.sdk.userManagement.authenticateWithPassword({ ...credentials, session });
    const visitor = holderOf(sealedSession ?? '');
    const { json } = await visitor.getJson('/auth/session');
    expect([json.user.id, json.organizationId]).toEqual([user.id, organizations[0]]);

    await expire(visitor);
    expect((await visitor.getJson('/auth/session')).json).toEqual(json);
    const opened = await load(visitor).authenticate();
    expect(opened).toMatchObject({ authenticated: true, sessionId: json.sessionId, user: { id: user.id } });

    const refreshed = await load(visitor).refresh();
    if (!refreshed.authenticated) throw new Error(refreshed.reason);
    expect((await holderOf(refreshed.sealedSession ?? '').getJson('/auth/session')).json).toEqual(json);
  });

  it('with the whole answer, nulls included, is a session here and remains one', async () => {
    const { user, credentials } = await withPassword();
    const answer = await app.sdk.userManagement.authenticateWithPassword(credentials);
    expect(answer.organizationId).toBeNull();
    // As authkit-nextjs' `saveSession` does.
    const nulls = { impersonator: null, oauthTokens: null };
    const visitor = holderOf(await sealData({ ...answer, ...nulls }, { password: app.cookiePassword, ttl: 0 }));
    expect((await visitor.getJson('/auth/session')).json.user.id).toBe(user.id);
    await expire(visitor);
    expect((await visitor.getJson('/auth/session')).json.user.id).toBe(user.id);
  });

  it('with other content of the other app is left alone', async () => {
    const sealed = await sealData({ theme: 'dark' }, { password: app.cookiePassword, ttl: 0 });
    const visitor = holderOf(sealed);
    expect((await visitor.getJson('/auth/session')).status).toBe(401);
    expect(visitor.cookies.get('b2b-session')).toBe(sealed);
  });

  it('that was sealed here is opened there', async () => {
    const { user } = await withPassword([north]);
    const visitor = await app.signedIn(user);
    expect(await load(visitor).authenticate()).toMatchObject({
      authenticated: true,
      organizationId: north,
      role: 'reader',
      permissions: ['reports:read'],
    });
  });
});
