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
  readonly parent: string | undefined;
  revoked: boolean;
}

interface Method {
  readonly method: string;
  /** Seconds since the epoch. */
  readonly timestamp: number;
}

interface Session {
  readonly id: string;
  readonly userId: string;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  /** Whether the project's OAuth 2.1 server issued it to another application. */
  readonly isClients: boolean;
  /** The id of that application. */
  readonly clientId: string | undefined;
  /** The newest first. */
  methods: readonly Method[];
  /** The factor that made it aal2. */
  factorId: string | undefined;
  aal: 'aal1' | 'aal2';
}

export interface SessionOptions {
  /** Seconds; negative for a token that has expired already. */
  readonly ttl?: number;
  /** Added to the access token's claims, or replacing them; `aal` applies to the session, also after a refresh. */
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
  const sessions = new Map<string, Session>();
  const tokens = new Map<string, RefreshToken>();
  const seconds = () => Math.floor(now() / 1000);

  async function toJson(user: User, refresh: RefreshToken, options: SessionOptions = {}): Promise<SessionJson> {
    const iat = seconds();
    const expiresIn = options.ttl ?? switches.accessTokenTtl;
    const session = sessions.get(refresh.sessionId);
    const accessToken = await keys.sign({
      iss: issuer,
      sub: user.id,
      aud: 'authenticated',
      exp: iat + expiresIn,
      iat,
      email: user.email,
      phone: user.phone,
      app_metadata: appMetadataOf(user),
      user_metadata: user.metadata,
      role: 'authenticated',
      aal: session?.aal,
      amr: session?.methods,
      session_id: refresh.sessionId,
      is_anonymous: user.isAnonymous,
      ...(session?.clientId === undefined ? {} : { client_id: session.clientId }),
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

  function addToken(sessionId: string, parent?: string): RefreshToken {
    const added = { token: randomBytes(6).toString('hex'), sessionId, parent, revoked: false };
    tokens.set(added.token, added);
    return added;
  }

  function end(sessionId: string): void {
    sessions.delete(sessionId);
    for (const [name, token] of tokens) if (token.sessionId === sessionId) tokens.delete(name);
  }

  function endWhere(fits: (session: Session) => boolean): void {
    for (const session of sessions.values()) if (fits(session)) end(session.id);
  }

  const familyOf = (sessionId: string) => [...tokens.values()].filter((token) => token.sessionId === sessionId);

  return {
    find: (sessionId: string) => sessions.get(sessionId),
    /** The sessions of a user. */
    of: (userId: string) => [...sessions.values()].filter((session) => session.userId === userId),
    end,

    issue(user: User, options: SessionOptions = {}): Promise<SessionJson> {
      const session: Session = {
        id: randomUUID(),
        userId: user.id,
        createdAt: now(),
        isClients: options.claims?.['client_id'] !== undefined,
        clientId: textClaim(options.claims?.['client_id']),
        methods: [{ method: options.method ?? 'password', timestamp: seconds() }],
        factorId: undefined,
        aal: options.claims?.['aal'] === 'aal2' ? 'aal2' : 'aal1',
      };
      sessions.set(session.id, session);
      user.lastSignInAt = users.isoNow();
      return toJson(user, addToken(session.id), options);
    },

    /** @param clientId of the application that asks, as GoTrue has authenticated it @throws GoTrueError */
    refresh(name: string, clientId?: string): Promise<SessionJson> {
      // 400 {"code":"validation_failed","message":"Refresh token is not valid"}, without a look into the database
      if (!/^[a-z0-9]{12}$/.test(name)) throw new GoTrueError(400, 'validation_failed', 'Refresh token is not valid');
      const used = tokens.get(name);
      const session = used && sessions.get(used.sessionId);
      const user = session && users.get(session.userId);
      if (!user)
        throw new GoTrueError(400, 'refresh_token_not_found', 'Invalid Refresh Token: Refresh Token Not Found');
      // 400 {"error":"invalid_client","error_description":"Client authentication required for OAuth session"}
      if (session.isClients && (clientId === undefined || session.clientId !== clientId)) {
        throw new OAuthServerError('invalid_client', 'Client authentication required for OAuth session');
      }
      if (user.banned) throw new GoTrueError(400, 'user_banned', 'Invalid Refresh Token: User Banned');
      if (used.revoked) {
        const family = familyOf(session.id);
        const active = family.find((token) => !token.revoked);
        if (switches.reuse === 'parent' && active?.parent === name) return toJson(user, active);
        // A reused token counts as stolen: its whole family ends.
        for (const token of family) token.revoked = true;
        throw new GoTrueError(400, 'refresh_token_already_used', 'Invalid Refresh Token: Already Used');
      }
      used.revoked = true;
      return toJson(user, addToken(session.id, name));
    },

    /** Raises the same session to aal2 with new tokens, after a second factor; sessions below it end. */
    raise(
      sessionId: string,
      user: User,
      factorId: string,
      method: 'totp' | 'mfa/phone' | 'mfa/webauthn',
    ): Promise<SessionJson> {
      const session = sessions.get(sessionId);
      const active = familyOf(sessionId).find((token) => !token.revoked);
      if (!session || !active) throw new Error('No such session.');
      const earlier = session.methods.filter((each) => each.method !== method);
      session.methods = [{ method, timestamp: seconds() }, ...earlier];
      Object.assign(session, { aal: 'aal2', factorId });
      active.revoked = true;
      endWhere(({ userId, aal }) => userId === user.id && aal === 'aal1');
      return toJson(user, addToken(sessionId, active.token));
    },

    /** A factor was removed: its sessions become aal1 again. Their tokens change at the next refresh. */
    lower(factorId: string): void {
      for (const session of sessions.values()) {
        if (session.factorId !== factorId) continue;
        session.aal = 'aal1';
        session.methods = session.methods.filter(
          ({ method }) => !['totp', 'mfa/phone', 'mfa/webauthn'].includes(method),
        );
      }
    },

    /** Ends what a user's grant gave to an application. */
    endClient(userId: string, clientId: string): void {
      endWhere((session) => session.userId === userId && session.clientId === clientId);
    },

    signOut(sessionId: string, userId: string, scope: string): void {
      endWhere(
        (session) =>
          session.userId === userId && (scope === 'global' || (scope === 'local') === (session.id === sessionId)),
      );
    },
  };
}

function textClaim(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

export type Sessions = ReturnType<typeof createSessions>;
