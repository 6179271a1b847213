import { addOrganization, addUser, describeEmulator, expire, startRealB2b } from '../support/workos.ts';
import type { RealB2b } from '../support/workos.ts';
import type { Visitor } from '../../support/visitor.ts';

describeEmulator('an expired session at the emulator', (url) => {
  let app: RealB2b;
  beforeAll(async () => {
    app = await startRealB2b(url);
  });
  beforeEach(() => {
    app.events.length = 0;
    app.relay.relayed.length = 0;
  });
  afterEach(() => app.relay.heal());
  afterAll(() => app.close());

  const copyOf = (visitor: Visitor): Visitor => {
    const copy = app.visitor();
    visitor.cookies.forEach((value, name) => copy.cookies.set(name, value));
    return copy;
  };

  it('is renewed once, however many requests wait, and later ones with the old cookie get the same', async () => {
    const visitor = await app.signedIn(await addUser(app));
    const before = (await visitor.getJson('/auth/session')).json;
    await expire(visitor);
    const copies = Array.from({ length: 20 }, () => copyOf(visitor));
    const answers = await Promise.all(copies.map((copy) => copy.getJson('/auth/session')));
    expect(answers.map(({ status, json }) => [status, json])).toEqual(Array(20).fill([200, before]));
    expect((await visitor.getJson('/auth/session')).status).toBe(200);
    expect(app.relay.refreshes()).toHaveLength(1);
    expect(app.eventTypes()).toEqual(['signed_in', 'session_refreshed']);
  });

  it('is renewed again and again, each time with the newest token', async () => {
    const north = await addOrganization(app, 'North');
    const user = await addUser(app, [north]);
    const visitor = await app.signedIn(user);
    for (let time = 1; time <= 2; time += 1) {
      await expire(visitor);
      const { json } = await visitor.getJson('/api/me');
      expect([json.user.email, json.organizationId, json.claims.role]).toEqual([user.email, north, 'reader']);
    }
    const [first, second] = app.relay.refreshes();
    expect(second?.body['refresh_token']).toBe(first?.answer['refresh_token']);
  });

  it('has what changed at WorkOS since', async () => {
    const user = await addUser(app);
    const visitor = await app.signedIn(user);
    await app.sdk.userManagement.updateUser({ userId: user.id, firstName: 'Ada', metadata: { plan: 'team' } });
    await expire(visitor);
    const { user: renewed } = (await visitor.getJson('/api/me')).json;
    expect(renewed).toMatchObject({ firstName: 'Ada', metadata: { plan: 'team' } });
  });

  it('remains an impersonation', async () => {
    const visitor = await app.signedIn({ email: 'impersonated@example.com' });
    await expire(visitor);
    const { json } = await visitor.getJson('/api/me');
    expect(json.impersonator).toEqual({ email: 'staff@example.com', reason: 'support' });
  });

  it.each<[string, (app: RealB2b, visitor: Visitor, userId: string) => Promise<unknown>]>([
    [
      'was revoked',
      async ({ sdk }, visitor) => {
        const { sessionId } = (await visitor.getJson('/auth/session')).json;
        await sdk.userManagement.revokeSession({ sessionId });
      },
    ],
    ['lost its user', ({ sdk }, _visitor, userId) => sdk.userManagement.deleteUser(userId)],
  ])('that %s ends, and its cookie is cleared', async (_name, end) => {
    const user = await addUser(app);
    const visitor = await app.signedIn(user);
    await end(app, visitor, user.id);
    await expire(visitor);
    const ended = await visitor.getJson('/auth/session');
    expect([ended.status, visitor.cookies.size]).toEqual([401, 0]);
    expect(app.eventTypes()).toContain('session_ended');
  });

  it('whose token was used elsewhere ends, as the emulator has no grace period', async () => {
    const visitor = await app.signedIn(await addUser(app));
    const other = await startRealB2b(url, { cookiePassword: app.cookiePassword }, app.relay);
    const elsewhere = other.visitor();
    visitor.cookies.forEach((value, name) => elsewhere.cookies.set(name, value));
    await expire(visitor);
    expect((await elsewhere.getJson('/auth/session')).status).toBe(200);
    expect((await visitor.getJson('/auth/session')).status).toBe(401);
    await other.close();
  });
});
