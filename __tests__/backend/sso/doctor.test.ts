import { examine, lines, supabaseEnv } from '../../support/doctor.ts';
import { startSupabaseStandIn } from '../../../stand-ins/supabase/stand-in.ts';

it.each([
  [true, 'note: SAML single sign-on is on: the option sso offers it'],
  [undefined, 'note: SAML single sign-on is off in this project'],
])('says whether the project has single sign-on: %j', async (isEnabled, line) => {
  const supabase = await startSupabaseStandIn();
  const settings = { external: {}, saml_enabled: isEnabled };
  const fetch: typeof globalThis.fetch = (input, init) =>
    new Request(input).url.endsWith('/settings')
      ? Promise.resolve(Response.json(settings))
      : globalThis.fetch(input, init);
  const report = await examine(supabaseEnv(supabase), { fetch });
  await supabase.close();
  expect(lines(report, 'backend.sso')).toEqual([line]);
});
