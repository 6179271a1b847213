import { isIP } from 'node:net';
import { createBoundedMap } from '../tools/bounded-map.ts';
import type { Token } from './jwt.ts';
import { AuthError } from '../errors.ts';
import { hash } from './ended/record.ts';
import type { Emit } from './events.ts';

/**
 * The provider calls that one request may cause for unverified tokens. Anyone can make up such a
 * token, so calls and refreshes for them are limited.
 */
export interface Allowance {
  /**
   * Runs a call for an unverified token. Each request may use one token, and each network ten calls
   * per minute; a call that proves its token authentic does not count.
   *
   * @param token the access token object of this request
   * @throws {AuthError} `provider_unavailable` where the allowance is used up, so that the token cannot be judged
   */
  spend<Result>(token: object, call: () => Promise<Result>, isProof: (result: Result) => boolean): Promise<Result>;
  /**
   * Uses the refresh token of a cookie that anyone can forge. It may be made up even beside an authentic access token.
   * For each session, ten refresh tokens per minute and network may fail; a repeated one does not count.
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
  readonly token: Token;
}

interface Bucket {
  left: number;
  isReported: boolean;
  underWay: number;
  /** Wakes callers that wait because the bucket is empty, while a running call may still prove its token. */
  readonly waiting: (() => void)[];
}

const callsPerMinute = 10;
const minuteMs = 60_000;
/** About 200 bytes each. An attacker with more networks cannot be limited per network anyway. */
const maxNetworks = 10_000;

/** @returns the allowance of one request, by its peer's address; requests without an address share one */
export function createAllowances(now: () => number, emit: Emit): (peer: string | undefined) => Allowance {
  const buckets = createBoundedMap<Bucket>({ max: maxNetworks, ttlMs: minuteMs, now });
  const refreshBesideGenuine = createTries(now, emit);

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

    const allowance: Allowance = {
      refresh: (stored, isGenuine, call) =>
        isGenuine ? refreshBesideGenuine(network, stored, call) : allowance.spend(stored.token, call, isRenewed),
      async spend(token, call, isProof) {
        // The next request may ask about another token; this request's result is cached by then.
        if (spentOn !== undefined && spentOn !== token) throw new AuthError('provider_unavailable', { retryAfter: 1 });
        const bucket = bucketOf(network);
        // Many users of one office may arrive at once, such as after a restart: running calls may still prove their tokens.
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

/** Limits refresh tokens beside an authentic access token: a browser may hold several, but an attacker must not try many. */
function createTries(now: () => number, emit: Emit) {
  /** The refresh tokens that were tried, by network and session. */
  const tries = createBoundedMap<Set<string>>({ max: maxNetworks, ttlMs: minuteMs, now });
  return async <Result extends { readonly kind: string }>(
    network: string,
    { refreshToken, sessionId, token }: Stored,
    call: () => Promise<Result>,
  ): Promise<Result> => {
    const session = `${network} ${hash(sessionId ?? token.text)}`;
    const tried = tries.get(session) ?? new Set();
    const name = hash(refreshToken);
    if (tried.size >= callsPerMinute && !tried.has(name)) {
      // The mark occupies one more entry, so that only one event is emitted.
      if (tried.size === callsPerMinute) emit({ type: 'throttled', scope: 'network' });
      tried.add('reported');
      throw new AuthError('provider_unavailable', { retryAfter: tries.getRemainingTTL(session) / 1000 });
    }
    if (tried.size === 0) tries.set(session, tried);
    tried.add(name);
    const result = await call();
    if (isRenewed(result)) tried.delete(name);
    return result;
  };
}

const isRenewed = ({ kind }: { readonly kind: string }): boolean => kind === 'renewed';

/**
 * The network of an address for limits: an IPv4 address itself, an IPv6 address by its /64, the
 * smallest block of one customer (RFC 6177). Every spelling of an address has one key. An
 * IPv4-mapped IPv6 address (`::ffff:192.0.2.1`, RFC 4291 §2.5.5.2) has the IPv4 address's key.
 *
 * @param address the value of `req.ip` or `socket.remoteAddress`
 * @returns `undefined` where it is not an address, so there is nothing to count
 */
export function networkKey(address: string | undefined): string | undefined {
  const bare = bareAddress(address ?? '');
  switch (isIP(bare)) {
    case 4:
      return bare;
    case 6:
      return ipv6Key(groupsOf(bare));
    default:
      return undefined;
  }
}

function bareAddress(address: string): string {
  // Some proxies write the peer's port into X-Forwarded-For; it changes with every connection.
  const [, host = address] = /^([\d.]+):\d+$/.exec(address) ?? /^\[([^\]]*)\](?::\d+)?$/.exec(address) ?? [];
  // A zone (`fe80::1%eth0`) names an interface of this machine, not a peer.
  return host.split('%', 1)[0] ?? '';
}

function ipv6Key(groups: readonly number[]): string {
  const [high = 0, low = 0] = groups.slice(6);
  const isMapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff;
  if (isMapped) return [high >> 8, high & 255, low >> 8, low & 255].join('.');
  const prefix = groups.slice(0, 4).map((group) => group.toString(16));
  return `${prefix.join(':')}::/64`;
}

/** The eight 16-bit groups of a valid IPv6 address (RFC 4291 §2.2). */
function groupsOf(address: string): readonly number[] {
  const [head = [], tail] = address.split('::', 2).map(groupsIn);
  if (tail === undefined) return head;
  return [...head, ...Array.from({ length: 8 - head.length - tail.length }, () => 0), ...tail];
}

function groupsIn(part: string): readonly number[] {
  if (part === '') return [];
  return part.split(':').flatMap((group) => {
    if (!group.includes('.')) return [parseInt(group, 16)];
    const [a = 0, b = 0, c = 0, d = 0] = group.split('.').map(Number);
    return [(a << 8) | b, (c << 8) | d];
  });
}
