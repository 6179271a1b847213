import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { createLazy } from '../core/bounded-map.ts';
import { foldCase } from '../core/request-path.ts';
import { AuthError } from '../errors.ts';
import type { AuthErrorCode } from '../errors.ts';
import type { Emit } from '../session/events.ts';
import { networkKey } from '../session/allowance.ts';
import { createClientAddress } from './client-address.ts';
import type { ClientAddress } from './client-address.ts';
import type { ThrottleRedisClient } from './option-schema.ts';
import type { ThrottleOptions } from './options.ts';
import { isRefusedGuess, isTimeout } from './provider-errors.ts';
import type { Counter, OnSuccess, ThrottledAttempt } from './throttle-counter.ts';

/**
 * Failures per window, the rate limit for passwords (OWASP ASVS 5.0 §6.3.1). Six-digit codes have a lower limit: a factor
 * across all networks, because its codes need the first factor; an emailed code per network and a higher one across all,
 * because anyone who knows an address can try codes. Each address gets one email with a code per minute.
 */
const limits = {
  account: { points: 10, windowSeconds: 15 * 60 },
  network: { points: 100, windowSeconds: 15 * 60 },
  code: { points: 5, windowSeconds: 15 * 60 },
  mailedCode: { points: 30, windowSeconds: 15 * 60 },
  mail: { points: 1, windowSeconds: 60 },
} as const;
/** Seconds until an address can get its next email with a code. */
export const mailWaitSeconds = limits.mail.windowSeconds;

/** The `reason` of a refusal because an email with a code was sent within the last minute. */
export const mailedBefore = 'email_sent_before';
/** The `reason` of a refusal because too many codes were wrong. */
export const tooManyCodes = 'too_many_codes';

type Scope = keyof typeof limits;

const reasons: Partial<Record<Scope, string>> = { mail: mailedBefore, code: tooManyCodes, mailedCode: tooManyCodes };

const eventScopes = {
  account: 'account',
  network: 'network',
  code: 'code',
  mailedCode: 'code',
  mail: 'account',
} as const satisfies Record<Scope, string>;

/** Limits attempts before the backend is called. All methods reject with `rate_limited` before `work` starts, or with its error. */
export interface Attempts {
  /**
   * Runs an attempt that counts against its account and network; failures other than `countedFailures` are not counted.
   *
   * @param email `undefined` for a code or a link, which names no account
   */
  run<Result>(
    req: IncomingMessage,
    email: string | undefined,
    work: () => Promise<Result>,
    success: OnSuccess,
  ): Promise<Result>;
  /** Runs an attempt with a six-digit code, which also counts against its network. @param subject as in `Throttle.code` */
  runCode<Result>(req: IncomingMessage, subject: string, work: () => Promise<Result>): Promise<Result>;
  /** The same for an emailed code, which the owner of an address can still use after tries from another network. */
  runMailedCode<Result>(req: IncomingMessage, email: string, work: () => Promise<Result>): Promise<Result>;
  /** Runs a call that sends an email with a code; one that fails is not counted. */
  runMail<Result>(email: string, work: () => Promise<Result>): Promise<Result>;
}

/** Failures that guessing passwords, addresses, codes or links causes; other failures are not counted. */
const countedFailures: ReadonlySet<AuthErrorCode> = new Set<AuthErrorCode>([
  'invalid_credentials',
  'code_rejected',
  'link_expired',
  'email_in_use',
  'code_wrong',
  'sso_unavailable',
]);

