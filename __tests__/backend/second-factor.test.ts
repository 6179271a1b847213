import { requireSession } from '../../lib/backend/index.ts';
import { startBackendApp } from '../support/backend-app.ts';
import type { BackendApp } from '../support/backend-app.ts';
import { sendText } from '../support/hosts.ts';

let app: BackendApp;
beforeAll(async () => {
  app = await startBackendApp({
    after: (host) => {
      host.get('/vault', requireSession({ aal: 'aal2' }), (_req, res) => sendText(res, 'vault'));
      host.get('/staff', requireSession({ aal: 'aal2', check: () => false }), (_req, res) => sendText(res, 'staff'));
    },
  });
});
afterAll(() => app.close());

describe('a guard that asks for a second factor', () => {
  it('tells a client so with a code of its own', async () => {
    const visitor = await app.signedIn();
    const answer = await visitor.getJson('/vault');
    expect([answer.status, answer.json.error.code]).toEqual([403, 'second_factor_required']);
    const page = await visitor.get('/vault');
    expect([page.status, page.text.includes('second factor')]).toEqual([403, true]);
  });

  it('lets a session with one pass, and keeps "forbidden" for what a second factor does not mend', async () => {
    const visitor = await app.signedIn({ claims: { aal: 'aal2' } });
    expect((await visitor.get('/vault')).text).toBe('vault');
    expect((await visitor.getJson('/staff')).json.error.code).toBe('forbidden');
  });
});
