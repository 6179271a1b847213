import { GoTrueError, OAuthServerError } from '../errors.ts';
import { json, redirect, textField } from '../http.ts';
import type { Reply, StandInRequest } from '../http.ts';
import type { OAuthClient } from '../oauth-server.ts';
import type { Project } from '../project.ts';
import type { Endpoint, SessionJson } from '../types.ts';
import { authenticate } from './authenticate.ts';

interface OAuthServerRoute {
  readonly endpoint: Endpoint;
  readonly open?: boolean;
  readonly handle: (project: Project, request: StandInRequest) => Reply | Promise<Reply>;
}

/** The routes of the project's OAuth server. Applications call the first five, so they need no key of the project. */
const routes: Readonly<Record<string, OAuthServerRoute>> = {
  'GET /.well-known/oauth-authorization-server': { endpoint: 'other', open: true, handle: metadata },
  'GET /.well-known/openid-configuration': { endpoint: 'other', open: true, handle: metadata },
  'POST /oauth/clients/register': { endpoint: 'other', open: true, handle: register },
  'GET /oauth/authorize': { endpoint: 'other', open: true, handle: authorize },
  'POST /oauth/token': { endpoint: 'client-token', open: true, handle: token },
  'GET /oauth/authorizations/:id': { endpoint: 'authorization', handle: readAuthorization },
  'POST /oauth/authorizations/:id/consent': { endpoint: 'consent', handle: consent },
  'GET /user/oauth/grants': { endpoint: 'grants', handle: grants },
  'DELETE /user/oauth/grants': { endpoint: 'revoke-grant', handle: revokeGrant },
};

export function oauthServerRoute(project: Project, method: string, pathname: string) {
  // Where clients derive it from the issuer (RFC 8414 §3.1), as Supabase's gateway has it.
  const inserted = /^(\/\.well-known\/[^/]+)\/auth\/v1$/.exec(pathname)?.[1];
  if (inserted === undefined && !pathname.startsWith('/auth/v1/')) return undefined;
  const path = (inserted ?? pathname.slice('/auth/v1'.length)).replace(/^(\/oauth\/authorizations)\/[^/]+/, '$1/:id');
  const route = routes[`${method} ${path}`];
  if (route === undefined) return undefined;
  return {
    ...route,
    handle(request: StandInRequest): Reply | Promise<Reply> {
      if (!project.switches.oauthServer) throw new GoTrueError(404, 'feature_disabled', 'OAuth server is disabled');
      return route.handle(project, request);
    },
  };
}

function metadata({ url }: Project): Reply {
  const issuer = `${url}/auth/v1`;
  return json(200, {
    issuer,
    authorization_endpoint: `${issuer}/oauth/authorize`,
    token_endpoint: `${issuer}/oauth/token`,
    jwks_uri: `${issuer}/.well-known/jwks.json`,
    registration_endpoint: `${issuer}/oauth/clients/register`,
    response_types_supported: ['code'],
    grant_types_supported: ['authorization_code', 'refresh_token'],
    token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post', 'none'],
    code_challenge_methods_supported: ['S256', 'plain'],
    scopes_supported: ['openid', 'profile', 'email', 'phone', 'offline_access'],
  });
}

/** Dynamic client registration (RFC 7591), for public clients. */
function register({ oauthServer }: Project, { body }: StandInRequest): Reply {
  const uris = body['redirect_uris'];
  const redirectUris = Array.isArray(uris) ? uris.map(String) : [];
  if (redirectUris.length === 0) throw new GoTrueError(400, 'validation_failed', 'redirect_uris is required');
  const [name, uri, logoUri] = ['client_name', 'client_uri', 'logo_uri'].map((field) => textField(body, field));
  const client = oauthServer.register({ redirectUris, name: name ?? '', uri: uri ?? '', logoUri: logoUri ?? '' });
  return json(201, {
    client_id: client.id,
    client_type: 'public',
    client_name: client.name,
    redirect_uris: redirectUris,
    token_endpoint_auth_method: 'none',
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
  });
}

