import { createBoundedMap } from '../core/bounded-map.ts';
import { AuthError } from '../errors.ts';
import type { Emit } from './events.ts';
import { networkKey } from './network-key.ts';

/**
 * What one request may ask of the provider for tokens that were not verified: anyone can make such a token up, so it gets a
 * question or a refresh only within a small allowance.
 */
export interface Allowance {
  /**
   * Makes a call for a token that was not verified. One token per request may cause calls, and ten calls per minute and
   * network; a call that proves its token genuine does not count.
   *
   * @param token the access token
   * @throws {AuthError} `provider_unavailable` where the allowance is used up: the token could not be judged
   */
  spend<Result>(token: string, call: () => Promise<Result>, isProof: (result: Result) => boolean): Promise<Result>;
}

interface Bucket {
  left: number;
  isReported: boolean;
}

const callsPerMinute = 10;
const minuteMs = 60_000;
/** About 200 bytes each. Whoever has more networks than that to send from is not stopped by counting them. */
const maxNetworks = 10_000;

/** @returns the allowance of one request, by the address of its peer; requests without one share an allowance */
export function createAllowances(now: () => number, emit: Emit): (peer: string | undefined) => Allowance {
  const buckets = createBoundedMap<Bucket>({ max: maxNetworks, ttlMs: minuteMs, now });

  function bucketOf(network: string): Bucket {
    const known = buckets.get(network);
    if (known !== undefined) return known;
    const bucket: Bucket = { left: callsPerMinute, isReported: false };
    buckets.set(network, bucket);
    return bucket;
  }

  return (peer) => {
    const network = networkKey(peer) ?? 'unknown';
    let spentOn: string | undefined;
    return {
      async spend(token, call, isProof) {
        // The next request asks about the next token; what this one has learned is remembered by then.
        if (spentOn !== undefined && spentOn !== token) throw new AuthError('provider_unavailable', { retryAfter: 1 });
        const bucket = bucketOf(network);
        if (bucket.left === 0) {
          if (!bucket.isReported) emit({ type: 'throttled', scope: 'network' });
          bucket.isReported = true;
          throw new AuthError('provider_unavailable', { retryAfter: buckets.getRemainingTTL(network) / 1000 });
        }
        spentOn = token;
        bucket.left -= 1;
        const result = await call();
        if (isProof(result)) bucket.left += 1;
        return result;
      },
    };
  };
}
