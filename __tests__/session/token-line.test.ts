import fc from 'fast-check';
import { mergeLines } from '../../lib/session/line-merge.ts';
import {
  closingMs,
  emptyLine,
  forgetToken,
  isOpen,
  lifeOf,
  openMs,
  refusedMs,
  spentOf,
} from '../../lib/session/token-line.ts';
import * as tokenLine from '../../lib/session/token-line.ts';
import type { Issue, SettledRefresh, TokenLine } from '../../lib/session/token-line.ts';

const now = 1_700_000_000_000;
const minute = 60_000;

/** Tokens of which each test issues one, unless it says when. */
const issue = (token: string, issuedAt = now): Issue => ({ token, issuedAt });

interface Answer extends Partial<Omit<Parameters<typeof tokenLine.exchange>[2], 'token'>> {
  readonly newest: string;
}

/** Exchanges a token for one that is issued at the same time, unless the test says when. */
function exchange(line: TokenLine, token: string, { newest, text = `of ${newest}`, ...rest }: Answer, at: number) {
  return tokenLine.exchange(line, token, { issuedAt: at, ...rest, token: newest, text }, at);
}

function settledOf(line: TokenLine, token: string, at: number, issuedAt?: number): SettledRefresh | undefined {
  return tokenLine.settledOf(line, issue(token, issuedAt), at);
}

function refuse(line: TokenLine, token: string, reason: string, at: number, issuedAt?: number): TokenLine {
  return tokenLine.refuse(line, issue(token, issuedAt), reason, at);
}

function deliver(line: TokenLine, token: string, received: string, at: number, issuedAt?: number): TokenLine {
  return tokenLine.deliver(line, token, issue(received, issuedAt), at);
}

function present(line: TokenLine, token: string, at: number, issuedAt?: number): TokenLine {
  return tokenLine.present(line, issue(token, issuedAt), at);
}

/** Exchanges one token after another, each for the next, at the same time. */
function chain(tokens: string, line = emptyLine, at = now): TokenLine {
  return Array.from(tokens)
    .slice(1)
    .reduce(
      (before, next, index) => exchange(before, tokens[index]!, { newest: next, text: `of ${next}` }, at + index),
      line,
    );
}

/** What the holder of a token gets. */
function newestFor(line: TokenLine, token: string, at = now): string | undefined {
  const settled = settledOf(line, token, at);
  return settled?.kind === 'renewed' ? settled.text.replace('of ', '') : settled?.reason;
}

