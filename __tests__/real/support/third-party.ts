import { createOAuthClient } from './oauth-client.ts';
import type { ClientTokens } from './oauth-client.ts';
import type { Project, User } from './project.ts';

/**
 * Opens the project's authorize URL, as a browser does to which an application gives it.
 *
 * @returns the consent page to which the project sends the browser, in the application under test: the project names its Site URL's
 */
export async function consentPageOf(origin: string, authorizeUrl: string | URL): Promise<string> {
  const answer = await fetch(authorizeUrl, { redirect: 'manual' });
  const { pathname, search } = new URL(answer.headers.get('location') ?? '', authorizeUrl);
  return origin + pathname + search;
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
