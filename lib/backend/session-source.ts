import { cookieBytes } from '../core/cookie-chunks.ts';
import { isRecord } from '../core/json.ts';
import { readToken } from '../tokens/token.ts';
import type { Token } from '../tokens/token.ts';
import { measureVerify } from '../session/diagnostics.ts';
import type { ClientFacts, RefreshOutcome, SessionSource, TokenOrigin, Verdict } from '../session/source.ts';
import type { FreshSignIn } from '../http/adapter.ts';
import type { AccessTokenClaims, BackendSession, BackendUser, Session } from '../types.ts';
import { factsOf, parseContentText, sdkContent, slimContent, storedOf } from './session-cookie.ts';
import type { SessionCookie, StoredContent } from './session-cookie.ts';
import type { TokenVerifier } from './verify-token.ts';

export interface BackendSource extends SessionSource<StoredContent> {
  /** What a verified session was made of; `undefined` for a session that did not come from here. */
  contentOf(session: BackendSession): StoredContent | undefined;
}

export interface BackendSourceParts {
  readonly cookie: SessionCookie;
  readonly tokens: TokenVerifier;
  readonly refresh: (
    refreshToken: string,
    signal: AbortSignal,
    client: ClientFacts,
  ) => Promise<RefreshOutcome<StoredContent>>;
}

/** Supabase sessions in the cookies of @supabase/ssr. */
export function createBackendSource({ cookie, tokens, refresh }: BackendSourceParts): BackendSource {
  const contents = new WeakMap<BackendSession, StoredContent>();

  async function verify(
    content: StoredContent,
    origin: TokenOrigin,
    token = readToken(content.access_token),
  ): Promise<Verdict> {
    const verdict = await tokens.verify(token, origin);
    if (verdict.kind !== 'valid') return verdict;
    const session = sessionOf(content.access_token, verdict.claims, 'cookie');
    contents.set(session, sdkContent(content));
    const { validUntil } = verdict;
    return { kind: 'live', session, ...(validUntil === undefined ? {} : { validUntil }) };
  }

  async function verifyBearer(token: Token, origin: TokenOrigin): Promise<Verdict> {
    const verdict = await tokens.verify(token, origin, 'any client');
    if (verdict.kind !== 'valid') return verdict;
    const { claims, validUntil } = verdict;
    const session = sessionOf(token.text, claims, 'bearer');
    return { kind: 'live', session, ...(validUntil === undefined ? {} : { validUntil }) };
  }

  return {
    adapter: 'backend',
    isSealed: false,
    findCookie: (cookieHeader) => cookie.findCookie(cookieHeader),
    read(cookies) {
      if (!cookie.isPresent(cookies)) return { kind: 'none' };
      const { sessions, isComplete, reason } = cookie.read(cookies);
      const candidates = sessions.map((found) => ({ ...storedOf(found.content), cookie: found.cookie }));
      const isKept = !isComplete;
      return candidates.length === 0 ? { kind: 'unreadable', reason, isKept } : { kind: 'stored', candidates, isKept };
    },
    verify: (content, origin, token) => measureVerify('backend', () => verify(content, origin, token)),
    verifyBearer: (token, origin) => measureVerify('backend', () => verifyBearer(token, origin)),
    refresh: (content, signal, client) => refresh(content.refresh_token, signal, client),
    factsOf,
    toStored: storedOf,
    serialize: (content) => JSON.stringify(content),
    deserialize: parseContentText,
    cookieBytes: async (content) => cookieBytes(await cookie.write(content, new Map())),
    slim: slimContent,
    write: (content, cookies) => cookie.write(content, cookies),
    clear: (cookies) => cookie.clear(cookies),
    contentOf: (session) => contents.get(session),
  };
}

function sessionOf(
  accessToken: string,
  claims: AccessTokenClaims,
  credential: BackendSession['credential'],
): BackendSession {
  return { adapter: 'backend', credential, user: userOf(claims), accessToken, claims, expiresAt: claims.exp * 1000 };
}

/** From the signed claims alone: the `user` in the cookie is whatever the browser says it is. */
function userOf(claims: AccessTokenClaims): BackendUser {
  const { sub, email, phone, role, is_anonymous: isAnonymous, app_metadata: app, user_metadata: user } = claims;
  return {
    id: sub,
    email: typeof email === 'string' && email !== '' ? email : null,
    ...(typeof phone === 'string' && phone !== '' ? { phone } : {}),
    role: typeof role === 'string' ? role : '',
    isAnonymous: isAnonymous === true,
    appMetadata: recordOf(app),
    userMetadata: recordOf(user),
  };
}

function recordOf(value: AccessTokenClaims[string]): Readonly<Record<string, unknown>> {
  return isRecord(value) ? value : {};
}

/** When people signed in: the newest time in `amr`, which lists the ways in which they did; a refresh does not add to it. */
export const freshSignIn: FreshSignIn = {
  authenticatedAt: newestAmrTime,
  signInId: (session) => JSON.stringify([session.claims['session_id'], newestAmrTime(session)]),
  parameters: (_session, maxAge) => ({ max_age: String(maxAge) }),
};

function newestAmrTime({ claims: { amr } }: Session): number | undefined {
  const entries = Array.isArray(amr) ? amr : [];
  const times = entries.flatMap((entry) => {
    const time: unknown = isRecord(entry) ? entry['timestamp'] : undefined;
    return typeof time === 'number' && Number.isFinite(time) ? [time] : [];
  });
  return times.length === 0 ? undefined : Math.max(...times);
}

/** The client of the project's OAuth server that a token was issued to; the application's own tokens name none. */
export function foreignClient({ client_id: client }: AccessTokenClaims): string | undefined {
  if (client === undefined || client === null) return undefined;
  return typeof client === 'string' ? client : '';
}
