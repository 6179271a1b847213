import { startSupabaseStandIn } from '../../../stand-ins/supabase/stand-in.ts';
import type { SupabaseStandIn } from '../../../stand-ins/supabase/stand-in.ts';
import { examine, lines, supabaseEnv } from '../../support/doctor.ts';

let supabase: SupabaseStandIn;
beforeEach(async () => {
  supabase = await startSupabaseStandIn({ relyingParty: { id: 'localhost', origins: [] } });
});
afterEach(() => supabase.close());

it('tells whether the project has passkeys on, and what it cannot read', async () => {
  const off = await examine(supabaseEnv(supabase));
  expect(lines(off, 'backend.passkeys')[0]).toMatch(/^note: Passkeys are off in this project/);
  supabase.switches.passkeys = true;
  const on = await examine(supabaseEnv(supabase));
  expect(lines(on, 'backend.passkeys')[0]).toMatch(/^note: Passkeys are on.* belong to localhost$/);
  expect(on.findings.find(({ id }) => id === 'backend.passkeys')).toMatchObject({
    values: { isEnabled: true, relyingPartyId: 'localhost' },
    fix: expect.stringContaining('cannot read their relying party origins: list http://localhost:3000'),
  });
});

it.each([
  ['https://shop.example', /browsers refuse them on shop\.example/],
  ['https://evil-localhost', /browsers refuse them on evil-localhost/],
  ['http://127.0.0.1:3000', /browsers have none on an IP address such as 127\.0\.0\.1$/],
  ['http://[::1]:3000', /browsers have none on an IP address such as \[::1\]$/],
  ['http://app.localhost:3000', /belong to localhost$/],
])('tells whether the relying party of passkeys is the domain of %s', async (url, line) => {
  supabase.switches.passkeys = true;
  const report = await examine({ ...supabaseEnv(supabase), APP_BASE_URL: url });
  expect(lines(report, 'backend.passkeys')).toEqual([expect.stringMatching(line)]);
});

it('does not know the relying party of passkeys where the project asks for a captcha, and says so', async () => {
  supabase.switches.passkeys = true;
  supabase.switches.captchaToken = 'solved';
  const report = await examine(supabaseEnv(supabase));
  const finding = report.findings.find(({ id }) => id === 'backend.passkeys');
  expect(finding?.message).toMatch(/must be the application’s domain$/);
  expect(finding?.values).toEqual({ isEnabled: true });
});
