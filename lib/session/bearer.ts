import { withDeadline } from '../core/deadline.ts';
import { deepFreeze } from '../core/json.ts';
import { isUnknownKey, readToken } from '../tokens/access-token.ts';
import type { Session } from '../types.ts';
import { outOfTime } from './source.ts';
import { unseen } from './session-cache.ts';
import type { SessionContext } from './session-context.ts';
import type { ClientFacts } from './source.ts';

/**
 * The session of an access token in the request itself, with the same verification and cache as
 * cookie sessions; `undefined` where the token is not valid. It is never renewed.
 */
export function createResolveBearer<Content>(
  context: SessionContext<Content>,
): (token: string, client: ClientFacts, takesStale?: boolean) => Promise<Session | undefined> {
  const { source, cache, revocations, unconfirmed, allowanceOf, now, timeoutMs } = context;

  async function verify(text: string, client: ClientFacts, takesStale: boolean): Promise<Session | undefined> {
    const token = readToken(text);
    const facts = source.factsOf(token.claims);
    const keys = revocations.keysOf(facts, undefined);
    if (revocations.knownFinally(keys) !== undefined) return undefined;
    const verdict = await source.verifyBearer(token, allowanceOf(client.ipAddress));
    if (verdict.kind !== 'live') return undefined;
    const { session, validUntil = session.expiresAt } = verdict;
    // The clock tolerance applies only to tokens that a renewal can replace.
    if (session.expiresAt <= now()) return undefined;
    // Only for a verified token: a made-up one must not cause a call to the coordinator.
    const { standing, checkedAt, isConfirmed } = await revocations.check(facts, undefined);
    if (standing !== 'live' && !(takesStale && standing === 'stale')) return undefined;
    deepFreeze(session);
    if (!isConfirmed) unconfirmed.add(session);
    cache.add(cacheKey(text), {
      session,
      keys,
      validUntil: Math.min(validUntil, session.expiresAt),
      checkedAt,
      changes: unseen,
    });
    return session;
  }

  return async (text, client, takesStale = false) => {
    const cached = cache.get(cacheKey(text));
    const isGood = cached !== undefined && now() - cached.checkedAt <= revocations.recheckMs;
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
      if (isUnknownKey(error)) return undefined;
      throw error;
    }
  };
}

/** Cookies cannot contain a line break, so no cookie matches a bearer token's cache entry. */
function cacheKey(token: string): string {
  return `\n${token}`;
}
