import { createBreaker } from '../core/breaker.ts';
import { answerWithin } from '../core/deadline.ts';
import { createMasterOf } from '../core/redis-slot.ts';
import type { Emit } from '../session/events.ts';
import type { Count, Limiter, MemoryLimiter, RedisLimiter } from './throttle-limiters.ts';

/** A sign-in must not wait longer for Redis than people notice. */
const redisTimeoutMs = 500;
/** New connections take their time on a busy machine, and what is counted in memory meanwhile is counted for one process only. */
const redisFirstTimeoutMs = 2_500;
/** How long a command may be under way: what is taken back so shortly before a window ends might arrive in the next one. */
const redisDelayMs = 1_000;
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
    const others = underWay.get(key) ?? 0;
    const isForgivable = success === 'forgives';
    if (isForgivable) underWay.set(key, others + 1);
    const settled = (): void => {
      if (isForgivable) settle(key);
    };
    const { excess, windowEndsInMs, run } = await count(key);
    if (excess > 0) {
      settled();
      // Once those under way have succeeded there is room.
      return { kind: 'refused', waitMs: excess <= others ? 0 : windowEndsInMs };
    }
    const windowEndsAt = now() + windowEndsInMs;
    const end = async (work: (limiter: Limiter) => Promise<void>): Promise<void> => {
      settled();
      await run(work);
    };
    const canceled = (): Promise<void> =>
      // In the next window it was never counted: taking it back there would grant one more.
      end(async (limiter) => (now() < windowEndsAt - redisDelayMs ? limiter.giveBack(key) : undefined));
    return {
      kind: 'reserved',
      succeeded: () => end((limiter) => limiter.reset(key)),
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
      if (isLate && found.excess <= 0) await limiter.giveBack(key);
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
  run<Result>(storeKey: string, work: () => Promise<Result>): Promise<Result | undefined>;
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
    async run(storeKey, work) {
      try {
        const result = await breaker.run(storeKey, work);
        if (isAway && breaker.isClosed()) {
          isAway = false;
          emit({ type: 'coordinator_recovered' });
        }
        return result;
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
