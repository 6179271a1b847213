import {
  chunkCookie,
  chunkNames,
  cookieBytes,
  cookiesHolding,
  deletionsOf,
  sessionCandidates,
  writeChunks,
} from '../tools/cookie-chunks.ts';
import { createChunksFinder } from '../tools/cookies.ts';
import type { RequestCookies } from '../tools/cookies.ts';
import { defined, isRecord, parseJson } from '../tools/json.ts';
import { AuthError } from '../errors.ts';
import { cookieAttributes } from '../options/shared.ts';
import { measureVerify } from '../session/events.ts';
import type {
  Candidate,
  ClientFacts,
  ReadOutcome,
  RefreshOutcome,
  SessionSource,
  StoredSession,
  Verdict,
} from '../session/source.ts';
import type { SessionFacts } from '../session/ended/record.ts';
import { tokenLifetimeMs, verifyAccessToken, readSessionId, readToken } from '../session/jwt.ts';
import type { KeySet, SigningKeys } from '../session/keys.ts';
import type { Token } from '../session/jwt.ts';
import type { AccessTokenClaims, B2bSession, B2bUser } from '../types.ts';
import type { B2bOptions } from './options.ts';
import { classifyFailure, failedRefresh } from './provider-errors.ts';
import type { ProviderFailure } from './provider-errors.ts';
import { refusals } from './refusals.ts';
import { isSealLike, parseStoredSession, renewedSession, sealedLength } from './seal.ts';
import type { Seal, SealedSession } from './seal.ts';
import type { Provider } from './workos.ts';

export interface B2bSource extends SessionSource<SealedSession, B2bSession> {
  /** When our callback stored the session, in seconds since the epoch, if the seal contains it. */
  signedInAt(session: B2bSession): number | undefined;
}

/** WorkOS sessions in a sealed cookie. */
export function createB2bSource(
  settings: Pick<B2bOptions, 'clientId' | 'cookieName' | 'cookieOptions' | 'issuer' | 'now'>,
  seal: Seal,
  keySet: KeySet,
  provider: Pick<Provider, 'refresh'>,
): Omit<B2bSource, 'verifyForResource'> {
  const { cookieName } = settings;
  const signInTimes = new WeakMap<B2bSession, number>();
  const attributes = { ...cookieAttributes(settings.cookieOptions, cookieName), secure: true };
  return {
    adapter: 'b2b',
    isSealed: true,
    findCookie: createChunksFinder(cookieName),
    read: (cookies) => readSealed(settings, cookies, seal),
    async verify(content, origin, token) {
      const keys = origin === 'provider' ? keySet.ofIssued : keySet;
      const verdict = await measureVerify('b2b', () => verifySession(settings, content, keys, token));
      if (verdict.kind === 'live' && content.signedInAt !== undefined)
        signInTimes.set(verdict.session, content.signedInAt);
      return verdict;
    },
    signedInAt: (session) => signInTimes.get(session),
    verifyBearer: (token) => measureVerify('b2b', () => verifyBearer(settings, token, keySet)),
    refresh: (content, signal, client) => refreshSession(provider, content, signal, client),
    signInAfter({ organizationId }, reason) {
      const isAsked = refusals.get(reason)?.organization === 'sign_in';
      return isAsked && organizationId !== undefined ? { organization_id: organizationId } : {};
    },
    factsOf,
    toStored: storedSession,
    serialize: (content) => JSON.stringify(content),
    deserialize: (message) => parseStoredSession(parseJson(message)),
    cookieBytes: (content) => cookieBytes(chunkCookie(cookieName, 'x'.repeat(sealedLength(content)), { attributes })),
    // The cookie already holds only what WorkOS' SDKs keep.
    slim: (content) => content,
    holding: (cookies, sessions) => cookiesHolding(cookies, cookieName, sessions),
    write: async (content, cookies) => writeChunks(cookieName, await seal.seal(content), cookies, { attributes }),
    clear: (cookies) => deletionsOf(chunkNames(cookies, cookieName), attributes.domain),
  };
}

