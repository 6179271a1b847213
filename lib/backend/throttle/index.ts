import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { createLazy } from '../../tools/bounded-map.ts';
import { foldCase } from '../../tools/request-path.ts';
import { AuthError } from '../../errors.ts';
import type { AuthErrorCode } from '../../errors.ts';
import type { Emit } from '../../session/events.ts';
import { networkKey } from '../../session/allowance.ts';
import { createClientAddress } from './client-address.ts';
import type { ClientAddress } from './client-address.ts';
import type { ThrottleOptions } from '../option-schema.ts';
import { isRefusedGuess, isTimeout } from '../provider-errors.ts';
import type { Attempt, Counter, End } from './counter.ts';

/** The `reason` of a refusal because an email with a code was sent within the last minute. */
export const mailedBefore = 'email_sent_before';
/** The `reason` of a refusal because too many codes were wrong. */
export const tooManyCodes = 'too_many_codes';
/** Seconds until an address can get its next email with a code. */
export const mailWaitSeconds = 60;

const defaultPrefix = 'express-auth-adapters:throttle';
const windowSeconds = 15 * 60;
const codes = { windowSeconds, isClosedByLast: true, event: 'code', reason: tooManyCodes } as const;
/**
 * Failures per window, the rate limit for passwords (OWASP ASVS 5.0 §6.3.1). Six-digit codes have a lower limit: a factor
 * across all networks, because its codes need the first factor; an emailed code per network and a higher one across all,
 * because anyone who knows an address can try codes. Each address gets one email with a code per minute.
 */
const limits = {
  account: { points: 10, windowSeconds, event: 'account', reason: undefined },
  network: { points: 100, windowSeconds, event: 'network', reason: undefined },
  // A hundred sign-ups of one office must not close its passwords, nor ten wrong passwords the email for a new one.
  message: { points: 10, windowSeconds, event: 'account', reason: undefined },
  messages: { points: 100, windowSeconds, event: 'network', reason: undefined },
  // The application's own check of a sign-up, such as of an invitation's code.
  check: { points: 100, windowSeconds, event: 'network', reason: undefined },
  // GoTrue hashes an address and its six-digit code to a link's token, so who knows an address can guess there, too.
  link: { points: 100, windowSeconds, event: 'network', reason: undefined },
  code: { points: 5, ...codes },
  mailedCode: { points: 30, ...codes },
  mail: { points: 1, windowSeconds: mailWaitSeconds, event: 'account', reason: mailedBefore },
  // Each view of the sign-in page asks for one, so they have a count of their own, and accounts have theirs beside it.
  challenge: { points: 100, windowSeconds, event: 'network', reason: undefined },
} as const;
type Scope = keyof typeof limits;

/**
 * Limits attempts before the backend is called. Guesses, links and messages have counts of their own. All methods reject with `rate_limited` before `work` starts, or with its error.
 * A refused attempt is not counted, only failures and attempts in progress are: `retryAfter` is the seconds until the window
 * ends, or one while attempts in progress may still make room.
 */
export interface Attempts {
  /**
   * Runs an attempt that counts against its network, and against its account there, so that the owner can sign in from elsewhere.
   *
   * @param email in any spelling; `undefined` for an answer that names no account, such as a passkey's
   */
  run<Result>(req: IncomingMessage, email: string | undefined, work: () => Promise<Result>): Promise<Result>;
  /** Runs an attempt with the token of an email's link or the code of a callback, which counts against its network. */
  runLink<Result>(req: IncomingMessage, work: () => Promise<Result>): Promise<Result>;
  /** Runs the application's own functions for a form, which any answer of theirs counts against its network. */
  runCheck<Result>(req: IncomingMessage, work: () => Promise<Result>): Promise<Result>;
  /** Runs a call that signs up or sends a message, for its account and network: one that succeeds stays counted. */
  runMessage<Result>(req: IncomingMessage, account: string, work: () => Promise<Result>): Promise<Result>;
  /**
   * Runs an attempt with a six-digit code. After five wrong ones, from any networks, all are refused for 15 minutes.
   *
   * @param subject the owner of the code, such as `factor:<id>`
   */
  runCode<Result>(req: IncomingMessage, subject: string, work: () => Promise<Result>): Promise<Result>;
  /** The same for an emailed code: five wrong ones from a network are refused there, 30 from all networks everywhere. */
  runMailedCode<Result>(req: IncomingMessage, email: string, work: () => Promise<Result>): Promise<Result>;
  /**
   * Runs a call that asks for the challenge of a passkey or a security key: 100 per window for a network. One that fails is not counted.
   *
   * @param userId of a visitor who has given a first factor: views of the sign-in page must not use up what this step needs
   */
  runChallenge<Result>(req: IncomingMessage, userId: string | undefined, work: () => Promise<Result>): Promise<Result>;
  /** Runs a call that sends an email with a code: one per minute for an address. One that fails is not counted. */
  runMail<Result>(email: string, work: () => Promise<Result>): Promise<Result>;
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
  if (parts.throttle === false) {
    const run: Attempts['runCode'] & Attempts['runChallenge'] = (_req, _subject, work) => work();
    return {
      run,
      runLink: (_req, work) => work(),
      runCheck: (_req, work) => work(),
      runMessage: run,
      runCode: run,
      runMailedCode: run,
      runChallenge: run,
      runMail: (_email, work) => work(),
    };
  }
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

function createWithin(options: ThrottleOptions, parts: ThrottleParts) {
  const openLimits = createLazy(() => openCounters(options, parts));

  /** Counts the attempt before its work starts, so that concurrent ones cannot exceed the limit before one has failed. */
  async function count(scope: Scope, key: string, kind: Kind): Promise<Attempt> {
    const counters = await openLimits();
    const counted = await counters[scope](key, kind === 'guess' || kind === 'link');
    if ('end' in counted) return counted;
    const { event, reason } = limits[scope];
    parts.emit({ type: 'throttled', scope: event });
    throw new AuthError('rate_limited', { retryAfter: Math.max(1, Math.ceil(counted.waitMs / 1000)), reason });
  }

  /** Runs work that is counted under a key; without a key it is not. */
  return async function within<Result>(
    scope: Scope,
    key: string | undefined,
    kind: Kind,
    work: () => Promise<Result>,
  ): Promise<Result> {
    if (key === undefined) return work();
    const attempt = await count(scope, key, kind);
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

async function openCounters({ redis, keyPrefix = defaultPrefix }: ThrottleOptions, parts: ThrottleParts) {
  const { emit, now, maxKeys = 50_000 } = parts;
  // The library takes longer to load than this whole package, and only sign-ins need it.
  const [{ createCounter }, { createStore }] = await Promise.all([import('./counter.ts'), import('./store.ts')]);
  const store = redis && createStore(redis, emit, now);
  const counterOf = (scope: Scope): Counter =>
    createCounter({ limit: limits[scope], keyPrefix: `${keyPrefix}:${scope}`, store, maxKeys, now });
  return {
    account: counterOf('account'),
    network: counterOf('network'),
    message: counterOf('message'),
    messages: counterOf('messages'),
    link: counterOf('link'),
    check: counterOf('check'),
    code: counterOf('code'),
    mailedCode: counterOf('mailedCode'),
    mail: counterOf('mail'),
    challenge: counterOf('challenge'),
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
