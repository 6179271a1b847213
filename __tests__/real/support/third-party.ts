import { createHash, randomBytes } from 'node:crypto';
import type { Project, User } from './project.ts';

export interface ThirdPartyTokens {
  readonly access_token: string;
  readonly refresh_token: string;
}

/**
 * A person signs in and allows an application, as the consent page does for them: where the browser is sent to.
 *
 * @param authorizeUrl where the application has sent them
 */
export async function allow(project: Project, { email, password }: User, authorizeUrl: string | URL): Promise<URL> {
  const start = await fetch(authorizeUrl, { redirect: 'manual' });
  const consentPage = new URL(start.headers.get('location')!);
  const id = consentPage.searchParams.get('authorization_id')!;
  const signedIn = await project.ask('/token?grant_type=password', 'POST', { email, password });
  const token = String(signedIn.body.access_token);
  const details = await project.ask(`/oauth/authorizations/${id}`, 'GET', undefined, token);
  // A grant that exists is not asked for again.
  if (typeof details.body.redirect_url === 'string') return new URL(details.body.redirect_url);
  const { body } = await project.ask(`/oauth/authorizations/${id}/consent`, 'POST', { action: 'approve' }, token);
  return new URL(body.redirect_url);
}

/** What another application gets that the user allowed to know who they are, by Supabase's OAuth server. */
export async function thirdPartyTokens(project: Project, user: User): Promise<ThirdPartyTokens> {
  const redirectUri = 'http://127.0.0.1:4000/back';
  const { body: client } = await project.ask('/oauth/clients/register', 'POST', {
    client_name: 'Another application',
    redirect_uris: [redirectUri],
    token_endpoint_auth_method: 'none',
  });
  const verifier = randomBytes(32).toString('base64url');
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: client.client_id,
    redirect_uri: redirectUri,
    scope: 'email',
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  });
  const back = await allow(project, user, `${project.url}/auth/v1/oauth/authorize?${query.toString()}`);
  const answer = await fetch(`${project.url}/auth/v1/oauth/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'authorization_code',
      code: back.searchParams.get('code')!,
      client_id: client.client_id,
      redirect_uri: redirectUri,
      code_verifier: verifier,
    }),
  });
  return answer.json() as Promise<ThirdPartyTokens>;
}
