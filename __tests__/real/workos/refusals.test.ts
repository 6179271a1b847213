import { AuthError } from '../../../lib/b2b/index.ts';
import type { RelayFault } from '../support/relay.ts';
import {
  addOrganization,
  addUser,
  authorize,
  clientId,
  describeEmulator,
  expire,
  skewMs,
  startRealB2b,
} from '../support/workos.ts';
import type { RealB2b } from '../support/workos.ts';
import type { Visitor } from '../../support/visitor.ts';

interface Refusal {
  readonly status: number;
  readonly body: object;
  /** How often the emulator answers so; without it, always. */
  readonly count?: number;
}

/** Lets the emulator itself refuse at its token endpoint. Resolves to what removes it. */
async function refuse(url: string, refusal: Refusal): Promise<() => Promise<unknown>> {
  const answer = await fetch(`${url}/_emulate/hooks`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ method: 'POST', path: '/user_management/authenticate', ...refusal }),
  });
  const { id } = (await answer.json()) as { id: string };
  return () => fetch(`${url}/_emulate/hooks/${id}`, { method: 'DELETE' });
}

/** What WorkOS' OpenAPI file says about the token endpoint, and what it was seen to answer. */
const lost: readonly (readonly [string, Refusal])[] = [
  ...[
    'organization_membership_not_found',
    'organization_not_found',
    'authentication_method_not_allowed',
    'organization_authentication_methods_required',
    'mfa_challenge',
    'user_mismatch',
    'application_consent_required',
    'radar_challenge',
    'passkey_progressive_enrollment',
    'token_too_big',
    'a_code_of_tomorrow',
  ].map((code): readonly [string, Refusal] => [code, { status: 403, body: { code, message: 'Refused' } }]),
  ['a 404 for the organization', { status: 404, body: { message: "Organization not found: 'org_01EHQ'." } }],
  ['no code at all', { status: 422, body: { message: 'Must use SSO for selected organization' } }],
  ['invalid_grant', { status: 400, body: { error: 'invalid_grant', error_description: 'Session has ended' } }],
];

const notLost: readonly (readonly [string, Refusal])[] = [
  ['unauthorized_client', { status: 400, body: { error: 'unauthorized_client', error_description: 'No' } }],
  ['unsupported_grant_type', { status: 400, body: { error: 'unsupported_grant_type', error_description: 'No' } }],
  ['a wrong host', { status: 404, body: { code: 'entity_not_found', message: 'Not Found' } }],
  ['a limit', { status: 429, body: { message: 'Rate limit exceeded.' } }],
  ['a refused key', { status: 401, body: { message: 'Unauthorized' } }],
  ['an outage', { status: 500, body: { message: 'Internal' } }],
];

describeEmulator('a refresh that the emulator refuses', (url) => {
  let app: RealB2b;
  let heal: (() => Promise<unknown>) | undefined;
  const refuseWith = async (refusal: Refusal): Promise<void> => {
    heal = await refuse(url, refusal);
  };
  beforeAll(async () => {
    app = await startRealB2b(url, { timeoutMs: 2_000 });
  });
  afterEach(async () => {
    await heal?.();
    heal = undefined;
  });
  afterAll(() => app.close());

  it.each(lost)('with %s ends the session, and the guard leads to sign-in', async (_name, refusal) => {
    const organizationId = await addOrganization(app, 'North');
    const visitor = await app.signedIn(await addUser(app, [organizationId]));
    await expire(visitor);
    await refuseWith(refusal);
    const sent = await visitor.get('/dashboard');
    expect([sent.status, new URL(sent.location || app.origin).pathname]).toEqual([307, '/login']);
    expect((await visitor.getJson('/auth/session')).status).toBe(401);
    expect(visitor.cookies.has('b2b-session')).toBe(false);
  });

  it.each(notLost)('with %s keeps the session until it can be renewed', async (_name, refusal) => {
    const visitor = await app.signedIn(await addUser(app));
    await expire(visitor, skewMs);
    await refuseWith(refusal);
    const waiting = await visitor.getJson('/auth/session');
    expect([502, 503]).toContain(waiting.status);
    expect(visitor.cookies.has('b2b-session')).toBe(true);
    await heal?.();
    heal = undefined;
    await new Promise((resolve) => setTimeout(resolve, 6_000));
    expect((await visitor.getJson('/auth/session')).status).toBe(200);
  });

  it('for the organization only is tried once without the organization', async () => {
    const organizationId = await addOrganization(app, 'North');
    const visitor = await app.signedIn(await addUser(app, [organizationId]));
    await expire(visitor);
    const before = app.relay.refreshes().length;
    await refuseWith({
      status: 403,
      body: { code: 'organization_membership_not_found', message: 'Refused' },
      count: 1,
    });
    expect((await visitor.getJson('/auth/session')).status).toBe(200);
    const tried = app.relay.refreshes().slice(before);
    expect(tried.map(({ body }) => 'organization_id' in body)).toEqual([true, false]);
  });
});

