import { ada, postForm, startBackendApp } from '../support/backend-app.ts';
import type { BackendApp, BackendAppSetup } from '../support/backend-app.ts';
import { sendText } from '../support/hosts.ts';
import { itAtRoot } from '../support/only.ts';

let app: BackendApp;
const start = async (setup?: BackendAppSetup): Promise<BackendApp> => (app = await startBackendApp(setup));
afterEach(() => app.close());

describe('the pages', () => {
  itAtRoot('redirect to the application’s own pages if it has some, with returnTo', async () => {
    await start({ options: { pages: { signIn: '/sign-in?from=auth', signUp: '/join' } } });
    const visitor = app.visitor();
    const signIn = await visitor.get('/auth/login?returnTo=/account');
    expect([signIn.status, signIn.headers.location]).toEqual([302, '/sign-in?from=auth&returnTo=%2Faccount']);
    const signUp = await visitor.get('/auth/signup');
    expect([signUp.status, signUp.headers.location]).toEqual([302, '/join']);
    const guarded = await visitor.get('/account?x=1');
    expect([guarded.status, guarded.headers.location]).toEqual([307, '/sign-in?from=auth&returnTo=%2Faccount%3Fx%3D1']);
    const failed = await postForm(visitor, '/auth/login', { ...ada, password: 'wrong', returnTo: '/account' });
    expect([failed.status, failed.headers.location]).toEqual([
      303,
      '/sign-in?from=auth&error=invalid_credentials&returnTo=%2Faccount',
    ]);
  });

  itAtRoot(
    'of the application’s own stay public under a pattern that covers everything, in their exact spelling only',
    async () => {
      const pages = { signIn: '/sign-in?from=auth', signUp: '/join' };
      const after: BackendAppSetup['after'] = (host) => host.use((req, res) => sendText(res, `page ${req.url}`));
      await start({ options: { protectedRoutes: '/(.*)', pages }, after });
      const visitor = app.visitor();
      for (const path of ['/sign-in?from=auth&returnTo=%2Faccount', '/join']) {
        expect(await visitor.get(path)).toMatchObject({ status: 200, text: expect.stringMatching(/^page /) });
      }
      for (const path of ['/', '/sign-in/more', '/sign-in%2f', '/SIGN-IN', '/join;x', '/join//']) {
        expect({ path, status: (await visitor.get(path)).status }).toEqual({ path, status: 307 });
      }
    },
  );

  itAtRoot('carry a button for each provider, below the mount path, and never a key', async () => {
    const providers = ['github', { name: 'custom:acme', label: 'ACME <3' }];
    await start({ prefix: '/app', options: { providers } });
    for (const path of ['/app/auth/login', '/app/auth/signup']) {
      const { text } = await app.visitor().get(`${path}?returnTo=/account`);
      expect(text).toContain('href="/app/auth/login?provider=github&amp;returnTo=%2Faccount"');
      expect(text).toContain('Continue with GitHub');
      expect(text).toContain('Continue with ACME &lt;3');
      expect(text).not.toContain(app.supabase.publishableKey);
    }
    const posted = await postForm(app.visitor(), '/app/auth/login', { ...ada, returnTo: '/app/account' });
    expect([posted.status, posted.headers.location]).toEqual([303, '/app/account']);
  });

  it('answer unsupported methods with 405', async () => {
    await start();
    const answer = await app.visitor().ask('/auth/login', { method: 'DELETE' });
    expect([answer.status, answer.headers.allow]).toEqual([405, 'GET, HEAD, POST, OPTIONS']);
  });
});
