import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { createLazy } from '../../tools/bounded-map.ts';
import { AuthError } from '../../errors.ts';
import type { AuthErrorCode } from '../../errors.ts';
import type { Emit } from '../../session/events.ts';
import { networkKey } from '../../session/allowance.ts';
import { createClientAddress } from './client-address.ts';
import type { ClientAddress } from './client-address.ts';
import type { ThrottleOptions } from './options.ts';
import { mailedBefore, mailWaitSeconds, refusedAttempt, tooManyCodes, unlimited } from '../forms/attempts.ts';
import type { Attempts } from '../forms/attempts.ts';
import { foldAccount } from '../forms/fields.ts';
import { isRefusedGuess, isTimeout } from '../supabase/provider-errors.ts';
import type { Counter, End } from './counter.ts';

/**
 * Failures per window, the rate limit for passwords (OWASP ASVS 5.0 §6.3.1). Six-digit codes have a lower limit: a factor
 * across all networks, because its codes need the first factor; an emailed code per network and a higher one across all,
 * because anyone who knows an address can try codes. The last wrong code closes them for a whole window.
 */
const limits = {
  account: { points: 10, event: 'account' },
  network: { points: 100, event: 'network' },
  // A hundred sign-ups of one office must not close its passwords, nor ten wrong passwords the email for a new one.
  message: { points: 10, event: 'account' },
  messages: { points: 100, event: 'network' },
  // The application's own check of a sign-up, such as of an invitation's code.
  check: { points: 100, event: 'network' },
  // GoTrue hashes an address and its six-digit code to a link's token, so who knows an address can guess there, too.
  link: { points: 100, event: 'network' },
  code: { points: 5, event: 'code', reason: tooManyCodes },
  mailedCode: { points: 30, event: 'code', reason: tooManyCodes },
  mail: { points: 1, duration: mailWaitSeconds, event: 'account', reason: mailedBefore },
  // Each view of the sign-in page asks for one, so they have a count of their own, and accounts have theirs beside it.
  challenge: { points: 100, event: 'network' },
} as const satisfies Record<string, Limit>;
type Scope = keyof typeof limits;

interface Limit {
  readonly points: number;
  /** Seconds; default 15 minutes. */
  readonly duration?: number;
  readonly event: 'account' | 'network' | 'code';
  readonly reason?: string;
}

/** A `guess` of a password or a six-digit code; a `link`, or another long text; a `message`, which signs up or sends an email; a `check` by the application. */
type Kind = 'guess' | 'link' | 'message' | 'check';

/** Failures that guessing passwords, addresses, codes or links causes. */
const wrongGuesses: ReadonlySet<AuthErrorCode> = new Set<AuthErrorCode>([
  'invalid_credentials',
  'code_rejected',
  'link_expired',
  'email_in_use',
  'code_wrong',
  'sso_unavailable',
  'authorization_expired',
]);

/** How an attempt ends in one scope: the only place that decides it. */
function endOf(scope: Scope, kind: Kind, failure?: { readonly error: unknown }): End {
  // What an application's own function says with its errors is not known.
  if (kind === 'check') return 'keep';
  if (failure === undefined) {
    if (kind === 'message') return 'keep';
    // The network's count also covers other accounts, so only this attempt is taken back there.
    return limits[scope].event === 'network' ? 'cancel' : 'forgive';
  }
  const { error } = failure;
  if (!(error instanceof AuthError)) return 'cancel';
  if (wrongGuesses.has(error.code) || (kind === 'guess' && isRefusedGuess(error))) return 'keep';
  // A backend that did not answer may have judged the code, and six digits are soon guessed.
  return limits[scope].event === 'code' && isTimeout(error) ? 'keep' : 'cancel';
}

interface ThrottleParts {
  readonly throttle: false | ThrottleOptions;
  readonly clientAddress?: ClientAddress | undefined;
  readonly emit: Emit;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** How many keys of each scope are counted in memory. */
  readonly maxKeys?: number;
}

