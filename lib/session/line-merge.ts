import { answerOf, endOf, entriesOf, laterOf, latestOf, tidy } from './token-line.ts';
import type { RefusedToken, SpentToken, TokenLine } from './token-line.ts';

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
  for (const each of other.refused) {
    const known = refused.get(each.token);
    if (known === undefined || isLaterRefusal(each, known)) refused.set(each.token, each);
  }
  const ended = [...refused.values()].sort((a, b) => a.until - b.until || (a.token < b.token ? -1 : 1));
  const all = [...spent.values()].sort((a, b) => a.at - b.at || (a.token < b.token ? -1 : 1));
  const merged = tidy({ spent: all, refused: ended, answers: mergeAnswers(one, other) }, now);
  const own = entriesOf(one.spent.filter((each) => endOf(each) >= now));
  const isSame =
    merged.spent.length === own.size &&
    merged.spent.every((each) => isSameEntry(own.get(each.token), each)) &&
    merged.refused.every((each) => one.refused.includes(each)) &&
    Object.entries(merged.answers).every(([newest, text]) => answerOf(one, newest) === text);
  return isSame ? one : merged;
}

function isSameEntry(one: SpentToken | undefined, other: SpentToken): boolean {
  const names = ['issued', 'newest', 'at', 'newestAt', 'until', 'closes'] as const;
  return one !== undefined && names.every((name) => one[name] === other[name]);
}

function isLaterRefusal(one: RefusedToken, other: RefusedToken): boolean {
  return (one.issuedAt - other.issuedAt || one.until - other.until) > 0;
}

/** The texts of both lines. Of one token that the provider gave twice, the one that was issued later. */
function mergeAnswers(one: TokenLine, other: TokenLine): TokenLine['answers'] {
  const isLater = (text: string, newest: string): boolean => {
    const [own, known, said] = [answerOf(one, newest), latestOf(one.spent, newest), latestOf(other.spent, newest)];
    if (own === undefined || known === undefined || said === undefined) return own === undefined;
    return (said.newestAt - known.newestAt || said.at - known.at || Number(text > own)) > 0;
  };
  const later = Object.entries(other.answers).filter(([newest, text]) => isLater(text, newest));
  return { ...one.answers, ...Object.fromEntries(later) };
}

function mergeSpent(one: SpentToken | undefined, other: SpentToken): SpentToken {
  if (one === undefined) return other;
  const latest = laterOf(one, other);
  const { newest, newestAt } = latest;
  // The provider gave the token again, twice.
  if (one.issued === one.token && other.issued === one.token && one.newestAt !== other.newestAt) return latest;
  if (one.issued !== other.issued || isAgain(one, other) || isAgain(other, one)) {
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
