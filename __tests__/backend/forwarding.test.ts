import { getSupabaseClient, requireSession } from '../../lib/backend/index.ts';
import { ada, startBackendApp } from '../support/backend-app.ts';
import type { BackendApp } from '../support/backend-app.ts';
import { sendJson } from '../support/hosts.ts';

let app: BackendApp;
afterEach(() => app.close());

const calls = () => app.supabase.requests.filter(({ endpoint }) => endpoint !== 'jwks');
const addressesTold = (): unknown[] => calls().map(({ headers }) => headers['x-forwarded-for']);

async function signInAndRenew(forwardClientAddress?: boolean): Promise<void> {
  app = await startBackendApp({
    options: {
      clientAddress: () => '203.0.113.7',
      ...(forwardClientAddress === undefined ? {} : { forwardClientAddress }),
    },
  });
  const visitor = app.visitor();
  await visitor.postJson('/auth/login', ada);
  app.clock.advance(61 * 60_000);
  expect((await visitor.getJson('/notes')).status).toBe(200);
  expect(calls().map(({ endpoint }) => endpoint)).toEqual(['password', 'refresh', 'rest']);
}

it('sends the visitor’s address to Supabase with forwardClientAddress, for every call that counts it', async () => {
  await signInAndRenew(true);
  expect(addressesTold()).toEqual(['203.0.113.7', '203.0.113.7', '203.0.113.7']);
});

it('sends no address to Supabase by default', async () => {
  await signInAndRenew();
  expect(addressesTold()).toEqual([undefined, undefined, undefined]);
});

it('sends it beside a bearer token, too', async () => {
  app = await startBackendApp({
    options: { clientAddress: () => '203.0.113.7', forwardClientAddress: true },
    after: (host) =>
      host.get('/mine', requireSession({ credentials: ['bearer'] }), (req, res, next) => {
        getSupabaseClient(req)
          .then((client) => client.from('notes').select())
          .then(({ error }) => sendJson(res, { error }), next);
      }),
  });
  const { access_token: token } = await app.supabase.issueSession(ada.email);
  const answer = await app.visitor().get('/mine', { headers: { authorization: `Bearer ${token}` } });
  expect([answer.json, addressesTold()]).toEqual([{ error: null }, ['203.0.113.7']]);
});
