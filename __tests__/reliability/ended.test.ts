import { adapters } from '../support/apps-under-test.ts';
import type { AppUnderTest } from '../support/apps-under-test.ts';
import { send } from '../support/visitor.ts';

describe.each(adapters)('$name, after the provider has ended a session', ({ start }) => {
  let app: AppUnderTest;
  beforeAll(async () => {
    app = await start();
  });
  afterAll(() => app.close());

  async function withRevokedSession() {
    const visitor = await app.signedIn();
    await app.revoke(visitor);
    app.expireTokens();
    app.forget();
    return visitor;
  }

  it('signs out, and clears the cookie once in the response', async () => {
    const visitor = await withRevokedSession();
    const answer = await visitor.getJson('/api/me');
    expect(answer.status).toBe(401);
    expect(answer.setCookies).toHaveLength(1);
    expect(answer.setCookies[0]).toMatch(/=; Max-Age=0; /);
    expect(visitor.cookies.size).toBe(0);
    expect(app.eventTypes()).toEqual(['session_ended', 'session_rejected']);
  });

  it('makes no further call for a client that keeps the cookie', async () => {
    const visitor = await withRevokedSession();
    const cookie = visitor.cookieHeader();
    for (let time = 0; time < 5; time += 1) {
      app.clock.advance(60_000);
      const headers = { cookie, accept: 'application/json' };
      const answer = await send(new URL('/api/me', app.origin), { headers });
      expect([answer.status, answer.setCookies.length]).toEqual([401, 1]);
    }
    expect(app.refreshes()).toHaveLength(1);
    expect(app.eventTypes().filter((type) => type === 'session_ended')).toHaveLength(1);
  });

  it('reports the cookie once, however often a client sends it', async () => {
    const visitor = await withRevokedSession();
    const cookie = visitor.cookieHeader();
    for (let time = 0; time < 5; time += 1) {
      await send(new URL('/api/me', app.origin), { headers: { cookie, accept: 'application/json' } });
    }
    expect(app.eventTypes()).toEqual(['session_ended', 'session_rejected']);
  });

  it('makes one call for many simultaneous requests, and signs all of them out', async () => {
    const visitor = await withRevokedSession();
    const answers = await Promise.all(Array.from({ length: 20 }, () => visitor.getJson('/api/me')));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 401));
    expect(app.refreshes()).toHaveLength(1);
  });

  it('lets the visitor sign in again', async () => {
    const visitor = await withRevokedSession();
    await visitor.getJson('/api/me');
    expect((await (await app.signedIn()).getJson('/api/me')).status).toBe(200);
  });

  it('keeps the new cookie if a request with the old one comes late', async () => {
    const visitor = await app.signedIn();
    const old = visitor.cookieHeader();
    app.expireTokens();
    app.forget();
    expect((await visitor.getJson('/api/me')).setCookies).toHaveLength(1);
    app.clock.advance(26_000);
    const late = await send(new URL('/api/me', app.origin), { headers: { cookie: old, accept: 'application/json' } });
    expect([late.status, late.setCookies]).toEqual([401, []]);
    expect(app.eventTypes()).toEqual(['session_refreshed']);
  });
});
