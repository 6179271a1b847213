import { backendAuth } from '../../lib/backend/index.ts';
import { createBackendTestKit } from '../../lib/testing/index.ts';
import { hosts, sendText } from '../support/hosts.ts';
import { sendRaw } from '../support/raw-socket.ts';
import { serve } from '../support/servers.ts';
import type { RunningServer } from '../support/servers.ts';
import { hostNames } from '../support/variant.ts';

const folders = ['/admin', '/Admin/Deep', '/t/1/files'];
const patterns = ['/admin/(.*)', '/t/:id/files/(.*)'];
const rests = ['', '/', '/x', '.', '.x', '.x/y', '..', '.%2f', '%2ex', '.;x', '-x', 'x'];

describe.each(hostNames)('protectedRoutes on %s', (hostName) => {
  let server: RunningServer;
  beforeAll(async () => {
    const host = hosts[hostName]();
    host.use(backendAuth({ ...createBackendTestKit().options, protectedRoutes: patterns }) as never);
    for (const folder of folders) host.use(folder, (_req, res) => sendText(res, 'SECRET'));
    host.use((_req, res) => sendText(res, 'public'));
    server = await serve(host.listener);
  });
  afterAll(() => server.close());

  // Connect's `use('/admin')` also takes `/admin.x`.
  it.each(folders.flatMap((folder) => rests.map((rest) => folder + rest)))(
    'no one signed out gets %s where the host reads it as below the folder',
    async (path) => {
      const { body } = await sendRaw(
        server.port,
        `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n`,
      );
      expect(body).not.toContain('SECRET');
    },
  );

  it.each(['/administration', '/admin-x', '/t/1/filesx'])('leaves %s alone', async (path) => {
    const { body } = await sendRaw(server.port, `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n`);
    expect(body).toContain('public');
  });
});

it('Express, which reads /admin.x as another path, leaves it alone', async () => {
  const host = hosts['Express 5']();
  host.use(backendAuth({ ...createBackendTestKit().options, protectedRoutes: patterns }) as never);
  host.use((_req, res) => sendText(res, 'public'));
  const server = await serve(host.listener);
  const { body } = await sendRaw(server.port, 'GET /admin.x HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n');
  expect(body).toContain('public');
  await server.close();
});
