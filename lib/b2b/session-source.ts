import { verifyAccessToken } from '../tokens/access-token.ts';
import {
  chunkCookie,
  chunkNames,
  cookieBytes,
  createChunksFinder,
  sessionCandidates,
  writeChunks,
} from '../core/cookie-chunks.ts';
import type { CookieAttributes, CookieWrite, RequestCookies } from '../core/cookies.ts';
import { isRecord } from '../core/json.ts';
import type { KeySet } from '../tokens/key-set.ts';
import { readToken } from '../tokens/token.ts';
import { AuthError } from '../errors.ts';
import type { Candidate, ReadOutcome, SessionSource, TokenOrigin, Verdict } from '../session/source.ts';
import type { B2bSession } from '../types.ts';
import { parseContent, renewedContent, sessionIdOf, storedOf } from './session-cookie.ts';
import type { SealedContent } from './session-cookie.ts';
import { failedRefresh } from './provider-errors.ts';
import type { Provider } from './workos.ts';
import { isSealLike, sealedLength } from './seal.ts';
import type { Seal } from './seal.ts';

export interface B2bSourceParts {
  readonly cookieName: string;
  readonly cookieOptions: Omit<CookieAttributes, 'secure'>;
  readonly seal: Seal;
  readonly keySet: KeySet;
  readonly provider: Pick<Provider, 'refresh'>;
  readonly clientId: string;
  readonly issuers: readonly string[] | undefined;
  /** Seconds. */
  readonly sessionMaxAge: number | undefined;
  readonly now: () => number;
}

/** WorkOS sessions in a sealed cookie. */
export function createB2bSource(parts: B2bSourceParts): SessionSource<SealedContent, B2bSession> {
  const { cookieName, seal, keySet, provider, clientId, issuers, sessionMaxAge, now } = parts;
  const attributes: CookieAttributes = { ...parts.cookieOptions, secure: true };

  async function verify(
    content: SealedContent,
    origin: TokenOrigin,
    token = readToken(content.accessToken),
  ): Promise<Verdict<B2bSession>> {
    const { signedInAt } = content;
    const validUntil =
      sessionMaxAge === undefined || signedInAt === undefined ? undefined : (signedInAt + sessionMaxAge) * 1000;
    if (validUntil !== undefined && validUntil <= now()) return { kind: 'invalid', reason: 'session_max_age' };
    const verdict = await verifyAccessToken(token, origin === 'provider' ? keySet.ofIssued : keySet, now);
    if (verdict.kind !== 'valid') return verdict;
    const { claims } = verdict;
    if (claims.sub !== content.user.id) return { kind: 'invalid', reason: 'subject' };
    if (claims['client_id'] !== undefined && claims['client_id'] !== clientId) {
      return { kind: 'invalid', reason: 'client_id' };
    }
    const { iss } = claims;
    if (issuers !== undefined && !(typeof iss === 'string' && issuers.includes(iss))) {
      return { kind: 'invalid', reason: 'issuer' };
    }
    const session = sessionOf(content, claims);
    return validUntil === undefined ? { kind: 'live', session } : { kind: 'live', session, validUntil };
  }

  return {
    adapter: 'b2b',
    isSealed: true,
    findCookie: createChunksFinder(cookieName),
    read: (cookies) => readSealed(cookies, cookieName, seal),
    verify,
    async refresh(content, signal, client) {
      try {
        const response = await provider.refresh(content, client, signal);
        return { kind: 'renewed', content: renewedContent(response, content) };
      } catch (error) {
        if (error instanceof AuthError) throw error;
        return failedRefresh(error);
      }
    },
    toStored: storedOf,
    serialize: (content) => JSON.stringify(content),
    deserialize(message) {
      try {
        return parseContent(JSON.parse(message));
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

async function readSealed(
  cookies: RequestCookies,
  cookieName: string,
  seal: Seal,
): Promise<ReadOutcome<SealedContent>> {
  if (chunkNames(cookies, cookieName).length === 0) return { kind: 'none' };
  const candidates: Candidate<SealedContent>[] = [];
  let isOurs = false;
  const { values, isComplete } = sessionCandidates(cookies, cookieName, isSealLike);
  for (const cookie of values) {
    const opened = await seal.unseal(cookie);
    const content = parseContent(opened);
    if (content !== undefined) candidates.push({ ...storedOf(content), cookie });
    else isOurs ||= opened !== undefined;
  }
  if (candidates.length > 0) return { kind: 'stored', candidates, isKept: !isComplete };
  // Sealed with our password by another application that shares the cookie: deleting it would sign the visitor out there.
  return isOurs
    ? { kind: 'unreadable', reason: 'not_a_session', isKept: true }
    : { kind: 'unreadable', reason: 'unreadable', isKept: !isComplete };
}

function sessionOf(content: SealedContent, claims: B2bSession['claims']): B2bSession {
  const { id, email, firstName = null, lastName = null, profilePictureUrl = null } = content.user;
  const { emailVerified, externalId, metadata, locale } = content.user;
  const { impersonator } = content;
  const sessionId = sessionIdOf(claims);
  const { org_id: organizationId } = claims;
  return {
    adapter: 'b2b',
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
