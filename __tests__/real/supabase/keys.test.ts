import { expiry, sessionOf, setSession, startRealApp, useRealApp } from '../support/application.ts';
import type { RealApp } from '../support/application.ts';
import { describeOwnGoTrue } from '../support/describe-with.ts';
import { createSigningKey, retired } from '../support/gotrue.ts';
import type { SigningKey } from '../support/gotrue.ts';
import type { User } from '../support/project.ts';
import type { Visitor } from '../../support/visitor.ts';
import { decodeProtectedHeader } from 'jose';

const [a, b, c] = ['a', 'b', 'c'].map(createSigningKey) as [SigningKey, SigningKey, SigningKey];
const short = { GOTRUE_JWT_EXP: '4' };
/** A token that is younger than the clock allowance may name a key that is about to be published: 503 for these seconds. */
const olderThanAllowance = 2_500;
const jwks = '/.well-known/jwks.json';

const kidOf = (visitor: Visitor): string | undefined => decodeProtectedHeader(sessionOf(visitor).access_token).kid;

describeOwnGoTrue('signing keys', () => {
  const real = useRealApp({ gotrue: { keys: [a], settings: short } });
  let user: User;
  let fresh: RealApp | undefined;
  beforeAll(async () => {
    user = await real.project.addUser();
  });
  beforeEach(() => real.project.restart({ keys: [a], settings: short }));
  afterEach(async () => {
    await fresh?.close();
    fresh = undefined;
  });

  /** The application after a restart: without keys, caches and memos. */
  async function restarted(visitor: Visitor): Promise<Visitor> {
    fresh = await startRealApp(real.project);
    const moved = fresh.visitor();
    visitor.cookies.forEach((value, name) => moved.cookies.set(name, value));
    return moved;
  }

  it('rotate through a standby key without an interruption', async () => {
    await real.project.restart({ keys: [a, retired(b)] });
    const before = await restarted(await real.app.signedIn(user));
    expect((await before.getJson('/api/me')).status).toBe(200);
    await real.project.restart({ keys: [retired(a), b] });
    real.project.proxy.passed.splice(0);
    const after = await fresh!.signedIn(user);
    expect([kidOf(before), kidOf(after)]).toEqual(['a', 'b']);
    for (const visitor of [before, after]) expect((await visitor.getJson('/api/me')).status).toBe(200);
    expect(real.project.proxy.to(jwks)).toEqual([]);
  });

  it('that were not announced are fetched by the first sign-in', async () => {
    await real.app.signedIn(user);
    // The keys are fetched once a second at most, also for a token that GoTrue has just answered with.
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    await real.project.restart({ keys: [retired(a), c] });
    const visitor = await real.app.signedIn(user);
    expect([kidOf(visitor), (await visitor.getJson('/api/me')).status]).toEqual(['c', 200]);
  });

  it('that are retired sign out no user who was away during the rotation', async () => {
    const visitor = await real.app.signedIn(user);
    await expiry(visitor, olderThanAllowance);
    await real.project.restart({ keys: [b] });
    const back = await restarted(visitor);
    expect((await back.getJson('/api/me')).status).toBe(200);
    expect([kidOf(visitor), kidOf(back)]).toEqual(['a', 'b']);
  });

  it('that are withdrawn at once sign out no user whose token is still valid', async () => {
    await real.project.restart({ keys: [a] });
    const visitor = await real.app.signedIn(user);
    await new Promise((resolve) => setTimeout(resolve, 6_000));
    await real.project.restart({ keys: [b] });
    const back = await restarted(visitor);
    // GoTrue: GET /user 403 {"code":"bad_jwt","message":"invalid JWT: unable to parse or verify signature, token is unverifiable: …"}
    expect((await back.getJson('/api/me')).status).toBe(200);
    expect(kidOf(back)).toBe('b');
  });

  it('are fetched once for a hundred tokens with made-up key ids', async () => {
    const visitor = await real.app.signedIn(user);
    const session = sessionOf(visitor);
    real.project.proxy.passed.splice(0);
    for (let turn = 0; turn < 100; turn += 1) {
      const header = Buffer.from(JSON.stringify({ alg: 'ES256', kid: `made-up-${turn}` })).toString('base64url');
      const forged = real.app.visitor();
      const accessToken = session.access_token.replace(/^[^.]+/, header);
      setSession(forged, { ...session, access_token: accessToken, refresh_token: `none${turn}`.padEnd(12, '0') });
      expect((await forged.getJson('/auth/session')).status).not.toBe(200);
    }
    expect(real.project.proxy.to(jwks).length).toBeLessThanOrEqual(1);
    expect(real.project.proxy.to('/token').length).toBeLessThanOrEqual(10);
  });

  it.each([
    ['live', undefined],
    ['expired', short],
  ])('that replace a shared secret sign out no user whose token is %s', async (_state, settings) => {
    await real.project.restart(settings === undefined ? {} : { settings });
    fresh = await startRealApp(real.project);
    const visitor = await fresh.signedIn(user);
    expect(decodeProtectedHeader(sessionOf(visitor).access_token).alg).toBe('HS256');
    expect((await visitor.getJson('/api/me')).status).toBe(200);
    if (settings !== undefined) await expiry(visitor);
    await fresh.close();
    await real.project.restart({ keys: [a] });
    const back = await restarted(visitor);
    expect((await back.getJson('/api/me')).status).toBe(200);
  });
});
