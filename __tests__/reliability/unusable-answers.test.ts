import { demoUsers, startB2bApp, startProvider } from '../support/b2b-app.ts';
import type { B2bApp, SharedProvider } from '../support/b2b-app.ts';
import type { StandInUser } from '../../stand-ins/workos/index.ts';

let provider: SharedProvider;
let app: B2bApp;
beforeAll(async () => {
  provider = await startProvider();
  app = await startB2bApp({ provider });
});
beforeEach(() => {
  app.events.length = 0;
  app.workos.clearRequests();
});
afterEach(() => {
  app.workos.switches.extraAnswer = {};
});
afterAll(async () => {
  await app.close();
  await provider.close();
});

const expire = (): void => provider.clock.advance(310_000);
const typesOf = (): string[] => app.events.map(({ type }) => type);

describe('an answer of WorkOS with nulls', () => {
  const nulls = { organization_id: null, impersonator: null, authentication_method: null, oauth_tokens: null };

  it('signs in and renews like one that omits them', async () => {
    app.workos.switches.extraAnswer = nulls;
    const visitor = await app.signedIn();
    expire();
    const { status, json } = await visitor.getJson('/auth/session');
    expect([status, json.user.email, json.organizationId]).toEqual([200, demoUsers.personal.email, undefined]);
    expect(typesOf()).toEqual(['signed_in', 'session_refreshed']);
  });

  it('does not end an impersonation', async () => {
    const impersonator = { email: 'staff@example.com', reason: null };
    const user: StandInUser = { ...demoUsers.personal, id: 'user_01IMPERSONATED', impersonator };
    app.workos.users.set(user.id, user);
    const visitor = await app.signedIn(user);
    app.workos.switches.extraAnswer = { impersonator: null };
    expire();
    expect((await visitor.getJson('/auth/session')).status).toBe(200);
  });
});

describe('an unusable answer to a refresh', () => {
  const { email, ...noEmail } = { id: demoUsers.personal.id, email: demoUsers.personal.email };

  it.each([
    ['no user', { user: undefined }],
    ['null for the user', { user: null }],
    ['a user without email', { user: noEmail }],
    ['an impersonator without email', { impersonator: { reason: 'support' } }],
    ['a number for the organization', { organization_id: 7 }],
  ])('with %s keeps the previous data, and its tokens', async (_name, extraAnswer) => {
    const visitor = await app.signedIn();
    app.workos.switches.extraAnswer = extraAnswer;
    for (let time = 1; time <= 2; time += 1) {
      expire();
      const { status, json } = await visitor.getJson('/auth/session');
      expect([time, status, json.user?.email]).toEqual([time, 200, email]);
    }
    expect(app.workos.tokenCalls).toBe(3);
  });

  it('without a refresh token keeps the previous one (RFC 6749 §6)', async () => {
    app.workos.switches.replayGrace = true;
    const visitor = await app.signedIn();
    app.workos.switches.extraAnswer = { refresh_token: undefined };
    expire();
    expect((await visitor.getJson('/auth/session')).status).toBe(200);
    app.workos.switches.replayGrace = false;
  });

  it('without an access token is an error, and the next try uses its refresh token', async () => {
    const visitor = await app.signedIn();
    app.workos.switches.extraAnswer = { access_token: null };
    expire();
    expect((await visitor.getJson('/auth/session')).status).toBe(502);
    app.workos.switches.extraAnswer = {};
    expect((await visitor.getJson('/auth/session')).json.user.email).toBe(email);
    expect(typesOf()).not.toContain('session_ended');
  });

  it('with a token for another user signs no one in, and loses no token', async () => {
    const visitor = await app.signedIn();
    app.workos.switches.extraClaims = { sub: 'user_01SOMEBODYELSE' };
    expire();
    expect((await visitor.getJson('/auth/session')).status).toBe(502);
    app.workos.switches.extraClaims = {};
    provider.clock.advance(60_000);
    expect((await visitor.getJson('/auth/session')).status).toBe(502);
    expire();
    expect((await visitor.getJson('/auth/session')).json.user.email).toBe(email);
  });

  it('without any token loses nothing', async () => {
    app.workos.switches.replayGrace = true;
    const visitor = await app.signedIn();
    app.workos.switches.extraAnswer = { access_token: undefined, refresh_token: undefined };
    expire();
    expect((await visitor.getJson('/auth/session')).status).toBe(502);
    app.workos.switches.extraAnswer = {};
    expect((await visitor.getJson('/auth/session')).status).toBe(200);
    app.workos.switches.replayGrace = false;
  });
});
