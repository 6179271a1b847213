import { randomBytes, randomUUID } from 'node:crypto';
import type { JWTPayload } from 'jose';
import { GoTrueError, OAuthServerError } from './errors.ts';
import type { SigningKeys } from './keys.ts';
import { appMetadataOf, userJson } from './users.ts';
import type { Users } from './users.ts';
import type { SessionJson, Switches, User } from './types.ts';

interface RefreshToken {
  readonly token: string;
  readonly sessionId: string;
  readonly userId: string;
  readonly parent: string | undefined;
  revoked: boolean;
}

export interface SessionOptions {
  /** Seconds; negative for a token that has expired already. */
  readonly ttl?: number;
  /** Added to the access token, or in place of what it would say. */
  readonly claims?: JWTPayload;
  /** The method in `amr`. */
  readonly method?: string;
}

export interface SessionParts {
  readonly keys: SigningKeys;
  readonly users: Users;
  readonly switches: Switches;
  readonly issuer: string;
  readonly now: () => number;
}

/** Sessions and their families of refresh tokens. */
export function createSessions({ keys, users, switches, issuer, now }: SessionParts) {
  const owners = new Map<string, string>();
  const tokens = new Map<string, RefreshToken>();
  /** Sessions that the project's OAuth 2.1 server issued to another application. */
  const clientSessions = new Set<string>();

  async function toJson(user: User, refresh: RefreshToken, options: SessionOptions = {}): Promise<SessionJson> {
    const iat = Math.floor(now() / 1000);
    const expiresIn = options.ttl ?? switches.accessTokenTtl;
    const accessToken = await keys.sign({
      iss: issuer,
      sub: user.id,
      aud: 'authenticated',
      exp: iat + expiresIn,
      iat,
      email: user.email,
      phone: '',
      app_metadata: appMetadataOf(user),
      user_metadata: user.metadata,
      role: 'authenticated',
      aal: 'aal1',
      amr: [{ method: options.method ?? 'password', timestamp: iat }],
      session_id: refresh.sessionId,
      is_anonymous: false,
      ...switches.tokenClaims,
      ...options.claims,
    });
    return {
      access_token: accessToken,
      token_type: 'bearer',
      expires_in: expiresIn,
      expires_at: iat + expiresIn,
      refresh_token: refresh.token,
      user: userJson(user),
    };
  }

  function addToken(sessionId: string, userId: string, parent?: string): RefreshToken {
    const added = { token: randomBytes(6).toString('hex'), sessionId, userId, parent, revoked: false };
    tokens.set(added.token, added);
    return added;
  }

  function end(sessionId: string): void {
    owners.delete(sessionId);
    for (const [name, token] of tokens) if (token.sessionId === sessionId) tokens.delete(name);
  }

  const familyOf = (sessionId: string) => [...tokens.values()].filter((token) => token.sessionId === sessionId);

  return {
    owner: (sessionId: string) => owners.get(sessionId),
    end,

    issue(user: User, options: SessionOptions = {}): Promise<SessionJson> {
      const sessionId = randomUUID();
      owners.set(sessionId, user.id);
      if (options.claims?.['client_id'] !== undefined) clientSessions.add(sessionId);
      user.lastSignInAt = users.isoNow();
      return toJson(user, addToken(sessionId, user.id), options);
    },

    /** @throws GoTrueError */
    refresh(name: string): Promise<SessionJson> {
      // 400 {"code":"validation_failed","message":"Refresh token is not valid"}, without a look into the database
      if (!/^[a-z0-9]{12}$/.test(name)) throw new GoTrueError(400, 'validation_failed', 'Refresh token is not valid');
      const used = tokens.get(name);
      const user = used && users.get(used.userId);
      if (!used || !user) {
        throw new GoTrueError(400, 'refresh_token_not_found', 'Invalid Refresh Token: Refresh Token Not Found');
      }
      // 400 {"error":"invalid_client","error_description":"Client authentication required for OAuth session"}
      if (clientSessions.has(used.sessionId)) {
        throw new OAuthServerError('invalid_client', 'Client authentication required for OAuth session');
      }
      if (user.banned) throw new GoTrueError(400, 'user_banned', 'Invalid Refresh Token: User Banned');
      if (used.revoked) {
        const family = familyOf(used.sessionId);
        const active = family.find((token) => !token.revoked);
        if (switches.reuse === 'parent' && active?.parent === name) return toJson(user, active);
        // A spent token that comes again was stolen: its whole family ends.
        for (const token of family) token.revoked = true;
        throw new GoTrueError(400, 'refresh_token_already_used', 'Invalid Refresh Token: Already Used');
      }
      used.revoked = true;
      return toJson(user, addToken(used.sessionId, user.id, name));
    },

    signOut(sessionId: string, userId: string, scope: string): void {
      for (const [id, owner] of owners) {
        if (owner === userId && (scope === 'global' || (scope === 'local') === (id === sessionId))) end(id);
      }
    },
  };
}

export type Sessions = ReturnType<typeof createSessions>;
