import { b2bAuth, backendAuth, getSession } from '../../lib/index.ts';
import { createB2bTestKit, createBackendTestKit } from '../../lib/testing/index.ts';
import { createApplication, publicOrigin } from '../support/application.ts';
import { closeAfterEach } from '../support/close-after-each.ts';
import type { Handler } from '../support/handler-list.ts';
import { sendJson, sendText } from '../support/hosts.ts';
import type { Host } from '../support/hosts.ts';
import { serve } from '../support/servers.ts';
import { createVisitor } from '../support/visitor.ts';
import type { Visitor } from '../support/visitor.ts';

const b2bKit = createB2bTestKit();
const backendKit = createBackendTestKit();
const closing = closeAfterEach();

async function start(build: (host: Host) => unknown): Promise<Visitor> {
  const { host, listener } = createApplication();
  build(host);
  host.onError((error, _req, res) => sendText(res, String(error), 500));
  const server = await closing(serve(listener));
  return createVisitor(publicOrigin(server.origin));
}

describe('getSession', () => {
  const both = {
    b2b: (host: Host) => host.use(b2bAuth({ ...b2bKit.options, sessionPath: '/b2b/session' }) as Handler),
    backend: (host: Host) => host.use(backendAuth(backendKit.options) as Handler),
  };

  it.each([
    ['b2b', 'backend'],
    ['backend', 'b2b'],
  ] as const)(
    'with %s before %s is the session of the one that has it, and the first one’s of two',
    async (...order) => {
      const visitor = await start((host) => {
        for (const name of order) both[name](host);
        host.use((req, res, next) => {
          getSession(req).then((session) => sendJson(res, session?.adapter ?? null), next);
        });
      });
      const cookies = { b2b: await b2bKit.cookie(), backend: await backendKit.cookie() };
      const adapterOf = async (cookie: string): Promise<unknown> =>
        (await visitor.get('/x', { headers: { cookie } })).json;
      expect(await adapterOf(cookies.b2b)).toBe('b2b');
      expect(await adapterOf(cookies.backend)).toBe('backend');
      expect(await adapterOf(`${cookies.b2b}; ${cookies.backend}`)).toBe(order[0]);
      expect(await adapterOf('other=1')).toBeNull();
    },
  );

  it.each(['b2b', 'backend'] as const)(
    'with a session keeps the page out of all caches, and without one out of shared caches, with %s',
    async (name) => {
      const visitor = await start((host) => {
        both[name](host);
        host.use((req, res, next) => {
          res.setHeader('Cache-Control', 'public, max-age=60');
          getSession(req).then(() => sendText(res, 'page'), next);
        });
      });
      const cookie = await (name === 'b2b' ? b2bKit : backendKit).cookie();
      const signedIn = await visitor.get('/x', { headers: { cookie } });
      expect([signedIn.text, signedIn.headers['cache-control']]).toEqual(['page', 'private, no-store']);
      const signedOut = await visitor.get('/x');
      expect([signedOut.text, signedOut.headers['cache-control']]).toEqual(['page', 'private, max-age=60']);
    },
  );
});
