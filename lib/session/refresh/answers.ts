import { createBoundedMap, stringBytes } from '../../tools/bounded-map.ts';

/**
 * What became of a token. It is named by its refresh token alone: an exchange belongs to it, whichever access token came with it.
 *
 * - `renewed`: what it led to by now, in so many steps.
 * - `by`: a browser's own token led to it, and on. What that one leads to is the answer of both, so that it is stored once.
 * - `ended`: the provider refused it.
 */
export type Answer = Renewed | Ended | { readonly kind: 'by'; readonly token: string };

export interface Renewed {
  readonly kind: 'renewed';
  /** The name of the refresh token that was issued. */
  readonly token: string;
  /** How many tokens were spent on the way: none where the provider gave the same refresh token again. */
  readonly steps: number;
  /** Where the provider gave the same refresh token again: when its access token was issued, in milliseconds since the epoch. */
  readonly reissuedAt?: number;
  /** Whether a response brought it by another way than a refresh, so that a browser may have it. */
  readonly isBrought?: boolean;
  /** The new tokens, as their source serializes them: a secret. */
  readonly text: string;
  /** The latest of the tokens in between, whose answer is `by` this one's. */
  readonly between?: readonly string[];
  /** Identifies the user that the new access token names. */
  readonly owner?: string | undefined;
}

export interface Ended {
  readonly kind: 'ended';
  readonly reason: string;
}

/** Tokens as a browser holds them. */
export interface Holder {
  /** Names the refresh token without revealing it. */
  readonly token: string;
  /** Identifies the refresh token together with its access token. */
  readonly pair: string;
  /** Whether these are others than the holder's, and not older. It matters only where the provider gives a refresh token again. */
  isNewer(text: string): boolean;
}

/** Until a response delivers the newest tokens, the browser holds only a spent one and sends it again; people come back after a week. */
export const openMs = 8 * 24 * 60 * 60_000;
/** Requests that were sent with the old cookie arrive at most this long after the answer. */
export const closingMs = 25_000;
/** A refused token stays refused; that saves a provider call for each request of a client that keeps its cookie. */
export const refusedMs = 10 * 60_000;
/** A later token has replaced it, and nothing says any more which one. */
export const superseded: Ended = { kind: 'ended', reason: 'superseded' };

/** Names of tokens, about 250 bytes each. */
const maxTokens = 20_000;
/** Bytes of answers in memory that no browser has, and that one has: 6,000 of 2 KB, 200 refreshes a second for 25 seconds. */
const [maxOpenBytes, maxClosingBytes] = [16 * 1024 * 1024, 12 * 1024 * 1024];
/** What part of them one user can take: about 400 sessions of 5 KB whose browsers have not fetched their tokens yet. */
const sharePerUser = 1 / 8;
/** Bytes for the names of each user's answers: of 11,000 users with one answer each. */
const maxOwnedBytes = 5 * 1024 * 1024;
/** Measured bytes of a user, and of the name of an answer. */
const [userBytes, nameBytes] = [340, 125];
/** Measured bytes of an answer besides its text. */
const answerBytes = 300;
/** Characters of an answer: several times what cookies can hold. A larger one only reaches callers that already wait. */
const maxCharacters = 64 * 1024;
/** Tokens in between that a browser may hold. */
const maxBetween = 16;
/** Seconds since the epoch are less. */
const stepWeight = 1e11;
/** More than the steps from one answer to the last one, as each of them is made in an outage. */
const maxHops = 32;

/**
 * Of two answers for a token the one that weighs more stays, else the first: of two renewals the one that leads further, and each of them
 * rather than a refusal, which is what the provider answers to a token that it has exchanged before. A renewal that spent nothing weighs
 * nothing, and hinders no later answer.
 */
export function weightOf(answer: Answer): number {
  if (answer.kind === 'ended') return 1;
  // It replaces the token's own answer, and none that leads further.
  if (answer.kind === 'by') return 1.5 * stepWeight;
  const seconds = Math.floor((answer.reissuedAt ?? 0) / 1000);
  return answer.steps === 0 ? 0 : answer.steps * stepWeight + seconds;
}

