import { demoUsers, startB2bApp } from '../support/b2b-app.ts';
import type { B2bApp } from '../support/b2b-app.ts';
import type { StandInUser } from '../../stand-ins/workos/index.ts';

const { personal, twoOrganizations } = demoUsers;
const [north, south] = twoOrganizations.organizations;

let app: B2bApp;
beforeAll(async () => (app = await startB2bApp()));
afterAll(() => app.close());
beforeEach(() => void (app.workos.switches.authenticateError = null));

const refuse = (code: string, body: object = {}): void => {
  app.workos.switches.authenticateError = { status: 403, body: { error: code, error_description: 'No.', ...body } };
};
const begin = async (path: string, user: StandInUser = personal, organizationId?: string) => {
  const visitor = app.visitor();
  const login = await visitor.get(path);
  const choice = organizationId === undefined ? { user } : { user, organizationId };
  return { visitor, callback: await app.workos.authorize(login.location, choice) };
};
const target = (location: URL | string): URLSearchParams => new URL(location).searchParams;

describe('a code that WorkOS refuses with sso_required', () => {
  it('starts the sign-in again once, with the organization that it was for and its returnTo', async () => {
    const path = `/login?organization_id=${north.id}&returnTo=/dashboard`;
    const { visitor, callback } = await begin(path, twoOrganizations, north.id);
    refuse('sso_required', { connection_ids: ['conn_1'] });
    const again = await visitor.get(callback.href);
    expect(again.status).toBe(303);
    expect(target(again.location).get('organization_id')).toBe(north.id);
    expect(target(again.location).has('connection_id')).toBe(false);

    const second = await app.workos.authorize(again.location, { user: twoOrganizations, organizationId: north.id });
    const refused = await visitor.getJson(second.href);
    expect([refused.status, refused.json.error.code]).toEqual([403, 'sign_in_incomplete']);

    app.workos.switches.authenticateError = null;
    const next = await begin(path, twoOrganizations, north.id);
    refuse('sso_required');
    const restarted = await next.visitor.get(next.callback.href);
    app.workos.switches.authenticateError = null;
    const choice = { user: twoOrganizations, organizationId: north.id };
    const done = await next.visitor.get((await app.workos.authorize(restarted.location, choice)).href);
    expect([done.status, done.headers.location]).toEqual([303, '/dashboard']);
  });

  it.each([{ connection_ids: ['conn_1', 'conn_2'] }, { connection_id: 'conn_1' }])(
    'without an organization goes to the connection of %j',
    async (body) => {
      const { visitor, callback } = await begin('/login');
      refuse('sso_required', body);
      const again = await visitor.get(callback.href);
      expect(again.status).toBe(303);
      const parameters = target(again.location);
      expect([parameters.get('connection_id'), parameters.has('provider')]).toEqual(['conn_1', false]);
      const second = await visitor.getJson((await app.workos.authorize(again.location, { user: personal })).href);
      expect([second.status, second.json.error.code]).toEqual([403, 'sign_in_incomplete']);
    },
  );

  it('names the required connection only, also where authorizationParams names another one', async () => {
    const own = await startB2bApp({ options: { authorizationParams: { connection_id: 'conn_own' } } });
    const visitor = own.visitor();
    const login = await visitor.get('/login');
    const callback = await own.workos.authorize(login.location, { user: personal });
    const body = { code: 'sso_required', message: 'Refused.', connection_ids: ['conn_1'] };
    own.workos.switches.authenticateError = { status: 403, body };
    const again = await visitor.get(callback.href);
    expect(target(again.location).getAll('connection_id')).toEqual(['conn_1']);
    await own.close();
  });

  it.each([{}, { connection_ids: ['https://evil.example'] }, { connection_id: 7 }, { connection_ids: 'conn_1' }])(
    'is refused where %j names no connection',
    async (body) => {
      const { visitor, callback } = await begin('/login');
      refuse('sso_required', body);
      expect((await visitor.getJson(callback.href)).json.error.code).toBe('sign_in_incomplete');
    },
  );
});

describe('a session that a refresh ends', () => {
  it.each(['sso_required', 'mfa_enrollment', 'mfa_challenge', 'authentication_method_not_allowed'])(
    'with %s leads to a sign-in that names its organization',
    async (code) => {
      const visitor = await app.signedIn(twoOrganizations, south.id);
      const other = await app.signedIn(twoOrganizations, south.id);
      app.clock.advance(400_000);
      refuse(code);
      const page = await visitor.get('/dashboard');
      expect([page.status, page.headers.location]).toEqual([
        307,
        `/login?organization_id=${south.id}&returnTo=%2Fdashboard`,
      ]);
      const api = await other.getJson('/api/me');
      expect(api.status).toBe(401);
      expect(api.json.redirectTo).toContain(`/login?organization_id=${south.id}`);
      // The cookie is gone, and with it the reason.
      expect((await visitor.get('/dashboard')).headers.location).toBe('/login?returnTo=%2Fdashboard');
    },
  );

  it.each(['invalid_grant', 'organization_membership_not_found', 'access_denied'])(
    'with %s leads to a sign-in of any kind',
    async (code) => {
      const visitor = await app.signedIn(twoOrganizations, south.id);
      app.clock.advance(400_000);
      refuse(code);
      expect((await visitor.get('/dashboard')).headers.location).toBe('/login?returnTo=%2Fdashboard');
    },
  );
});