describe('a token', () => {
  const line = chain('ab');

  it('that was exchanged leads to the newest one for eight days', () => {
    expect(settledOf(line, 'a', now + openMs)).toEqual({ kind: 'renewed', text: 'of b' });
    expect(settledOf(line, 'a', now + openMs + 1)).toBeUndefined();
    expect([isOpen(line, now), lifeOf(line, now)]).toEqual([true, openMs]);
    expect([isOpen(line, now + openMs), isOpen(line, now + openMs + 1)]).toEqual([true, false]);
  });

  it('whose answer is not known is exchanged again', () => {
    const again = exchange({ ...line, answers: {} }, 'a', { newest: 'c', text: 'of c' }, now);
    expect([newestFor(again, 'a'), again.spent.length]).toEqual(['c', 1]);
  });

  it('that is the newest, or unknown, leads nowhere', () => {
    expect([newestFor(line, 'b'), newestFor(line, 'x')]).toEqual([undefined, undefined]);
  });

  it('leads to the newest one for 25 seconds once its browser has that', () => {
    const delivered = deliver(line, 'a', 'b', now);
    expect([newestFor(delivered, 'a', now + closingMs), newestFor(delivered, 'a', now + closingMs + 1)]).toEqual([
      'b',
      undefined,
    ]);
    expect([isOpen(delivered, now), deliver(delivered, 'a', 'b', now + 1)]).toEqual([false, delivered]);
  });

  it('that led to it leads to the newest one in one step, for eight days from what its browser asked for', () => {
    const longer = exchange(line, 'b', { newest: 'c', text: 'of c', held: 'a' }, now + openMs - minute);
    expect([newestFor(longer, 'a', now + 2 * openMs - minute), newestFor(longer, 'b')]).toEqual(['c', 'c']);
    expect(Object.keys(longer.answers)).toEqual(['c']);
  });

  it('stays open where its browser received tokens that were exchanged meanwhile', () => {
    const delivered = deliver(chain('abc'), 'a', 'b', now);
    expect([newestFor(delivered, 'a', now + closingMs + 1), newestFor(delivered, 'b', now + minute)]).toEqual([
      undefined,
      'c',
    ]);
    expect(isOpen(delivered, now)).toBe(true);
  });

  it('closes whichever of two answers its browser received', () => {
    const delivered = deliver(line, 'a', 'the answer to another process', now);
    expect(newestFor(delivered, 'a', now + closingMs + 1)).toBeUndefined();
  });

  it('closes with all that led to what the browser received, however long the way', () => {
    const delivered = deliver(chain('abcde'), 'a', 'd', now);
    const later = ['a', 'b', 'c', 'd'].map((token) => newestFor(delivered, token, now + minute));
    expect(later).toEqual([undefined, undefined, undefined, 'e']);
  });

  it('of another sign-in of the session is not concerned', () => {
    const both = chain('xyz', chain('abc'));
    expect([newestFor(both, 'a'), newestFor(both, 'x')]).toEqual(['c', 'z']);
    const delivered = deliver(both, 'a', 'c', now);
    expect([newestFor(delivered, 'b', now + minute), newestFor(delivered, 'x', now + minute)]).toEqual([
      undefined,
      'z',
    ]);
    const forgotten = forgetToken(both, 'a', now);
    expect([newestFor(forgotten, 'b'), newestFor(forgotten, 'x'), forgetToken(line, 'x', now)]).toEqual([
      undefined,
      'z',
      line,
    ]);
  });

  it('keeps its first answer, and an old answer brings no old tokens back', () => {
    expect(exchange(line, 'a', { newest: 'other', text: 'late' }, now)).toBe(line);
    const late = exchange(chain('bc'), 'a', { newest: 'b', text: 'of b' }, now);
    expect(settledOf(late, 'a', now)).toEqual({ kind: 'renewed', text: 'of c' });
  });

  it('that the provider refused stays refused for ten minutes, unless it was exchanged', () => {
    const refused = refuse(line, 'x', 'invalid_grant', now);
    expect(settledOf(refused, 'x', now + refusedMs)).toEqual({ kind: 'ended', reason: 'invalid_grant' });
    expect(settledOf(refused, 'x', now + refusedMs + 1)).toBeUndefined();
    expect(refuse(refused, 'x', 'another reason', now)).toBe(refused);
    expect(refuse(line, 'a', 'invalid_grant', now)).toBe(line);
    expect(lifeOf(refuse(emptyLine, 'x', 'invalid_grant', now), now)).toBe(refusedMs);
    // Only new tokens are sent to the coordinator.
    expect(refused.answers).toBe(line.answers);
  });

  it('that was exchanged although the provider refused it once is no longer refused', () => {
    const refused = refuse(refuse(line, 'x', 'invalid_grant', now), 'z', 'invalid_grant', now);
    const late = exchange(refused, 'x', { newest: 'y', text: 'of y' }, now);
    const delivered = deliver(late, 'x', 'y', now);
    const closed = now + closingMs + 1;
    expect([newestFor(late, 'x'), newestFor(delivered, 'x', closed), newestFor(delivered, 'z', closed)]).toEqual([
      'y',
      undefined,
      'invalid_grant',
    ]);
  });

  it('that a browser holds survives any number of lost answers, and a stranger’s exchanges', () => {
    const tokens = Array.from({ length: 40 }, (_, index) => String.fromCodePoint(0x4e00 + index));
    const long = tokens
      .slice(1)
      .reduce(
        (before, newest, index) =>
          exchange(before, tokens[index]!, { newest, text: `of ${newest}`, held: tokens[0] }, now + index),
        emptyLine,
      );
    expect(newestFor(long, tokens[0]!)).toBe(tokens.at(-1));
    const strangers = Array.from({ length: 40 }, (_, index) => `stranger ${index}`);
    const attacked = strangers.reduce(
      (before, token) => exchange(before, token, { newest: `${token}!`, text: 'theirs', isForeign: true }, now),
      chain('abc'),
    );
    expect([newestFor(attacked, 'a'), newestFor(attacked, 'b')]).toEqual(['c', 'c']);
  });
});

