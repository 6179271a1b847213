import { endSession } from '../../lib/b2b/index.ts';
import { startB2bApp } from '../support/b2b-app.ts';
import type { B2bApp } from '../support/b2b-app.ts';
import { closeAfterEach } from '../support/close-after-each.ts';

const closed = closeAfterEach();
const start = (): Promise<B2bApp> => closed(startB2bApp({ options: { timeoutMs: 1_000 } }));
const revocations = (app: B2bApp): unknown[] =>
  app.workos.requests.filter(({ endpoint }) => endpoint === 'revoke').map(({ body }) => body);
const failures = (app: B2bApp): unknown[] => app.events.filter(({ type }) => type === 'revocation_failed');

it('endSession of one session also ends it at WorkOS', async () => {
  const app = await start();
  const visitor = await app.signedIn();
  const { sessionId } = (await visitor.getJson('/auth/session')).json;
  await endSession(app.auth, { sessionId });
  expect([revocations(app), failures(app)]).toEqual([[{ session_id: sessionId }], []]);
  expect((await visitor.getJson('/auth/session')).status).toBe(401);
});

it('endSession of a user asks WorkOS nothing', async () => {
  const app = await start();
  const visitor = await app.signedIn();
  const { user } = (await visitor.getJson('/auth/session')).json;
  await endSession(app.auth, { userId: user.id });
  expect([revocations(app), failures(app)]).toEqual([[], []]);
});

it('endSession of a session that WorkOS does not know is no failure', async () => {
  const app = await start();
  await endSession(app.auth, { sessionId: 'session_unknown' });
  expect([revocations(app), failures(app)]).toEqual([[{ session_id: 'session_unknown' }], []]);
});

it.each(['hang', 'refuse', { status: 500 }] as const)(
  'endSession resolves, and says once that WorkOS failed: %j',
  async (fault) => {
    const app = await start();
    const visitor = await app.signedIn();
    const { sessionId } = (await visitor.getJson('/auth/session')).json;
    app.workos.switches.outage = { revoke: fault };
    await endSession(app.auth, { sessionId });
    expect(failures(app)).toMatchObject([{ code: 'provider_unavailable', sessionId }]);
    expect((await visitor.getJson('/auth/session')).status).toBe(401);
  },
);