export function createAttempts(parts: ThrottleParts): Attempts {
  if (parts.throttle === false) return unlimited;
  const within = createWithin(parts.throttle, parts);
  const addressOf = createClientAddress(parts.clientAddress, parts.emit);
  const networkOf = (req: IncomingMessage): string | undefined => networkKey(addressOf(req));
  // The network comes first: one that is over its limit must not add accounts to the store, or use up the limit of all. A
  // refusal by an inner limit counts for nothing there, since a whole office may share one address.
  return {
    async run(req, email, work) {
      const network = networkOf(req);
      if (email === undefined) return within('network', network, 'link', work);
      return within('network', network, 'guess', () => within('account', accountKey(email, network), 'guess', work));
    },
    runLink: async (req, work) => within('link', networkOf(req), 'link', work),
    runCheck: async (req, work) => within('check', networkOf(req), 'check', work),
    async runMessage(req, account, work) {
      const network = networkOf(req);
      const key = accountKey(account, network);
      return within('messages', network, 'message', () => within('message', key, 'message', work));
    },
    async runCode(req, subject, work) {
      return within('network', networkOf(req), 'guess', () => within('code', hash(subject), 'guess', work));
    },
    async runMailedCode(req, email, work) {
      const network = networkOf(req);
      // Without an address, five wrong codes of anyone would close the email's codes for everyone.
      const fromNetwork = network === undefined ? undefined : accountKey(email, network);
      const fromAll = accountKey(email, undefined);
      return within('network', network, 'guess', () =>
        within('code', fromNetwork, 'guess', () => within('mailedCode', fromAll, 'guess', work)),
      );
    },
    async runChallenge(req, userId, work) {
      const network = networkOf(req);
      const key = userId === undefined ? network : accountKey(userId, network);
      return within('challenge', key, 'message', work);
    },
    runMail: (email, work) => within('mail', accountKey(email, undefined), 'message', work),
  };
}

/** @returns a function that runs work that is counted under a key; without a key it is not */
function createWithin({ redis, keyPrefix = 'express-auth-adapters:throttle' }: ThrottleOptions, parts: ThrottleParts) {
  const { emit, now, maxKeys = 50_000 } = parts;
  // The library takes longer to load than this whole package, and only sign-ins need it.
  const openCounters = createLazy(async () => {
    const [{ createCounter }, { createStore }] = await Promise.all([import('./counter.ts'), import('./store.ts')]);
    const store = redis && createStore(redis, emit, now);
    const counterOf = ([scope, { points, duration = 15 * 60, event }]: [string, Limit]): [string, Counter] => {
      const limit = { points, duration, keyPrefix: `${keyPrefix}:${scope}` };
      return [scope, createCounter({ limit, isClosedByLast: event === 'code', store, maxKeys, now })];
    };
    return Object.fromEntries(Object.entries(limits).map(counterOf)) as Record<Scope, Counter>;
  });

  return async function within<Result>(
    scope: Scope,
    key: string | undefined,
    kind: Kind,
    work: () => Promise<Result>,
  ): Promise<Result> {
    if (key === undefined) return work();
    const count = (await openCounters())[scope];
    // Counted before its work starts, so that concurrent ones cannot exceed the limit before one has failed.
    const attempt = await count(key, kind === 'guess' || kind === 'link');
    if ('waitMs' in attempt) {
      const { event, reason }: Limit = limits[scope];
      emit({ type: 'throttled', scope: event });
      throw refusedAttempt(Math.max(1, Math.ceil(attempt.waitMs / 1000)), reason);
    }
    let failure: { readonly error: unknown } | undefined;
    try {
      return await work();
    } catch (error) {
      failure = { error };
      throw error;
    } finally {
      await attempt.end(endOf(scope, kind, failure));
    }
  };
}

/** Hashed, so that a leaked store reveals no address. */
function accountKey(account: string, network: string | undefined): string {
  return hash(JSON.stringify([foldAccount(account), network ?? null]));
}

function hash(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}
