import { backendAuth, currentSession, requireSession } from '../../lib/backend/index.ts';
import { fronts, hosts } from '../support/hosts.ts';
import type { Host } from '../support/hosts.ts';
import { serve } from '../support/servers.ts';
import { startSupabaseStandIn } from '../../stand-ins/supabase/stand-in.ts';
import { frontNames, hostNames } from '../support/variant.ts';
import { createVisitor } from '../support/visitor.ts';

type StandIn = Awaited<ReturnType<typeof startSupabaseStandIn>>;

let supabase: StandIn;
const account = { email: 'ada@example.com', password: 'correct horse battery staple' };

beforeAll(async () => {
  supabase = await startSupabaseStandIn();
  supabase.addUser({ ...account, confirmed: true });
});
afterAll(() => supabase.close());

function mount(host: Host, prefix: string): void {
  const auth = backendAuth({
    url: supabase.url,
    anonKey: supabase.publishableKey,
    protectedRoutes: `${prefix}/account(.*)`,
    providers: ['github'],
  });
  if (prefix === '') host.use(auth);
  else host.use(prefix, auth);
  const guard = requireSession();
  host.use((req, res, next) => {
    const path = String(req.originalUrl ?? req.url);
    if (path.startsWith(`${prefix}/account`)) res.end('account');
    else if (path.startsWith(`${prefix}/api`)) {
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
  'backendAuth on $host with $front in front, mounted at "$prefix/"',
  ({ host: hostName, front, prefix }) => {
    async function start() {
      const host = hosts[hostName]();
      for (const handler of fronts[front]()) host.use(handler);
      mount(host, prefix);
      return serve(host.listener);
    }
    const form = (fields: Record<string, string>) => ({
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams(fields).toString(),
    });

    it('signs in by form and by JSON, guards, starts OAuth, signs out', async () => {
      const server = await start();
      try {
        const visitor = createVisitor(server.origin);
        const guarded = await visitor.get(`${prefix}/account?tab=1`);
        expect([guarded.status, guarded.headers.location]).toEqual([
          307,
          `${prefix}/auth/login?returnTo=${encodeURIComponent(`${prefix}/account?tab=1`)}`,
        ]);
        expect((await visitor.getJson(`${prefix}/api/x`)).status).toBe(401);
        const page = await visitor.get(guarded.location);
        expect(page.text).toContain(`action="${prefix}/auth/login"`);

        const refused = await visitor.post(`${prefix}/auth/login`, form({ ...account, password: 'wrong' }));
        expect(refused.status).toBe(401);
        const done = await visitor.post(
          `${prefix}/auth/login`,
          form({ ...account, returnTo: `${prefix}/account?tab=1` }),
        );
        expect([done.status, done.headers.location]).toEqual([303, `${prefix}/account?tab=1`]);
        expect((await visitor.get(done.location)).text).toBe('account');
        expect((await visitor.getJson(`${prefix}/api/x`)).text).toBe('hello ada@example.com');
        expect((await visitor.get(`${prefix}/auth/session`)).json.user.email).toBe('ada@example.com');

        const out = await visitor.postJson(`${prefix}/auth/logout`, {});
        expect(out.status).toBe(200);
        expect((await visitor.getJson(`${prefix}/auth/session`)).status).toBe(401);

        const json = await visitor.postJson(`${prefix}/auth/login`, account);
        expect(json.json).toEqual({ redirectTo: '/' });
        const oauth = await visitor.get(`${prefix}/auth/login?provider=github`);
        expect(oauth.status).toBe(302);
        expect(new URL(oauth.location).searchParams.get('redirect_to')).toContain(
          `${server.origin}${prefix}/auth/callback`,
        );
      } finally {
        await server.close();
      }
    });

    it('answers malformed and mistaken requests with a 4xx', async () => {
      const server = await start();
      try {
        const visitor = createVisitor(server.origin);
        const login = `${prefix}/auth/login`;
        expect((await visitor.ask(login, { method: 'DELETE' })).status).toBe(405);
        const typed = (type: string, body: string) => visitor.post(login, { headers: { 'content-type': type }, body });
        expect((await typed('text/plain', 'hello')).status).toBe(415);
        if (front !== 'parsers' && front !== 'everything') {
          expect((await typed('application/json', '{"a":')).status).toBe(400);
          expect((await typed('application/json', `"${'x'.repeat(20_000)}"`)).status).toBe(413);
        }
        expect((await visitor.get(`${prefix}/auth/callback?code=x`)).status).toBeLessThan(500);
        const crossSite = { 'sec-fetch-site': 'cross-site' };
        expect((await visitor.post(`${prefix}/auth/logout`, { headers: crossSite })).status).toBe(403);
        const rubbish = { cookie: 'sb-127-auth-token=base64-e30' };
        expect((await visitor.get(`${prefix}/api/x`, { headers: rubbish })).status).toBe(307);
      } finally {
        await server.close();
      }
    });
  },
);
