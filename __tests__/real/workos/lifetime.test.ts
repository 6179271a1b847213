import { addUser, describeEmulator, expire, startRealB2b } from '../support/workos.ts';
import type { RealB2b } from '../support/workos.ts';

describeEmulator('sessions with limits at the emulator', (url) => {
  let app: RealB2b;
  let aheadMs = 0;
  beforeAll(async () => {
    app = await startRealB2b(url, { idleTimeout: 300, sessionMaxAge: 600, now: () => Date.now() + aheadMs });
  });
  beforeEach(() => {
    aheadMs = 0;
    app.events.length = 0;
    app.relay.relayed.length = 0;
  });
  afterEach(() => app.relay.heal());
  afterAll(() => app.close());

  it('are renewed, and end sessionMaxAge after their sign-in, not after their last renewal', async () => {
    const signedInAt = Date.now();
    const visitor = await app.signedIn(await addUser(app));
    await expire(visitor);
    expect((await visitor.getJson('/api/me')).status).toBe(200);
    expect(app.relay.refreshes()).toHaveLength(1);

    // Of the renewed token these are less than 600 seconds.
    aheadMs = signedInAt + 602_000 - Date.now();
    expect((await visitor.getJson('/api/me')).status).toBe(401);
    expect(visitor.cookies.has('b2b-session')).toBe(false);
    expect(app.events.at(-1)).toMatchObject({ type: 'session_ended', reason: 'session_max_age' });
    expect(app.relay.refreshes()).toHaveLength(1);
  });

  it('end after idleTimeout without a call to WorkOS, also where it cannot be reached', async () => {
    const visitor = await app.signedIn(await addUser(app));
    app.relay.break(/./, 'refused');
    aheadMs = 301_000;
    expect((await visitor.getJson('/api/me')).status).toBe(401);
    expect(visitor.cookies.has('b2b-session')).toBe(false);
    expect(app.events.at(-1)).toMatchObject({ type: 'session_ended', reason: 'idle_timeout' });
  });

  it('lead to a new sign-in, from which both times count again', async () => {
    const user = await addUser(app);
    const visitor = await app.signedIn(user);
    aheadMs = 301_000;
    expect((await visitor.get('/dashboard')).location).toContain('/login?');
    aheadMs = 0;
    expect((await visitor.get(await app.callback(visitor, user.email))).status).toBe(303);
    expect((await visitor.getJson('/api/me')).status).toBe(200);
  });
});
