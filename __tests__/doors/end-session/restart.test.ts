import { b2bAuth, endSession, requireSession } from '../../../lib/b2b/index.ts';
import type { B2bAuthOptions } from '../../../lib/b2b/index.ts';
import { createB2bTestKit } from '../../../lib/testing/index.ts';
import { createApplication } from '../../support/application.ts';
import { sendText } from '../../support/hosts.ts';
import { serve } from '../../support/servers.ts';
import type { RunningServer } from '../../support/servers.ts';
import { createShared } from '../../support/shared-memory.ts';
import { createVisitor } from '../../support/visitor.ts';

const kit = createB2bTestKit();
const servers: RunningServer[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

/** The application as it starts, and what it answers to a cookie. */
async function startApp(options: B2bAuthOptions) {
  const { host, listener } = createApplication();
  const auth = b2bAuth({ ...kit.options, ...options });
  host.use(auth);
  host.get('/secret', requireSession({ respond: 'json' }), (_req, res) => sendText(res, 'secret'));
  const server = await serve(listener);
  servers.push(server);
  return {
    auth,
    status: async (cookie: string) =>
      (await createVisitor(server.origin).get('/secret', { headers: { cookie } })).status,
  };
}

it.each([
  ['a restart without a coordinator forgets an ended session', undefined, 200],
  ['a restart with a coordinator knows an ended session', createShared(Date.now), 401],
])('%s', async (_rule, coordinator, after) => {
  const options = coordinator === undefined ? {} : { coordinator };
  const cookie = await kit.cookie({ user: { id: 'user_restarted' } });
  const before = await startApp(options);
  expect(await before.status(cookie)).toBe(200);
  await endSession(before.auth, { userId: 'user_restarted' });
  expect(await before.status(cookie)).toBe(401);
  expect(await (await startApp(options)).status(cookie)).toBe(after);
});
