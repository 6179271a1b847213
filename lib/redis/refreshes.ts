import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { sealData, unsealData } from 'iron-session';
import { AuthError } from '../errors.ts';
import { fitForEvent } from '../session/events.ts';
import type { SettledRefresh, SharedCoordinator } from '../session/shared-coordinator.ts';
import { isPresent, tagOf } from './client.ts';
import type { RedisCommands } from './client.ts';

/** Until a browser has got its new cookie it holds nothing but a spent token, and it may come back to any process. */
const undeliveredTtlMs = 24 * 60 * 60_000;
/** Requests that were sent with the old cookie arrive this long after the answer was delivered. */
const deliveredTtlMs = 25_000;
const endedTtlMs = 10 * 60_000;
/** Long enough for every waiting process to look once more. */
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

/** One caller's way to the answer for a refresh token. */
interface Attempt {
  /** Unique. */
  readonly id: string;
  /** Names the refresh token. */
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
 * One holder at a time refreshes, the others wait for its answer; a process that finds the lock expired takes over. Each step is one
 * script, so that nothing can happen between a look and a decision.
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
          // Another password, or another program writes to these keys: coordination is impossible, and the operators must hear of it.
          if (answer === undefined) throw new Error('An answer in Redis cannot be opened with this password');
          return answer;
        }
        if (claimed.kind === 'failed') throw fromReport(claimed.report);
        // `held` by ourselves: the client repeated a command whose first reply was lost.
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
 * Four commands in 200 ms, nine in a second. A notification takes five, a second connection for each process, and a command for each
 * refresh, whether or not anything waits for it.
 */
function nextPollMs(pollMs: number): number {
  return Math.min(pollMs * (pollMs < steadyPollMs ? 1.25 : 1.05), maxPollMs);
}

/**
 * The answer if there is one, else what became of the attempt that the caller waited for, else the lock.
 * KEYS: answer, lock, failure of the awaited attempt. ARGV: attempt, lock's lifetime in milliseconds.
 */
const claimScript = `
local answer = redis.call('GET', KEYS[1])
if answer then return {'answered', answer} end
local failure = redis.call('GET', KEYS[3])
if failure then return {'failed', failure} end
if redis.call('SET', KEYS[2], ARGV[1], 'NX', 'PX', ARGV[2]) then return {'claimed', ARGV[1]} end
return {'held', redis.call('GET', KEYS[2])}`;

/** @param awaited the attempt that held the lock before */
async function claim({ commands, lockTtlMs }: RefreshStore, attempt: Attempt, awaited: string): Promise<Claim> {
  const keys = [attempt.answer, attempt.lock, attempt.failureOf(awaited)] as const;
  const reply = await commands.eval(claimScript, keys, [attempt.id, String(lockTtlMs)]);
  const [kind, value] = Array.isArray(reply) ? reply.map(String) : [];
  if (value === undefined) throw new Error('Redis gave an answer that no script of ours gives');
  if (kind === 'answered') return { kind, sealed: value };
  if (kind === 'failed') return { kind, report: value };
  return { kind: 'held', id: value };
}

/** A holder that is alive keeps its lock. KEYS: lock. ARGV: attempt, lock's lifetime in milliseconds. */
const extendScript = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])`;

/**
 * Releases the lock and leaves word for those who waited for this very attempt; later callers try anew.
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
  // The lock ends by itself.
  const ignore = (): void => undefined;
  const heartbeat = setInterval(() => {
    // No request waits any longer for a refresh that outlives its budget.
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
    // The token is spent, so the answer goes to those who wait here even if it cannot be shared.
    return answer;
  }
}

/**
 * Stores the answer and releases the lock if it is still the caller's own. Of several answers the first renewed one stands: a
 * holder that was taken for dead and comes late must not undo what others already carry, and `ended` after `renewed` only says
 * that the token was spent. Returns the answer that stands if it is not the caller's.
 * KEYS: answer, lock. ARGV: attempt, answer, the answer's lifetime in milliseconds.
 */
const settleScript = `
if redis.call('GET', KEYS[2]) == ARGV[1] then redis.call('DEL', KEYS[2]) end
local standing = redis.call('GET', KEYS[1])
if standing and (string.sub(standing, 1, 1) == 'r' or string.sub(ARGV[2], 1, 1) == 'e') then return standing end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return false`;

/** @returns the answer that stands */
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
 * Keeps a delivered answer only for requests that were sent before. KEYS: answer. ARGV: the rest of its life in milliseconds.
 */
const deliverScript = `
if redis.call('PTTL', KEYS[1]) <= tonumber(ARGV[1]) then return 0 end
if redis.call('GETRANGE', KEYS[1], 0, 0) ~= 'r' then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[1])`;

/** What those who waited need to know of a failure; its cause stays here. */
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

/** Answers hold tokens, so they rest in Redis only encrypted and authenticated. */
interface AnswerSeal {
  /** @param ttlMs after which no process opens the seal any more, even if Redis still has it */
  seal(key: string, answer: SettledRefresh, ttlMs: number): Promise<string>;
  /** `undefined` for what was not sealed for this very `key` with one of the passwords. */
  open(key: string, sealed: string): Promise<SettledRefresh | undefined>;
}

/** @param passwords the first one seals, all of them open; each 32 characters or longer */
export function createAnswerSeal(passwords: readonly [string, ...string[]]): AnswerSeal {
  return {
    seal: async (key, answer, ttlMs) => {
      // The first letter tells Redis' scripts which answer stands; what counts for us is inside. The key is inside, too, so
      // that a writer to Redis cannot hand one visitor another one's tokens.
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