async function refreshSession(
  provider: Pick<Provider, 'refresh'>,
  content: SealedSession,
  signal: AbortSignal,
  client: ClientFacts,
): Promise<RefreshOutcome<SealedSession>> {
  try {
    return { kind: 'renewed', content: renewedSession(await provider.refresh(content, client, signal), content) };
  } catch (error) {
    if (error instanceof AuthError) throw error;
    // A refused organization does not spend the token: the user may go on without it.
    const { organizationId } = content;
    if (organizationId !== undefined && hasLeft(classifyFailure(error))) {
      return refreshSession(provider, { ...content, organizationId: undefined }, signal, client);
    }
    return failedRefresh(error);
  }
}

function hasLeft(failure: ProviderFailure): boolean {
  return failure.kind === 'refused' && refusals.get(failure.code)?.organization === 'left';
}

async function verifySession(
  { clientId, issuer, now }: Pick<B2bOptions, 'clientId' | 'issuer' | 'now'>,
  content: SealedSession,
  keys: SigningKeys,
  token = readToken(content.accessToken),
): Promise<Verdict<B2bSession>> {
  const verdict = await verifyAccessToken(token, keys, now);
  if (verdict.kind !== 'valid') return verdict;
  const { claims } = verdict;
  if (claims.sub !== content.user.id) return { kind: 'invalid', reason: 'subject' };
  const problem = claimProblem(claims, clientId, issuer);
  if (problem !== undefined) return { kind: 'invalid', reason: problem };
  if (!isOwnSession(claims, clientId)) return { kind: 'invalid', reason: 'no_session' };
  return { kind: 'live', session: cookieSession(content, claims) };
}

/** Any token of this issuer. The guard asks `foreignClient` whose it is, and whether that client may call. */
async function verifyBearer(
  { clientId, issuer, now }: Pick<B2bOptions, 'clientId' | 'issuer' | 'now'>,
  token: Token,
  keys: SigningKeys,
): Promise<Verdict<B2bSession>> {
  const verdict = await verifyAccessToken(token, keys, now);
  if (verdict.kind !== 'valid') return verdict;
  if (!isIssuerListed(verdict.claims, issuer)) return { kind: 'invalid', reason: 'issuer' };
  return { kind: 'live', session: bearerSession(token.text, verdict.claims, clientId) };
}

/**
 * Whether the token is a session's. The same keys also sign tokens for widgets, agents, Connect applications and machines:
 * they name a user, but they are no sign-in. WorkOS gives each session an id of this form.
 */
function isOwnSession(claims: AccessTokenClaims, clientId: string): boolean {
  const { sid, aud } = claims;
  const isOurs = aud === undefined || aud === null || [aud].flat().includes(clientId);
  return isOurs && typeof sid === 'string' && sid.startsWith('session_') && isOwnClient(claims, clientId);
}

function isOwnClient({ client_id: client }: Token['claims'], clientId: string): boolean {
  return client === undefined || client === null || client === clientId;
}

/**
 * The client that a token was issued to, if it is no session of this application; empty where it names none, so that no
 * list can admit it. A machine's token has its client id as `sub`.
 */
export function foreignClient(claims: AccessTokenClaims, clientId: string): string | undefined {
  if (isOwnSession(claims, clientId)) return undefined;
  const { sub, client_id: client } = claims;
  if (!isOwnClient(claims, clientId)) return typeof client === 'string' ? client : '';
  return client !== clientId && sub.startsWith('client_') ? sub : '';
}

function isIssuerListed({ iss }: Token['claims'], issuers: readonly string[] | undefined): boolean {
  return issuers === undefined || (typeof iss === 'string' && issuers.includes(iss));
}

