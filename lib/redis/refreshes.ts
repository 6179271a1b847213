import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { sealData, unsealData } from 'iron-session';
import { AuthError } from '../errors.ts';
import { fitForEvent } from '../session/events.ts';
import type { SettledRefresh, SharedCoordinator } from '../session/shared-coordinator.ts';
import { isPresent, tagOf } from './client.ts';
import type { RedisCommands } from './client.ts';

/** Until a browser receives its new cookie it holds only a spent token, and any process may get its next request. */
const undeliveredTtlMs = 24 * 60 * 60_000;
/** Requests that were sent with the old cookie arrive at most this long after delivery. */
const deliveredTtlMs = 25_000;
const endedTtlMs = 10 * 60_000;
/** Long enough for every waiting process to poll once more. */
const failureTtlMs = 1_000;
const firstPollMs = 60;
const steadyPollMs = 200;
const maxPollMs = 1_000;

interface RefreshStore {
  readonly commands: RedisCommands;
  readonly seal: AnswerSeal;
  readonly keyPrefix: string;
  readonly lockTtlMs: number;
}

/** One caller's attempt to get the answer for a refresh token. */
interface Attempt {
  /** Unique. */
  readonly id: string;
  /** Identifies the refresh token. */
  readonly key: string;
  readonly answer: string;
  readonly lock: string;
  failureOf(id: string): string;
}

type Claim =
  | { readonly kind: 'answered'; readonly sealed: string }
  | { readonly kind: 'failed'; readonly report: string }
  | { readonly kind: 'held'; readonly id: string };

/**
 * One holder at a time refreshes, and the others wait for its answer; a process that finds the lock
 * expired takes over. Each step is one script, so that it is atomic.
 */
export function createRefreshes(
  store: RefreshStore,
): Required<Pick<SharedCoordinator, 'coordinate' | 'confirmDelivery' | 'forget'>> {
  const { commands, seal, keyPrefix } = store;
  return {
    async coordinate(key, refresh, signal) {
      const attempt = createAttempt(keyPrefix, key);
      let awaited = attempt.id;
      for (let pollMs = firstPollMs; ; pollMs = nextPollMs(pollMs)) {
        signal.throwIfAborted();
        const claimed = await claim(store, attempt, awaited);
        if (claimed.kind === 'answered') {
          const answer = await seal.open(key, claimed.sealed);
          // The password differs, or another program writes these keys: coordination is impossible, and operators must see an error.
          if (answer === undefined) throw new Error('An answer in Redis cannot be opened with this password');
          return answer;
        }
        if (claimed.kind === 'failed') throw fromReport(claimed.report);
        // `held` by this attempt: the client repeated a command whose first reply was lost.
        if (claimed.id === attempt.id) return hold(store, attempt, refresh, signal);
        awaited = claimed.id;
        await wait(pollMs * (0.75 + Math.random() / 2), undefined, { signal });
      }
    },
    async confirmDelivery(key) {
      await commands.eval(deliverScript, [`${tagOf(keyPrefix, key)}:answer`], [String(deliveredTtlMs)]);
    },
    async forget(key) {
      await commands.eval(`return redis.call('DEL', KEYS[1])`, [`${tagOf(keyPrefix, key)}:answer`], []);
    },
  };
}

function createAttempt(keyPrefix: string, key: string): Attempt {
  const tag = tagOf(keyPrefix, key);
  const failureOf = (id: string): string => `${tag}:failure:${id}`;
  return { id: randomUUID(), key, answer: `${tag}:answer`, lock: `${tag}:lock`, failureOf };
}

/**
 * Four commands in 200 ms, nine in a second. A notification would take five, a second connection
 * per process, and one command for each refresh even without waiting processes.
 */
function nextPollMs(pollMs: number): number {
  return Math.min(pollMs * (pollMs < steadyPollMs ? 1.25 : 1.05), maxPollMs);
}

/**
 * Returns the answer if there is one, else the failure of the awaited attempt, else takes the lock.
 * KEYS: answer, lock, failure of the awaited attempt. ARGV: attempt, lock's lifetime in milliseconds.
 */
const claimScript = `
local answer = redis.call('GET', KEYS[1])
if answer then return {'answered', answer} end
local failure = redis.call('GET', KEYS[3])
if failure then return {'failed', failure} end
if redis.call('SET', KEYS[2], ARGV[1], 'NX', 'PX', ARGV[2]) then return {'claimed', ARGV[1]} end
return {'held', redis.call('GET', KEYS[2])}`;

/** @param awaited the attempt that held the lock at the last poll */
async function claim({ commands, lockTtlMs }: RefreshStore, attempt: Attempt, awaited: string): Promise<Claim> {
  const keys = [attempt.answer, attempt.lock, attempt.failureOf(awaited)] as const;
  const reply = await commands.eval(claimScript, keys, [attempt.id, String(lockTtlMs)]);
  const [kind, value] = Array.isArray(reply) ? reply.map(String) : [];
  if (value === undefined) throw new Error('Redis gave an answer that no script of ours gives');
  if (kind === 'answered') return { kind, sealed: value };
  if (kind === 'failed') return { kind, report: value };
  return { kind: 'held', id: value };
}

