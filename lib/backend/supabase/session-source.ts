import { cookieBytes } from '../../tools/cookie-chunks.ts';
import { defined, isRecord } from '../../tools/json.ts';
import { readToken } from '../../session/jwt.ts';
import type { Token } from '../../session/jwt.ts';
import { measureVerify } from '../../session/events.ts';
import type { SessionSource, TokenOrigin, Verdict } from '../../session/source.ts';
import type { FreshSignIn } from '../../http/adapter.ts';
import type { AccessTokenClaims, BackendSession, BackendUser, Session } from '../../types.ts';
import { factsOf, newestAmrTime, parseContentText, sdkContent, slimContent, storedOf } from './session-cookie.ts';
import type { SessionCookie, StoredContent } from './session-cookie.ts';
import type { Supabase } from './supabase.ts';
import type { Clients, TokenVerifier } from './verify-token.ts';

export interface BackendSource extends SessionSource<StoredContent, BackendSession> {
  /** The stored content of a verified session; `undefined` for a session that did not come from here. */
  contentOf(session: BackendSession): StoredContent | undefined;
}

/** Supabase sessions in the cookies of @supabase/ssr. */
export function createBackendSource(
  cookie: SessionCookie,
  tokens: TokenVerifier,
  supabase: Pick<Supabase, 'refresh'>,
): BackendSource {
  const contents = new WeakMap<Session, StoredContent>();

  async function verify(token: Token, origin: TokenOrigin, clients: Clients): Promise<Verdict<BackendSession>> {
    const verdict = await tokens.verify(token, origin, clients);
    if (verdict.kind !== 'valid') return verdict;
    const { claims, validUntil } = verdict;
    const session = sessionOf(token.text, claims, clients === 'own client' ? 'cookie' : 'bearer');
    return { kind: 'live', session, ...defined({ validUntil }) };
  }

  async function verifyContent(
    content: StoredContent,
    origin: TokenOrigin,
    token = readToken(content.access_token),
  ): Promise<Verdict<BackendSession>> {
    const verdict = await verify(token, origin, 'own client');
    if (verdict.kind === 'live') contents.set(verdict.session, sdkContent(content));
    return verdict;
  }

  return {
    adapter: 'backend',
    isSealed: false,
    findCookie: cookie.findCookie,
    read(cookies) {
      if (!cookie.isPresent(cookies)) return { kind: 'none' };
      const { sessions, isComplete, reason } = cookie.read(cookies);
      const candidates = sessions.map((found) => ({ ...storedOf(found.content), cookie: found.cookie }));
      return candidates.length === 0
        ? { kind: 'unreadable', reason }
        : { kind: 'stored', candidates, isKept: !isComplete };
    },
    verify: (content, origin, token) => measureVerify('backend', () => verifyContent(content, origin, token)),
    verifyBearer: (token, origin) => measureVerify('backend', () => verify(token, origin, 'any client')),
    verifyForResource: (token, origin) =>
      measureVerify('backend', () => verify(token, origin, 'any client and audience')),
    refresh: (content, signal, client) => supabase.refresh(content.refresh_token, signal, client, content.access_token),
    factsOf,
    toStored: storedOf,
    serialize: (content) => JSON.stringify(content),
    deserialize: parseContentText,
    cookieBytes: async (content) => cookieBytes(await cookie.write(content, new Map())),
    slim: slimContent,
    holding: cookie.holding,
    write: cookie.write,
    clear: cookie.clear,
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

/** From the signed claims only: the `user` in the cookie is unsigned. */
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

/** Sign-in times, from the `amr` claim. */
export const freshSignIn: FreshSignIn = {
  authenticatedAt: ({ claims }) => newestAmrTime(claims),
  signInId: ({ claims }) => JSON.stringify([claims['session_id'], newestAmrTime(claims)]),
  parameters: (_session, maxAge) => ({ max_age: String(maxAge) }),
};