describe('limits', () => {
  it('drop a stranger’s answers first, and store no answer that no cookie can hold', () => {
    const large = 'x'.repeat(40_000);
    let line = chain('ab');
    for (let index = 0; index < 12; index += 1) {
      line = exchange(line, `t${index}`, { newest: `n${index}`, text: large, isForeign: true }, now);
    }
    expect(newestFor(line, 'a')).toBe('b');
    expect(Object.values(line.answers).join('').length).toBeLessThanOrEqual(64 * 1024);
    expect(exchange(line, 'z', { newest: 'y', text: large + large }, now)).toBe(line);
  });

  it('are of 64 Ki characters, and hold for what others write, too', () => {
    const text = 'x'.repeat(64 * 1024);
    const full = exchange(emptyLine, 'a', { newest: 'b', text }, now);
    expect(settledOf(full, 'a', now)).toEqual({ kind: 'renewed', text });
    const larger = mergeLines({ ...full, answers: { b: `${text}x` } }, emptyLine, now);
    expect([larger.spent, larger.answers]).toEqual([[], {}]);

    const [own] = full.spent;
    const many = Array.from({ length: 64 }, (_, index) => ({ ...own!, token: `t${index}` }));
    expect(mergeLines({ ...full, spent: many }, emptyLine, now).spent).toHaveLength(16);
  });

  it('hold where no answer is known', () => {
    const bare = { ...chain('abcd'), answers: {} };
    const merged = mergeLines(bare, { ...chain('xy'), answers: {} }, now);
    expect([merged.spent.length, Object.keys(merged.answers), newestFor(merged, 'a')]).toEqual([4, [], undefined]);
  });

  it('keep closing in either order where a clock was set back by more than the closing takes', () => {
    const ahead = exchange(emptyLine, 'x', { newest: 'a', text: 'of a' }, now + minute);
    const line = exchange(ahead, 'a', { newest: 'b', text: 'of b' }, now);
    const [open, closed] = [{ ...line, spent: line.spent.slice(1) }, deliver(line, 'a', 'b', now)];
    for (const merged of [mergeLines(open, closed, now), mergeLines(closed, open, now)])
      expect(newestFor(merged, 'a', now + closingMs + 1)).toBeUndefined();
  });

  it('know in each order an answer that the provider gave three times', () => {
    const at = (ms: number) => exchange(emptyLine, 'a', { newest: 'b', text: 'of b' }, now + ms);
    const [second, third, later] = [at(20_000), at(27_000), now + 28_000];
    const merge = (one: TokenLine, other: TokenLine) => mergeLines(one, other, later);
    const closed = deliver(at(0), 'a', 'b', now);
    for (const line of [merge(merge(closed, second), third), merge(closed, merge(second, third))])
      expect(newestFor(line, 'a', later)).toBe('b');
    expect(merge(at(0), second).spent).toEqual(merge(second, at(0)).spent);
    const earlier = { ...second, spent: second.spent.map((each) => ({ ...each, at: now })) };
    expect(merge(earlier, second).spent).toEqual(second.spent);
  });

  it('close a token that was exchanged in the same millisecond as its successor', () => {
    const both = exchange(
      exchange(emptyLine, 'a', { newest: 'b', text: 'of b' }, now),
      'b',
      { newest: 'c', text: 'of c' },
      now,
    );
    const delivered = deliver(both, 'a', 'b', now);
    expect([newestFor(delivered, 'a', now + minute), newestFor(delivered, 'b', now + minute)]).toEqual([
      undefined,
      'c',
    ]);
  });
});

