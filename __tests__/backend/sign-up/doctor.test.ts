import { startSupabaseStandIn } from '../../../stand-ins/supabase/stand-in.ts';
import type { SupabaseStandIn } from '../../../stand-ins/supabase/stand-in.ts';
import { examine, lines, supabaseEnv } from '../../support/doctor.ts';

let supabase: SupabaseStandIn;
beforeEach(async () => {
  supabase = await startSupabaseStandIn();
});
afterEach(() => supabase.close());

const findingAbout = async () => lines(await examine(supabaseEnv(supabase)), 'backend.signup');

it('says whether accounts can be created, and whether they have to confirm their address', async () => {
  expect(await findingAbout()).toEqual(['note: New accounts have to confirm their email address']);
  supabase.switches.autoconfirm = true;
  expect(await findingAbout()).toEqual([
    'note: New accounts are signed in at once, without confirming their email address',
  ]);
  supabase.switches.signupDisabled = true;
  expect(await findingAbout()).toEqual(['note: New accounts cannot be created: sign-up is switched off']);
});

it('warns that an address proves nothing where a hosted project confirms none', async () => {
  supabase.switches.autoconfirm = true;
  const report = await examine(
    { ...supabaseEnv(supabase), BAAS_URL: 'https://abc.supabase.co' },
    { fetch: (url, init) => fetch((url as string).replace('https://abc.supabase.co', supabase.url), init) },
  );
  expect(report.findings.find(({ id }) => id === 'backend.signup')).toMatchObject({
    level: 'warning',
    fix: expect.stringContaining("let no accept or check decide by it (endsWith('@example.com'))"),
  });
});
