import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { GoTrueError, OAuthServerError } from './errors.ts';

export interface OAuthClient {
  readonly id: string;
  readonly name: string;
  readonly uri: string;
  readonly logoUri: string;
  readonly redirectUris: readonly string[];
}

export interface NewClient {
  readonly name?: string;
  readonly uri?: string;
  readonly logoUri?: string;
  readonly redirectUris?: readonly string[];
}

interface Authorization {
  readonly id: string;
  readonly client: OAuthClient;
  readonly redirectUri: string;
  readonly scope: string;
  readonly state: string;
  readonly codeChallenge: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
  status: 'pending' | 'approved' | 'denied';
  userId: string | undefined;
  code: string | undefined;
}

export interface NewAuthorization {
  readonly redirectUri?: string;
  readonly scope?: string;
  readonly state?: string;
  readonly codeChallenge?: string;
}

interface Grant {
  readonly userId: string;
  readonly client: OAuthClient;
  scopes: readonly string[];
  /** ISO 8601. */
  grantedAt: string;
}

/** GoTrue's default for `GOTRUE_OAUTH_SERVER_AUTHORIZATION_TTL`. */
const authorizationMs = 10 * 60_000;

export type OAuthServer = ReturnType<typeof createOAuthServer>;

/**
 * The project as OAuth server of other applications, with GoTrue's own answers (`internal/api/oauthserver` of supabase/auth).
 *
 * @param now milliseconds since the epoch
 */
export function createOAuthServer(now: () => number) {
  const clients = new Map<string, OAuthClient>();
  const authorizations = new Map<string, Authorization>();
  let grants: Grant[] = [];

  /** 404 {"code":"oauth_authorization_not_found","message":"authorization not found"}, also for another user's */
  function find(id: string): Authorization {
    const found = authorizations.get(id);
    if (found === undefined || found.expiresAt <= now()) throw notFound();
    return found;
  }

  function approve(authorization: Authorization): string {
    authorization.status = 'approved';
    authorization.code = randomUUID();
    return withParameters(authorization, { code: authorization.code });
  }

  const grantOf = (userId: string, clientId: string): Grant | undefined =>
    grants.find((grant) => grant.userId === userId && grant.client.id === clientId);

  return {
    register({ name = '', uri = '', logoUri = '', redirectUris = ['https://app.example/callback'] }: NewClient = {}) {
      const client: OAuthClient = { id: randomUUID(), name, uri, logoUri, redirectUris };
      clients.set(client.id, client);
      return client;
    },
    client: (id: string) => clients.get(id),
    start(client: OAuthClient, asked: NewAuthorization = {}): Authorization {
      const { redirectUri = client.redirectUris[0] ?? '', scope = 'email', state = '', codeChallenge = '' } = asked;
      const id = randomBytes(24).toString('base64url').replaceAll(/[-_]/g, 'x');
      const given = { id, client, redirectUri, scope, state, codeChallenge, expiresAt: now() + authorizationMs };
      const authorization: Authorization = { ...given, status: 'pending', userId: undefined, code: undefined };
      authorizations.set(id, authorization);
      return authorization;
    },
    /** No read: it binds the request to the user, and approves it where the user has granted these scopes before. */
    read(id: string, userId: string): { readonly redirectUrl: string } | Authorization {
      const found = find(id);
      if (found.status !== 'pending') {
        throw new GoTrueError(400, 'validation_failed', 'authorization request cannot be processed');
      }
      if (found.userId === undefined) {
        found.userId = userId;
        const granted = grantOf(userId, found.client.id)?.scopes ?? [];
        const scopes = found.scope.split(' ');
        if (granted.length > 0 && scopes.every((scope) => granted.includes(scope)))
          return { redirectUrl: approve(found) };
      } else if (found.userId !== userId) throw notFound();
      return found;
    },
    decide(id: string, userId: string, action: string): string {
      if (action !== 'approve' && action !== 'deny') {
        throw new GoTrueError(400, 'validation_failed', "action must be 'approve' or 'deny'");
      }
      const found = find(id);
      if (found.status !== 'pending') {
        throw new GoTrueError(400, 'validation_failed', 'authorization request is no longer pending');
      }
      if (found.userId !== userId) throw notFound();
      if (action === 'deny') {
        found.status = 'denied';
        return withParameters(found, { error: 'access_denied', error_description: 'User denied the request' });
      }
      const scopes = found.scope.split(' ');
      const grantedAt = new Date(now()).toISOString();
      const grant = grantOf(userId, found.client.id);
      if (grant) Object.assign(grant, { scopes, grantedAt });
      else grants.push({ userId, client: found.client, scopes, grantedAt });
      return approve(found);
    },
    grantsOf: (userId: string) => grants.filter((grant) => grant.userId === userId),
    revoke(userId: string, clientId: string): void {
      if (!/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i.test(clientId)) {
        throw new GoTrueError(400, 'validation_failed', 'invalid client_id format');
      }
      if (grantOf(userId, clientId) === undefined) {
        throw new GoTrueError(404, 'oauth_consent_not_found', 'No active grant found for this client');
      }
      grants = grants.filter((grant) => grant.userId !== userId || grant.client.id !== clientId);
    },
    /** @returns the user of an authorization code, which works once */
    exchange(code: string, client: OAuthClient, verifier: string): string {
      const found = [...authorizations.values()].find((each) => each.code === code && code !== '');
      if (found?.userId === undefined) throw new OAuthServerError('invalid_grant', 'Invalid authorization code');
      if (found.client !== client) {
        throw new OAuthServerError('invalid_grant', 'Authorization code was not issued for this client');
      }
      const challenge = createHash('sha256').update(verifier).digest('base64url');
      if (found.codeChallenge !== '' && found.codeChallenge !== challenge) {
        throw new OAuthServerError('invalid_grant', 'PKCE verification failed: code challenge does not match');
      }
      authorizations.delete(found.id);
      return found.userId;
    },
  };
}

function notFound(): GoTrueError {
  return new GoTrueError(404, 'oauth_authorization_not_found', 'authorization not found');
}

function withParameters({ redirectUri, state }: Authorization, parameters: Readonly<Record<string, string>>): string {
  const query = new URLSearchParams({ ...parameters, ...(state === '' ? {} : { state }) }).toString();
  return `${redirectUri}${redirectUri.includes('?') ? '&' : '?'}${query}`;
}
