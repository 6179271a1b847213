import { renewSession } from '../../../lib/backend/index.ts';
import type { BackendAuthOptions } from '../../../lib/backend/index.ts';
import type { B2bAuthOptions } from '../../../lib/b2b/index.ts';
import { ada, startBackendApp } from '../../support/backend-app.ts';
import { demoUsers, startB2bApp, startProvider } from '../../support/b2b-app.ts';
import type { SharedProvider } from '../../support/b2b-app.ts';
import { closeAfterEach } from '../../support/close-after-each.ts';
import { expectUntouched, ownRoutes, refused, storeBy, verdictOf, whoIs } from '../../support/own-sign-in.ts';
import type { OwnSignIn } from '../../support/own-sign-in.ts';
import { createShared } from '../../support/shared-memory.ts';
import type { Visitor } from '../../support/visitor.ts';

/** An application whose own route stores sessions, with either adapter. */
async function startB2b(own: OwnSignIn, options: B2bAuthOptions = {}, provider?: SharedProvider) {
  const shared = provider === undefined ? {} : { provider };
  const app = await startB2bApp({ ...shared, options, after: (host, auth) => ownRoutes(host, () => auth, own) });
  const user = demoUsers.personal;
  app.workos.switches.accessTokenTtlSeconds = 7_200;
  return { ...app, tokens: () => app.workos.issueSession({ user }), userId: user.id };
}

async function startBackend(own: OwnSignIn, options: BackendAuthOptions = {}) {
  const app = await startBackendApp({ options, after: (host, auth) => ownRoutes(host, () => auth, own) });
  const tokens = () => app.supabase.issueSession(ada.email, { ttl: 7_200 });
  const [{ id: userId } = { id: '' }] = app.supabase.users();
  return { ...app, tokens, userId };
}

const closing = closeAfterEach();

const adapters = { b2b: startB2b, backend: startBackend };

describe.each(['b2b', 'backend'] as const)('older tokens of the same session, with %s', (name) => {
  let own: OwnSignIn;
  let app: Awaited<ReturnType<(typeof adapters)[typeof name]>>;

  async function start(onSignIn: () => Promise<void> = async () => undefined): Promise<void> {
    own = { tokens: undefined };
    app = await closing<Awaited<ReturnType<(typeof adapters)[typeof name]>>>(adapters[name](own, { onSignIn }));
  }

  /** The visitor's tokens are exchanged for newer ones. */
  async function renew(visitor: Visitor): Promise<void> {
    app.clock.advance(2_000);
    await renewSession(app.auth, { userId: app.userId });
    const before = visitor.cookieHeader();
    expect(await whoIs(visitor)).toBeDefined();
    expect(visitor.cookieHeader()).not.toBe(before);
  }

  async function expectLasting(visitor: Visitor): Promise<void> {
    app.clock.advance(4 * 3_600_000);
    expect(await whoIs(visitor)).toBeDefined();
    expect(app.events.map(({ type }) => type)).not.toContain('session_ended');
  }

  // The answer of a renewal rests for seconds, and what a process has seen for minutes; the cookie tells as long as it is there.
  it.each([1, 60, 660])('do not replace those of the browser, %d seconds after a renewal', async (seconds) => {
    await start();
    const visitor = app.visitor();
    const tokens = await app.tokens();
    await storeBy(own, visitor, tokens);
    await renew(visitor);
    app.clock.advance(seconds * 1_000);
    const answer = await expectUntouched(own, visitor, tokens);
    expect(answer.json.reason).toBe('superseded');
    await expectLasting(visitor);
  });

  it.each([1, 60])('sign in no other browser, %d seconds after a renewal', async (seconds) => {
    await start();
    const [visitor, other] = [app.visitor(), app.visitor()];
    const tokens = await app.tokens();
    await storeBy(own, visitor, tokens);
    await renew(visitor);
    app.clock.advance(seconds * 1_000);
    expect(verdictOf(await storeBy(own, other, tokens))).toEqual(refused);
    expect(await whoIs(other)).toBeUndefined();
    await expectLasting(visitor);
  });

  it('that are exchanged while onSignIn runs are refused', async () => {
    let meanwhile = async (): Promise<void> => undefined;
    await start(() => meanwhile());
    const visitor = app.visitor();
    const tokens = await app.tokens();
    await storeBy(own, visitor, tokens);
    app.clock.advance(3_000);
    meanwhile = () => renew(visitor);
    const answer = await storeBy(own, app.visitor(), tokens);
    expect([verdictOf(answer), answer.setCookies]).toEqual([refused, []]);
    await expectLasting(visitor);
  });

  it('that are the browser’s own are stored again', async () => {
    await start();
    const visitor = app.visitor();
    const tokens = await app.tokens();
    await storeBy(own, visitor, tokens);
    app.clock.advance(3_000);
    expect((await storeBy(own, visitor, tokens)).status).toBe(200);
    await expectLasting(visitor);
  });
});

