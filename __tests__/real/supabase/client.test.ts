import { cookieName, useRealApp } from '../support/application.ts';
import { describeGoTrue } from '../support/describe-with.ts';
import type { User } from '../support/project.ts';

describeGoTrue('the request’s own client', () => {
  const real = useRealApp();
  let user: User;
  beforeAll(async () => {
    user = await real.project.addUser();
  });

  it('acts as the visitor, or anonymously', async () => {
    const visitor = await real.app.signedIn(user);
    const signedIn = await real.app.asVisitor(visitor, (client) => client.auth.getUser());
    expect(signedIn.data.user.id).toBe(user.id);
    const signedOut = await real.app.asVisitor(real.app.visitor(), (client) => client.auth.getUser());
    expect(signedOut.data.user).toBeNull();
  });

  it('stores the session that it renews, and later requests use it', async () => {
    const visitor = await real.app.signedIn(user);
    await real.app.asVisitor(visitor, (client) => client.auth.updateUser({ data: { color: 'green' } }));
    await real.app.asVisitor(visitor, (client) => client.auth.refreshSession());
    expect((await visitor.getJson('/auth/session')).json.user.userMetadata).toMatchObject({ color: 'green' });
  });

  it('signs out, and the cookie is gone', async () => {
    const visitor = await real.app.signedIn(user);
    await real.app.asVisitor(visitor, (client) => client.auth.signOut({ scope: 'local' }));
    expect([visitor.cookies.has(cookieName), (await visitor.getJson('/auth/session')).status]).toEqual([false, 401]);
  });

  it('signs an anonymous visitor in, and guards let them pass', async () => {
    const visitor = real.app.visitor();
    await real.app.asVisitor(visitor, (client) => client.auth.signInAnonymously());
    const { user: nameless } = (await visitor.getJson('/auth/session')).json;
    expect([nameless.isAnonymous, nameless.email]).toEqual([true, null]);
  });
});
