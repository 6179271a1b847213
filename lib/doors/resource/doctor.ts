import type { B2bOptions } from '../../b2b/options.ts';
import { algorithmsOf, ask, parseObject } from '../../doctor/ask.ts';
import type { DoctorContext } from '../../doctor/environment.ts';
import type { Add } from '../../doctor/report.ts';

/** Checks the authorization server of protected resources, as agents find it (RFC 8414). */
export async function checkAuthkit(
  { authkitDomain: issuer }: Pick<B2bOptions, 'authkitDomain'>,
  context: DoctorContext,
  add: Add,
): Promise<void> {
  if (issuer === undefined) return;
  const [metadata, keys] = await Promise.all([
    ask(`${issuer}/.well-known/oauth-authorization-server`, context),
    ask(`${issuer}/oauth2/jwks`, context),
  ]);
  const { host } = new URL(issuer);
  if (metadata.kind === 'unreachable') {
    add('problem', 'authkit', `${host} cannot be reached: ${metadata.reason}`, {
      fix: 'Check B2B_AUTHKIT_DOMAIN, and outgoing https from where the application runs.',
    });
    return;
  }
  const server = metadata.status === 200 ? parseObject(metadata.text) : undefined;
  if (server?.['issuer'] !== issuer) {
    add('problem', 'authkit', `${host} does not say that it is the authorization server ${issuer}`, {
      fix: 'Copy B2B_AUTHKIT_DOMAIN from Domains in the WorkOS dashboard.',
    });
    return;
  }
  if (algorithmsOf(keys)?.includes('RS256') === true) add('ok', 'authkit', `${host} issues tokens to OAuth clients`);
  else {
    add(
      'problem',
      'authkit',
      `${host} publishes no RS256 key at /oauth2/jwks, so no token of an agent can be verified`,
    );
  }
  const canIntroduce =
    typeof server['registration_endpoint'] === 'string' || server['client_id_metadata_document_supported'] === true;
  if (!canIntroduce) {
    add('warning', 'authkit_clients', 'Agents that WorkOS does not know cannot register or introduce themselves', {
      fix: 'Allow Client ID Metadata Document or Dynamic Client Registration under Connect, Configuration in the WorkOS dashboard.',
      values: { canIntroduce },
    });
  }
  add('note', 'resource_indicator', 'WorkOS binds tokens only to resources that it knows', {
    fix: `Register the public URL of each protectResource(), such as ${context.appUrl}/mcp, as a resource indicator in the WorkOS dashboard.`,
  });
}
