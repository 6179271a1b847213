import { startSupabaseStandIn } from '../../../stand-ins/supabase/stand-in.ts';
import type { SupabaseStandIn } from '../../../stand-ins/supabase/stand-in.ts';
import { examine, lines, supabaseEnv } from '../../support/doctor.ts';

let supabase: SupabaseStandIn;
beforeEach(async () => {
  supabase = await startSupabaseStandIn();
});
afterEach(() => supabase.close());

it('lists the enabled providers, and says where they call back', async () => {
  const report = await examine(supabaseEnv(supabase));
  expect(lines(report, 'backend.providers')).toEqual(['ok: Enabled OAuth providers: github, google']);
  expect(report.findings.find(({ id }) => id === 'backend.provider_callback')?.values).toEqual({
    providerCallback: `${supabase.url}/auth/v1/callback`,
  });
});

it('counts no other way to sign in as a provider', async () => {
  const settings = { external: { email: true, phone: true, anonymous_users: true } };
  const fetch: typeof globalThis.fetch = (input, init) =>
    new Request(input).url.endsWith('/settings')
      ? Promise.resolve(Response.json(settings))
      : globalThis.fetch(input, init);
  const report = await examine(supabaseEnv(supabase), { fetch });
  expect(lines(report, 'backend.providers')).toEqual(['ok: No OAuth provider is enabled']);
});
