import { sealData } from 'iron-session';
import { AuthError, authenticateUpgrade, getSession, requireSession } from '../../../lib/b2b/index.ts';
import { sendJson } from '../../support/hosts.ts';
import type { Answer } from '../../support/visitor.ts';
import { addOrganization, addUser, apiKey, clientId, describeEmulator, startRealB2b } from '../support/workos.ts';
import type { RealB2b } from '../support/workos.ts';

const kinds = ['a session', 'a widget', 'a device of another application', 'a machine'] as const;
const ways = ['cookie', 'bearer', 'upgrade by cookie', 'upgrade by bearer'] as const;
type Kind = (typeof kinds)[number];
type Way = (typeof ways)[number];

const cases = kinds.flatMap((kind) => ways.map((way) => [kind, way] as const));

describeEmulator('an access token of WorkOS', (url) => {
  let app: RealB2b;
  let organizationId = '';
  let userId = '';
  beforeAll(async () => {
    app = await startRealB2b(url, undefined, undefined, ({ host, auth }) => {
      const credentials = ['cookie', 'bearer'] as const;
      host.all('/api/both', requireSession({ adapter: 'b2b', credentials }), (req, res, next) => {
        getSession(req).then((session) => sendJson(res, session), next);
      });
      host.get('/socket', (req, res) => {
        authenticateUpgrade(auth, req, { credentials }).then(
          ({ session }) => sendJson(res, session),
          (error: unknown) => sendJson(res, {}, error instanceof AuthError ? error.status : 500),
        );
      });
    });
    organizationId = await addOrganization(app, 'North');
    ({ id: userId } = await addUser(app, [organizationId]));
  });
  afterAll(() => app.close());

  async function post(path: string, body: object, headers: Readonly<Record<string, string>> = {}): Promise<any> {
    const answer = await fetch(url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${apiKey}`, ...headers },
      body: JSON.stringify(body),
    });
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
    return answer.json();
  }

  /** Tokens that the emulator signs with the key of its sessions, as production does. */
  const mint: Readonly<Record<Kind, () => Promise<string>>> = {
    async 'a session'() {
      const user = await app.sdk.userManagement.getUser(userId);
      return (await (await app.signedIn(user)).getJson('/api/me')).json.accessToken;
    },
    'a widget': async () =>
      (await post('/widgets/token', { organization_id: organizationId, user_id: userId, scopes: [] })).token,
    async 'a device of another application'() {
      const other = { client_id: 'client_01HOTHERAPPLICATION' };
      const { device_code: code } = await post('/user_management/authorize/device', other);
      const grant = { ...other, grant_type: 'urn:ietf:params:oauth:grant-type:device_code', device_code: code };
      return (await post('/user_management/authenticate', grant)).access_token;
    },
    async 'a machine'() {
      const application = await post('/connect/applications', {
        name: 'Nightly job',
        application_type: 'm2m',
        organization_id: organizationId,
        audience: clientId,
      });
      const { value } = await post(`/connect/applications/${application.id}/client_secrets`, {});
      const grant = { grant_type: 'client_credentials', client_id: application.client_id, client_secret: value };
      return (await post('/oauth2/token', grant)).access_token;
    },
  };

  async function present(token: string, way: Way): Promise<Answer> {
    const visitor = app.visitor();
    const path = way.startsWith('upgrade') ? '/socket' : '/api/both';
    if (way.endsWith('bearer')) return visitor.get(path, { headers: { authorization: `Bearer ${token}` } });
    const user = await app.sdk.userManagement.getUser(userId);
    const session = { accessToken: token, refreshToken: 'unknown', user };
    visitor.cookies.set('b2b-session', await sealData(session, { password: app.cookiePassword, ttl: 0 }));
    return visitor.get(path, { headers: { origin: app.origin, accept: 'application/json' } });
  }

  it.each(cases)('for %s, as %s: only a session is one', async (kind, way) => {
    const answer = await present(await mint[kind](), way);
    expect(answer.status).toBe(kind === 'a session' ? 200 : 401);
    if (kind === 'a session') expect(answer.json.user.id).toBe(userId);
  });
});