describe('a token that the provider gives again', () => {
  const second = 1_000;
  /** What the holder of tokens that were issued then gets. */
  const found = (line: TokenLine, token: string, issuedAt: number, at = now + minute): string | undefined => {
    const settled = settledOf(line, token, at, issuedAt);
    return settled?.kind === 'renewed' ? settled.text : settled?.reason;
  };
  const again = (line: TokenLine, text: string, issuedAt: number, at = issuedAt) =>
    exchange(line, 'a', { newest: 'a', text, issuedAt }, at);
  const bothWays = (one: TokenLine, other: TokenLine, at = now) => [
    mergeLines(one, other, at),
    mergeLines(other, one, at),
  ];

  it('leads those who hold earlier tokens to the later ones, and those who hold these nowhere', () => {
    const line = again(chain('xa'), 'later', now + second);
    const held = [now, now + second, now + 2 * second].map((issuedAt) => found(line, 'a', issuedAt));
    expect([...held, found(line, 'x', now)]).toEqual(['later', undefined, undefined, 'later']);
  });

  it.each([
    ['the later one arrives last', 'later', 1],
    ['the earlier one arrives last', 'later', -1],
    ['both were issued in one second, and the second exchange counts', 'late', 0],
  ])('has the answer that was issued later where %s', (_which, text, sign) => {
    const one = again(chain('xa'), sign < 0 ? 'later' : 'early', now + second);
    const two = again(one, sign > 0 ? 'later' : 'late', now + second + sign * second, now + minute);
    for (const line of [two, ...bothWays(one, two, now + minute)]) {
      expect([found(line, 'x', now), found(line, 'a', now - second)]).toEqual([text, text]);
    }
    expect(two === one).toBe(sign < 0);
  });

  it('has the same answer in either order where two processes asked in one second', () => {
    const [one, other] = [again(emptyLine, 'one', now), again(emptyLine, 'other', now)];
    const [merged, reverse] = bothWays(one, other);
    expect(merged).toEqual(reverse);
    expect(found(merged!, 'a', now - second)).toBe('other');
  });

  it('keeps its later text where a token that led to it is exchanged late', () => {
    const line = again(emptyLine, 'later', now + 2 * second);
    const late = exchange(line, 'x', { newest: 'a', text: 'earlier', issuedAt: now }, now + minute);
    expect([found(late, 'x', now), found(late, 'a', now)]).toEqual(['later', 'later']);
  });

  it('has one time of issue, which every token that leads to it knows, also when that one is over', () => {
    const one = exchange(emptyLine, 'x', { newest: 'a', issuedAt: now, lifeMs: minute }, now);
    const both = exchange(one, 'y', { newest: 'a', text: 'later', issuedAt: now + second, lifeMs: minute / 2 }, now);
    const other = exchange(emptyLine, 'z', { newest: 'a', text: 'between', issuedAt: now + second / 2 }, now);
    for (const line of bothWays(both, other, now + minute)) {
      expect([found(line, 'x', now), found(line, 'y', now), found(line, 'z', now)]).toEqual([
        'later',
        undefined,
        'later',
      ]);
    }
  });

  it('is exchanged for another one only by an answer that was issued later', () => {
    const line = again(emptyLine, 'of a', now + second);
    const next = exchange(line, 'a', { newest: 'b', issuedAt: now + 2 * second }, now + minute);
    expect([found(next, 'a', now + second), found(next, 'a', now + minute)]).toEqual(['of b', 'of b']);
    expect(again(next, 'even later', now + minute)).toBe(next);
    expect(exchange(line, 'a', { newest: 'b', issuedAt: now }, now + minute)).toBe(line);
  });

  it('is refused for those who hold the refused tokens, or earlier ones that lead nowhere', () => {
    const line = again(emptyLine, 'of a', now);
    const refused = refuse(line, 'a', 'refused', now + minute, now);
    const held = [now - second, now, now + second].map((issuedAt) => found(refused, 'a', issuedAt));
    expect(held).toEqual(['of a', 'refused', undefined]);
    const bare = refuse(emptyLine, 'a', 'refused', now + minute, now);
    expect(found(bare, 'a', now - second)).toBe('refused');
    expect(refuse(refused, 'a', 'again', now + minute, now)).toBe(refused);
  });

  it('is refused by the latest refusal, once', () => {
    const one = refuse(emptyLine, 'a', 'first', now, now);
    const two = refuse(one, 'a', 'second', now, now + second);
    expect(two.refused).toHaveLength(1);
    for (const line of [two, ...bothWays(one, two)]) {
      expect([found(line, 'a', now, now), found(line, 'a', now + second, now)]).toEqual(['second', 'second']);
    }
  });

  it('stays refused where an answer of before arrives late, and does not where one of later does', () => {
    const refused = refuse(emptyLine, 'a', 'refused', now, now);
    expect(found(again(refused, 'late', now - second, now), 'a', now, now)).toBe('refused');
    const later = again(refused, 'later', now + second, now);
    expect([found(later, 'a', now, now), later.refused]).toEqual(['later', []]);
  });

  it('waits until its browser has the tokens, and then for 25 seconds', () => {
    const line = again(emptyLine, 'of a', now + second);
    expect(found(line, 'a', now, now + openMs)).toBe('of a');
    expect(present(line, 'a', now, now)).toBe(line);
    expect(deliver(line, 'a', 'a', now, now)).toBe(line);
    for (const over of [present(line, 'a', now, now + second), deliver(line, 'a', 'a', now, now + second)]) {
      expect(isOpen(over, now)).toBe(false);
      expect([found(over, 'a', now, now + closingMs), found(over, 'a', now, now + closingMs + 1)]).toEqual([
        'of a',
        undefined,
      ]);
    }
  });

  it('opens again with its next issue, and stays closed where two know of the same one', () => {
    const line = again(emptyLine, 'of a', now + second, now);
    const closed = present(line, 'a', now, now + second);
    for (const merged of bothWays(line, closed)) expect(isOpen(merged, now)).toBe(false);
    const next = again(closed, 'next', now + 2 * second, now);
    for (const merged of [next, ...bothWays(closed, next)]) {
      expect([isOpen(merged, now), found(merged, 'a', now, now + minute)]).toEqual([true, 'next']);
    }
  });

  it('leads on from a circle, as every token of it', () => {
    const [former, then] = [chain('abc'), now + minute];
    const line = exchange(former, 'c', { newest: 'a', text: 'again' }, then);
    for (const known of [line, ...bothWays(line, former, then)]) {
      expect(Array.from('abc', (token) => found(known, token, now))).toEqual(['again', 'again', 'again']);
      expect(found(known, 'a', then)).toBeUndefined();
      const next = exchange(known, 'a', { newest: 'd' }, then + minute);
      expect(Array.from('abc', (token) => found(next, token, then, then + minute))).toEqual(['of d', 'of d', 'of d']);
    }
  });

  it('closes what led to it in a circle, however its tokens were issued', () => {
    for (const issuedAt of [now, now + minute]) {
      const to = (line: TokenLine, token: string, newest: string, text: string) =>
        exchange(line, token, { newest, text, issuedAt }, issuedAt);
      const line = to(to(emptyLine, 'a', 'b', 'first'), 'b', 'a', 'second');
      expect([found(line, 'a', now - second), found(line, 'b', issuedAt)]).toEqual(['second', 'second']);
      expect(isOpen(present(line, 'a', now, issuedAt), now)).toBe(false);
    }
  });
});

