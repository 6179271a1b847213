import { createBoundedMap, stringBytes } from '../core/bounded-map.ts';
import { withDeadline } from '../core/deadline.ts';
import { AuthError, causeOf } from '../errors.ts';
import { createOutageReport } from './shared-coordinator.ts';
import type { OutageReport, SettledRefresh, SharedCoordinator } from './shared-coordinator.ts';
import type { Emit } from './events.ts';
import { hash } from './record.ts';
import { VariantRefused, variantRefused } from './source.ts';
import type { StoredSession } from './source.ts';
import type { AdapterName } from '../types.ts';

export interface CoordinatedRefresh {
  readonly settled: SettledRefresh;
  /** True for the caller whose refresh ran here and now, false for callers that share its answer. */
  readonly isNew: boolean;
}

export interface RefreshCoordinator {
  /**
   * Runs one refresh per token, however many requests ask for it. A slow call continues after its first
   * caller stopped waiting, and later callers join it. Its answer always counts, because the token is spent.
   *
   * @param variant the name of the variant, where `refresh` is one
   * @throws {AuthError} `provider_unavailable` after at most 25 seconds; callers decide how long they wait
   * @throws {VariantRefused} for callers with this variant
   */
  run(
    key: string,
    refresh: (signal: AbortSignal) => Promise<SettledRefresh>,
    variant?: string,
  ): Promise<CoordinatedRefresh>;
  /** Whether the token's answer is available or pending, so that `run` starts nothing. */
  knows(key: string): boolean;
  /** The kind of the token's answer, where it is available. */
  settledKind(key: string): SettledRefresh['kind'] | undefined;
  /** Whether a refresh failed recently, so that only a request that needs it should start the next one. */
  isCoolingDown(key: string): boolean;
  /**
   * Gives holders of these spent tokens the newest answer, where their own was never delivered. So
   * a browser that missed several answers needs only one step.
   */
  advance(keys: readonly string[], key: string): void;
  /** Gives requests with a spent token its successor, where no refresh produced it. */
  adopt(key: string, settled: RenewedRefresh): void;
  /** The browser received the new tokens: only requests that were sent before still carry the old one. */
  confirmDelivery(key: string): void;
  /** The session has ended; no request gets its tokens any more. */
  forget(key: string): void;
}

type RenewedRefresh = Extract<SettledRefresh, { kind: 'renewed' }>;
type EndedRefresh = Extract<SettledRefresh, { kind: 'ended' }>;

/** Long enough for a slow answer, and short enough to resend the same token within a replay window of 30 seconds. */
const defaultCallLifeMs = 25_000;
/** Requests that were sent with the old cookie arrive at most this long after the answer. */
const renewedMemoMs = 25_000;
/** A spent token stays spent; the memory saves a provider call for each request of a client that keeps its cookie. */
const endedMemoMs = 10 * 60_000;
const undeliveredMs = 24 * 60 * 60_000;
const defaultCoolDownSeconds = 5;
const maxCoolDownSeconds = 60;
/** About 250 bytes each. */
const maxMemo = 20_000;
/** Bytes of memory: about 5,000 answers of 2 KB, which is 200 refreshes a second for 25 seconds. */
const maxMemoBytes = 12 * 1024 * 1024;
/** Bytes of memory. An undelivered answer is worth more than a delivered one. */
const maxUndeliveredBytes = 16 * 1024 * 1024;
/** Measured bytes of an answer besides its text: its key, its entry and the object. */
const entryBytes = 600;
/** Maximum bytes of one answer: several times what cookies can hold. A larger one only reaches callers that already wait. */
const maxAnswerBytes = 64 * 1024;