export function createAttempts(settings: {
  readonly throttle: false | ThrottleOptions;
  readonly clientAddress?: ClientAddress | undefined;
  readonly emit: Emit;
  readonly now: () => number;
}): Attempts {
  const { throttle: options, emit, now } = settings;
  if (options === false) {
    const run: Attempts['runCode'] = (_req, _subject, work) => work();
    return { run, runCode: run, runMailedCode: run, runMail: (_email, work) => work() };
  }
  const { redis: store, keyPrefix = 'express-auth-adapters:throttle' } = options;
  const throttle = createThrottle({ store, keyPrefix, emit, now });
  const addressOf = createClientAddress(settings.clientAddress, emit);
  /** Counts the network first, then the code's own limits. */
  async function runGuess<Result>(
    address: string | undefined,
    open: () => Promise<ThrottledAttempt>,
    work: () => Promise<Result>,
  ): Promise<Result> {
    const ofNetwork = await throttle.attempt(undefined, address);
    return settle(ofNetwork, 'forgives', async () => settle(await open(), 'forgives', work, true), true);
  }
  return {
    run: async (req, email, work, success) =>
      settle(
        await throttle.attempt(email, addressOf(req), success),
        success,
        work,
        email !== undefined && success === 'forgives',
      ),
    runCode: (req, subject, work) => runGuess(addressOf(req), () => throttle.code(subject), work),
    runMailedCode: (req, email, work) => {
      const address = addressOf(req);
      return runGuess(address, () => throttle.mailedCode(email, address), work);
    },
    runMail: async (email, work) => settle(await throttle.mail(email), 'counts', work, false),
  };
}

/** @param isGuess whether `work` asks for a password or a code */
async function settle<Result>(
  attempt: ThrottledAttempt,
  success: OnSuccess,
  work: () => Promise<Result>,
  isGuess: boolean,
): Promise<Result> {
  try {
    const result = await work();
    if (success === 'forgives') await attempt.succeeded();
    else await attempt.counted();
    return result;
  } catch (error) {
    if (!(error instanceof AuthError)) await attempt.canceled();
    else if (countedFailures.has(error.code)) await attempt.counted();
    else if (isGuess && isRefusedGuess(error)) await attempt.counted();
    else if (isTimeout(error)) await attempt.timedOut();
    else await attempt.canceled();
    throw error;
  }
}

export interface ThrottleParts {
  /** Lets several processes count together; without it, each process counts in its own memory. */
  readonly store?: ThrottleRedisClient | undefined;
  /** Prefix of every key in the store. */
  readonly keyPrefix: string;
  readonly emit: Emit;
  /** How many accounts, and how many networks, are counted in memory. */
  readonly maxKeys?: number;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
}

/**
 * Counts before the work starts, so that concurrent attempts cannot exceed the limit before one has failed. A
 * refused attempt is not counted, only failures and running attempts are. A refusal is `rate_limited`;
 * `retryAfter` is the seconds until the window ends, or one while running attempts may still be taken back.
 */
export interface Throttle {
  /**
   * The limit of an account applies per network, so its owner can sign in from another network during an attack.
   *
   * @param account the email address in any spelling; only its hash is kept. Without it only the network is limited
   * @param address the visitor's address; without it only the account is limited
   * @param success whether a success takes the count back or keeps it
   */
  attempt(account: string | undefined, address: string | undefined, success?: OnSuccess): Promise<ThrottledAttempt>;
  /**
   * Counts an attempt with a six-digit code. After five wrong codes, from any networks, all codes are refused for 15 minutes.
   *
   * @param subject the owner of the code, such as `factor:<id>`; only its hash is kept
   */
  code(subject: string): Promise<ThrottledAttempt>;
  /** Counts an attempt with an emailed code: five wrong ones from one network, or 30 from all, close the address there or everywhere. Without an address only the 30 count. */
  mailedCode(account: string, address: string | undefined): Promise<ThrottledAttempt>;
  /** Counts an email with a code to an address, from any network: one per minute. */
  mail(account: string): Promise<ThrottledAttempt>;
}

