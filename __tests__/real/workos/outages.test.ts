import { addUser, describeEmulator, expire, skewMs, startRealB2b } from '../support/workos.ts';
import type { RealB2b } from '../support/workos.ts';
import type { RelayFault } from '../support/relay.ts';

const faults: readonly (readonly [string, RelayFault])[] = [
  ['answers 503', { status: 503 }],
  ['answers 429', { status: 429, headers: { 'retry-after': '3' }, body: '{"message":"Too Many Requests"}' }],
  ['answers with a page', { status: 502, headers: { 'content-type': 'text/html' }, body: '<html>Bad gateway</html>' }],
  ['refuses our key', { status: 401, body: '{"message":"Unauthorized"}' }],
  ['refuses connections', 'refused'],
];

/** How long the provider asks to wait. A refresh waits as long; without a number, the next request tries again. */
const toldSeconds = (fault: RelayFault): number =>
  typeof fault === 'object' && 'headers' in fault ? Number(fault.headers['retry-after'] ?? 0) : 0;

describeEmulator('a way to the emulator that', (url) => {
  let app: RealB2b;
  beforeAll(async () => {
    app = await startRealB2b(url, { timeoutMs: 2_000 });
  });
  afterEach(() => app.relay.heal());
  afterAll(() => app.close());

  it.each(faults)('%s: a sign-in shows that it can be retried, and a reload starts it over', async (_name, fault) => {
    const user = await addUser(app);
    const visitor = app.visitor();
    const callback = await app.callback(visitor, user.email, '/login?returnTo=/dashboard');
    app.relay.break(/authenticate/, fault);
    const failed = await visitor.get(callback);
    expect([502, 503]).toContain(failed.status);
    expect(failed.text).not.toMatch(/Bad gateway|Too Many|Unauthorized|WorkOS/);
    app.relay.heal();
    if (failed.status === 502) return;
    expect(Number(failed.headers['retry-after'])).toBeGreaterThan(0);
    const again = await visitor.get(callback);
    expect(again.status).toBe(303);
    expect(again.location).toContain('/user_management/authorize?');
  });

  it.each(faults)('%s: a session with a valid token is served, an expired one waits', async (_name, fault) => {
    const visitor = await app.signedIn(await addUser(app));
    await visitor.getJson('/auth/session');
    app.relay.break(/./, fault);
    expect((await visitor.getJson('/auth/session')).status).toBe(200);
    await expire(visitor, skewMs);
    const waiting = await visitor.get('/dashboard');
    expect([waiting.status, visitor.cookies.has('b2b-session')]).toEqual([503, true]);
    expect(waiting.text).toContain('<a class="button" href="">Try again</a>');
    app.relay.heal();
    const waitSeconds = toldSeconds(fault);
    if (waitSeconds > 0) {
      expect((await visitor.get('/dashboard')).status).toBe(503);
      await new Promise((resolve) => setTimeout(resolve, waitSeconds * 1000));
    }
    expect((await visitor.get('/dashboard')).status).toBe(200);
  });

  it.each(faults)(
    '%s: sign-out clears the cookie, and the provider’s sign-out URL needs no call',
    async (_name, fault) => {
      const visitor = await app.signedIn(await addUser(app));
      app.relay.break(/./, fault);
      const out = await visitor.post('/logout');
      expect([out.status, visitor.cookies.size]).toEqual([303, 0]);
      expect(out.location).toContain('/user_management/sessions/logout?session_id=');
    },
  );

  it('makes the keys unreachable at start-up: 503, and signed in as soon as they can be fetched', async () => {
    const visitor = await app.signedIn(await addUser(app));
    const started = await startRealB2b(url, { cookiePassword: app.cookiePassword, timeoutMs: 2_000 }, app.relay);
    const elsewhere = started.visitor();
    visitor.cookies.forEach((value, name) => elsewhere.cookies.set(name, value));
    app.relay.break(/./, { status: 503 });
    expect([(await elsewhere.getJson('/auth/session')).status, elsewhere.cookies.size]).toEqual([503, 1]);
    app.relay.heal();
    await expire(visitor, skewMs);
    expect((await elsewhere.getJson('/auth/session')).status).toBe(200);
    await started.close();
  });

  it('delivers the answer after the request timed out does not lose the session', async () => {
    const visitor = await app.signedIn(await addUser(app));
    await expire(visitor, skewMs);
    app.relay.break(/authenticate/, { delay: 3_000 });
    expect((await visitor.getJson('/auth/session')).status).toBe(503);
    expect((await visitor.getJson('/auth/session')).status).toBe(200);
  });
});
