import { expiry, useRealApp } from '../support/application.ts';
import { describeOwnGoTrue } from '../support/describe-with.ts';
import { createSigningKey } from '../support/gotrue.ts';
import type { Answer, Visitor } from '../../support/visitor.ts';

/** Quotes and umlauts need the most space in JSON, base64 and percent encoding. */
const text = (kilobytes: number): string => '"ü'.repeat((kilobytes * 1024) / 3);
const limit = 12 * 1024;

const bytesOf = ({ setCookies }: Answer): number => setCookies.join('').length;

describeOwnGoTrue('a session that grows', () => {
  const real = useRealApp({ gotrue: { keys: [createSigningKey('only')], settings: { GOTRUE_JWT_EXP: '4' } } });

  async function grown(kilobytes: number): Promise<Visitor> {
    const user = await real.project.addUser();
    const visitor = await real.app.signedIn(user);
    await real.project.admin(`/admin/users/${user.id}`, 'PUT', { user_metadata: { text: text(kilobytes) } });
    await expiry(visitor);
    real.app.events.splice(0);
    return visitor;
  }

  /** Whatever happens to the session, the site answers, and its visitor can sign out. */
  async function expectWayOut(visitor: Visitor): Promise<void> {
    for (const path of ['/', '/auth/session', '/auth/login', '/account'])
      expect([path, (await visitor.get(path)).status]).not.toEqual([path, 431]);
    expect((await visitor.postJson('/auth/logout')).status).toBe(200);
    expect((await visitor.getJson('/auth/session')).status).toBe(401);
  }

  it.each([1, 2, 3])('by %d KB still works', async (kilobytes) => {
    const visitor = await grown(kilobytes);
    const renewed = await visitor.getJson('/auth/session');
    expect(renewed.status).toBe(200);
    expect(bytesOf(renewed)).toBeLessThanOrEqual(limit);
    expect((await visitor.getJson('/api/me')).status).toBe(200);
    await expectWayOut(visitor);
  });

  it.each([5, 10, 40])('by %d KB is not written, is reported, and locks no one out', async (kilobytes) => {
    const visitor = await grown(kilobytes);
    const renewed = await visitor.getJson('/auth/session');
    expect(bytesOf(renewed)).toBeLessThanOrEqual(limit);
    await expectWayOut(visitor);
    expect(real.app.eventTypes()).toContain('session_too_large');
  });

  it.each([1, 6, 14])('by %d KB through its own client locks no one out', async (kilobytes) => {
    const visitor = await real.app.signedIn(await real.project.addUser());
    const answer = await visitor.getJson('/auth/session');
    expect(answer.status).toBe(200);
    await real.app.asVisitor(visitor, async (client) => {
      await client.auth.updateUser({ data: { text: text(kilobytes) } });
      await client.auth.refreshSession();
    });
    expect(visitor.cookieHeader().length).toBeLessThanOrEqual(limit);
    await expectWayOut(visitor);
  });
});
