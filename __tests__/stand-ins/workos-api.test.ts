import { WorkOS } from '@workos-inc/node';
import { demoUsers } from '../../stand-ins/workos/index.ts';
import type { WorkosStandIn } from '../../stand-ins/workos/index.ts';
import { startWorkos } from '../support/workos.ts';

const clientId = 'client_example';
const redirectUri = 'http://localhost:3999/callback';
const [instruments] = demoUsers.oneOrganization.organizations;
let workos: WorkosStandIn;
let sdk: WorkOS;
let management: WorkOS['userManagement'];

const sdkWith = (key: string) =>
  new WorkOS(key, { clientId, apiHostname: workos.hostname, port: workos.port, https: false, maxRetries: 0 });

beforeEach(async () => {
  workos = await startWorkos({ clientId, apiKey: 'sk_test_1', redirectUris: [redirectUri] });
  sdk = sdkWith('sk_test_1');
  management = sdk.userManagement;
});
afterEach(() => workos.close());

async function signIn(user: { id: string }, parameters: Record<string, string> = {}): Promise<URL> {
  const asked = { provider: 'authkit', clientId, redirectUri, state: 's' } as const;
  const url = new URL(management.getAuthorizationUrl(asked));
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  return workos.authorize(url, { user });
}

it('creates, finds, changes and deletes users', async () => {
  const created = await management.createUser({
    email: 'mary@example.com',
    firstName: 'Mary',
    emailVerified: true,
    externalId: '7',
  });
  expect(created).toMatchObject({ firstName: 'Mary', lastName: null, emailVerified: true });
  expect(await management.getUserByExternalId('7')).toMatchObject({ id: created.id });
  await management.updateUser({ userId: created.id, lastName: 'Jackson', metadata: { plan: 'free' } });
  expect(await management.getUser(created.id)).toMatchObject({ lastName: 'Jackson', metadata: { plan: 'free' } });
  const { data } = await management.listUsers({ email: 'MARY@example.com' });
  expect(data.map(({ id }) => id)).toEqual([created.id]);
  await expect(management.createUser({ email: 'Mary@Example.com' })).rejects.toMatchObject({ status: 409 });
  await management.deleteUser(created.id);
  await expect(management.getUser(created.id)).rejects.toMatchObject({ status: 404 });
});

it('lists and changes memberships, and the next token has the new role', async () => {
  const { id: userId } = demoUsers.personal;
  const created = await management.createOrganizationMembership({ userId, organizationId: instruments.id });
  expect(created).toMatchObject({ organizationName: instruments.name, role: { slug: 'member' }, status: 'active' });
  await management.updateOrganizationMembership(created.id, { roleSlug: 'admin' });
  const listed = await management.listOrganizationMemberships({ userId, statuses: ['active'] });
  expect(listed.data.map(({ organizationId, role }) => [organizationId, role.slug])).toEqual([
    [instruments.id, 'admin'],
  ]);
  const { data } = await management.listOrganizationMemberships({ organizationId: instruments.id });
  expect(data).toHaveLength(4);
  const callback = await signIn(demoUsers.personal);
  const { accessToken } = await management.authenticateWithCode({ code: callback.searchParams.get('code')! });
  const [, payload = ''] = accessToken.split('.');
  expect(JSON.parse(Buffer.from(payload, 'base64url').toString())).toMatchObject({ role: 'admin' });
  await management.deleteOrganizationMembership(created.id);
  expect((await management.listOrganizationMemberships({ userId })).data).toEqual([]);
});

it('creates organizations and lists them with those of its users', async () => {
  const created = await sdk.organizations.createOrganization({ name: 'Globex', externalId: 'g' });
  expect(await sdk.organizations.getOrganization(created.id)).toMatchObject({ name: 'Globex' });
  expect(await sdk.organizations.getOrganizationByExternalId('g')).toMatchObject({ id: created.id });
  const { data } = await sdk.organizations.listOrganizations();
  expect(data.map(({ name }) => name).sort()).toEqual(['Analytical Instruments', 'Globex', 'Lighthouse Cooperative']);
});