/** Whether the answer gives a holder anything. */
export function isFor(answer: Answer, holder: Holder): boolean {
  return answer.kind !== 'renewed' || answer.token !== holder.token || holder.isNewer(answer.text);
}

/** Whether the provider gave the newest token again, so that another process may exchange it at any time. */
export function wasGivenAgain(answer: Renewed | Ended): boolean {
  return answer.kind === 'renewed' && answer.reissuedAt !== undefined;
}

/** Whether it may be kept. */
export function isKept(answer: Answer): boolean {
  return answer.kind !== 'renewed' || answer.text.length <= maxCharacters;
}

export type Answers = ReturnType<typeof createAnswers>;

/**
 * What this process knows of tokens that were exchanged: an answer for each, and nothing else. Answers of different tokens never compete.
 *
 * @param now milliseconds since the epoch
 */
export function createAnswers(now: () => number) {
  // Apart: anyone can make up tokens that are refused, and no traffic may evict what a browser still needs.
  const [open, closing] = [createOwned(maxOpenBytes, now), createOwned(maxClosingBytes, now)];
  const refused = createBoundedMap<Standing>({ max: maxTokens, ttlMs: refusedMs, now });
  /** The tokens that led to one. */
  const former = createBoundedMap<readonly string[]>({ max: maxTokens, ttlMs: openMs, now });

  const standing = (token: string): Standing | undefined => open.get(token) ?? closing.get(token) ?? refused.get(token);
  const find = (token: string): Answer | undefined => standing(token)?.answer;

  function drop(token: string): void {
    for (const answers of [open, closing, refused]) answers.delete(token);
  }

  function set(token: string, answer: Answer, ms: number): void {
    drop(token);
    const kept = { answer, since: now(), until: now() + ms };
    if (answer.kind === 'ended') refused.set(token, kept, { ttl: ms });
    else (ms > closingMs ? open : closing).set(token, kept, ms);
  }

  /** What a token leads to, by all that this process knows, and the name of the token whose answer that is. */
  function last(token: string): Last | undefined {
    let found: Last | undefined;
    let name = token;
    for (let hops = 0; hops < maxHops; hops += 1) {
      const next = standing(name);
      if (next === undefined) return found;
      const { answer, since } = next;
      if (answer.kind === 'ended') return found ?? { name, answer, since };
      if (answer.kind === 'renewed') found = { name, answer, since };
      if (answer.token === name) return found;
      name = answer.token;
    }
    return found;
  }

  return {
    find,
    drop,
    /** How long a token's answer stands, in milliseconds; `undefined` where there is none. */
    leftOf(token: string): number | undefined {
      const found = standing(token);
      return found && found.until - now();
    },
    /** @returns whether it stands from now on, for `ms` milliseconds: one that weighs as much stays instead */
    settle(token: string, answer: Answer, ms: number): boolean {
      const known = find(token);
      const weight = known === undefined ? 0 : weightOf(known);
      if (!isKept(answer) || (weight > 0 && weight >= weightOf(answer))) return false;
      set(token, answer, ms);
      return true;
    },
    /** Lets the answer end in 25 seconds. @returns it; `undefined` where none stood longer */
    close(token: string): Renewed | undefined {
      const found = standing(token);
      if (found?.answer.kind !== 'renewed' || found.until - now() <= closingMs) return undefined;
      set(token, found.answer, closingMs);
      return found.answer;
    },
    lastOf: (token: string): Renewed | Ended | undefined => last(token)?.answer,
    /** When this process learned, or confirmed, that a token leads no further. In milliseconds since the epoch. */
    sureSince: (token: string): number | undefined => last(token)?.since,
    /** Notes that a token leads no further by now, as the other processes say. */
    confirm(token: string): void {
      const { name = token } = last(token) ?? {};
      const found = standing(name);
      if (found !== undefined) set(name, found.answer, found.until - now());
    },
    /** How many tokens were spent from one to a later one, and what the first answer has `between`; `undefined` where it does not lead there. */
    wayTo(from: string, to: string): Required<Pick<Renewed, 'steps' | 'between'>> | undefined {
      let [name, steps] = [from, 0];
      let between: Renewed['between'];
      for (let hops = 0; hops < maxHops; hops += 1) {
        const next = find(name);
        if (next?.kind !== 'renewed' || next.token === name) return undefined;
        between ??= next.between ?? [];
        steps += next.steps;
        name = next.token;
        if (name === to) return { steps, between };
      }
      return undefined;
    },
    /** The tokens that led to one, as far as this process knows. */
    formerOf: (token: string): readonly string[] => former.get(token) ?? [],
    leads(tokens: readonly string[], to: string): void {
      const all = new Set([
        ...tokens,
        ...(former.get(to) ?? []),
        ...tokens.flatMap((token) => former.get(token) ?? []),
      ]);
      all.delete(to);
      former.set(to, [...all].slice(0, maxBetween));
    },
  };
}

