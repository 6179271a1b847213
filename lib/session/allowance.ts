import { isIP } from 'node:net';
import { createBoundedMap } from '../core/bounded-map.ts';
import type { Token } from '../tokens/access-token.ts';
import { AuthError } from '../errors.ts';
import { sessionKey } from './revocations.ts';
import type { Emit } from './events.ts';

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
        isGenuine
          ? refreshBesideGenuine(network, stored, call)
          : allowance.spend(stored.token ?? stored, call, isRenewed),
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

/** Refresh tokens beside a genuine access token: a browser may carry some, and a stranger with one session must not try many. */
function createTries(now: () => number, emit: Emit) {
  /** The refresh tokens that were tried, by network and session. */
  const tries = createBoundedMap<Set<string>>({ max: maxNetworks, ttlMs: minuteMs, now });
  return async <Result extends { readonly kind: string }>(
    network: string,
    { refreshToken, sessionId, token }: Stored,
    call: () => Promise<Result>,
  ): Promise<Result> => {
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
  };
}

const isRenewed = ({ kind }: { readonly kind: string }): boolean => kind === 'renewed';

/**
 * The network that an address counts as in a limit: an IPv4 address by itself, an IPv6 address by its /64, which is the least
 * that one customer gets (RFC 6177) and can roam at will. Every spelling of an address gives one key, and an IPv4 address
 * written as an IPv4-mapped IPv6 address (`::ffff:192.0.2.1`, RFC 4291 §2.5.5.2) the key of the IPv4 address.
 *
 * @param address as `req.ip` or `socket.remoteAddress` has it
 * @returns `undefined` for what is no address: there is nothing to count by then
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
  // Some proxies write the peer's port into X-Forwarded-For; its number changes with every connection.
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
