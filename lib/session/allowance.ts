import { createBoundedMap } from '../core/bounded-map.ts';
import type { Token } from '../tokens/token.ts';
import { AuthError } from '../errors.ts';
import { sessionKey } from './revocations.ts';
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
   * @param token the access token as this request read it
   * @throws {AuthError} `provider_unavailable` where the allowance is used up: the token could not be judged
   */
  spend<Result>(token: object, call: () => Promise<Result>, isProof: (result: Result) => boolean): Promise<Result>;
  /**
   * Spends the refresh token of a cookie that anyone can put together. Beside a genuine access token, too, it may be made up: for
   * each session, ten refresh tokens per minute and network may fail. Trying the same one again does not count.
   *
   * @param isGenuine whether the access token was verified
   * @throws {AuthError} `provider_unavailable` where the allowance is used up
   */
  refresh<Result extends { readonly kind: string }>(
    stored: Stored,
    isGenuine: boolean,
    call: () => Promise<Result>,
  ): Promise<Result>;
}

interface Stored {
  readonly refreshToken: string;
  readonly sessionId: string | undefined;
  readonly token?: Token;
}

interface Bucket {
  left: number;
  isReported: boolean;
  underWay: number;
  /** Wake those for whom there was nothing left, while a call under way may still prove its token. */
  readonly waiting: (() => void)[];
}

const callsPerMinute = 10;
const minuteMs = 60_000;
/** About 200 bytes each. A sender with more networks than that is not stopped by counting them. */
const maxNetworks = 10_000;

/** @returns the allowance of one request, by the address of its peer; requests without one share an allowance */
export function createAllowances(now: () => number, emit: Emit): (peer: string | undefined) => Allowance {
  const buckets = createBoundedMap<Bucket>({ max: maxNetworks, ttlMs: minuteMs, now });
  /** The refresh tokens that were tried, by network and session. */
  const tries = createBoundedMap<Set<string>>({ max: maxNetworks, ttlMs: minuteMs, now });

  function bucketOf(network: string): Bucket {
    const known = buckets.get(network);
    if (known !== undefined) return known;
    const bucket: Bucket = { left: callsPerMinute, isReported: false, underWay: 0, waiting: [] };
    buckets.set(network, bucket);
    return bucket;
  }

  return (peer) => {
    const network = networkKey(peer) ?? 'unknown';
    let spentOn: object | undefined;

    async function refreshBesideGenuine<Result extends { readonly kind: string }>(
      { refreshToken, sessionId, token }: Stored,
      call: () => Promise<Result>,
    ): Promise<Result> {
      const session = `${network} ${sessionKey(sessionId ?? token?.text ?? '')}`;
      const tried = tries.get(session) ?? new Set();
      const name = sessionKey(refreshToken);
      if (tried.size >= callsPerMinute && !tried.has(name)) {
        // The mark takes a place of its own, so that the operators are told once.
        if (tried.size === callsPerMinute) emit({ type: 'throttled', scope: 'network' });
        tried.add('reported');
        throw new AuthError('provider_unavailable', { retryAfter: tries.getRemainingTTL(session) / 1000 });
      }
      if (tried.size === 0) tries.set(session, tried);
      tried.add(name);
      const result = await call();
      if (isRenewed(result)) tried.delete(name);
      return result;
    }

    const allowance: Allowance = {
      refresh: (stored, isGenuine, call) =>
        isGenuine ? refreshBesideGenuine(stored, call) : allowance.spend(stored.token ?? stored, call, isRenewed),
      async spend(token, call, isProof) {
        // The next request asks about the next token; what this one has learned is remembered by then.
        if (spentOn !== undefined && spentOn !== token) throw new AuthError('provider_unavailable', { retryAfter: 1 });
        const bucket = bucketOf(network);
        // A whole office comes at once, to a process that has just started, say: strangers' tokens are told by their answers.
        while (bucket.left === 0 && bucket.underWay > 0) {
          await new Promise<void>((resolve) => bucket.waiting.push(resolve));
        }
        if (bucket.left === 0) {
          if (!bucket.isReported) emit({ type: 'throttled', scope: 'network' });
          bucket.isReported = true;
          throw new AuthError('provider_unavailable', { retryAfter: buckets.getRemainingTTL(network) / 1000 });
        }
        spentOn = token;
        bucket.left -= 1;
        bucket.underWay += 1;
        try {
          const result = await call();
          if (isProof(result)) bucket.left += 1;
          return result;
        } finally {
          bucket.underWay -= 1;
          bucket.waiting.splice(0, bucket.underWay > 0 ? bucket.left : Infinity).forEach((wake) => wake());
        }
      },
    };
    return allowance;
  };
}

const isRenewed = ({ kind }: { readonly kind: string }): boolean => kind === 'renewed';