/** Extends the lock of a live holder. KEYS: lock. ARGV: attempt, lock's lifetime in milliseconds. */
const extendScript = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])`;

/**
 * Releases the lock and stores a report for the callers that wait for this attempt; later callers try again.
 * KEYS: lock, failure of this attempt. ARGV: attempt, report, its lifetime in milliseconds.
 */
const failScript = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('DEL', KEYS[1])
redis.call('SET', KEYS[2], ARGV[2], 'PX', ARGV[3])
return 1`;

async function hold(
  store: RefreshStore,
  attempt: Attempt,
  refresh: () => Promise<SettledRefresh>,
  signal: AbortSignal,
): Promise<SettledRefresh> {
  const { commands, lockTtlMs } = store;
  const { id, lock } = attempt;
  // The lock expires without it.
  const ignore = (): void => undefined;
  const heartbeat = setInterval(() => {
    // No request still waits for a refresh that exceeds its deadline.
    if (signal.aborted) clearInterval(heartbeat);
    else commands.eval(extendScript, [lock], [id, String(lockTtlMs)]).catch(ignore);
  }, lockTtlMs / 3).unref();
  let answer: SettledRefresh;
  try {
    answer = await refresh();
  } catch (error) {
    const report = [id, toReport(error), String(failureTtlMs)];
    commands.eval(failScript, [lock, attempt.failureOf(id)], report).catch(ignore);
    throw error;
  } finally {
    clearInterval(heartbeat);
  }
  try {
    return await settle(store, attempt, answer);
  } catch {
    // The token is spent, so local callers get the answer even if it cannot be shared.
    return answer;
  }
}

/**
 * Stores the answer and releases the lock if the caller still holds it. The first renewed answer is kept: a
 * late holder that lost its lock must not replace tokens that others already use, and `ended` after `renewed`
 * only means that the token was spent. Returns the stored answer if it is not the caller's.
 * KEYS: answer, lock. ARGV: attempt, answer, the answer's lifetime in milliseconds.
 */
const settleScript = `
if redis.call('GET', KEYS[2]) == ARGV[1] then redis.call('DEL', KEYS[2]) end
local standing = redis.call('GET', KEYS[1])
if standing and (string.sub(standing, 1, 1) == 'r' or string.sub(ARGV[2], 1, 1) == 'e') then return standing end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return false`;

/** @returns the stored answer */
async function settle(
  { commands, seal }: RefreshStore,
  attempt: Attempt,
  own: SettledRefresh,
): Promise<SettledRefresh> {
  const { id, key, answer, lock } = attempt;
  const ttlMs = own.kind === 'ended' ? endedTtlMs : undeliveredTtlMs;
  const sealed = await seal.seal(key, own, ttlMs);
  const standing = await commands.eval(settleScript, [answer, lock], [id, sealed, String(ttlMs)]);
  return (isPresent(standing) ? await seal.open(key, String(standing)) : undefined) ?? own;
}

/**
 * Shortens a delivered answer's lifetime to that of earlier requests. KEYS: answer. ARGV: remaining lifetime in milliseconds.
 */
const deliverScript = `
if redis.call('PTTL', KEYS[1]) <= tonumber(ARGV[1]) then return 0 end
if redis.call('GETRANGE', KEYS[1], 0, 0) ~= 'r' then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[1])`;

/** The parts of a failure for waiting processes; its cause stays here. */
function toReport(error: unknown): string {
  return error instanceof AuthError
    ? `${error.code} ${error.retryAfter ?? ''} ${error.reason ?? ''}`
    : 'provider_unavailable';
}

function fromReport(report: string): AuthError {
  const [code, seconds = '', reason = ''] = report.split(' ');
  const retryAfter = Number.parseInt(seconds, 10);
  return new AuthError(code === 'provider_refused' || code === 'token_rejected' ? code : 'provider_unavailable', {
    reason: fitForEvent(reason),
    ...(Number.isNaN(retryAfter) ? {} : { retryAfter }),
  });
}

/** Answers hold tokens, so Redis stores them only encrypted and authenticated. */
interface AnswerSeal {
  /** @param ttlMs the lifetime after which no process opens the seal, even if Redis still has it */
  seal(key: string, answer: SettledRefresh, ttlMs: number): Promise<string>;
  /** `undefined` where it was not sealed for this `key` with one of the passwords. */
  open(key: string, sealed: string): Promise<SettledRefresh | undefined>;
}

/** @param passwords the first one seals, all of them open; each 32 characters or longer */
export function createAnswerSeal(passwords: readonly [string, ...string[]]): AnswerSeal {
  return {
    seal: async (key, answer, ttlMs) => {
      // The first letter tells Redis' scripts the kind of the answer; the sealed content is authoritative. It
      // includes the key, so that a writer to Redis cannot give one user another user's tokens.
      const sealed = await sealData({ key, answer }, { password: passwords[0], ttl: ttlMs / 1000 });
      return `${answer.kind === 'ended' ? 'e' : 'r'}${sealed}`;
    },
    open: async (key, sealed) => {
      for (const password of passwords) {
        const content = await unsealData<{ key?: unknown; answer?: unknown }>(sealed.slice(1), { password });
        if (content.key === key && isAnswer(content.answer)) return content.answer;
      }
      return undefined;
    },
  };
}

function isAnswer(value: unknown): value is SettledRefresh {
  if (typeof value !== 'object' || value === null || !('kind' in value)) return false;
  if (value.kind === 'renewed') return 'text' in value && typeof value.text === 'string';
  return value.kind === 'ended' && 'reason' in value && typeof value.reason === 'string';
}
