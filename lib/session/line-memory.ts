import { createBoundedMap, stringBytes } from '../core/bounded-map.ts';
import { emptyState, isOpen, lifeOf, openMs, positionOf, refusedMs } from './token-line.ts';
import type { LineState, NewestToken, Place } from './token-line.ts';

/** A provider's definitive answer to a refresh. */
export type SettledRefresh =
  { readonly kind: 'renewed'; readonly text: string } | { readonly kind: 'ended'; readonly reason: string };

export type LineMemory = ReturnType<typeof createLineMemory>;

/** Longer than the duration of any request. */
const newestMs = 10 * 60_000;
const defaultRestMs = 5_000;
/** About 250 bytes each. */
const maxTokens = 20_000;
/** Bytes of memory: about 5,000 answers of 2 KB, which is 200 refreshes a second for 25 seconds. */
const maxClosingBytes = 12 * 1024 * 1024;
/** Bytes of memory. */
const maxOpenBytes = 16 * 1024 * 1024;
/** Measured bytes of an answer besides its text: its key, its entry and the objects. */
const entryBytes = 600;
/** Maximum bytes of one answer: several times what cookies can hold. A larger one only reaches callers that already wait. */
const maxAnswerBytes = 64 * 1024;

/**
 * The lines that this process knows. Answers that a browser still needs are apart from those that it has received, and refused tokens
 * from both: anyone can make up tokens, and they must evict neither.
 *
 * @param now milliseconds since the epoch
 */
export function createLineMemory(now: () => number) {
  const states = (max: number) =>
    createBoundedMap<LineState>({
      max,
      maxSizeOfOne: maxAnswerBytes,
      sizeOf: ({ text = '' }) => entryBytes + stringBytes(text),
      ttlMs: openMs,
      now,
    });
  const [open, closing] = [states(maxOpenBytes), states(maxClosingBytes)];
  const newest = createBoundedMap<NewestToken>({ max: maxTokens, ttlMs: newestMs, now });
  const refused = createBoundedMap<{ readonly reason: string }>({ max: maxTokens, ttlMs: refusedMs, now });
  const resting = createBoundedMap<true>({ max: maxTokens, ttlMs: defaultRestMs, now });

  const get = (line: string): LineState => open.get(line) ?? closing.get(line) ?? emptyState;

  /** What the holder of a token gets. */
  function find({ line, token }: Place): SettledRefresh | undefined {
    // A token that was exchanged for those of another session has a line of its own.
    const found = [get(line), get(token)].find((state) => positionOf(state.line, token, now())?.kind === 'spent');
    if (found?.text !== undefined) return { kind: 'renewed', text: found.text };
    const refusal = refused.get(token);
    return refusal && { kind: 'ended', reason: refusal.reason };
  }

  return {
    get,
    find,
    set(name: string, state: LineState): void {
      const [to, from] = isOpen(state.line, now()) ? [open, closing] : [closing, open];
      from.delete(name);
      const ttl = lifeOf(state.line, now());
      if (ttl === 0) to.delete(name);
      else to.set(name, state, { ttl });
      if (state.line.newest !== undefined) newest.set(name, state.line.newest);
    },
    refuse({ token }: Place, reason: string): void {
      refused.set(token, { reason });
    },
    rest({ token }: Place, ms: number): void {
      resting.set(token, true, { ttl: ms });
    },
    isResting: ({ token }: Place): boolean => resting.has(token),
    stopResting({ token }: Place): void {
      resting.delete(token);
    },
    /** The newest token of the session that this process has seen in the last ten minutes. */
    newestOf: ({ line }: Place): NewestToken | undefined => newest.get(line),
    forget({ line, token }: Place): void {
      for (const name of [line, token]) [open, closing].forEach((map) => map.delete(name));
      refused.delete(token);
    },
  };
}
