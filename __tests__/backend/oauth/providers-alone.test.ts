import { backendAuth } from '../../../lib/backend/index.ts';
import type { BackendAuthOptions } from '../../../lib/backend/index.ts';
import { ada, startBackendApp } from '../../support/backend-app.ts';
import type { BackendApp } from '../../support/backend-app.ts';
import { problemsBy } from '../../support/problems.ts';

const project = { url: 'https://project.supabase.co', anonKey: 'sb_publishable_x' };
const rule = 'signInMethods must name at least one method, or set';

let app: BackendApp | undefined;
const start = async (options: BackendAuthOptions): Promise<BackendApp> =>
  (app = await startBackendApp({ options: { signInMethods: [], ...options } }));
afterEach(async () => {
  await app?.close();
  app = undefined;
});

it('without a method, a provider alone signs in, and nothing takes a password or makes an account with one', async () => {
  const { supabase, ...started } = await start({ providers: ['google'] });
  const visitor = started.visitor();
  const page = await visitor.get('/auth/login?returnTo=%2Faccount');
  expect(page.status).toBe(200);
  expect(page.text).toMatch(/href="[^"]*\/auth\/login\?provider=google&amp;returnTo=[^"]*account"/);
  // Nothing stands below the button that "or" could lead to.
  expect(page.text).not.toMatch(/<form|<input|class="or"|auth\/signup|auth\/forgot/);
  for (const path of ['/auth/forgot', '/auth/password', '/auth/signup', '/auth/resend', '/auth/code']) {
    const answers = [await visitor.get(path), await visitor.postJson(path, { ...ada, email: 'ida@example.com' })];
    expect([path, ...answers.map(({ status }) => status)]).toEqual([path, 404, 404]);
  }
  expect((await visitor.postJson('/auth/login', ada)).status).toBe(405);
  expect((await visitor.get('/auth/session')).status).toBe(401);

  const begun = await visitor.get('/auth/login?provider=google&returnTo=%2Faccount');
  const { href } = await supabase.authorize(begun.location, { approve: true });
  expect(new URL((await visitor.get(href)).location).pathname).toBe('/account');
  expect((await visitor.get('/account')).text).toBe('account');
});

it('without a method, the default provider is a way in, and its page for another account has its button alone', async () => {
  const visitor = (await start({ defaultProvider: 'gitlab' })).visitor();
  expect((await visitor.get('/auth/login')).location).toContain('provider=gitlab');
  const { status, text } = await visitor.get('/auth/login?prompt=login');
  expect(status).toBe(200);
  expect(text).toContain('provider=gitlab');
  expect(text).not.toMatch(/<form|class="or"/);
});

it('without a method, sso is a way in beside a provider or alone', async () => {
  const started = await start({ providers: ['google'], sso: true });
  const { text } = await started.visitor().get('/auth/login');
  // Both are quiet: no main way stands beside them.
  expect(text).not.toContain('class="or"');
  expect(text).toContain('href="/auth/sso"');
  expect(problemsBy(() => backendAuth({ ...project, signInMethods: [], sso: true }))).toEqual([]);
});

it.each<BackendAuthOptions>([{}, { providers: [] }, { sso: false }])(
  'without a method and another way in is a mistake: %j',
  (options) => {
    const problems = problemsBy(() => backendAuth({ ...project, signInMethods: [], ...options }));
    expect(problems).toEqual([expect.stringContaining(rule)]);
  },
);