it('makes who accepts an invitation a member with its role, once, and no one else', async () => {
  const { email } = demoUsers.personal;
  const { id: organizationId } = await sdk.organizations.createOrganization({ name: 'Globex' });
  const invitation = await management.sendInvitation({ email, organizationId, roleSlug: 'admin' });
  expect(invitation).toMatchObject({ state: 'pending', email });
  const link = new URL(invitation.acceptInvitationUrl);
  expect(link.href.split('?')[0]).toBe('http://localhost:3999/login');
  const token = { invitation_token: link.searchParams.get('invitation_token')! };

  const url = new URL(management.getAuthorizationUrl({ provider: 'authkit', clientId, redirectUri }));
  url.searchParams.set('invitation_token', token.invitation_token);
  const page = await (await fetch(url)).text();
  expect(page).toContain('to <strong>Globex</strong>');
  expect(page).not.toContain(demoUsers.oneOrganization.email);

  expect((await signIn(demoUsers.oneOrganization, token)).searchParams.get('error')).toBe('access_denied');
  const callback = await signIn(demoUsers.personal, token);
  const session = await management.authenticateWithCode({ code: callback.searchParams.get('code')! });
  expect(session.organizationId).toBe(organizationId);
  expect(await management.findInvitationByToken(token.invitation_token)).toMatchObject({
    state: 'accepted',
    acceptedUserId: demoUsers.personal.id,
  });
  expect((await signIn(demoUsers.twoOrganizations, token)).searchParams.get('error')).toBe('access_denied');
  await expect(management.revokeInvitation(invitation.id)).rejects.toMatchObject({ status: 400 });
  expect((await management.listInvitations({ organizationId })).data).toHaveLength(1);
});

it('refuses a call with another key', async () => {
  await expect(sdkWith('sk_test_2').userManagement.listUsers()).rejects.toMatchObject({ status: 401 });
});

it.each(['GitHubOAuth', 'SalesforceOAuth'])('has a page of the OAuth provider %s', async (provider) => {
  const url = management.getAuthorizationUrl({ provider, clientId, redirectUri });
  expect(await (await fetch(url)).text()).toContain(`Sign in with ${provider.replace('OAuth', '')}`);
  const callback = await workos.authorize(url, { user: demoUsers.personal });
  const session = await management.authenticateWithCode({ code: callback.searchParams.get('code')! });
  expect(session.authenticationMethod).toBe(provider);
});

describe('an address that is not registered', () => {
  const told: string[] = [];
  let open: WorkosStandIn;
  beforeAll(async () => {
    const tell = (address: string) => void told.push(address);
    open = await startWorkos({ clientId, apiKey: 'sk_test_1', onRedirectUri: tell, onLogoutReturnTo: tell });
  });
  afterAll(() => open.close());
  beforeEach(() => (told.length = 0));

  const authorizeAt = (uri: string) => {
    const query = new URLSearchParams({
      client_id: clientId,
      redirect_uri: uri,
      response_type: 'code',
      provider: 'authkit',
    });
    return fetch(`${open.url}/user_management/authorize?${query.toString()}`);
  };

  it.each(['http://localhost:5173/v1/auth/callback', 'http://acme.localhost:3001/cb', 'http://[::1]:3000/callback'])(
    '%s is accepted because it leads to this machine, and told once',
    async (uri) => {
      expect([(await authorizeAt(uri)).status, (await authorizeAt(uri)).status]).toEqual([200, 200]);
      expect(told).toEqual([uri]);
    },
  );

  it.each(['https://app.example.com/callback', 'http://localhost.example.com/callback', 'http://127.0.0.1.nip.io/'])(
    '%s is refused, as WorkOS refuses it',
    async (uri) => {
      const answer = await authorizeAt(uri);
      expect([answer.status, await answer.text()]).toEqual([400, expect.stringContaining('not registered')]);
      expect(told).toEqual([]);
    },
  );

  it('is accepted after sign-out, too', async () => {
    const logoutTo = (to: string) =>
      fetch(`${open.url}/user_management/sessions/logout?session_id=s&return_to=${encodeURIComponent(to)}`, {
        redirect: 'manual',
      });
    expect((await logoutTo('http://localhost:3001/bye')).headers.get('location')).toBe('http://localhost:3001/bye');
    expect((await logoutTo('https://app.example.com/')).status).toBe(400);
    expect(told).toEqual(['http://localhost:3001/bye']);
  });
});
