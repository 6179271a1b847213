import { randomBytes } from 'node:crypto';
import { b2bAuth, currentSession, requireSession } from '../../lib/b2b/index.ts';
import { demoUsers } from '../../stand-ins/workos/index.ts';
import { startWorkos } from '../support/workos.ts';
import type { WorkosStandIn } from '../../stand-ins/workos/index.ts';
import { fronts, hosts } from '../support/hosts.ts';
import type { Host } from '../support/hosts.ts';
import { serve } from '../support/servers.ts';
import { frontNames, hostNames } from '../support/variant.ts';
import { createVisitor } from '../support/visitor.ts';
import { connectionTo } from '../support/workos-connection.ts';

let workos: WorkosStandIn;
beforeAll(async () => {
  workos = await startWorkos({ clientId: 'client_hosts', apiKey: `sk_test_${randomBytes(8).toString('hex')}` });
});
afterAll(() => workos.close());

function mount(host: Host, prefix: string): void {
  const auth = b2bAuth({
    ...connectionTo(workos),
    cookiePassword: randomBytes(32).toString('base64'),
    protectedRoutes: `${prefix}/dashboard(.*)`,
  });
  if (prefix === '') host.use(auth);
  else host.use(prefix, auth);
  const guard = requireSession();
  host.use((req, res, next) => {
    const path = String(req.originalUrl ?? req.url);
    if (path.startsWith(`${prefix}/dashboard`)) {
      res.end('dashboard');
    } else if (path.startsWith(`${prefix}/api`)) {
      guard(req, res, (error?: unknown) => {
        if (error === undefined) res.end(`hello ${currentSession(req).user.email ?? ''}`);
        else next(error);
      });
    } else res.end('public');
  });
}

const matrix = hostNames.flatMap((host) =>
  frontNames.flatMap((front) => ['', '/app'].map((prefix) => ({ host, front, prefix }))),
);

describe.each(matrix)(
  'b2bAuth on $host with $front in front, mounted at "$prefix/"',
  ({ host: hostName, front, prefix }) => {
    it('signs in, guards, reads the session, signs out', async () => {
      const host = hosts[hostName]();
      for (const handler of fronts[front]()) host.use(handler);
      mount(host, prefix);
      const server = await serve(host.listener);
      workos.redirectUris.push(`${server.origin}${prefix}/callback`);
      workos.logoutReturnTos.push(`${server.origin}/`);
      try {
        const visitor = createVisitor(server.origin);
        expect((await visitor.get(`${prefix}/public`)).text).toBe('public');

        const guarded = await visitor.get(`${prefix}/dashboard/a?b=c`);
        expect(guarded.status).toBe(307);
        expect(guarded.headers.location).toBe(
          `${prefix}/login?returnTo=${encodeURIComponent(`${prefix}/dashboard/a?b=c`)}`,
        );
        const refused = await visitor.getJson(`${prefix}/api/x`);
        expect(refused.status).toBe(401);
        expect(refused.json.error.code).toBe('unauthenticated');

        const start = await visitor.get(guarded.location);
        expect(start.status).toBe(302);
        const callback = await workos.authorize(start.location, { user: demoUsers.personal });
        const done = await visitor.get(callback.href);
        expect(done.status).toBe(303);
        expect(done.headers.location).toBe(`${prefix}/dashboard/a?b=c`);
        expect((await visitor.get(done.location)).text).toBe('dashboard');
        expect((await visitor.getJson(`${prefix}/api/x`)).text).toBe('hello ada@example.com');
        const session = await visitor.get(`${prefix}/auth/session`);
        expect(session.json).toMatchObject({ authenticated: true, user: { email: 'ada@example.com' } });
        expect(session.headers['cache-control']).toBe('private, no-store');

        const out = await visitor.postJson(`${prefix}/logout`);
        expect(out.json.redirectTo).toMatch(/\/user_management\/sessions\/logout\?/);
        expect((await visitor.getJson(`${prefix}/auth/session`)).status).toBe(401);
      } finally {
        await server.close();
      }
    });

    it('answers malformed and mistaken requests with a 4xx', async () => {
      const host = hosts[hostName]();
      for (const handler of fronts[front]()) host.use(handler);
      mount(host, prefix);
      const server = await serve(host.listener);
      try {
        const visitor = createVisitor(server.origin);
        expect((await visitor.ask(`${prefix}/login`, { method: 'DELETE' })).status).toBe(405);
        expect((await visitor.get(`${prefix}/callback?code=x&state=foreign`)).status).toBe(400);
        expect((await visitor.get(`${prefix}/login`, { headers: { host: 'a b' } })).status).toBe(400);
        const crossSite = { headers: { 'sec-fetch-site': 'cross-site' } };
        expect((await visitor.post(`${prefix}/logout`, crossSite)).status).toBe(403);
        expect((await visitor.get(`${prefix}/api/x`, { headers: { cookie: 'b2b-session=rubbish' } })).status).toBe(307);
      } finally {
        await server.close();
      }
    });
  },
);
