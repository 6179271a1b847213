import type { AuthenticationResponse } from '@workos-inc/node';
import * as v from 'valibot';
import {
  chunkCookie,
  chunkNames,
  cookieBytes,
  createChunksFinder,
  sessionCandidates,
  writeChunks,
} from '../core/cookie-chunks.ts';
import type { CookieWrite, RequestCookies } from '../core/cookies.ts';
import { isRecord } from '../core/json.ts';
import { AuthError } from '../errors.ts';
import { cookieAttributes } from '../http/options.ts';
import { measureVerify } from '../session/diagnostics.ts';
import type { Candidate, ReadOutcome, SessionFacts, SessionSource, StoredSession, Verdict } from '../session/source.ts';
import { tokenLifetimeMs, verifyAccessToken } from '../tokens/access-token.ts';
import type { KeySet } from '../tokens/key-set.ts';
import { readSessionId, readToken } from '../tokens/token.ts';
import type { Token } from '../tokens/token.ts';
import type { AccessTokenClaims, B2bSession } from '../types.ts';
import { verifyBearer } from './bearer.ts';
import type { B2bOptions } from './options.ts';
import { failedRefresh } from './provider-errors.ts';
import { isSealLike, sealedLength } from './seal.ts';
import type { Seal } from './seal.ts';
import type { Provider } from './workos.ts';

const optionalText = v.nullish(v.string());
/** Null means absent: WorkOS answers `"organization_id": null`, and SDKs that seal the whole answer seal it, too. */
const orAbsent = <Entry extends v.GenericSchema>(entry: Entry) => v.nullish(entry, () => undefined);

/** Exactly what WorkOS' SDKs keep in their session cookie; what others add is dropped. */
const schema = v.object({
  accessToken: v.pipe(v.string(), v.nonEmpty()),
  refreshToken: v.pipe(v.string(), v.nonEmpty()),
  user: v.looseObject({
    id: v.pipe(v.string(), v.nonEmpty()),
    email: v.string(),
    firstName: optionalText,
    lastName: optionalText,
    profilePictureUrl: optionalText,
  }),
  impersonator: orAbsent(v.object({ email: v.string(), reason: optionalText })),
  authenticationMethod: orAbsent(v.string()),
  organizationId: orAbsent(v.string()),
  /** Seconds since the epoch, to the millisecond; our own, for `sessionMaxAge` and `endSession`. Lost where another SDK seals the session again. */
  signedInAt: orAbsent(v.number()),
});

/** What the session cookie's seal holds. */
export type SealedSession = v.InferOutput<typeof schema>;

/** What an opened seal or a coordinator's message holds, if it is a session. */
export function parseStoredSession(value: unknown): SealedSession | undefined {
  const parsed = v.safeParse(schema, value);
  return parsed.success ? parsed.output : undefined;
}

/**
 * @param signedInAt seconds since the epoch
 * @throws {AuthError} `token_rejected` when the response to a sign-in lacks a token or a user
 */
export function newSession(response: AuthenticationResponse, signedInAt: number): SealedSession {
  const session = parseStoredSession({ ...response, signedInAt });
  if (session === undefined) throw new AuthError('token_rejected');
  return session;
}

/**
 * The session after a refresh. The old refresh token is spent, so the tokens of the response are kept whatever it lacks; what cannot
 * be used of the rest stays as it was.
 *
 * @throws {AuthError} `token_rejected` when the response carries no token at all
 */
export function renewedSession(response: AuthenticationResponse, former: SealedSession): SealedSession {
  const { accessToken, refreshToken, user, organizationId } = response;
  const impersonator = response.impersonator ?? former.impersonator;
  // A refresh is no authentication: the method stays the one that the person used.
  const authenticationMethod = former.authenticationMethod ?? response.authenticationMethod;
  const update = { accessToken, refreshToken, user, organizationId, impersonator, authenticationMethod };
  const tokens = [accessToken, refreshToken].filter((token) => typeof token === 'string' && token !== '');
  const session =
    parseStoredSession({ ...former, ...update }) ??
    parseStoredSession({
      ...former,
      accessToken: accessToken || former.accessToken,
      refreshToken: refreshToken || former.refreshToken,
    });
  if (tokens.length === 0 || session === undefined) throw new AuthError('token_rejected');
  return session;
}

export interface B2bSource extends SessionSource<SealedSession, B2bSession> {
  /** When our own callback stored the session, in seconds since the epoch, where its seal says so. */
  signedInAt(session: B2bSession): number | undefined;
}

/** WorkOS sessions in a sealed cookie. */
export function createB2bSource(
  settings: Pick<B2bOptions, 'clientId' | 'cookieName' | 'cookieOptions' | 'issuer' | 'now' | 'sessionMaxAge'>,
  seal: Seal,
  keySet: KeySet,
  provider: Pick<Provider, 'refresh'>,
): B2bSource {
  const { cookieName } = settings;
  const signInTimes = new WeakMap<B2bSession, number>();
  const attributes = { ...cookieAttributes(settings.cookieOptions, cookieName), secure: true };
  return {
    adapter: 'b2b',
    isSealed: true,
    hasVariants: true,
    findCookie: createChunksFinder(cookieName),
    read: (cookies) => readSealed(cookies, cookieName, seal),
    async verify(content, origin, token) {
      const keys = origin === 'provider' ? keySet.ofIssued : keySet;
      const verdict = await measureVerify('b2b', () => verifySession(settings, content, keys, token));
      if (verdict.kind === 'live' && content.signedInAt !== undefined)
        signInTimes.set(verdict.session, content.signedInAt);
      return verdict;
    },
    signedInAt: (session) => signInTimes.get(session),
    verifyBearer: (token) => measureVerify('b2b', () => verifyBearer(settings, token, keySet)),
    async refresh(content, signal, client) {
      try {
        return { kind: 'renewed', content: renewedSession(await provider.refresh(content, client, signal), content) };
      } catch (error) {
        if (error instanceof AuthError) throw error;
        return failedRefresh(error);
      }
    },
    factsOf,
    toStored: storedSession,
    serialize: (content) => JSON.stringify(content),
    deserialize(message) {
      try {
        return parseStoredSession(JSON.parse(message));
      } catch {
        return undefined;
      }
    },
    cookieBytes: (content) => cookieBytes(chunkCookie(cookieName, 'x'.repeat(sealedLength(content)), { attributes })),
    // It holds what WorkOS' SDKs keep, and nothing else.
    slim: (content) => content,
    write: async (content, cookies) => writeChunks(cookieName, await seal.seal(content), cookies, { attributes }),
    clear: (cookies): CookieWrite[] => chunkNames(cookies, cookieName).map((name) => ({ name, value: undefined })),
  };
}

