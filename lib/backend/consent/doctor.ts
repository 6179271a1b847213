import { ask, parseObject } from '../../doctor/ask.ts';
import type { Project } from '../../doctor/project.ts';
import type { Add } from '../../doctor/report.ts';

/** Asks whether the project is an OAuth server. */
export async function askOAuthServer(project: Project): Promise<(add: Add) => void> {
  const { options, context } = project;
  const url = `${options.url}/auth/v1/.well-known/oauth-authorization-server`;
  const reply = await ask(url, context, { apikey: options.anonKey });
  const server = reply.kind === 'answered' ? parseObject(reply.text) : undefined;
  return (add) => {
    if (server?.['token_endpoint'] !== undefined) addOAuthServer(server, project, add);
  };
}

/** The key cannot read where the server sends people: only an application's own request shows it. */
function addOAuthServer(
  { registration_endpoint: registration }: Readonly<Record<string, unknown>>,
  { options, context }: Project,
  add: Add,
): void {
  const { appUrl } = context;
  const consentUrl = appUrl + options.paths.consent;
  add('note', 'oauth_server', 'The project is an OAuth server: other applications get tokens of its users', {
    fix: 'Such a token is no session here; list its client id on a guard that should accept it as a bearer token.',
    values: { isEnabled: true },
  });
  add('note', 'oauth_consent', `The OAuth server needs a consent page: with oauthConsent: true it is ${consentUrl}`, {
    fix: `Set the authorization path to ${options.paths.consent} under OAuth Server, and the Site URL to ${appUrl}.`,
    values: { consentUrl },
  });
  if (registration === undefined) return;
  add('note', 'oauth_registration', 'Any application can register itself at the OAuth server, under any name', {
    fix: 'MCP clients need that. If you know all of your clients, switch off dynamic registration.',
    values: { isOpen: true },
  });
}
