import { createOAuthClient } from './oauth-client.ts';
import type { ClientTokens } from './oauth-client.ts';
import type { Project, User } from './project.ts';

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
export async function thirdPartyTokens(project: Project, { email, password }: User): Promise<ClientTokens> {
  const signedIn = await project.ask('/token?grant_type=password', 'POST', { email, password });
  const token = String(signedIn.body.access_token);
  const client = await createOAuthClient(project);
  const id = new URL(await client.start({ scope: 'email' }), project.url).searchParams.get('authorization_id') ?? '';
  await project.ask(`/oauth/authorizations/${id}`, 'GET', undefined, token);
  const { body } = await project.ask(`/oauth/authorizations/${id}/consent`, 'POST', { action: 'approve' }, token);
  const answer = await client.exchange(new URL(body.redirect_url).searchParams.get('code') ?? '');
  return answer.json() as Promise<ClientTokens>;
}