async function verifySession(
  { clientId, issuer, sessionMaxAge, now }: Pick<B2bOptions, 'clientId' | 'issuer' | 'now' | 'sessionMaxAge'>,
  content: SealedSession,
  keys: Omit<KeySet, 'ofIssued'>,
  token = readToken(content.accessToken),
): Promise<Verdict<B2bSession>> {
  const { signedInAt } = content;
  const validUntil =
    sessionMaxAge === undefined || signedInAt === undefined ? undefined : (signedInAt + sessionMaxAge) * 1000;
  if (validUntil !== undefined && validUntil <= now()) return { kind: 'invalid', reason: 'session_max_age' };
  const verdict = await verifyAccessToken(token, keys, now);
  if (verdict.kind !== 'valid') return verdict;
  const { claims } = verdict;
  if (claims.sub !== content.user.id) return { kind: 'invalid', reason: 'subject' };
  if (claims['client_id'] !== undefined && claims['client_id'] !== clientId) {
    return { kind: 'invalid', reason: 'client_id' };
  }
  const { iss } = claims;
  if (issuer !== undefined && !(typeof iss === 'string' && issuer.includes(iss))) {
    return { kind: 'invalid', reason: 'issuer' };
  }
  const session = publicSession(content, claims);
  return validUntil === undefined ? { kind: 'live', session } : { kind: 'live', session, validUntil };
}

async function readSealed(
  cookies: RequestCookies,
  cookieName: string,
  seal: Seal,
): Promise<ReadOutcome<SealedSession>> {
  if (chunkNames(cookies, cookieName).length === 0) return { kind: 'none' };
  const candidates: Candidate<SealedSession>[] = [];
  let isOurs = false;
  const { values, isComplete } = sessionCandidates(cookies, cookieName, isSealLike);
  for (const cookie of values) {
    const opened = await seal.unseal(cookie);
    const content = parseStoredSession(opened);
    if (content !== undefined) candidates.push({ ...storedSession(content), cookie });
    else isOurs ||= opened !== undefined;
  }
  if (candidates.length > 0) return { kind: 'stored', candidates, isKept: !isComplete };
  // Sealed with our password by another application that shares the cookie: deleting it would sign the visitor out there.
  return isOurs
    ? { kind: 'unreadable', reason: 'not_a_session', isKept: true }
    : { kind: 'unreadable', reason: 'unreadable', isKept: !isComplete };
}

function storedSession(content: SealedSession): StoredSession<SealedSession> {
  const token = readToken(content.accessToken);
  const { signedInAt } = content;
  return {
    ...factsOf(token.claims),
    ...(signedInAt === undefined ? {} : { beganAt: Math.round(signedInAt * 1000) }),
    content,
    refreshToken: content.refreshToken,
    tokenLifetimeMs: tokenLifetimeMs(token.claims),
    token,
  };
}

/** What a token's claims say of its session. */
function factsOf({ sid, sub, auth_time: authTime, iat }: Token['claims']): SessionFacts {
  return {
    sessionId: readSessionId(sid),
    userId: typeof sub === 'string' ? sub : undefined,
    beganAt: typeof authTime === 'number' ? authTime * 1000 : 0,
    issuedAt: typeof iat === 'number' ? iat * 1000 : 0,
  };
}

/** The session as the application sees it; `claims` are those of its verified access token. */
function publicSession(content: SealedSession, claims: AccessTokenClaims): B2bSession {
  const { id, email, firstName = null, lastName = null, profilePictureUrl = null } = content.user;
  const { emailVerified, externalId, metadata, locale } = content.user;
  const { impersonator } = content;
  const sessionId = readSessionId(claims['sid']);
  const { org_id: organizationId } = claims;
  return {
    adapter: 'b2b',
    credential: 'cookie',
    user: {
      id,
      email,
      firstName,
      lastName,
      profilePictureUrl,
      emailVerified: emailVerified === true,
      externalId: textOrNull(externalId),
      metadata: textsIn(metadata),
      locale: textOrNull(locale),
    },
    ...(sessionId === undefined ? {} : { sessionId }),
    ...(typeof organizationId === 'string' && organizationId !== '' ? { organizationId } : {}),
    ...(impersonator === undefined
      ? {}
      : { impersonator: { email: impersonator.email, reason: impersonator.reason ?? null } }),
    accessToken: content.accessToken,
    claims,
    expiresAt: claims.exp * 1000,
  };
}

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

function textsIn(metadata: unknown): Record<string, string> {
  const entries = isRecord(metadata) ? Object.entries(metadata) : [];
  return Object.fromEntries(entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string'));
}
