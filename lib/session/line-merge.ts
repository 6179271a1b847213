import { answerOf, endOf, isRotated, laterOf, tidy, tokenOf } from './token-line.ts';
import type { SpentPair, TokenLine } from './token-line.ts';

/**
 * What two processes know together, in either order. Of two exchanges of one pair the one that brought a new refresh token
 * counts, else the later one, and a closing pair stays closing unless it was exchanged again since.
 *
 * @returns the very same `one` where `other` adds nothing
 */
export function mergeLines(one: TokenLine, other: TokenLine, now: number): TokenLine {
  const spent = new Map(one.spent.map((each) => [each.pair, each]));
  for (const each of other.spent) spent.set(each.pair, mergeSpent(spent.get(each.pair), each));
  const refused = new Map(one.refused.map((each) => [each.token, each]));
  for (const each of other.refused)
    if ((refused.get(each.token)?.until ?? 0) < each.until) refused.set(each.token, each);
  const ended = [...refused.values()].sort((a, b) => a.until - b.until || (a.token < b.token ? -1 : 1));
  const all = [...spent.values()].sort((a, b) => a.at - b.at || (a.pair < b.pair ? -1 : 1));
  const merged = tidy({ spent: all, refused: ended, answers: mergeAnswers(one, other) }, now);
  const own = new Map(one.spent.filter((each) => endOf(each) >= now).map((each) => [each.pair, each]));
  const isSame =
    merged.spent.length === own.size &&
    merged.spent.every((each) => isSameEntry(own.get(each.pair), each)) &&
    merged.refused.every(({ token, until }) =>
      one.refused.some((each) => each.token === token && each.until === until),
    ) &&
    Object.entries(merged.answers).every(([newest, text]) => answerOf(one, newest) === text);
  return isSame ? one : merged;
}

function isSameEntry(one: SpentPair | undefined, { issued, newest, at, until, closes }: SpentPair): boolean {
  const isSameStep = one?.issued === issued && one.newest === newest && one.at === at;
  return isSameStep && one.until === until && one.closes === closes;
}

/** The texts of both lines. */
function mergeAnswers({ answers }: TokenLine, other: TokenLine): TokenLine['answers'] {
  const isNew = ([newest, text]: [string, string]): boolean => text > (answerOf({ answers }, newest) ?? '');
  return { ...answers, ...Object.fromEntries(Object.entries(other.answers).filter(isNew)) };
}

function mergeSpent(one: SpentPair | undefined, other: SpentPair): SpentPair {
  if (one === undefined) return other;
  const { newest, newestAt } = laterOf(one, other);
  const later = other.at > one.at || (other.at === one.at && other.issued > one.issued) ? other : one;
  if (tokenOf(one.issued) !== tokenOf(other.issued) || isAgain(one, other) || isAgain(other, one)) {
    // A new refresh token is the last that a provider answers to one.
    if (isRotated(one) !== isRotated(other)) return isRotated(one) ? one : other;
    return { ...later, newest, newestAt };
  }
  const closes = Math.min(one.closes ?? Infinity, other.closes ?? Infinity);
  const until = Math.max(one.until, other.until);
  return { ...later, newest, newestAt, until, ...(closes < Infinity && { closes }) };
}

/** Whether a closed pair was exchanged once more, as where its response was lost: a provider may give the same refresh token again. */
function isAgain(former: SpentPair, later: SpentPair): boolean {
  // Where a clock was set back, a pair closes before the time of its exchange.
  return later.at > former.at && later.at > (former.closes ?? Infinity);
}
