import { startSupabaseStandIn } from '../../../stand-ins/supabase/stand-in.ts';
import type { SupabaseStandIn } from '../../../stand-ins/supabase/stand-in.ts';
import { examine, supabaseEnv } from '../../support/doctor.ts';

let supabase: SupabaseStandIn;
beforeEach(async () => {
  supabase = await startSupabaseStandIn();
});
afterEach(() => supabase.close());

it('says what the email templates need', async () => {
  const report = await examine(supabaseEnv(supabase));
  const templates = report.findings.find(({ id }) => id === 'backend.mail_templates');
  expect(templates?.fix).toContain('npx express-auth-adapters emails');
});
