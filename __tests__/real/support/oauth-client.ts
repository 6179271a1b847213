import { createHash, randomBytes } from 'node:crypto';
import type { Project } from './project.ts';

export interface ClientTokens {
  readonly access_token: string;
  readonly refresh_token: string;
}

/** Another application that registers itself at the project's OAuth server, as MCP clients do. */
export async function createOAuthClient(
  project: Project,
  { name = 'Another application', redirectUri = 'https://app.example/back' } = {},
) {
  const { status, body: client } = await project.ask('/oauth/clients/register', 'POST', {
    client_name: name,
    redirect_uris: [redirectUri],
    token_endpoint_auth_method: 'none',
  });
  const verifier = randomBytes(32).toString('base64url');
  const codeChallenge = createHash('sha256').update(verifier).digest('base64url');
  const token = async (fields: Readonly<Record<string, string>>): Promise<Response> =>
    fetch(`${project.url}/auth/v1/oauth/token`, {
      method: 'POST',
      body: new URLSearchParams({ client_id: client.client_id, ...fields }),
    });

  return {
    status,
    id: String(client.client_id),
    redirectUri,
    /** Opens the project's authorize URL. @returns where it sends the browser: path and query of the consent page */
    async start(asked: Readonly<Record<string, string>> = {}): Promise<string> {
      const query = new URLSearchParams({
        response_type: 'code',
        client_id: client.client_id,
        redirect_uri: redirectUri,
        // `openid` needs signing keys: with a shared secret GoTrue's token endpoint answers 500.
        scope: 'email profile',
        state: 'state-1',
        code_challenge: codeChallenge,
        code_challenge_method: 'S256',
        ...asked,
      });
      const answer = await fetch(`${project.url}/auth/v1/oauth/authorize?${query.toString()}`, { redirect: 'manual' });
      const { pathname, search } = new URL(answer.headers.get('location') ?? 'http://nowhere/');
      return pathname + search;
    },
    exchange: (code: string): Promise<Response> =>
      token({ grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: verifier }),
    refresh: (refreshToken: string): Promise<Response> =>
      token({ grant_type: 'refresh_token', refresh_token: refreshToken }),
  };
}
