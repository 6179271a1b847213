import { protectResource } from '../../lib/backend/index.ts';
import { ada, startBackendApp } from '../support/backend-app.ts';
import { closeAfterEach } from '../support/close-after-each.ts';
import { startResourceApp } from '../support/resource-app.ts';
import { problemsBy } from '../support/problems.ts';

const closing = closeAfterEach();

describe('GET /auth/session', () => {
  it('says who is signed in, and never a token', async () => {
    const started = await closing(startBackendApp());
    const { status, json } = await (await started.signedIn()).getJson('/auth/session');
    expect([status, json]).toEqual([
      200,
      { authenticated: true, user: expect.objectContaining({ email: ada.email, role: 'authenticated' }) },
    ]);
  });

  it('is JSON for a browser, too', async () => {
    const started = await closing(startBackendApp());
    const answer = await started.visitor().get('/auth/session', { headers: { accept: 'text/html' } });
    expect([answer.status, answer.json.error.code]).toEqual([401, 'unauthenticated']);
  });
});

describe('the project as an authorization server of a resource', () => {
  it('is named in its metadata, and its users are those of the tokens', async () => {
    const started = await closing(startResourceApp());
    const kit = started.kits.backend;
    const metadata = await started.visitor().getJson('/.well-known/oauth-protected-resource/tools/mcp');
    expect(metadata.json.authorization_servers).toEqual([`${kit.options.url}/auth/v1`]);
    const answer = await started.call(
      'backend',
      await kit.bearer({ user: { email: ada.email } }, { client: 'a-client' }),
    );
    const { user, info } = answer.json;
    expect([answer.status, info.clientId, info.extra]).toEqual([200, 'a-client', { userId: user.id }]);
    expect((await started.call('backend', await kit.bearer({ user: { email: ada.email } }))).status).toBe(401);
  });

  it('takes sessions of the application itself where the resource says so', async () => {
    const started = await closing(startResourceApp({ resources: { backend: { firstParty: true } } }));
    const answer = await started.call('backend', await started.kits.backend.bearer({ user: { email: ada.email } }));
    expect([answer.status, answer.json.user.email]).toEqual([200, ada.email]);
    const missing = problemsBy(() => protectResource(started.auths.backend, { path: '/mcp' }));
    expect(missing).toEqual([expect.stringContaining('clients is missing')]);
  });

  it('needs no fixed audience in production, as it binds no token to a resource', async () => {
    const started = await closing(startResourceApp());
    const environment = process.env['NODE_ENV'];
    process.env['NODE_ENV'] = 'production';
    try {
      const options = { path: '/other', clients: 'any' } as const;
      expect(problemsBy(() => protectResource(started.auths.backend, options))).toEqual([]);
    } finally {
      process.env['NODE_ENV'] = environment;
    }
  });
});
