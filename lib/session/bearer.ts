import { withDeadline } from '../tools/deadline.ts';
import { deepFreeze } from '../tools/json.ts';
import { isUnknownKey, readToken } from './jwt.ts';
import type { Token } from './jwt.ts';
import type { Session } from '../types.ts';
import { outOfTime } from './source.ts';
import { unseen } from './cache.ts';
import type { SessionContext } from './session-context.ts';
import type { SessionFacts } from './ended/record.ts';
import type { ClientFacts, TokenOrigin } from './source.ts';

/** What a token is presented for: the checks differ, so that a token that passes one may fail the other. */
type Purpose = 'session' | 'resource';

/** @throws {AuthError} `provider_unavailable` where only the provider can decide */
export type ResolveBearer = (token: string, client: ClientFacts, tokens?: TakenTokens) => Promise<Session | undefined>;

/** The tokens that are taken besides current ones. */
interface TakenTokens {
  /** Whether claims from before a `renewSession` are accepted, as for a pending sign-in. */
  readonly takesStale?: boolean;
  /** Whether a key that may be newer than the known ones is waited for, by an error, as for tokens that were issued just now. */
  readonly awaitsKeys?: boolean;
}

/**
 * The session of an access token in the request itself, with the same verification and cache as
 * cookie sessions; `undefined` where the token is not valid. It is never renewed.
 */
export function createResolveBearer<Content>(context: SessionContext<Content>, purpose: Purpose): ResolveBearer {
  const { source, cache, revocations, unconfirmed, starts, allowanceOf, now, timeoutMs } = context;
  const verifyToken = (token: Token, origin: TokenOrigin) =>
    purpose === 'resource' ? source.verifyForResource(token, origin) : source.verifyBearer(token, origin);
  const cacheKey = (token: string): string => `${keyPrefixes[purpose]}${token}`;

  async function verify(text: string, client: ClientFacts, takesStale: boolean): Promise<Session | undefined> {
    const token = readToken(text);
    const facts = factsFor(purpose, source.factsOf(token.claims));
    const keys = revocations.keysOf(facts, undefined);
    if (revocations.knownFinally(keys) !== undefined) return undefined;
    const verdict = await verifyToken(token, allowanceOf(client.ipAddress));
    if (verdict.kind !== 'live') return undefined;
    const { session, validUntil = session.expiresAt } = verdict;
    // The clock tolerance applies only to tokens that a renewal can replace.
    if (session.expiresAt <= now()) return undefined;
    // Only for a verified token: a made-up one must not cause a call to the coordinator.
    const { standing, checkedAt, isConfirmed } = await revocations.check(keys);
    if (standing !== 'live' && !(takesStale && standing === 'stale')) return undefined;
    deepFreeze(session);
    if (!isConfirmed) unconfirmed.add(session);
    if (purpose === 'resource') starts.set(session, facts.beganAt);
    cache.add(cacheKey(text), {
      session,
      keys,
      validUntil: Math.min(validUntil, session.expiresAt),
      checkedAt,
      changes: unseen,
    });
    return session;
  }

  return async (text, client, { takesStale = false, awaitsKeys = false } = {}) => {
    const cached = cache.get(cacheKey(text));
    const isGood = cached !== undefined && Math.abs(now() - cached.checkedAt) <= revocations.recheckMs;
    if (isGood) {
      const standing = revocations.known(cached.keys);
      if (standing === 'live' || (takesStale && standing === 'stale')) return cached.session;
      // Another process may have spared the session or the token; the check asks for that.
      if (!revocations.isShared) return undefined;
    }
    try {
      return await withDeadline(() => verify(text, client, takesStale), timeoutMs, outOfTime);
    } catch (error) {
      // Anyone can name a key id that does not exist: that is no outage.
      if (isUnknownKey(error) && !awaitsKeys) return undefined;
      throw error;
    }
  };
}

/**
 * Cookies cannot contain a line break, so no cookie matches a bearer token's cache entry. No prefix begins with another one: an
 * application may hand over a token that begins with anything.
 */
const keyPrefixes: Readonly<Record<Purpose, string>> = { session: '\nsession ', resource: '\nresource ' };

/**
 * AuthKit's tokens for OAuth clients do not say when the person signed in, and one id serves all sign-ins to a client. They count as
 * begun when they were issued: `endSession` ends the tokens until then, and a later sign-in works.
 */
function factsFor(purpose: Purpose, facts: SessionFacts): SessionFacts {
  return purpose === 'resource' && facts.beganAt === 0 ? { ...facts, beganAt: facts.issuedAt } : facts;
}
