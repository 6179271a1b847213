import { createHash } from 'node:crypto';
import { withDeadline } from '../core/deadline.ts';
import { foldCase } from '../core/request-path.ts';
import { AuthError } from '../errors.ts';
import type { Emit } from '../session/events.ts';
import type { Count, Limiter, ThrottleRedisClient } from './limiters.ts';
import { networkKey } from '../session/network-key.ts';

/**
 * Failures within one window; what the rate limit of a password form is about (OWASP ASVS 5.0 §6.3.1). Codes of six digits get fewer,
 * from whatever networks.
 */
const limits = { account: 10, network: 100, code: 5 } as const;
const windowSeconds = 15 * 60;
/** A sign-in must not wait longer for Redis than people notice. */
const redisTimeoutMs = 500;
/** How long a Redis that did not answer is left alone, so that not every sign-in waits for it. */
const redisPauseMs = 1_000;

type Scope = keyof typeof limits;

/** Whether an attempt that succeeds stays counted. */
export type OnSuccess = 'forgives' | 'counts';

export interface ThrottleParts {
  /** A client of `redis` or `ioredis`, for several processes to count together; in this process' memory without. */
  readonly store?: ThrottleRedisClient | undefined;
  /** In front of every key in the store, such as `express-auth-adapters:throttle`. */
  readonly keyPrefix: string;
  readonly emit: Emit;
  /** How many accounts, and how many networks, are counted in memory. */
  readonly maxKeys?: number;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
}

/** An attempt that was let through. It is counted until its end is known, and one of these must be called then. */
export interface ThrottledAttempt {
  /** The account's count starts anew; of the network's, this attempt is taken back. */
  succeeded(): Promise<void>;
  /** Neither right nor wrong, as when the backend was out of reach: it counts for nothing. */
  cancelled(): Promise<void>;
  /** It stays counted. */
  counted(): void;
}

export interface Throttle {
  /**
   * Counts before any work is done, so that a hundred attempts at once do not slip through while none has failed yet. What is
   * refused is not counted: only failures and attempts under way are.
   *
   * The account is limited per network: from another network its owner signs in undisturbed by guesses.
   *
   * @param account the email address, in any spelling; only its hash is kept. Without one the network alone is limited
   * @param address the visitor's address; without one the account alone is limited
   * @param success what will become of the count: it is taken back, or it stays
   * @throws {AuthError} `rate_limited`; `retryAfter` is the seconds until the window ends, or one while attempts are under way that a success takes back
   */
  attempt(account: string | undefined, address: string | undefined, success?: OnSuccess): Promise<ThrottledAttempt>;
  /**
   * Counts a try of a six-digit code: five wrong ones within the window, from whatever networks, and no further one is tried.
   *
   * @param subject whose code it is, such as `factor:<id>`; only its hash is kept
   * @throws {AuthError} `rate_limited`, as `attempt` does
   */
  code(subject: string): Promise<ThrottledAttempt>;
}

export function createThrottle(parts: ThrottleParts): Throttle {
  const { emit, now = Date.now } = parts;
  let opening: Promise<Record<Scope, Counter>> | undefined;

  async function open(): Promise<Record<Scope, Counter>> {
    // The library takes longer to load than all of this package, and only a sign-in needs it.
    const { createMemoryLimiter, createRedisLimiter } = await import('./limiters.ts');
    const { store, keyPrefix, maxKeys = 50_000 } = parts;
    const guard = createStoreGuard(emit, now);
    const counterOf = (scope: Scope): Counter => {
      const limit = { keyPrefix: `${keyPrefix}:${scope}`, points: limits[scope], windowSeconds };
      const memory = createMemoryLimiter(limit, maxKeys);
      return createCounter(memory, store && createRedisLimiter(limit, store), guard, now);
    };
    return { account: counterOf('account'), network: counterOf('network'), code: counterOf('code') };
  }

  function refuse(scope: Scope, waitMs: number): never {
    emit({ type: 'throttled', scope });
    throw new AuthError('rate_limited', { retryAfter: Math.max(1, Math.ceil(waitMs / 1000)) });
  }

  return {
    code: async (subject) => {
      const counters = await (opening ??= open());
      const counted = await counters.code(createHash('sha256').update(subject).digest('base64url'), 'forgives');
      if (counted.kind === 'refused') refuse('code', counted.waitMs);
      return { succeeded: () => counted.reset(), cancelled: () => counted.giveBack(), counted: () => counted.keep() };
    },
    attempt: async (account, address, success = 'forgives') => {
      const counters = await (opening ??= open());
      const network = networkKey(address);
      // The network first: one that is used up adds no more accounts to what is remembered.
      const ofNetwork = network === undefined ? undefined : await counters.network(network, success);
      if (ofNetwork?.kind === 'refused') refuse('network', ofNetwork.waitMs);
      const ofAccount =
        account === undefined ? undefined : await counters.account(accountKey(account, network), success);
      if (ofAccount?.kind === 'refused') {
        // It reaches no password, and behind one address there may be a whole office.
        await ofNetwork?.giveBack();
        refuse('account', ofAccount.waitMs);
      }
      return {
        succeeded: async () => {
          await Promise.all([ofAccount?.reset(), ofNetwork?.giveBack()]);
        },
        cancelled: async () => {
          await Promise.all([ofAccount?.giveBack(), ofNetwork?.giveBack()]);
        },
        counted: () => {
          ofAccount?.keep();
          ofNetwork?.keep();
        },
      };
    },
  };
}