const waits: readonly (readonly [string, () => RelayFault])[] = [
  ['seconds', () => ({ status: 429, headers: { 'retry-after': '4' }, body: '{"message":"Too Many Requests"}' })],
  ['a date', () => ({ status: 429, headers: { 'retry-after': new Date(Date.now() + 4_900).toUTCString() } })],
  ['an outage', () => ({ status: 503, headers: { 'retry-after': '4' } })],
  [
    'a page',
    () => ({ status: 503, headers: { 'retry-after': '4', 'content-type': 'text/html' }, body: '<html>Later</html>' }),
  ],
];

describeEmulator('a Retry-After of WorkOS', (url) => {
  it.each(waits)('(%s) is told to browsers and kept: one call until then', async (_name, fault) => {
    const app = await startRealB2b(url);
    const visitor = await app.signedIn(await addUser(app));
    await expire(visitor, skewMs);
    app.relay.break(/authenticate/, fault());
    for (let count = 0; count < 10; count += 1) {
      const { status, headers } = await visitor.getJson('/auth/session');
      expect(status).toBe(503);
      expect(Number(headers['retry-after'])).toBeGreaterThanOrEqual(1);
      expect(Number(headers['retry-after'])).toBeLessThanOrEqual(5);
      if (count === 0) expect(Number(headers['retry-after'])).toBeGreaterThanOrEqual(3);
    }
    expect(app.relay.brokenCalls()).toBe(1);
    app.relay.heal();
    await new Promise((resolve) => setTimeout(resolve, 5_200));
    expect((await visitor.getJson('/auth/session')).status).toBe(200);
    await app.close();
  });
});

describeEmulator('a sign-out that never reached WorkOS', (url) => {
  it('stands in the way of no new sign-in with the same session id, and keeps old copies out', async () => {
    const app = await startRealB2b(url);
    const user = await addUser(app);
    const visitor = await app.signedIn(user);
    const copy = app.visitor();
    visitor.cookies.forEach((value, name) => copy.cookies.set(name, value));
    const { sessionId } = (await visitor.getJson('/auth/session')).json;
    const { refresh_token: refreshToken } = app.relay.relayed.findLast(({ path }) =>
      path.endsWith('authenticate'),
    )!.answer;
    const callback = async (browser: Visitor): Promise<string> => authorize(await app.start(browser, user.email));
    expect((await visitor.post('/logout')).status).toBe(303);

    // WorkOS still knows the session, so the next sign-in continues it.
    const flow = await callback(visitor);
    const continued = await fetch(`${url}/user_management/authenticate`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ grant_type: 'refresh_token', client_id: clientId, refresh_token: refreshToken }),
    });
    app.relay.break(/authenticate/, { status: 200, body: await continued.text() });
    const done = await visitor.get(flow);
    app.relay.heal();
    expect([done.status, done.location]).toEqual([303, `${app.origin}/`]);
    expect((await visitor.getJson('/auth/session')).json.sessionId).toBe(sessionId);
    expect((await copy.getJson('/auth/session')).status).toBe(401);
    await app.close();
  });
});

describeEmulator('a sign-in that the application refuses', (url) => {
  it('is ended at WorkOS, and the page’s way on lets another account in', async () => {
    const app = await startRealB2b(url, {
      onSignIn: () => {
        throw new AuthError('forbidden');
      },
    });
    const user = await addUser(app);
    const visitor = app.visitor();
    const page = await visitor.get(await app.callback(visitor, user.email, '/login?returnTo=/dashboard'));
    expect([page.status, visitor.cookies.has('b2b-session')]).toEqual([403, false]);
    // In the background: the answer does not wait for it.
    let active = true;
    for (let look = 0; active && look < 50; look += 1) {
      const { data } = await app.sdk.userManagement.listSessions(user.id);
      active = data.some(({ status }) => status === 'active');
    }
    expect(active).toBe(false);
    const [, href = ''] = /href="([^"]*\/login[^"]*)"/.exec(page.text) ?? [];
    const way = new URL(href.replaceAll('&amp;', '&'), app.origin);
    expect([way.searchParams.get('prompt'), way.searchParams.get('returnTo')]).toEqual(['login', '/dashboard']);
    const start = new URL((await visitor.get(way.pathname + way.search)).location);
    expect(start.searchParams.get('prompt')).toBe('login');
    await app.close();
  });
});