export function createThrottle(parts: ThrottleParts): Throttle {
  const { emit } = parts;
  const open = createLazy(() => openCounters(parts));

  async function count(scope: Scope, key: string, success: OnSuccess): Promise<ThrottledAttempt> {
    const counters = await open();
    const counted = await counters[scope](key, success);
    if (counted.kind === 'reserved') return counted;
    emit({ type: 'throttled', scope: eventScopes[scope] });
    const retryAfter = Math.max(1, Math.ceil(counted.waitMs / 1000));
    throw new AuthError('rate_limited', { retryAfter, reason: reasons[scope] });
  }

  return {
    code: (subject) => count('code', hash(subject), 'forgives'),
    async mailedCode(account, address) {
      const network = networkKey(address);
      const all = accountKey(account, undefined);
      // Without an address, five wrong codes of anyone would close the address for everyone.
      if (network === undefined) return count('mailedCode', all, 'forgives');
      // The network's limit first: a network that is over it must not use up the limit of all.
      const ofNetwork = await count('code', accountKey(account, network), 'forgives');
      return both(ofNetwork, await orCancel(ofNetwork, count('mailedCode', all, 'forgives')));
    },
    mail: (account) => count('mail', accountKey(account, undefined), 'counts'),
    async attempt(account, address, success = 'forgives') {
      const network = networkKey(address);
      // The network first: a network over its limit must not add accounts to the store.
      const ofNetwork = network === undefined ? undefined : await count('network', network, success);
      const counting = account === undefined ? undefined : count('account', accountKey(account, network), success);
      // No password was checked, and a whole office may share one address.
      const ofAccount = await orCancel(ofNetwork, counting);
      return {
        succeeded: async () => {
          // The network's count also covers other accounts, so only this attempt is taken back there.
          await Promise.all([ofAccount?.succeeded(), ofNetwork?.canceled()]);
        },
        canceled: async () => {
          await Promise.all([ofAccount?.canceled(), ofNetwork?.canceled()]);
        },
        counted: async () => {
          await Promise.all([ofAccount?.counted(), ofNetwork?.counted()]);
        },
        timedOut: async () => {
          await Promise.all([ofAccount?.timedOut(), ofNetwork?.timedOut()]);
        },
      };
    },
  };
}

/** Takes the first count back where the second one is refused. */
async function orCancel<Counted>(
  first: ThrottledAttempt | undefined,
  second: Counted | Promise<Counted>,
): Promise<Counted> {
  try {
    return await second;
  } catch (error) {
    await first?.canceled();
    throw error;
  }
}

/** Two counts of one attempt. */
function both(first: ThrottledAttempt, second: ThrottledAttempt): ThrottledAttempt {
  const inBoth = (end: keyof ThrottledAttempt) => async (): Promise<void> => {
    await Promise.all([first[end](), second[end]()]);
  };
  return {
    succeeded: inBoth('succeeded'),
    canceled: inBoth('canceled'),
    counted: inBoth('counted'),
    timedOut: inBoth('timedOut'),
  };
}

async function openCounters(parts: ThrottleParts): Promise<Record<Scope, Counter>> {
  const { store, keyPrefix, emit, maxKeys = 50_000, now = Date.now } = parts;
  // The library takes longer to load than this whole package, and only sign-ins need it.
  const [{ createCounter, createStoreGuard }, { createMemoryLimiter, createRedisLimiter }] = await Promise.all([
    import('./throttle-counter.ts'),
    import('./throttle-limiters.ts'),
  ]);
  const guard = createStoreGuard(store ?? {}, emit, now);
  const counterOf = (scope: Scope): Counter => {
    const limit = { keyPrefix: `${keyPrefix}:${scope}`, ...limits[scope] };
    const limiters = {
      memory: createMemoryLimiter(limit, maxKeys),
      shared: store && createRedisLimiter(limit, store),
      isClosedByLast: scope === 'code' || scope === 'mailedCode',
    };
    return createCounter(limiters, guard, now);
  };
  return {
    account: counterOf('account'),
    network: counterOf('network'),
    code: counterOf('code'),
    mailedCode: counterOf('mailedCode'),
    mail: counterOf('mail'),
  };
}

/** Hashed, so that a leaked store reveals no address. */
function accountKey(account: string, network: string | undefined): string {
  return hash(JSON.stringify([foldAccount(account), network ?? null]));
}

function hash(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}

/**
 * Folds all spellings that the backend treats as one address. GoTrue lowers each character separately (Go's `ToLower`:
 * `İ` is `i`, a final sigma is `σ`); JavaScript looks at a character's neighbors. This folds more than GoTrue: a shared
 * count costs a few attempts, but two counts for one address would double an attacker's attempts.
 */
export function foldAccount(account: string): string {
  const withoutDots = (text: string): string => text.normalize('NFKD').replaceAll('\u0307', '');
  // Lower case first, because `foldCase` starts with upper case; `ẞ` and `ß` become equal that way.
  return withoutDots(foldCase(withoutDots(account.trim()).toLowerCase()));
}
