import { createHash } from 'node:crypto';
import { AuthError } from '../errors.ts';
import { fitForEvent } from '../session/events.ts';
import type { SessionCutoffs, SettledRefresh, SharedCoordinator } from '../session/shared-coordinator.ts';
import type { RedisCommands } from './client.ts';
import type { AnswerSeal } from './seal.ts';
import {
  claimScript,
  cutoffsScript,
  deliverScript,
  revokeScript,
  extendScript,
  failScript,
  forgetScript,
  settleScript,
} from './scripts.ts';

export interface CoordinatorParts {
  readonly commands: RedisCommands;
  readonly seal: AnswerSeal;
  readonly keyPrefix: string;
  readonly lockTtlMs: number;
  /** A unique name for each attempt. */
  readonly createToken: () => string;
  /** Resolves after `ms`, rejects when `signal` aborts. */
  readonly wait: (ms: number, signal: AbortSignal) => Promise<unknown>;
  /** Between 0 and 1. */
  readonly random: () => number;
}

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

interface RefreshKeys {
  readonly answer: string;
  readonly lock: string;
  failure(attempt: string): string;
}

type Claim =
  | { readonly kind: 'answered'; readonly sealed: string }
  | { readonly kind: 'failed'; readonly report: string }
  | { readonly kind: 'held'; readonly attempt: string };

/** One holder at a time refreshes, the others wait for its answer; a process that finds the lock expired takes over. */
export function createCoordinator(parts: CoordinatorParts): SharedCoordinator {
  const { commands, seal, keyPrefix, lockTtlMs, createToken, wait, random } = parts;

  function keysOf(key: string): RefreshKeys {
    const tag = `${keyPrefix}:{${hash(key)}}`;
    return { answer: `${tag}:answer`, lock: `${tag}:lock`, failure: (attempt) => `${tag}:failure:${attempt}` };
  }

  async function claim(keys: RefreshKeys, attempt: string, awaited: string): Promise<Claim> {
    const reply = await commands.eval(
      claimScript,
      [keys.answer, keys.lock, keys.failure(awaited)],
      [attempt, String(lockTtlMs)],
    );
    const [kind, value] = Array.isArray(reply) ? reply.map(String) : [];
    if (value === undefined) throw new Error('Redis gave an answer that no script of ours gives');
    if (kind === 'answered') return { kind, sealed: value };
    if (kind === 'failed') return { kind, report: value };
    return { kind: 'held', attempt: value };
  }

  async function hold(
    key: string,
    keys: RefreshKeys,
    attempt: string,
    refresh: () => Promise<SettledRefresh>,
    signal: AbortSignal,
  ): Promise<SettledRefresh> {
    const heartbeat = setInterval(() => {
      // No request waits any longer for a refresh that outlives its budget.
      if (signal.aborted) clearInterval(heartbeat);
      else commands.eval(extendScript, [keys.lock], [attempt, String(lockTtlMs)]).catch(ignore);
    }, lockTtlMs / 3).unref();
    let answer: SettledRefresh;
    try {
      answer = await refresh();
    } catch (error) {
      commands
        .eval(failScript, [keys.lock, keys.failure(attempt)], [attempt, toReport(error), String(failureTtlMs)])
        .catch(ignore);
      throw error;
    } finally {
      clearInterval(heartbeat);
    }
    try {
      return await settle(key, keys, attempt, answer);
    } catch {
      // The token is spent, so the answer goes to those who wait here even if it cannot be shared.
      return answer;
    }
  }

  async function settle(
    key: string,
    keys: RefreshKeys,
    attempt: string,
    answer: SettledRefresh,
  ): Promise<SettledRefresh> {
    const ttlMs = answer.kind === 'ended' ? endedTtlMs : undeliveredTtlMs;
    const sealed = await seal.seal(key, answer, ttlMs);
    const standing = await commands.eval(settleScript, [keys.answer, keys.lock], [attempt, sealed, String(ttlMs)]);
    return (isPresent(standing) ? await seal.open(key, String(standing)) : undefined) ?? answer;
  }

  return {
    isAvailable: () => commands.isAvailable(),
    async coordinate(key, refresh, signal) {
      const keys = keysOf(key);
      const attempt = createToken();
      let awaited = attempt;
      for (let pollMs = firstPollMs; ; pollMs = nextPollMs(pollMs)) {
        signal.throwIfAborted();
        const claimed = await claim(keys, attempt, awaited);
        if (claimed.kind === 'answered') {
          const answer = await seal.open(key, claimed.sealed);
          // Another password, or another program writes to these keys: coordination is impossible, and the operators must hear of it.
          if (answer === undefined) throw new Error('An answer in Redis cannot be opened with this password');
          return answer;
        }
        if (claimed.kind === 'failed') throw fromReport(claimed.report);
        // `held` by ourselves: the client repeated a command whose first reply was lost.
        if (claimed.attempt === attempt) return hold(key, keys, attempt, refresh, signal);
        awaited = claimed.attempt;
        await wait(pollMs * (0.75 + random() / 2), signal);
      }
    },
    async confirmDelivery(key) {
      await commands.eval(deliverScript, [keysOf(key).answer], [String(deliveredTtlMs)]);
    },
    async forget(key) {
      await commands.eval(forgetScript, [keysOf(key).answer], []);
    },
    async endSession(sessionId, ttlMs) {
      await commands.eval(revokeScript, [revocationKey(sessionId)], [String(Math.ceil(ttlMs))]);
    },
    async isEnded(sessionId) {
      return isPresent(await commands.get(revocationKey(sessionId)));
    },
    async setCutoffs(subject, { endedUntil, staleUntil }, ttlMs) {
      const args = [endedUntil, staleUntil, ttlMs].map((value) => String(Math.ceil(value)));
      await commands.eval(cutoffsScript, [cutoffsKey(subject)], args);
    },
    async cutoffsOf(subject) {
      const reply = await commands.get(cutoffsKey(subject));
      return isPresent(reply) ? parseCutoffs(String(reply)) : undefined;
    },
  };

  function cutoffsKey(subject: string): string {
    return `${keyPrefix}:{${hash(subject)}}:cutoffs`;
  }

  function revocationKey(sessionId: string): string {
    return `${keyPrefix}:{${hash(sessionId)}}:ended`;
  }
}

function parseCutoffs(text: string): SessionCutoffs {
  const [, endedUntil, staleUntil] = /^(-?\d+) (-?\d+)$/.exec(text) ?? [];
  if (endedUntil === undefined) throw new Error('Redis holds times that no script of ours has written');
  return { endedUntil: Number(endedUntil), staleUntil: Number(staleUntil) };
}

/**
 * Four commands in 200 ms, nine in a second. A notification takes five, a second connection for each process, and a command for each
 * refresh, whether or not anything waits for it.
 */
function nextPollMs(pollMs: number): number {
  return Math.min(pollMs * (pollMs < steadyPollMs ? 1.25 : 1.05), maxPollMs);
}

function hash(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}

function isPresent(reply: unknown): boolean {
  return reply !== null && reply !== undefined;
}

function ignore(): void {
  // The lock ends by itself.
}

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