async function readSealed(
  { clientId, cookieName, issuer }: Pick<B2bOptions, 'clientId' | 'cookieName' | 'issuer'>,
  cookies: RequestCookies,
  seal: Seal,
): Promise<ReadOutcome<SealedSession>> {
  if (chunkNames(cookies, cookieName).length === 0) return { kind: 'none' };
  const candidates: Candidate<SealedSession>[] = [];
  let reason = 'unreadable';
  const { values, isComplete } = sessionCandidates(cookies, cookieName, isSealLike);
  for (const cookie of values) {
    const opened = await seal.unseal(cookie);
    if (opened === undefined) continue;
    const content = parseStoredSession(opened);
    const stored = content && storedSession(content);
    // Another application with the same password may have sealed it.
    const problem = stored === undefined ? 'not_a_session' : claimProblem(stored.token.claims, clientId, issuer);
    if (stored !== undefined && problem === undefined) candidates.push({ ...stored, cookie });
    else reason = problem ?? reason;
  }
  return candidates.length > 0 ? { kind: 'stored', candidates, isKept: !isComplete } : { kind: 'unreadable', reason };
}

/** Why a token cannot be one of this application's; found without a signature check, and before its refresh token is sent. */
function claimProblem(claims: Token['claims'], clientId: string, issuers: B2bOptions['issuer']): string | undefined {
  if (!isOwnClient(claims, clientId)) return 'client_id';
  return isIssuerListed(claims, issuers) ? undefined : 'issuer';
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

/** The session facts in a token's claims. */
function factsOf({ sid, sub, auth_time: authTime, iat }: Token['claims']): SessionFacts {
  return {
    sessionId: readSessionId(sid),
    userId: typeof sub === 'string' ? sub : undefined,
    beganAt: typeof authTime === 'number' ? authTime * 1000 : 0,
    issuedAt: typeof iat === 'number' ? iat * 1000 : 0,
  };
}

/** The session as the application sees it; `claims` are those of its verified access token. */
function cookieSession({ user, impersonator, accessToken }: SealedSession, claims: AccessTokenClaims): B2bSession {
  const { id, email, firstName = null, lastName = null, profilePictureUrl = null } = user;
  return {
    adapter: 'b2b',
    credential: 'cookie',
    user: {
      id,
      email,
      firstName,
      lastName,
      profilePictureUrl,
      emailVerified: user['emailVerified'] === true,
      externalId: textOrNull(user['externalId']),
      metadata: textsIn(user['metadata']),
      locale: textOrNull(user['locale']),
    },
    ...(impersonator && { impersonator: { email: impersonator.email, reason: impersonator.reason ?? null } }),
    ...tokenFacts(accessToken, claims),
  };
}

/** WorkOS' access tokens carry no profile: the user has only the fields of the claims. */
export function bearerSession(accessToken: string, claims: AccessTokenClaims, clientId: string): B2bSession {
  const { sub: id, email } = claims;
  // Agents' tokens have an `act`, too: it names the agent.
  const act = isOwnSession(claims, clientId) ? claims['act'] : undefined;
  return {
    adapter: 'b2b',
    credential: 'bearer',
    user: { id, ...(typeof email === 'string' ? { email } : {}) } as B2bUser,
    ...(isRecord(act) && typeof act['sub'] === 'string' ? { impersonator: { email: act['sub'], reason: null } } : {}),
    ...tokenFacts(accessToken, claims),
  };
}

function tokenFacts(accessToken: string, claims: AccessTokenClaims) {
  const ids = defined({ sessionId: readSessionId(claims['sid']), organizationId: organizationOf(claims) });
  return { ...ids, accessToken, claims, expiresAt: claims.exp * 1000 };
}

/** Absent for a personal session. */
export function organizationOf({ org_id: id }: Token['claims']): string | undefined {
  return typeof id === 'string' && id !== '' ? id : undefined;
}

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

function textsIn(metadata: unknown): Record<string, string> {
  const entries = isRecord(metadata) ? Object.entries(metadata) : [];
  return Object.fromEntries(entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string'));
}
