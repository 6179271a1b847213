import type { Switches } from './faults.ts';
import { newId, newSecret } from './ids.ts';
import type { StandInUser } from './people.ts';
import type { Claims } from './tokens.ts';

export interface SessionsContext {
  readonly now: () => number;
  readonly switches: Switches;
  readonly users: ReadonlyMap<string, StandInUser>;
  readonly clientId: string;
  readonly issuer: string;
  readonly sign: (claims: Claims) => Promise<string>;
}

export interface StartSession {
  readonly user: StandInUser;
  readonly organizationId?: string | undefined;
  readonly authenticationMethod: string;
  readonly accessTokenTtlSeconds?: number | undefined;
  readonly claims?: Claims | undefined;
  /** A live session that gets further tokens instead. */
  readonly sessionId?: string | undefined;
}

export interface TokenPair {
  readonly user: StandInUser;
  readonly sessionId: string;
  readonly organizationId: string | undefined;
  readonly authenticationMethod: string;
  readonly accessToken: string;
  readonly refreshToken: string;
}

export type Rotation =
  | { readonly kind: 'rotated'; readonly pair: TokenPair }
  | { readonly kind: 'invalid_grant'; readonly description: string }
  | { readonly kind: 'not_a_member' };

interface Session {
  readonly id: string;
  readonly userId: string;
  readonly authenticationMethod: string;
  readonly startedAtMs: number;
  organizationId: string | undefined;
  ended: boolean;
}

interface RefreshToken {
  readonly session: Session;
  exchanged?: { readonly atMs: number; readonly pair: Promise<TokenPair> };
}

/** As WorkOS documents it: https://workos.com/docs/authkit/session-resilience */
const replayGraceMs = 30_000;

/** A year. */
const sessionLifeMs = 365 * 86_400_000;

/** Sessions and their refresh tokens, each valid for one exchange. */
export function createSessions({ now, switches, users, clientId, issuer, sign }: SessionsContext) {
  const sessions = new Map<string, Session>();
  const refreshTokens = new Map<string, RefreshToken>();

  async function issuePair(
    session: Session,
    user: StandInUser,
    extra: Partial<StartSession> = {},
    refreshToken = newSecret(),
  ): Promise<TokenPair> {
    const { id: sessionId, organizationId, authenticationMethod, startedAtMs } = session;
    const membership = user.organizations.find(({ id }) => id === organizationId);
    refreshTokens.set(refreshToken, { session });
    const iat = Math.floor(now() / 1000);
    const accessToken = await sign({
      iss: issuer,
      sub: user.id,
      sid: sessionId,
      jti: newId('jti', now()).slice('jti_'.length),
      client_id: clientId,
      ...(organizationId !== undefined && { org_id: organizationId }),
      ...(membership?.role !== undefined && { role: membership.role, roles: [membership.role] }),
      ...(membership?.permissions !== undefined && { permissions: membership.permissions }),
      ...(user.impersonator && { act: { sub: user.impersonator.email } }),
      auth_time: Math.floor(startedAtMs / 1000),
      iat,
      exp: iat + (extra.accessTokenTtlSeconds ?? switches.accessTokenTtlSeconds),
      ...switches.extraClaims,
      ...extra.claims,
    });
    return { user, sessionId, organizationId, authenticationMethod, accessToken, refreshToken };
  }

  return {
    start(options: StartSession): Promise<TokenPair> {
      const { user, organizationId, authenticationMethod } = options;
      const live = sessions.get(options.sessionId ?? '');
      if (live?.ended === false) {
        live.organizationId = organizationId;
        return issuePair(live, user, options);
      }
      const session: Session = {
        id: newId('session', now()),
        userId: user.id,
        authenticationMethod,
        startedAtMs: now(),
        organizationId,
        ended: false,
      };
      sessions.set(session.id, session);
      return issuePair(session, user, options);
    },

    /** Exchanges a refresh token; with `organizationId` the session moves to that organization. */
    async rotate(refreshToken: string, organizationId: string | undefined): Promise<Rotation> {
      const known = refreshTokens.get(refreshToken);
      const user = known && users.get(known.session.userId);
      if (!known || !user) return { kind: 'invalid_grant', description: 'Invalid refresh token.' };
      const { session, exchanged } = known;
      if (session.ended) return { kind: 'invalid_grant', description: 'Session has already ended.' };
      if (switches.repeatsRefreshTokens && organizationId === undefined) {
        return { kind: 'rotated', pair: await issuePair(session, user, {}, refreshToken) };
      }
      if (exchanged) {
        const isForgiven = switches.replayGrace && now() - exchanged.atMs <= replayGraceMs;
        if (isForgiven) return { kind: 'rotated', pair: await exchanged.pair };
        return { kind: 'invalid_grant', description: 'Refresh token already exchanged.' };
      }
      if (organizationId !== undefined) {
        if (!user.organizations.some(({ id }) => id === organizationId)) return { kind: 'not_a_member' };
        session.organizationId = organizationId;
      }
      // Marked before the first await, so that only one of two concurrent exchanges succeeds.
      known.exchanged = { atMs: now(), pair: issuePair(session, user) };
      return { kind: 'rotated', pair: await known.exchanged.pair };
    },

    /** The user of a refresh token's session. */
    ownerOf(refreshToken: string): StandInUser | undefined {
      const session = refreshTokens.get(refreshToken)?.session;
      return session && users.get(session.userId);
    },

    /** The sessions of a user in WorkOS' wire format, newest first. https://workos.com/docs/reference/authkit/session/list */
    listOf: (userId: string) =>
      [...sessions.values()]
        .filter((session) => session.userId === userId)
        .reverse()
        .map((session) => ({
          object: 'session',
          id: session.id,
          user_id: userId,
          organization_id: session.organizationId ?? null,
          ip_address: '127.0.0.1',
          user_agent: 'a browser <of 2026>',
          auth_method: session.authenticationMethod.toLowerCase(),
          status: session.ended ? 'revoked' : 'active',
          expires_at: new Date(session.startedAtMs + sessionLifeMs).toISOString(),
          ended_at: null,
          created_at: new Date(session.startedAtMs).toISOString(),
          updated_at: new Date(session.startedAtMs).toISOString(),
        })),

    isActive: (sessionId: string): boolean => sessions.get(sessionId)?.ended === false,

    endAll(userId: string): void {
      for (const session of sessions.values()) if (session.userId === userId) session.ended = true;
    },

    end(sessionId: string): void {
      const session = sessions.get(sessionId);
      if (session) session.ended = true;
    },
  };
}

export type Sessions = ReturnType<typeof createSessions>;
