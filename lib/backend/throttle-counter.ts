import { createBreaker } from '../core/breaker.ts';
import { answerWithin } from '../core/deadline.ts';
import { createMasterOf } from '../core/redis-slot.ts';
import type { Emit } from '../session/events.ts';
import type { Count, Limiter, MemoryLimiter, RedisLimiter } from './throttle-limiters.ts';

/** A sign-in must not wait longer for Redis than people notice. */
const redisTimeoutMs = 500;
/** New connections take their time on a busy machine, and what is counted in memory meanwhile is counted for one process only. */
const redisFirstTimeoutMs = 2_500;
/** How long a Redis that did not answer is left alone, so that not every sign-in waits for it. */
const redisPauseMs = 1_000;

/** Whether an attempt that succeeds stays counted. */
export type OnSuccess = 'forgives' | 'counts';

/** An attempt that was let through. It is counted until its end is known, and one of these must be called then. */
export interface ThrottledAttempt {
  /** The count starts anew. */
  succeeded(): Promise<void>;
  /** Neither right nor wrong, as when the backend was out of reach: it counts for nothing. */
  canceled(): Promise<void>;
  /** It stays counted. The last wrong code starts a new window that refuses all codes, in memory too in case the store fails. */
  counted(): Promise<void>;
  /** The backend may have judged it all the same. A code stays counted until its window ends; anything else counts for nothing. */
  timedOut(): Promise<void>;
}

export type Counter = (
  key: string,
  success: OnSuccess,
) => Promise<
  { readonly kind: 'refused'; readonly waitMs: number } | (ThrottledAttempt & { readonly kind: 'reserved' })
>;

interface Limiters {
  readonly memory: MemoryLimiter;
  readonly shared: RedisLimiter | undefined;
  /** Whether the last attempt that is allowed, once it stays counted, begins a new window in which none is. */
  readonly isClosedByLast: boolean;
}

/** Counts in the store, and in memory while that is away; what was counted in one place is taken back there. */
export function createCounter(
  { memory, shared, isClosedByLast }: Limiters,
  guard: StoreGuard,
  now: () => number,
): Counter {
  /**
   * How many of a key's count a success may yet take back. Those that stay counted are not among them: how long an email takes
   * would tell whether there is an account.
   */
  const underWay = new Map<string, number>();
  const count = createCount(memory, shared, guard);
  const settle = (key: string): void => {
    const others = (underWay.get(key) ?? 1) - 1;
    if (others === 0) underWay.delete(key);
    else underWay.set(key, others);
  };

  return async (key, success) => {
    // Also where the store answers: it may have lost its data since.
    const blockedForMs = isClosedByLast ? await memory.blockedForMs(key) : 0;
    if (blockedForMs > 0) return { kind: 'refused', waitMs: blockedForMs };
    const { excess, windowEndsInMs, run } = await count(key);
    const others = underWay.get(key) ?? 0;
    // Once those under way have succeeded there is room.
    if (excess > 0) return { kind: 'refused', waitMs: excess <= others ? 0 : windowEndsInMs };
    const isForgivable = success === 'forgives';
    if (isForgivable) underWay.set(key, others + 1);
    const settled = (): void => {
      if (isForgivable) settle(key);
    };
    const windowEndsAt = now() + windowEndsInMs;
    const end = async (work: (limiter: Limiter, restMs: number) => Promise<void>): Promise<void> => {
      await run((limiter) => work(limiter, windowEndsAt - now()));
      settled();
    };
    const canceled = (): Promise<void> => end((limiter, restMs) => limiter.giveBack(key, restMs));
    return {
      kind: 'reserved',
      succeeded: () => end((limiter, restMs) => limiter.reset(key, restMs)),
      canceled,
      counted: async () => {
        settled();
        if (isClosedByLast && excess === 0)
          await Promise.all([memory.block(key), run((limiter) => limiter.block(key))]);
      },
      timedOut: async () => (isClosedByLast ? settled() : canceled()),
    };
  };
}

interface CountedIn extends Count {
  /** Runs work where it was counted. */
  readonly run: (work: (limiter: Limiter) => Promise<void>) => Promise<void>;
}

function createCount(memory: Limiter, shared: RedisLimiter | undefined, guard: StoreGuard) {
  /** `undefined` where the store is away; what it counts after all is taken back. */
  async function countShared(limiter: RedisLimiter, key: string): Promise<CountedIn | undefined> {
    let isLate = false;
    const counted = await guard.run(limiter.keyOf(key), async () => {
      const found = await limiter.count(key);
      if (isLate && found.excess <= 0) await limiter.giveBack(key, found.windowEndsInMs);
      return found;
    });
    isLate = true;
    return counted && { ...counted, run: (work) => guard.settle(() => work(limiter)) };
  }

  return async (key: string): Promise<CountedIn> => {
    const counted = shared && (await countShared(shared, key));
    return counted ?? { ...(await memory.count(key)), run: (work) => work(memory) };
  };
}

/** Both resolve to `undefined` where the store fails or does not answer in time. */
interface StoreGuard {
  /** Does not call a store that did not answer lately. */
  run(storeKey: string, count: () => Promise<Count>): Promise<Count | undefined>;
  /** Calls it in any case, for the end of an attempt that it has counted: without it the count would be wrong for the whole window. */
  settle(work: () => Promise<void>): Promise<void>;
}

/** @param client the store's; each master of a cluster is judged by itself */
export function createStoreGuard(client: object, emit: Emit, now: () => number): StoreGuard {
  const breaker = createBreaker({
    partOf: createMasterOf(client),
    timeoutMs: redisTimeoutMs,
    firstTimeoutMs: redisFirstTimeoutMs,
    pauseMs: redisPauseMs,
    errorPauseMs: redisPauseMs,
    now,
  });
  let isAway = false;
  const failed = (): void => {
    // Once for each outage: a listener that pages an operator must not be called for every sign-in.
    if (!isAway) emit({ type: 'coordinator_unavailable', operation: 'throttle' });
    isAway = true;
  };
  return {
    async run(storeKey, count) {
      try {
        const counted = await breaker.run(storeKey, count);
        // A store that cannot write still refuses: that ends no outage.
        if (isAway && counted.excess <= 0 && breaker.isClosed()) {
          isAway = false;
          emit({ type: 'coordinator_recovered' });
        }
        return counted;
      } catch {
        failed();
        return undefined;
      }
    },
    async settle(work) {
      await answerWithin(work(), redisTimeoutMs, () => new Error('Too late')).catch(failed);
    },
  };
}