function authorize({ oauthServer, siteUrl }: Project, { url }: StandInRequest): Reply {
  const query = (name: string): string => url.searchParams.get(name) ?? '';
  const client = oauthServer.client(query('client_id'));
  if (!client) throw new GoTrueError(400, 'oauth_client_not_found', 'invalid client_id');
  const redirectUri = query('redirect_uri');
  if (!client.redirectUris.includes(redirectUri)) {
    throw new GoTrueError(400, 'validation_failed', 'invalid redirect_uri');
  }
  const asked = { redirectUri, scope: query('scope') || 'email', state: query('state') };
  const { id } = oauthServer.start(client, { ...asked, codeChallenge: query('code_challenge') });
  return redirect(302, `${siteUrl.replace(/\/$/, '')}/oauth/consent?authorization_id=${id}`);
}

async function readAuthorization(project: Project, request: StandInRequest): Promise<Reply> {
  const { user } = await authenticate(project, request);
  const answer = project.oauthServer.read(idOf(request), user.id);
  if ('redirectUrl' in answer) return json(200, { redirect_url: answer.redirectUrl });
  const { id, client, redirectUri, scope } = answer;
  return json(200, {
    authorization_id: id,
    redirect_uri: redirectUri,
    client: clientJson(client),
    user: { id: user.id, email: user.email },
    scope,
  });
}

async function consent(project: Project, request: StandInRequest): Promise<Reply> {
  const { user } = await authenticate(project, request);
  const redirectUrl = project.oauthServer.decide(idOf(request), user.id, textField(request.body, 'action'));
  return json(200, { redirect_url: redirectUrl });
}

async function grants(project: Project, request: StandInRequest): Promise<Reply> {
  const { user } = await authenticate(project, request);
  const found = project.oauthServer.grantsOf(user.id);
  return json(
    200,
    found.map(({ client, scopes, grantedAt }) => ({ client: clientJson(client), scopes, granted_at: grantedAt })),
  );
}

async function revokeGrant(project: Project, request: StandInRequest): Promise<Reply> {
  const { user } = await authenticate(project, request);
  const clientId = request.url.searchParams.get('client_id') ?? '';
  project.oauthServer.revoke(user.id, clientId);
  project.sessions.endClient(user.id, clientId);
  return { status: 204, headers: {}, body: '' };
}

async function token(project: Project, { body }: StandInRequest): Promise<Reply> {
  const client = project.oauthServer.client(textField(body, 'client_id'));
  if (!client) throw new GoTrueError(400, 'invalid_credentials', 'Invalid client credentials');
  switch (textField(body, 'grant_type')) {
    case 'authorization_code': {
      const userId = project.oauthServer.exchange(textField(body, 'code'), client, textField(body, 'code_verifier'));
      const user = project.users.get(userId);
      if (!user) throw new OAuthServerError('invalid_grant', 'User not found for authorization code');
      const options = { method: 'oauth_provider/authorization_code', claims: { client_id: client.id } };
      return json(200, tokensOf(await project.sessions.issue(user, options)));
    }
    case 'refresh_token':
      return json(200, tokensOf(await project.sessions.refresh(textField(body, 'refresh_token'), client.id)));
    default:
      throw new OAuthServerError('unsupported_grant_type', 'Unsupported grant type');
  }
}

/** Other applications do not get the user with their tokens. */
function tokensOf({ access_token, token_type, expires_in, refresh_token }: SessionJson) {
  return { access_token, token_type, expires_in, refresh_token };
}

/** GoTrue omits what a client has not given. */
function clientJson({ id, name, uri, logoUri }: OAuthClient) {
  const given = Object.entries({ name, uri, logo_uri: logoUri }).filter(([, value]) => value !== '');
  return { id, ...Object.fromEntries(given) };
}

function idOf({ url }: StandInRequest): string {
  return decodeURIComponent(url.pathname.split('/')[5] ?? '');
}
