import { answerOf, endOf, entriesOf, laterOf, tidy } from './token-line.ts';
import type { SpentToken, TokenLine } from './token-line.ts';

/**
 * What two processes know together, in either order. Of two exchanges of one token the later one counts, and a closing token stays
 * closing.
 *
 * @returns the very same `one` where `other` adds nothing
 */
export function mergeLines(one: TokenLine, other: TokenLine, now: number): TokenLine {
  const spent = new Map(one.spent.map((each) => [each.token, each]));
  for (const each of other.spent) spent.set(each.token, mergeSpent(spent.get(each.token), each));
  const refused = new Map(one.refused.map((each) => [each.token, each]));
  for (const each of other.refused)
    if ((refused.get(each.token)?.until ?? 0) < each.until) refused.set(each.token, each);
  const ended = [...refused.values()].sort((a, b) => a.until - b.until || (a.token < b.token ? -1 : 1));
  const all = [...spent.values()].sort((a, b) => a.at - b.at || (a.token < b.token ? -1 : 1));
  const merged = tidy({ spent: all, refused: ended, answers: mergeAnswers(one, other) }, now);
  const own = entriesOf(one.spent.filter((each) => endOf(each) >= now));
  const isSame =
    merged.spent.length === own.size &&
    merged.spent.every((each) => isSameEntry(own.get(each.token), each)) &&
    merged.refused.every(({ token, until }) =>
      one.refused.some((each) => each.token === token && each.until === until),
    ) &&
    Object.entries(merged.answers).every(([newest, text]) => answerOf(one, newest) === text);
  return isSame ? one : merged;
}

function isSameEntry(one: SpentToken | undefined, { issued, newest, at, until, closes }: SpentToken): boolean {
  const isSameStep = one?.issued === issued && one.newest === newest && one.at === at;
  return isSameStep && one.until === until && one.closes === closes;
}

/** The texts of both lines. Of one token that the provider gave twice, the later one. */
function mergeAnswers(one: TokenLine, other: TokenLine): TokenLine['answers'] {
  const isLater = (text: string, newest: string): boolean => {
    const own = answerOf(one, newest);
    const byTime = timeOf(other, newest) - timeOf(one, newest);
    return own === undefined || byTime > 0 || (byTime === 0 && text > own);
  };
  const later = Object.entries(other.answers).filter(([newest, text]) => isLater(text, newest));
  return { ...one.answers, ...Object.fromEntries(later) };
}

/** When the line's newest tokens of this name were issued. */
function timeOf({ spent }: TokenLine, newest: string): number {
  return Math.max(0, ...spent.filter((each) => each.newest === newest).map(({ newestAt }) => newestAt));
}

function mergeSpent(one: SpentToken | undefined, other: SpentToken): SpentToken {
  if (one === undefined) return other;
  const { newest, newestAt } = laterOf(one, other);
  const isRepeat = one.issued === one.token && one.at !== other.at;
  if (one.issued !== other.issued || isRepeat || isAgain(one, other) || isAgain(other, one)) {
    const later = other.at > one.at || (other.at === one.at && other.issued > one.issued) ? other : one;
    return { ...later, newest, newestAt };
  }
  const closes = Math.min(one.closes ?? Infinity, other.closes ?? Infinity);
  const [at, until] = [Math.max(one.at, other.at), Math.max(one.until, other.until)];
  return { ...one, at, newest, newestAt, until, ...(closes < Infinity && { closes }) };
}

/** Whether a closed token was exchanged once more, as where its response was lost: a provider may give the same answer again. */
function isAgain(former: SpentToken, later: SpentToken): boolean {
  // Where a clock was set back, a token closes before the time of its exchange.
  return later.at > former.at && later.at > (former.closes ?? Infinity);
}