describe('beside a cookie of a sibling domain', () => {
  it('that names the session with a later time, tokens are stored', async () => {
    const own: OwnSignIn = { tokens: undefined };
    const app = await closing(startBackend(own));
    const tokens = await app.tokens();
    const [head = '', body = ''] = tokens.access_token.split('.');
    const claims = JSON.parse(Buffer.from(body, 'base64url').toString()) as Record<string, number>;
    const later = Buffer.from(JSON.stringify({ ...claims, iat: Number(claims['iat']) + 60 })).toString('base64url');
    const forged = { ...tokens, access_token: `${head}.${later}.${'a'.repeat(86)}`, refresh_token: 'forged' };
    const visitor = app.visitor();
    visitor.cookies.set(app.cookieName, `base64-${Buffer.from(JSON.stringify(forged)).toString('base64url')}`);
    expect((await storeBy(own, visitor, tokens)).status).toBe(200);
    expect(await whoIs(visitor)).toBe(ada.email);
  });
});

describe('tokens of WorkOS', () => {
  it('that were exchanged for those of another organization in another process are refused', async () => {
    const own: OwnSignIn = { tokens: undefined };
    const provider = await closing(startProvider());
    const coordinator = createShared(provider.clock.now);
    const one = await closing(startB2b(own, { coordinator }, provider));
    const other = await closing(startB2b(own, { coordinator }, provider));
    const user = demoUsers.twoOrganizations;
    const [{ id: north }, { id: south }] = user.organizations;
    const tokens = await provider.workos.issueSession({ user, organizationId: north });
    const visitor = one.visitor();
    await storeBy(own, visitor, tokens);
    expect((await visitor.postJson('/organization', { organizationId: south })).status).toBe(200);
    const answer = await storeBy(own, other.visitor(), tokens);
    expect([verdictOf(answer), answer.json.reason]).toEqual([refused, 'superseded']);
  });

  it('whose refresh token WorkOS gives again are not older', async () => {
    const own: OwnSignIn = { tokens: undefined };
    const app = await closing(startB2b(own));
    const tokens = await app.tokens();
    const visitor = app.visitor();
    await storeBy(own, visitor, tokens);
    app.clock.advance(3_000);
    await renewSession(app.auth, { userId: app.userId });
    app.workos.switches.extraAnswer = { refresh_token: tokens.refreshToken };
    expect(await whoIs(visitor)).toBe(demoUsers.personal.email);
    expect((await storeBy(own, app.visitor(), tokens)).status).toBe(200);
  });

  it('whose refresh token WorkOS refused are refused, with its reason', async () => {
    const own: OwnSignIn = { tokens: undefined };
    const app = await closing(startB2b(own));
    const tokens = await app.tokens();
    const visitor = app.visitor();
    await storeBy(own, visitor, tokens);
    app.clock.advance(3_000);
    await renewSession(app.auth, { userId: app.userId });
    app.workos.switches.authenticateError = { status: 400, body: { error: 'invalid_grant' } };
    expect(await whoIs(visitor)).toBeUndefined();
    const answer = await storeBy(own, app.visitor(), tokens);
    expect([verdictOf(answer), answer.json.reason]).toEqual([refused, 'invalid_grant']);
  });
});
