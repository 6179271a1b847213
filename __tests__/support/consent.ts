import { createHash, randomBytes } from 'node:crypto';
import type { OAuthClient } from '../../stand-ins/supabase/oauth-server.ts';
import { ada, startBackendApp } from './backend-app.ts';
import type { BackendApp, BackendAppSetup } from './backend-app.ts';
import type { Answer, Visitor } from './visitor.ts';

export const callback = 'https://cursor.example/oauth/callback';

/** An application whose project is an OAuth server. */
export function startConsentApp({ options, standIn, ...setup }: BackendAppSetup = {}): Promise<BackendApp> {
  return startBackendApp({
    ...setup,
    options: { oauthConsent: true, ...options },
    standIn: { oauthServer: true, ...standIn },
  });
}

export const consentUrl = (id: string): string => `/oauth/consent?authorization_id=${id}`;

/** The headers of a browser that the project's OAuth server sends here. */
export const arriving = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' };

export function arrive(visitor: Visitor, id: string, headers: Readonly<Record<string, string>> = arriving) {
  return visitor.get(consentUrl(id), { headers: { accept: 'text/html', ...headers } });
}

/** The parameters of the address to which an answer leads. */
export function sentTo({ headers }: Pick<Answer, 'headers'>): Readonly<Record<string, string>> {
  return Object.fromEntries(new URL(headers.location ?? '').searchParams);
}

export interface AppTokens {
  readonly access_token: string;
  readonly refresh_token: string;
}

/** Asks the provider about an authorization as Ada, as another process or another consent page does. */
export async function askElsewhere(app: BackendApp, id: string, action?: 'approve' | 'deny'): Promise<Response> {
  const { access_token: token } = await app.supabase.issueSession(ada.email);
  const { url, publishableKey } = app.supabase;
  const headers = { apikey: publishableKey, authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const path = `${url}/auth/v1/oauth/authorizations/${id}`;
  if (action === undefined) return fetch(path, { headers });
  return fetch(`${path}/consent`, { method: 'POST', headers, body: JSON.stringify({ action }) });
}

/** Another application of Ada's: it asks, the visitor allows it, and it gets its tokens. @param asking its name, or one that asks again */
export async function connect(
  app: Pick<BackendApp, 'supabase'>,
  visitor: Visitor,
  asking: string | OAuthClient = 'Cursor',
) {
  const verifier = randomBytes(32).toString('base64url');
  const codeChallenge = createHash('sha256').update(verifier).digest('base64url');
  const client =
    typeof asking === 'string' ? app.supabase.addClient({ name: asking, redirectUris: [callback] }) : asking;
  const id = app.supabase.askConsent(client, { codeChallenge, state: 'state-1' });
  await arrive(visitor, id);
  const answer = await visitor.postJson('/oauth/consent', { authorization_id: id, action: 'allow' });
  const code = new URL(answer.json.redirectTo).searchParams.get('code') ?? '';
  const call = async (fields: Readonly<Record<string, string>>): Promise<Response> =>
    fetch(`${app.supabase.url}/auth/v1/oauth/token`, {
      method: 'POST',
      body: new URLSearchParams({ client_id: client.id, ...fields }),
    });
  const issued = await call({ grant_type: 'authorization_code', code, code_verifier: verifier });
  const tokens = (await issued.json()) as AppTokens;
  const refresh = (refreshToken: string): Promise<Response> =>
    call({ grant_type: 'refresh_token', refresh_token: refreshToken });
  return { client, tokens, refresh };
}

export { ada };
