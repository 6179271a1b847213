import { startSupabaseStandIn } from '../../../stand-ins/supabase/stand-in.ts';
import type { SupabaseStandIn } from '../../../stand-ins/supabase/stand-in.ts';
import { examine, lines, supabaseEnv } from '../../support/doctor.ts';

let supabase: SupabaseStandIn;
beforeEach(async () => {
  supabase = await startSupabaseStandIn();
});
afterEach(() => supabase.close());

it('says that the key cannot read whether second factors are enabled', async () => {
  const report = await examine(supabaseEnv(supabase));
  expect(lines(report, 'backend.mfa')).toEqual([expect.stringMatching(/^note: This key cannot read/)]);
  expect(report.findings.find(({ id }) => id === 'backend.mfa')?.fix).toContain('TOTP');
});
