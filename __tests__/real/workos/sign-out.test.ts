import { addUser, describeEmulator, expire, startRealB2b } from '../support/workos.ts';
import type { RealB2b } from '../support/workos.ts';

describeEmulator('a sign-out with the emulator', (url) => {
  let app: RealB2b;
  beforeAll(async () => {
    app = await startRealB2b(url);
  });
  afterAll(() => app.close());

  const sessionsOf = async (userId: string): Promise<readonly string[]> =>
    (await app.sdk.userManagement.listSessions(userId)).data.map(({ id }) => id);

  it('ends the session here, and at WorkOS if the browser follows the redirect', async () => {
    const user = await addUser(app);
    const visitor = await app.signedIn(user);
    const copy = app.visitor();
    visitor.cookies.forEach((value, name) => copy.cookies.set(name, value));
    const { sessionId } = (await visitor.getJson('/auth/session')).json;
    expect(await sessionsOf(user.id)).toEqual([sessionId]);

    const out = await visitor.post('/logout');
    expect([out.status, visitor.cookies.size]).toEqual([303, 0]);
    expect((await copy.getJson('/auth/session')).status).toBe(401);
    const home = await fetch(out.location, { redirect: 'manual' });
    expect(home.headers.get('location')).toBe(`${app.origin}/`);
    expect(await sessionsOf(user.id)).toEqual([]);
  });

  it('gives its URL to JSON clients, even with an expired session', async () => {
    const user = await addUser(app);
    const visitor = await app.signedIn(user);
    await expire(visitor);
    const { json } = await visitor.postJson('/logout');
    await fetch(json.redirectTo, { redirect: 'manual' });
    expect(await sessionsOf(user.id)).toEqual([]);
    expect((await visitor.postJson('/logout')).json).toEqual({ redirectTo: `${app.origin}/` });
  });
});