describe('two lines', () => {
  it('merge to what both know', () => {
    const [one, other] = [chain('ab'), chain('bc', emptyLine, now + 1)];
    for (const merged of [mergeLines(one, other, now + 1), mergeLines(other, one, now + 1)]) {
      expect([newestFor(merged, 'a'), newestFor(merged, 'b')]).toEqual(['c', 'c']);
      expect(mergeLines(merged, one, now + 1)).toBe(merged);
    }
    const bare = { ...one, answers: {} };
    for (const merged of [mergeLines(bare, one, now), mergeLines(one, bare, now)])
      expect(newestFor(merged, 'a')).toBe('b');
    const closing = mergeLines(one, deliver(one, 'a', 'b', now), now);
    expect(newestFor(closing, 'a', now + closingMs + 1)).toBeUndefined();
  });

  it('lead to the later one of two exchanges of a token, also the tokens before it', () => {
    const [one, other] = [chain('bc', chain('ab'), now + 1), chain('bd', chain('ab'), now + 2)];
    for (const merged of [mergeLines(one, other, now + 2), mergeLines(other, one, now + 2)]) {
      expect([newestFor(merged, 'a'), newestFor(merged, 'b')]).toEqual(['d', 'd']);
      expect(Object.keys(merged.answers)).toEqual(['d']);
    }
  });

  it('choose the same one of two exchanges at the same time, in either order', () => {
    const [one, other] = [chain('ab'), chain('ac')];
    for (const merged of [mergeLines(one, other, now), mergeLines(other, one, now)]) {
      expect(merged.spent).toEqual(other.spent);
      expect(newestFor(merged, 'a')).toBe('c');
    }
  });

  it('give the answer again that the provider repeated after the first one had closed', () => {
    const closed = deliver(chain('ab'), 'a', 'b', now);
    const later = now + closingMs + 1;
    const repeated = chain('ab', emptyLine, later);
    for (const merged of [mergeLines(closed, repeated, later), mergeLines(repeated, closed, later)]) {
      expect(newestFor(merged, 'a', later)).toBe('b');
      expect(newestFor(merged, 'a', later + closingMs + 1)).toBe('b');
      expect(mergeLines(merged, closed, later)).toBe(merged);
    }
    const early = chain('ab', emptyLine, now + 1);
    for (const merged of [mergeLines(closed, early, later), mergeLines(early, closed, later)])
      expect(newestFor(merged, 'a', later)).toBeUndefined();
  });

  it('know the way over a token that has closed', () => {
    const closed = deliver(chain('bc', emptyLine, now + 1), 'b', 'c', now + 1);
    const later = now + 2 + closingMs;
    const open = chain('ab');
    for (const merged of [mergeLines(open, closed, later), mergeLines(closed, open, later)]) {
      expect([newestFor(merged, 'a', later), newestFor(merged, 'b', later)]).toEqual(['c', undefined]);
    }
  });

  it('add nothing to each other twice, whatever the clocks and however many refusals', () => {
    const [ahead, behind] = [chain('ab', emptyLine, now + minute), chain('bc')];
    const refusing = (tokens: string, from: TokenLine, at: number): TokenLine =>
      Array.from(tokens).reduce((line, token, index) => refuse(line, token, 'refused', at + index), from);
    const [one, other] = [refusing('pqrstuvw', ahead, now), refusing('pPQRSTUVW', behind, now + 100)];
    const merged = mergeLines(one, other, now);
    expect(newestFor(merged, 'a')).toBe('c');
    for (const each of [one, other, mergeLines(other, one, now)]) expect(mergeLines(merged, each, now)).toBe(merged);
    expect(mergeLines(other, one, now)).toEqual(merged);
  });

  it('have the last eight refusals of both, and of one token the later one', () => {
    const refusing = (tokens: string, at: number): TokenLine =>
      Array.from(tokens).reduce((line, token) => refuse(line, token, `at ${at}`, at), emptyLine);
    const [one, other] = [refusing('abcdef', now), refusing('fghij', now + minute)];
    for (const merged of [mergeLines(one, other, now), mergeLines(other, one, now)]) {
      expect(merged.refused.map(({ token }) => token)).toEqual(Array.from('cdefghij'));
      expect(newestFor(merged, 'f')).toBe(`at ${now + minute}`);
    }
    const until = now + refusedMs;
    expect(mergeLines(one, other, until).refused).toHaveLength(8);
    expect(mergeLines(one, other, until + 1).refused).toHaveLength(5);
  });

  it.each([
    ['a longer life', { until: now + openMs + 1 }],
    ['that a browser received what it led to', { closes: now + closingMs }],
    ['a newer token, which neither has as text', { newest: 'c', newestAt: now + 1 }],
  ])('add to each other of a token: %s', (_what, known) => {
    const one = { ...chain('ab'), answers: {} };
    const other = { ...one, spent: one.spent.map((each) => ({ ...each, ...known })) };
    expect(mergeLines(one, other, now).spent).toEqual(other.spent);
    expect(mergeLines(other, one, now)).toBe(other);
  });

  it('add nothing to each other that has expired', () => {
    const later = chain('xy', emptyLine, now + openMs);
    expect(mergeLines(later, chain('ab'), now + openMs + 1)).toBe(later);
    expect(mergeLines(later, refuse(emptyLine, 'z', 'refused', now), now + openMs + 1)).toBe(later);
    const both = chain('xy', chain('ab'), now + minute);
    for (const at of [now + openMs, now + openMs + 1]) expect(mergeLines(both, emptyLine, at)).toBe(both);
    expect(mergeLines(both, later, now + openMs).spent.map(({ token }) => token)).toContain('a');
  });
});

