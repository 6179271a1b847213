import { createHash } from 'node:crypto';
import { foldCase } from '../core/request-path.ts';
import { AuthError } from '../errors.ts';
import type { Emit } from '../session/events.ts';
import { createCounter, createStoreGuard } from './throttle-counter.ts';
import type { Counter, OnSuccess, Reserved } from './throttle-counter.ts';
import type { ThrottleRedisClient } from './limiters.ts';
import { networkKey } from '../session/network-key.ts';

/**
 * Failures within one window; what the rate limit of a password form is about (OWASP ASVS 5.0 §6.3.1). Codes of six digits get fewer,
 * from whatever networks, and emails with a code go to one address once a minute.
 */
const limits = {
  account: { points: 10, windowSeconds: 15 * 60 },
  network: { points: 100, windowSeconds: 15 * 60 },
  code: { points: 5, windowSeconds: 15 * 60 },
  mail: { points: 1, windowSeconds: 60 },
} as const;
/** How long an address waits for its next email with a code. */
export const mailWaitSeconds = limits.mail.windowSeconds;

type Scope = keyof typeof limits;

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
  /** It stays counted. The last wrong code begins a new window, so that codes are refused for all of it. */
  counted(): Promise<void>;
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
   * Counts a try of a six-digit code: after five wrong ones, from whatever networks, none is tried for 15 minutes.
   *
   * @param subject whose code it is, such as `factor:<id>`; only its hash is kept
   * @throws {AuthError} `rate_limited`, as `attempt` does
   */
  code(subject: string): Promise<ThrottledAttempt>;
  /**
   * Counts an email with a code to an address, from whatever network: one a minute.
   *
   * @throws {AuthError} `rate_limited` with the seconds until the next one
   */
  mail(account: string): Promise<ThrottledAttempt>;
}

export function createThrottle(parts: ThrottleParts): Throttle {
  const { emit, now = Date.now } = parts;
  let opening: Promise<Record<Scope, Counter>> | undefined;

  async function open(): Promise<Record<Scope, Counter>> {
    // The library takes longer to load than all of this package, and only a sign-in needs it.
    const { createMemoryLimiter, createRedisLimiter } = await import('./limiters.ts');
    const { store, keyPrefix, maxKeys = 50_000 } = parts;
    const guard = createStoreGuard(store ?? {}, emit, now);
    const counterOf = (scope: Scope): Counter => {
      const limit = { keyPrefix: `${keyPrefix}:${scope}`, ...limits[scope] };
      const limiters = {
        memory: createMemoryLimiter(limit, maxKeys),
        shared: store && createRedisLimiter(limit, store),
        isClosedByLast: scope === 'code',
      };
      return createCounter(limiters, guard, now);
    };
    return {
      account: counterOf('account'),
      network: counterOf('network'),
      code: counterOf('code'),
      mail: counterOf('mail'),
    };
  }

  function refuse(scope: Exclude<Scope, 'mail'>, waitMs: number): never {
    emit({ type: 'throttled', scope });
    throw new AuthError('rate_limited', { retryAfter: Math.max(1, Math.ceil(waitMs / 1000)) });
  }

  return {
    code: async (subject) => {
      const counters = await (opening ??= open());
      const counted = await counters.code(createHash('sha256').update(subject).digest('base64url'), 'forgives');
      return counted.kind === 'refused' ? refuse('code', counted.waitMs) : attemptOf(counted);
    },
    mail: async (account) => {
      const counters = await (opening ??= open());
      const counted = await counters.mail(accountKey(account, undefined), 'counts');
      return counted.kind === 'refused' ? refuse('account', counted.waitMs) : attemptOf(counted);
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
        counted: async () => {
          await Promise.all([ofAccount?.keep(), ofNetwork?.keep()]);
        },
      };
    },
  };
}

function attemptOf({ reset, giveBack, keep }: Reserved): ThrottledAttempt {
  return { succeeded: reset, cancelled: giveBack, counted: keep };
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
