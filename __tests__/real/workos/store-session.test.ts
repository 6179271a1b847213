import { randomUUID } from 'node:crypto';
import type { B2bSignIn } from '../../../lib/b2b/index.ts';
import { ownRoutes } from '../../support/own-sign-in.ts';
import type { OwnSignIn } from '../../support/own-sign-in.ts';
import type { Answer, Visitor } from '../../support/visitor.ts';
import { until } from '../../support/until.ts';
import { addOrganization, addUser, clientId, describeEmulator, expire, startRealB2b } from '../support/workos.ts';
import type { RealB2b } from '../support/workos.ts';

describeEmulator('tokens of WorkOS’ headless API', (url) => {
  const own: OwnSignIn = { tokens: undefined };
  const hooks: B2bSignIn[] = [];
  let app: RealB2b;
  beforeAll(async () => {
    const options = { onSignIn: (signIn: B2bSignIn) => void hooks.push(signIn) };
    app = await startRealB2b(url, options, undefined, ({ host, auth }) => ownRoutes(host, () => auth, own));
  });
  beforeEach(() => {
    hooks.length = 0;
    app.events.length = 0;
    app.relay.relayed.length = 0;
  });
  afterAll(() => app.close());

  const store = (visitor: Visitor, tokens: unknown, returnTo?: string): Promise<Answer> => {
    Object.assign(own, { tokens, returnTo });
    return visitor.postJson('/own');
  };
  const whoIs = async (visitor: Visitor): Promise<unknown> => {
    const { status, json } = await visitor.getJson('/auth/session');
    return status === 200 ? json.user.id : status;
  };

  async function addPerson() {
    const [email, password] = [`${randomUUID()}@example.com`, `long-${randomUUID()}`];
    const user = await app.sdk.userManagement.createUser({ email, password, emailVerified: true });
    const signIn = () => app.sdk.userManagement.authenticateWithPassword({ clientId, email, password });
    return { ...user, signIn };
  }

  it('by password become a session, which is renewed', async () => {
    const { id, email, signIn } = await addPerson();
    const visitor = app.visitor();
    const done = await store(visitor, await signIn(), '/dashboard');
    expect([done.status, done.json]).toEqual([200, { redirectTo: '/dashboard' }]);
    expect(await whoIs(visitor)).toBe(id);
    expect(hooks).toMatchObject([{ session: { user: { id, email } }, authenticationMethod: 'Password' }]);
    await expire(visitor);
    expect(await whoIs(visitor)).toBe(id);
    expect(app.eventTypes()).toEqual(['signed_in', 'session_refreshed']);
  });

  it('by an emailed code become a session', async () => {
    const { id, email } = await addUser(app);
    const { code } = await app.sdk.userManagement.createMagicAuth({ email });
    const visitor = app.visitor();
    await store(visitor, await app.sdk.userManagement.authenticateWithMagicAuth({ clientId, email, code }));
    expect(await whoIs(visitor)).toBe(id);
  });

  it('replace the session of the hosted page, which ends at WorkOS', async () => {
    const one = await addUser(app);
    const { id, signIn } = await addPerson();
    const visitor = await app.signedIn(one);
    await store(visitor, await signIn());
    expect(await whoIs(visitor)).toBe(id);
    await until(() => app.relay.relayed.some(({ path }) => path.endsWith('/sessions/revoke')));
  });

  it('of a widget or another user are refused, and the former session stays', async () => {
    const organizationId = await addOrganization(app, 'Own sign-in');
    const one = await addUser(app, [organizationId]);
    const { signIn } = await addPerson();
    const tokens = await signIn();
    const visitor = await app.signedIn(one);
    const { token } = await app.sdk.widgets.createToken({ userId: one.id, organizationId, scopes: [] });
    for (const bad of [
      { ...tokens, user: { ...tokens.user, id: one.id } },
      { ...tokens, accessToken: token, user: { ...tokens.user, id: one.id } },
      { ...tokens, accessToken: `${tokens.accessToken.slice(0, -6)}AAAAAA` },
    ]) {
      const answer = await store(visitor, bad);
      expect([answer.status, answer.json.code, answer.setCookies]).toEqual([422, 'tokens_refused', []]);
    }
    expect(await whoIs(visitor)).toBe(one.id);
  });

  it('do not bring a session back that was signed out', async () => {
    const { signIn } = await addPerson();
    const tokens = await signIn();
    const visitor = app.visitor();
    await store(visitor, tokens);
    await visitor.post('/logout', { headers: { accept: 'application/json' } });
    expect((await store(visitor, tokens)).status).toBe(422);
    expect(await whoIs(visitor)).toBe(401);
  });
});
