import {
  chunkCookie,
  chunkNames,
  cookieBytes,
  createChunksFinder,
  sessionCandidates,
  writeChunks,
} from '../core/cookie-chunks.ts';
import type { CookieWrite, RequestCookies } from '../core/cookies.ts';
import { AuthError } from '../errors.ts';
import { cookieAttributes } from '../http/options.ts';
import { measureVerify } from '../session/diagnostics.ts';
import type { Candidate, ReadOutcome, SessionSource, Verdict } from '../session/source.ts';
import { verifyAccessToken } from '../tokens/access-token.ts';
import type { KeySet } from '../tokens/key-set.ts';
import { readToken } from '../tokens/token.ts';
import type { B2bSession } from '../types.ts';
import { factsOf, verifyBearer } from './bearer.ts';
import type { B2bOptions } from './options.ts';
import { failedRefresh } from './provider-errors.ts';
import { parseStoredSession, publicSession, renewedSession, storedSession } from './sealed-session.ts';
import type { SealedSession } from './sealed-session.ts';
import { isSealLike, sealedLength } from './seal.ts';
import type { Seal } from './seal.ts';
import type { Provider } from './workos.ts';

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
