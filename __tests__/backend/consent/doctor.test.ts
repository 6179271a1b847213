import { startSupabaseStandIn } from '../../../stand-ins/supabase/stand-in.ts';
import { examine, lines } from '../../support/doctor.ts';
import { serve } from '../../support/servers.ts';

it('a project may issue tokens for its users to other applications', async () => {
  const server = await serve((_req, res) => {
    const body = { external: { email: true }, keys: [], token_endpoint: 'https://x.test/token' };
    res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  const env = { BAAS_URL: server.origin, BAAS_PUBLISHABLE_KEY: `sb_publishable_${'k'.repeat(20)}` };
  const report = await examine(env);
  await server.close();
  expect(lines(report, 'backend.oauth_server')).toEqual([expect.stringMatching(/^note: .* OAuth server/)]);
  expect(lines(report, 'backend.oauth_consent')).toEqual([expect.stringMatching(/^note: .*\/oauth\/consent$/)]);
  expect(lines(report, 'backend.oauth_registration')).toEqual([]);
});

it('its server may let any application register, and is told apart from one that is off', async () => {
  const examineStandIn = async (oauthServer: boolean) => {
    const supabase = await startSupabaseStandIn({ oauthServer });
    const report = await examine({ BAAS_URL: supabase.url, BAAS_PUBLISHABLE_KEY: supabase.publishableKey });
    await supabase.close();
    return ['server', 'consent', 'registration'].map((name) => lines(report, `backend.oauth_${name}`).length);
  };
  expect(await examineStandIn(true)).toEqual([1, 1, 1]);
  expect(await examineStandIn(false)).toEqual([0, 0, 0]);
});