/** The tokens in between, and which of them are too many. */
export function betweenOf(
  token: string,
  known: readonly string[],
): { readonly between: readonly string[]; readonly dropped: readonly string[] } {
  const all = [...known.filter((each) => each !== token), token];
  return { between: all.slice(-maxBetween), dropped: all.slice(0, -maxBetween) };
}

interface Standing {
  readonly answer: Answer;
  /** When this process learned of it. In milliseconds since the epoch. */
  readonly since: number;
  /** In milliseconds since the epoch. */
  readonly until: number;
}

interface Last extends Pick<Standing, 'since'> {
  readonly name: string;
  readonly answer: Renewed | Ended;
}

/** Answers with a limit for all, and one for each user: many sign-ins of one account evict its own answers, and no other user's. */
function createOwned(max: number, now: () => number) {
  const answers = createBoundedMap<Standing>({ max, sizeOf: bytesOf, ttlMs: openMs, now });
  /** The bytes of each user's answers by their tokens, the newest last. Answers that are gone leave with the user's next one. */
  const owned = createBoundedMap<Map<string, number>>({
    max: maxOwnedBytes,
    sizeOf: (own) => userBytes + own.size * nameBytes,
    ttlMs: openMs,
    now,
  });
  const isTooMuch = (own: ReadonlyMap<string, number>): boolean =>
    [...own.values()].reduce((sum, bytes) => sum + bytes, 0) > max * sharePerUser;

  function count(token: string, bytes: number, owner: string): void {
    const own = owned.get(owner) ?? new Map<string, number>();
    for (const each of own.keys()) if (!answers.has(each)) own.delete(each);
    own.delete(token);
    own.set(token, bytes);
    for (const eldest of own.keys()) {
      if (!isTooMuch(own)) break;
      own.delete(eldest);
      answers.delete(eldest);
    }
    owned.set(owner, own);
  }

  function drop(token: string): void {
    const owner = ownerOf(answers.get(token));
    if (owner !== undefined) owned.get(owner)?.delete(token);
    answers.delete(token);
  }

  return {
    get: (token: string): Standing | undefined => answers.get(token),
    delete: drop,
    set(token: string, standing: Standing, ttl: number): void {
      drop(token);
      answers.set(token, standing, { ttl });
      const owner = ownerOf(standing);
      if (owner !== undefined) count(token, bytesOf(standing), owner);
    },
  };
}

function ownerOf(standing: Standing | undefined): string | undefined {
  return standing?.answer.kind === 'renewed' ? standing.answer.owner : undefined;
}

function bytesOf({ answer }: Standing): number {
  if (answer.kind !== 'renewed') return answerBytes;
  return answerBytes + stringBytes(answer.text) + (answer.between ?? []).length * 100;
}
