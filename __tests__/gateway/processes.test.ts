import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { jest } from '@jest/globals';
import { demoUsers } from '../../stand-ins/workos/index.ts';
import { codeBlocks, markdownFiles } from '../support/markdown.ts';
import { startNginx } from '../support/nginx-server.ts';
import type { NginxServer } from '../support/nginx-server.ts';
import { startTwoProcesses } from '../support/two-processes.ts';
import type { TwoProcesses } from '../support/two-processes.ts';
import { createVisitor } from '../support/visitor.ts';
import type { Visitor } from '../support/visitor.ts';

jest.setTimeout(60_000);

const [documented = ''] = markdownFiles()
  .filter(({ path }) => path === 'docs/other-services.md')
  .flatMap(codeBlocks)
  .filter(({ language }) => language === 'nginx')
  .map(({ code }) => code);

describe('two processes of an app, behind nginx, with one Redis', () => {
  let processes: TwoProcesses;
  let neighbor: Server;
  let nginx: NginxServer;

  beforeAll(async () => {
    processes = await startTwoProcesses();
    neighbor = createServer((_req, res) => res.end('wiki'));
    await new Promise<void>((resolve) => neighbor.listen(0, '127.0.0.1', resolve));
    const servers = processes.workers.map(({ origin }) => `server ${new URL(origin).host};`);
    nginx = await startNginx((port) =>
      documented
        .replace('listen 80;', `listen 127.0.0.1:${port};`)
        .replace('server 127.0.0.1:3000;', servers.join(' '))
        .replace('server 127.0.0.1:4000;', `server 127.0.0.1:${(neighbor.address() as AddressInfo).port};`),
    );
    processes.workos.redirectUris.push(`${nginx.origin}/callback`);
  });
  afterAll(async () => {
    await nginx.close();
    neighbor.close();
    neighbor.closeAllConnections();
    await processes.close();
  });

  const expireTokens = (): Promise<void> =>
    processes.advance(processes.workos.switches.accessTokenTtlSeconds * 1000 + 6_000);
  const refreshes = (): number =>
    processes.workos.requests.filter(({ grantType }) => grantType === 'refresh_token').length;

  async function signedIn(tokenBytes: number): Promise<Visitor> {
    const { workos } = processes;
    workos.switches.extraClaims = tokenBytes === 0 ? {} : { permissions: ['x'.repeat(tokenBytes)] };
    const visitor = createVisitor(nginx.origin);
    const { location } = await visitor.get('/login');
    const callback = await workos.authorize(location, { user: demoUsers.personal });
    expect((await visitor.get(callback.href)).status).toBe(303);
    workos.clearRequests();
    return visitor;
  }

  it.each([
    ['one cookie', 0],
    ['several cookies', 2_600],
  ])('lose no one in fifty renewals of a session of %s', async (_what, tokenBytes) => {
    processes.workos.switches.replayGrace = false;
    const visitor = await signedIn(tokenBytes);
    const former = visitor.cookieHeader();
    for (let renewal = 0; renewal < 50; renewal += 1) {
      await expireTokens();
      const answers = await Promise.all([1, 2, 3, 4].map(() => visitor.get('/wiki/')));
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    }
    expect(refreshes()).toBe(50);
    expect(visitor.cookieHeader() === former).toBe(tokenBytes > 0);
    // nginx asks the processes in turn.
    const inTurn = async (path: string): Promise<number[]> => [
      (await visitor.getJson(path)).status,
      (await visitor.getJson(path)).status,
    ];
    expect(await inTurn('/api/me')).toEqual([200, 200]);
    await processes.advance(60_000);
    expect([...(await inTurn('/wiki/')), ...(await inTurn('/api/me'))]).toEqual([200, 200, 200, 200]);
    expect(refreshes()).toBe(50);
    await expireTokens();
    expect((await visitor.getJson('/api/me')).status).toBe(200);
  });

  it('both know the tokens that wait', async () => {
    const visitor = await signedIn(2_600);
    await expireTokens();
    expect((await visitor.get('/wiki/')).status).toBe(200);
    for (const { origin } of processes.workers) {
      const direct = createVisitor(origin);
      for (const [cookie, value] of visitor.cookies) direct.cookies.set(cookie, value);
      expect((await direct.getJson('/api/me')).status).toBe(200);
    }
    expect(refreshes()).toBe(1);
  });
});