/** A store that leaks tells no address. */
function accountKey(account: string, network: string | undefined): string {
  return createHash('sha256')
    .update(JSON.stringify([foldAccount(account), network ?? null]))
    .digest('base64url');
}

/**
 * One text for all spellings that the backend takes for one address. GoTrue lowers each character by itself (Go's `ToLower`:
 * `İ` is `i`, a final sigma is `σ`), while JavaScript looks at a character's neighbors. So this folds more than GoTrue does:
 * addresses that share a count by mistake cost a few tries, an address with two counts gives a guesser twice as many.
 */
export function foldAccount(account: string): string {
  const withoutDots = (text: string): string => text.normalize('NFKD').replaceAll('\u0307', '');
  // Lower case before `foldCase`, which begins with upper case: `ẞ` and `ß` meet there.
  return withoutDots(foldCase(withoutDots(account.trim()).toLowerCase()));
}

type Reservation =
  | { readonly kind: 'refused'; readonly waitMs: number }
  | { readonly kind: 'reserved'; keep(): void; giveBack(): Promise<void>; reset(): Promise<void> };

type Counter = (key: string, success: OnSuccess) => Promise<Reservation>;

/** Counts in the store, and in memory while that is away; what was counted in one place is taken back there. */
function createCounter(memory: Limiter, shared: Limiter | undefined, guard: StoreGuard, now: () => number): Counter {
  /**
   * How many of a key's count a success may yet take back. Those that stay counted are not among them: how long an email takes
   * would tell whether there is an account.
   */
  const underWay = new Map<string, number>();
  const settle = (key: string): void => {
    const others = (underWay.get(key) ?? 1) - 1;
    if (others === 0) underWay.delete(key);
    else underWay.set(key, others);
  };

  async function count(
    key: string,
  ): Promise<Count & { readonly run: (work: (limiter: Limiter) => Promise<void>) => Promise<void> }> {
    if (shared !== undefined) {
      const counted = await guard(() => shared.count(key));
      if (counted !== undefined) return { ...counted, run: (work) => guard(() => work(shared)) };
    }
    return { ...(await memory.count(key)), run: (work) => work(memory) };
  }

  return async (key, success) => {
    const others = underWay.get(key) ?? 0;
    const isForgivable = success === 'forgives';
    if (isForgivable) underWay.set(key, others + 1);
    const settled = (): void => {
      if (isForgivable) settle(key);
    };
    const { excess, windowEndsInMs, run } = await count(key);
    const windowEndsAt = now() + windowEndsInMs;
    const end = async (work: (limiter: Limiter) => Promise<void>): Promise<void> => {
      settled();
      await run(work);
    };
    const giveBack = (): Promise<void> =>
      // In the next window it was never counted: taking it back there would grant one more.
      end(async (limiter) => (now() < windowEndsAt ? limiter.giveBack(key) : undefined));
    if (excess > 0) {
      await giveBack();
      // Once those under way have succeeded there is room.
      return { kind: 'refused', waitMs: excess <= others ? 0 : windowEndsInMs };
    }
    return {
      kind: 'reserved',
      keep: settled,
      giveBack,
      reset: () => end((limiter) => limiter.reset(key)),
    };
  };
}

/** Resolves to `undefined` where the store fails or does not answer in time. */
type StoreGuard = <R>(work: () => Promise<R>) => Promise<R | undefined>;

function createStoreGuard(emit: Emit, now: () => number): StoreGuard {
  let pausedUntil = -Infinity;
  let isAway = false;
  return async (work) => {
    if (now() < pausedUntil) return undefined;
    try {
      const result = await withDeadline(work, redisTimeoutMs, () => new Error('Redis did not answer in time'));
      isAway = false;
      return result;
    } catch {
      pausedUntil = now() + redisPauseMs;
      // Once for each outage: a listener that pages an operator must not be called for every sign-in.
      if (!isAway) emit({ type: 'coordinator_unavailable', operation: 'throttle' });
      isAway = true;
      return undefined;
    }
  };
}
