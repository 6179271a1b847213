import type { OpenProject, Project } from '../../doctor/project.ts';
import type { Add } from '../../doctor/report.ts';

/** Members of `external` that are not OAuth providers. */
const otherMethods: ReadonlySet<string> = new Set(['email', 'phone', 'anonymous_users']);

export function checkProviders({ external }: OpenProject, add: Add): void {
  const providers = Object.keys(external)
    .filter((name) => external[name] === true && !otherMethods.has(name))
    .sort();
  const listed =
    providers.length === 0 ? 'No OAuth provider is enabled' : `Enabled OAuth providers: ${providers.join(', ')}`;
  add('ok', 'providers', listed, { values: { providers } });
}

export function addProviderCallback({ options }: Project, add: Add): void {
  const providerCallback = `${options.url}/auth/v1/callback`;
  add('note', 'provider_callback', `OAuth providers (GitHub, Google, …) call back at ${providerCallback}`, {
    fix: 'Register that one in the provider’s own console.',
    values: { providerCallback },
  });
}
