import { refusals, ssoMessage } from '../../lib/b2b/refusals.ts';
import { errorTable } from '../../lib/error-table.ts';
import { demoUsers, startB2bApp } from '../support/b2b-app.ts';
import type { B2bApp } from '../support/b2b-app.ts';

const { twoOrganizations } = demoUsers;
const [north, south] = twoOrganizations.organizations;

let app: B2bApp;
beforeAll(async () => (app = await startB2bApp()));
afterAll(() => app.close());
beforeEach(() => void (app.workos.switches.authenticateError = null));

const refuse = (status: number, body: object): void => void (app.workos.switches.authenticateError = { status, body });
const everyRefusal = [
  ...[...refusals.keys()].flatMap((code) => [
    [code, 400, { error: code, error_description: 'Refused.' }] as const,
    [code, 403, { code, message: 'Refused.' }] as const,
  ]),
  ['a_code_of_next_year', 422, { code: 'a_code_of_next_year', message: 'Refused.' }] as const,
  ['sso_required', 400, { message: ssoMessage }] as const,
  ['sso_required', 422, { message: ssoMessage }] as const,
  ['organization_not_found', 404, { message: "Organization not found: 'org_01EHQMYV6MBK39QC5PZXHY59C3'." }] as const,
  ['organization_not_found', 404, { code: 'not_found', message: 'Organization not found' }] as const,
  ['no_code', 400, { message: 'Refused.' }] as const,
  ['invalid_grant', 401, { error: 'invalid_grant', error_description: 'Refused.' }] as const,
];

describe.each(everyRefusal)('WorkOS’ refusal %s (%i)', (code, status, body) => {
  it('ends the session at a refresh, once and for good', async () => {
    const visitor = await app.signedIn(twoOrganizations, north.id);
    app.clock.advance(400_000);
    app.workos.clearRequests();
    refuse(status, body);
    const first = await visitor.get('/dashboard');
    expect([first.status, first.headers.location]).toEqual([307, expect.stringMatching(/\/login/)]);
    expect(visitor.cookies.has('b2b-session')).toBe(false);
    // Where the organization is gone, the token is tried once without it.
    const calls = refusals.get(code)?.organization === 'left' ? 2 : 1;
    expect(app.workos.tokenCalls).toBe(calls);
  });

  it('keeps the session at a switch, unless the token is spent', async () => {
    const visitor = await app.signedIn(twoOrganizations, north.id);
    refuse(status, body);
    const answer = await visitor.postJson('/organization', { organizationId: south.id });
    app.workos.switches.authenticateError = null;
    if (code === 'invalid_grant') {
      expect(answer.status).toBe(401);
      return;
    }
    if (refusals.get(code)?.organization === 'sign_in') {
      expect(answer.json.redirectTo).toBe(`/login?organization_id=${south.id}`);
    } else expect(answer.status).toBe(403);
    expect((await visitor.getJson('/auth/session')).json.organizationId).toBe(north.id);
  });

  it('at the callback is shown in words of its own', async () => {
    const visitor = app.visitor();
    const login = await visitor.get('/login');
    const callback = await app.workos.authorize(login.location, { user: demoUsers.personal });
    refuse(status, body);
    const answer = await visitor.getJson(callback.href);
    const expected = refusals.get(code)?.signIn ?? 'sign_in_refused';
    const { status: ownStatus, message } = errorTable[expected];
    expect([answer.status, answer.json.error]).toEqual([ownStatus, { status: ownStatus, code: expected, message }]);
  });
});

it.each([
  [404, { code: 'not_found', message: 'Not found.' }],
  [404, { message: 'Not Found' }],
  [401, { message: 'Unauthorized' }],
  [400, { error: 'unauthorized_client', error_description: 'No.' }],
  [403, { code: 'rate_limit_exceeded', message: 'Slow.' }],
  [400, { error: 'rate_limited' }],
  [400, { error: 'RATE_LIMIT_EXCEEDED' }],
  // API keys that are refused in other words.
  [401, { code: 'invalid_api_key', message: 'Refused.' }],
  [401, { error: 'API key expired' }],
  // Gateways between the application and WorkOS.
  [400, { message: 'Bad Request' }],
  [400, { statusCode: 400, error: 'Bad Request', message: 'Refused.' }],
  [403, { message: 'Forbidden' }],
  [403, { code: 'forbidden' }],
  [403, { code: 'unauthorized' }],
  [403, { message: 'Missing Authentication Token' }],
  [403, { error: 'Access denied by the egress policy' }],
])('keeps the session after %i %j, which is no answer about it', async (status, body) => {
  const visitor = await app.signedIn(twoOrganizations, north.id);
  app.clock.advance(400_000);
  refuse(status, body);
  expect((await visitor.get('/dashboard')).status).toBe(503);
  app.workos.switches.authenticateError = null;
  app.clock.advance(60_000);
  expect((await visitor.get('/dashboard')).status).toBe(200);
});
