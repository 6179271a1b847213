/**
 * `npm run providers [port]`: the stand-ins without the example app, for an application of one's own on that port (default 3000).
 * Prints the settings with which it signs in against them.
 */
import { startProviders } from './providers.ts';
import type { Providers } from './providers.ts';
import { readSettings, SettingsError } from './settings.ts';

try {
  const settings = readSettings({
    NODE_ENV: process.env['NODE_ENV'],
    PORT: process.argv[2],
    // This server has no page that shows the emails.
    EXAMPLE_CONFIRM_EMAIL: 'false',
  });
  const providers = await startProviders(settings, settings.port);
  const { workos, supabase } = providers;
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => void providers.close().then(() => process.exit(0)));
  const origin = `http://localhost:${settings.port}`;
  const variables = { ...workosVariables(workos), ...supabaseVariables(supabase) };
  console.log(`# Stand-ins for an app on ${origin}. Paste this where it is started; Ctrl+C here stops them.`);
  for (const [name, value] of Object.entries(variables)) console.log(`export ${name}=${value}`);
  if (workos !== undefined)
    console.log(`# WorkOS: sign in as ${[...workos.users.values()].map(({ email }) => email).join(', ')}`);
  if (supabase !== undefined)
    console.log(`# Supabase: sign in as ${supabase.demo.email} with ${supabase.demo.password}`);
} catch (error) {
  if (!(error instanceof SettingsError)) throw error;
  console.error(error.problems.join('\n'));
  process.exit(1);
}

function workosVariables(workos: Providers['workos']): Record<string, string> {
  if (workos === undefined) return {};
  const { clientId, apiKey, hostname } = workos;
  return {
    B2B_CLIENT_ID: clientId,
    B2B_API_KEY: apiKey,
    B2B_API_HOSTNAME: hostname,
    B2B_API_PORT: String(workos.port),
    B2B_API_HTTPS: 'false',
  };
}

function supabaseVariables(supabase: Providers['supabase']): Record<string, string> {
  return supabase === undefined ? {} : { BAAS_URL: supabase.url, BAAS_PUBLISHABLE_KEY: supabase.publishableKey };
}