export function createRefreshCoordinator(parts: {
  readonly now: () => number;
  readonly emit: Emit;
  /** After this time without an answer a refresh counts as failed until the answer arrives. */
  readonly timeoutMs: number;
  readonly callLifeMs?: number;
  readonly shared: SharedCoordinator | undefined;
  readonly outages?: OutageReport;
}): RefreshCoordinator {
  const { now, emit, timeoutMs, shared } = parts;
  const { outages = createOutageReport(shared, emit) } = parts;
  const callLifeMs = Math.max(parts.callLifeMs ?? defaultCallLifeMs, timeoutMs);
  const running = new Map<string, Promise<CoordinatedRefresh>>();
  const answers = (maxBytes: number, ttlMs: number) =>
    createBoundedMap<RenewedRefresh>({
      max: maxBytes,
      maxSizeOfOne: maxAnswerBytes,
      sizeOf: ({ text }) => entryBytes + stringBytes(text),
      ttlMs,
      now,
    });
  const memo = answers(maxMemoBytes, renewedMemoMs);
  // Separate from the memo: anyone can make up tokens that end, and they must not evict answers that a browser still needs.
  const refused = createBoundedMap<EndedRefresh>({ max: maxMemo, ttlMs: endedMemoMs, now });
  // Until a response delivers the new tokens, the browser holds only a spent one and sends it
  // again. Separate from the memo, so that other traffic cannot evict it.
  const undelivered = answers(maxUndeliveredBytes, undeliveredMs);
  const coolingDown = createBoundedMap<true>({ max: maxMemo, ttlMs: defaultCoolDownSeconds * 1000, now });

  function settledOf(key: string): SettledRefresh | undefined {
    return undelivered.get(key) ?? memo.get(key) ?? refused.get(key);
  }

  /** Stores the answer: a late success takes precedence over the refusal of a second attempt with the same token. */
  function keep(key: string, settled: SettledRefresh): SettledRefresh {
    coolingDown.delete(key);
    if (settled.kind === 'renewed') {
      undelivered.set(key, settled);
      return settled;
    }
    const known = undelivered.get(key);
    if (known !== undefined) return known;
    refused.set(key, settled);
    return settled;
  }

  async function overAllProcesses(
    key: string,
    refresh: (signal: AbortSignal) => Promise<SettledRefresh>,
    signal: AbortSignal,
  ): Promise<CoordinatedRefresh> {
    let own: Promise<SettledRefresh> | undefined;
    const once = (): Promise<SettledRefresh> => (own ??= refresh(signal));
    if (shared !== undefined) {
      try {
        const settled = await shared.coordinate(key, once, signal);
        outages.succeeded();
        return { settled, isNew: own !== undefined };
      } catch (error) {
        // The provider's answer in another process is final; asking again from every process would not help it recover.
        if (signal.aborted || error instanceof VariantRefused) throw error;
        if (own === undefined && error instanceof AuthError) {
          if (error.reason === variantRefused) return overAllProcesses(key, refresh, signal);
          throw error;
        }
        if (own === undefined) outages.failed('refresh');
      }
    }
    return { settled: await once(), isNew: true };
  }

  async function start(
    key: string,
    refresh: (signal: AbortSignal) => Promise<SettledRefresh>,
  ): Promise<CoordinatedRefresh> {
    let isReported = false;
    const report = (error: AuthError): void => {
      coolingDown.set(key, true, { ttl: coolDownMs(error) });
      if (!isReported) emit({ type: 'refresh_failed', ...causeOf(error) });
      isReported = true;
    };
    const slow = setTimeout(() => report(outOfTime()), timeoutMs).unref();
    // Stored here and not after the deadline: whenever the answer arrives, the old token is spent.
    const work = async (signal: AbortSignal): Promise<CoordinatedRefresh> => {
      const { settled, isNew } = await overAllProcesses(key, refresh, signal);
      return { settled: keep(key, settled), isNew };
    };
    try {
      return await withDeadline(work, callLifeMs, outOfTime);
    } catch (cause) {
      if (cause instanceof VariantRefused) throw cause;
      const error = cause instanceof AuthError ? cause : outOfTime(cause);
      report(error);
      throw error;
    } finally {
      clearTimeout(slow);
      running.delete(key);
    }
  }

  /** Informs the other processes, if the coordinator supports it; nothing here depends on it. */
  function tell(what: 'confirmDelivery' | 'forget', key: string): void {
    shared?.[what](key).then(
      () => outages.succeeded(),
      () => outages.failed('refresh'),
    );
  }

  async function join(
    joined: Promise<CoordinatedRefresh>,
    ...call: Parameters<RefreshCoordinator['run']>
  ): Promise<CoordinatedRefresh> {
    const [, , variant] = call;
    try {
      return { ...(await joined), isNew: false };
    } catch (error) {
      if (error instanceof VariantRefused && error.variant !== variant) return run(...call);
      throw error;
    }
  }

  const run: RefreshCoordinator['run'] = (key, refresh, variant) => {
    const settled = settledOf(key);
    if (settled !== undefined) return Promise.resolve({ settled, isNew: false });
    const joined = running.get(key);
    if (joined !== undefined) return join(joined, key, refresh, variant);
    const started = start(key, refresh);
    running.set(key, started);
    return started;
  };

  return {
    run,
    knows: (key) => settledOf(key) !== undefined || running.has(key),
    settledKind: (key) => settledOf(key)?.kind,
    isCoolingDown: (key) => coolingDown.has(key),
    advance(keys, key) {
      const newest = undelivered.get(key);
      if (newest === undefined) return;
      for (const spent of keys) if (undelivered.has(spent)) undelivered.set(spent, newest);
    },
    adopt: (key, settled) => void memo.set(key, settled),
    confirmDelivery(key) {
      const settled = undelivered.get(key);
      if (settled === undefined) return;
      undelivered.delete(key);
      memo.set(key, settled);
      tell('confirmDelivery', key);
    },
    forget(key) {
      tell('forget', key);
      undelivered.delete(key);
      memo.delete(key);
      refused.delete(key);
    },
  };
}

function coolDownMs({ retryAfter = defaultCoolDownSeconds }: AuthError): number {
  return Math.min(Math.max(retryAfter, 1), maxCoolDownSeconds) * 1000;
}

function outOfTime(cause?: unknown): AuthError {
  return new AuthError('provider_unavailable', { cause, reason: 'timeout', retryAfter: 5 });
}

/** Identifies a refresh token without revealing it. */
export function refreshKey(
  adapter: AdapterName,
  { refreshToken }: Pick<StoredSession<unknown>, 'refreshToken'>,
): string {
  return `${adapter}:${hash(refreshToken)}`;
}