it('is bounded, plain data, and merges in any order, whatever happens to it', () => {
  const token = fc.constantFrom(...Array.from('abcdefghijklmnopqrstuvwxyz'));
  const does = fc.constantFrom('exchange', 'renew', 'repeat', 'refuse', 'deliver', 'forget');
  const steps = (maxLength: number) => fc.array(fc.record({ does, token }), { maxLength, size: 'max' });
  let serial = 0;
  const run = (list: readonly { does: string; token: string }[], from: number, before = emptyLine): TokenLine =>
    list.reduce<TokenLine>((line, { does: step, token: each }, index) => {
      const at = from + index * 10;
      const newest = spentOf(line, each, at)?.newest;
      if (step === 'refuse') return refuse(line, each, 'refused', at, at);
      if (step === 'forget') return forgetToken(line, each, at);
      if (step === 'deliver') return deliver(line, each, newest ?? '', at);
      const spent = step === 'renew' ? (newest ?? each) : each;
      serial += 1;
      const issued = step === 'repeat' ? each : `${each}${serial}`;
      const next = exchange(line, spent, { newest: issued, text: `text ${serial}`, held: each }, at);
      // A full line may drop a token between the browser's and the newest.
      if (line.spent.length < 16) expect(settledOf(next, spent, at, 0)?.kind).toBe('renewed');
      return next;
    }, before);
  fc.assert(
    fc.property(steps(6), steps(40), steps(40), fc.constantFrom(0, 5), (before, one, other, apartMs) => {
      const common = run(before, now - minute);
      const [a, b] = [run(one, now, common), run(other, now + apartMs, common)];
      const merged = mergeLines(a, b, now);
      for (const line of [a, b, merged]) {
        expect(line.spent.length).toBeLessThanOrEqual(16);
        expect(line.refused.length).toBeLessThanOrEqual(8);
        expect(Object.keys(line.answers).length).toBeLessThanOrEqual(line.spent.length);
        expect(JSON.parse(JSON.stringify(line))).toEqual(line);
      }
      expect(mergeLines(a, a, now)).toBe(a);
      if (new Set([...a.spent, ...b.spent].map((each) => each.token)).size <= 16) {
        expect(merged).toEqual(mergeLines(b, a, now));
      }
      // What one process closed stays closed, whatever another one still thinks of the same exchange.
      const [spent] = a.spent.map((each) => each.token);
      const issued = a.spent.find((each) => each.token === spent)?.issued;
      const closed = deliver(a, spent ?? '', issued ?? '', now + 1_000, now + minute);
      for (const each of [mergeLines(a, closed, now), mergeLines(closed, a, now)]) {
        expect(settledOf(each, spent ?? '', now + 2 * minute, 0)?.kind).not.toBe('renewed');
      }
    }),
  );
});

