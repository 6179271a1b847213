import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';

/**
 * Runs a piece of work at most once per key, which is made of the secrets it takes; all who ask within its memory share the one outcome, failures included.
 *
 * @param ttlMs how long an outcome is remembered, in milliseconds
 * @param keeps which outcomes are remembered; those that are not are shared by all who wait at the same time
 */
export function createOnce<Result>(parts: {
  readonly ttlMs: number;
  readonly max: number;
  readonly now: () => number;
  readonly keeps?: 'all' | 'successes' | 'none';
}): (secrets: readonly string[], work: () => Promise<Result>) => Promise<Result> {
  const { ttlMs, max, now, keeps = 'all' } = parts;
  const outcomes = new LRUCache<string, Promise<Result>>({ max, ttl: ttlMs, ttlResolution: 0, perf: { now } });
  return (secrets, work) => {
    // A hash, so that a key takes as many bytes whatever was sent. The outcome beside it is kept as it is, a session's tokens included.
    const key = createHash('sha256').update(JSON.stringify(secrets)).digest('base64url');
    const known = outcomes.get(key);
    if (known !== undefined) return known;
    const outcome = work();
    outcomes.set(key, outcome);
    const forget = (): unknown => outcomes.delete(key);
    if (keeps !== 'all') outcome.then(keeps === 'none' ? forget : undefined, forget);
    return outcome;
  };
}