describe('a token that a request carries', () => {
  it('closes those that led to it, and stays open itself', () => {
    const presented = present(chain('abcd'), 'c', now);
    const later = ['a', 'b', 'c'].map((token) => newestFor(presented, token, now + closingMs + 1));
    expect(later).toEqual([undefined, undefined, 'd']);
    expect(newestFor(presented, 'a', now + closingMs)).toBe('d');
  });

  it('is the newest of its line: nothing stays open', () => {
    const presented = present(chain('abc'), 'c', now);
    expect([isOpen(presented, now), present(presented, 'c', now + 1)]).toEqual([false, presented]);
  });

  it('concerns no other sign-in, and nothing where the line does not know it', () => {
    const both = chain('xyz', chain('abc'));
    expect(newestFor(present(both, 'c', now), 'x', now + minute)).toBe('z');
    expect(present(both, 'q', now)).toBe(both);
    expect(present(emptyLine, 'q', now)).toBe(emptyLine);
  });
});

describe('tokens that no response delivers', () => {
  const day = 24 * 60 * minute;
  /** The browser sends its own token each time; the newest one is exchanged for the next. */
  const renewals = (from: TokenLine, own: string, { count, everyMs = minute }: { count: number; everyMs?: number }) =>
    Array.from({ length: count }).reduce<TokenLine>((before, _, index) => {
      const [token, newest] = [index === 0 ? own : `${own}${index}`, `${own}${index + 1}`];
      return exchange(
        before,
        token,
        { newest, text: `of ${newest}`, held: index === 0 ? undefined : own },
        now + index * everyMs,
      );
    }, from);

  it('wait for eight days after their browser last caused an exchange', () => {
    const line = renewals(emptyLine, 'a', { count: 3, everyMs: day });
    expect(openMs).toBe(8 * day);
    expect([newestFor(line, 'a', now + 10 * day), newestFor(line, 'a', now + 10 * day + 1)]).toEqual(['a3', undefined]);
    // No browser has sent those between.
    expect([newestFor(line, 'a1', now + 9 * day), newestFor(line, 'a1', now + 9 * day + 1)]).toEqual(['a3', undefined]);
  });

  it('go on through fifty exchanges', () => {
    expect(newestFor(renewals(emptyLine, 'a', { count: 50 }), 'a')).toBe('a50');
  });

  it('go on for both of two sign-ins of one session', () => {
    const both = renewals(renewals(emptyLine, 'a', { count: 17 }), 'x', { count: 50 });
    expect([newestFor(both, 'a'), newestFor(both, 'x')]).toEqual(['a17', 'x50']);
  });

  it('go on where a process with another clock brings tokens back that were dropped', () => {
    const line = renewals(emptyLine, 'a', { count: 20 });
    const dropped = renewals(emptyLine, 'a', { count: 10 });
    const slow = { ...dropped, spent: dropped.spent.slice(1).map((each) => ({ ...each, at: each.at - day })) };
    for (const merged of [mergeLines(line, slow, now), mergeLines(slow, line, now)]) {
      expect(merged.spent).toHaveLength(16);
      expect(newestFor(renewals(merged, 'x', { count: 5 }), 'a')).toBe('a20');
    }
  });

  it('are the newest that any process knows, also where one missed the exchanges between, which the others dropped', () => {
    const line = renewals(emptyLine, 'a', { count: 20 });
    const missed = renewals(emptyLine, 'a', { count: 2 });
    for (const merged of [mergeLines(line, missed, now), mergeLines(missed, line, now)]) {
      expect([newestFor(merged, 'a'), newestFor(merged, 'a1')]).toEqual(['a20', 'a2']);
    }
  });

  it('are not dropped for a late request with a token that they replaced', () => {
    const apart = Array.from({ length: 14 }, (_, index) =>
      String.fromCodePoint(0x4e00 + 2 * index, 0x4e01 + 2 * index),
    );
    const full = apart.reduce((line, pair) => chain(pair, line), emptyLine);
    const delivered = deliver(chain('ab', full), 'a', 'b', now);
    const late = exchange(delivered, 'b', { newest: 'c', text: 'of c', held: 'a' }, now + 1);
    const next = chain('xyz', late, now + 2);
    expect([next.spent.length, newestFor(next, 'b', now + minute)]).toEqual([16, 'c']);
  });

  it.each([2, 50])('wait no longer once a browser has them, after %d exchanges', (count) => {
    const line = renewals(emptyLine, 'a', { count });
    for (const over of [deliver(line, 'a', `a${count}`, now), present(line, `a${count}`, now)]) {
      expect(newestFor(over, 'a', now + closingMs + 1)).toBeUndefined();
    }
  });

  it('go on likewise where each exchange leads to another session', () => {
    const line = Array.from({ length: 50 }).reduce<TokenLine>(
      (before, _, index) =>
        exchange(
          before,
          `t${index}`,
          { newest: `t${index + 1}`, text: `of t${index + 1}`, isForeign: true, held: index === 0 ? undefined : 't0' },
          now,
        ),
      emptyLine,
    );
    expect(newestFor(line, 't0')).toBe('t50');
    // What another session's tokens lead to never displaces the session's own.
    const own = Array.from('abcdefghijklmnop').reduce<TokenLine>(
      (before, token) => exchange(before, token, { newest: `${token}2`, text: `of ${token}2` }, now),
      line,
    );
    expect(own.spent.some(({ isForeign }) => isForeign)).toBe(false);
    expect(newestFor(own, 'a')).toBe('a2');
  });
});
