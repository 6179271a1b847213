import fc from 'fast-check';
import { mergeLines } from '../../lib/session/line-merge.ts';
import {
  closingMs,
  deliver,
  emptyLine,
  exchange,
  forgetPair,
  isOpen,
  lifeOf,
  newestFor as newestTokenFor,
  openMs,
  pairOf,
  settledOf,
  present,
  refuse,
  refusedMs,
  tokenOf,
} from '../../lib/session/token-line.ts';
import type { TokenLine } from '../../lib/session/token-line.ts';

const now = 1_700_000_000_000;
const minute = 60_000;

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
    const forgotten = forgetPair(both, 'a', now);
    expect([newestFor(forgotten, 'b'), newestFor(forgotten, 'x'), forgetPair(line, 'x', now)]).toEqual([
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
    const many = Array.from({ length: 64 }, (_, index) => ({ ...own!, pair: `t${index}` }));
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

/** Pairs are written as the refresh token, a dot, and the access token: each exchange leads from one pair to the next. */
function walk(way: string, line = emptyLine, at = now): TokenLine {
  const pairs = way.split(' ');
  return pairs
    .slice(1)
    .reduce(
      (before, next, index) => exchange(before, pairs[index]!, { newest: next, text: `of ${next}` }, at + index),
      line,
    );
}

describe('a refresh token that the provider gives again', () => {
  it('leads from one pair to the next, and the newest pair nowhere', () => {
    const line = walk('r.0 r.1 r.2');
    expect(['r.0', 'r.1', 'r.2', 'r.3'].map((pair) => newestFor(line, pair))).toEqual([
      'r.2',
      'r.2',
      undefined,
      undefined,
    ]);
    const delivered = present(line, 'r.2', now);
    expect([isOpen(delivered, now), newestFor(delivered, 'r.0', now + closingMs)]).toEqual([false, 'r.2']);
    expect(newestFor(delivered, 'r.0', now + closingMs + 1)).toBeUndefined();
  });

  it('keeps its first answer for each pair, in either order of two processes and of two answers', () => {
    const line = walk('r.0 r.1 r.2');
    const late = exchange(line, 'r.0', { newest: 'r.late', text: 'of r.late' }, now + minute);
    expect(late).toBe(line);
    expect(exchange(line, 'r.2', { newest: 'r.2', text: 'of r.2' }, now + minute)).toBe(line);
    const [one, other] = [walk('r.0 r.1'), walk('r.1 r.2', emptyLine, now + 1)];
    for (const merged of [mergeLines(one, other, now + 1), mergeLines(other, one, now + 1)])
      expect([newestFor(merged, 'r.0'), newestFor(merged, 'r.1'), newestFor(merged, 'r.2')]).toEqual([
        'r.2',
        'r.2',
        undefined,
      ]);
  });

  it('closes nothing of a pair by an earlier one that a slow request carries', () => {
    const line = walk('r.0 r.1 r.2');
    expect(present(line, 'r.0', now)).toBe(line);
    expect(newestFor(present(line, 'r.1', now), 'r.1', now + minute)).toBe('r.2');
    expect(newestFor(present(line, 'r.1', now), 'r.0', now + minute)).toBeUndefined();
  });

  it('is refused with each of its pairs, also those that no one asked with', () => {
    const line = refuse(walk('r.0 r.1'), 'r.1', 'invalid_grant', now);
    expect(['r.1', 'r.2'].map((pair) => newestFor(line, pair))).toEqual(['invalid_grant', 'invalid_grant']);
    expect(newestFor(line, 'r.0')).toBe('r.1');
    expect(refuse(line, 'r.2', 'another reason', now)).toBe(line);
  });

  it('and then a new one: its holders get that, whichever of its pairs they have', () => {
    const line = walk('r.0 r.1 s.2');
    for (const pair of ['r.0', 'r.1', 'r.unknown']) expect(newestFor(line, pair)).toBe('s.2');
    expect(newestFor(line, 's.2')).toBeUndefined();
    expect(exchange(line, 'r.unknown', { newest: 's.again', text: 'late' }, now)).toBe(line);
    expect(newestFor(forgetPair(line, 'r.unknown', now), 'r.0')).toBeUndefined();
    const closed = present(line, 's.unknown', now);
    expect([isOpen(closed, now), isOpen(present(line, 'r.unknown', now), now)]).toEqual([false, true]);
  });

  it('after another one: a former token that was given again leads nowhere', () => {
    const line = walk('a.0 b.1 a.2');
    expect(['a.0', 'b.1', 'a.2', 'b.unknown', 'a.unknown'].map((pair) => newestFor(line, pair))).toEqual([
      'a.2',
      'a.2',
      undefined,
      'a.2',
      undefined,
    ]);
    const next = walk('a.2 d.3', line, now + minute);
    for (const pair of ['a.0', 'b.1', 'a.2']) expect(newestFor(next, pair, now + minute)).toBe('d.3');
    for (const merged of [mergeLines(line, next, now + minute), mergeLines(next, line, now + minute)])
      expect(newestFor(merged, 'a.0', now + minute)).toBe('d.3');
  });

  it('and a new one, in whatever order both answers to one pair arrive: the new one is the last', () => {
    const [again, rotated] = [walk('r.0 r.1', emptyLine, now + 1), walk('r.0 s.1')];
    const lines = [
      exchange(again, 'r.0', { newest: 's.1', text: 'of s.1' }, now + 1),
      exchange(rotated, 'r.0', { newest: 'r.1', text: 'of r.1' }, now + 1),
      mergeLines(again, rotated, now + 1),
      mergeLines(rotated, again, now + 1),
    ];
    for (const line of lines)
      expect(['r.0', 'r.1'].map((pair) => newestFor(line, pair, now + 1))).toEqual(['s.1', 's.1']);
  });

  it('and a new one after it: a closing pair stays closing for processes that know of the new one', () => {
    const [closing, ahead] = [present(walk('r.0 r.1'), 'r.1', now), walk('r.0 r.1 s.2')];
    for (const merged of [mergeLines(closing, ahead, now + 1), mergeLines(ahead, closing, now + 1)]) {
      expect(newestFor(merged, 'r.0', now + closingMs)).toBe('s.2');
      expect(merged.spent.map(({ closes }) => closes)).toEqual([now + closingMs, undefined]);
    }
  });

  it('however often, makes no full line forget that another token was rotated', () => {
    const repeats = Array.from({ length: 40 }, (_, index) => `s.${index}`).join(' ');
    const line = walk(repeats, walk('r.0 s.0'), now + 1);
    expect(line.spent).toHaveLength(16);
    expect(newestFor(line, 'r.unknown', now + 1)?.startsWith('s.')).toBe(true);
  });

  it('in a circle, as only a stranger can write it: each holder gets the later pair, and that one asks', () => {
    const circle = exchange(walk('r.0 r.1'), 'r.1', { newest: 'r.0', text: 'of r.0' }, now + 1);
    expect([newestFor(circle, 'r.1'), newestFor(circle, 'r.0')]).toEqual(['r.0', undefined]);
    const next = exchange(circle, 'r.0', { newest: 's.2', text: 'of s.2' }, now + 2);
    expect([newestFor(next, 'r.1'), newestFor(next, 'r.0')]).toEqual(['s.2', 's.2']);
  });
});

describe('a replay of a rotated token', () => {
  /** The provider gave the same refresh token twice, and the second holder has renewed. */
  const line = walk('b.again c.1', walk('a.0 b.0'), now + 1);

  it('leads both its holders to the newest pair, because the refresh token is spent', () => {
    for (const pair of ['a.0', 'b.0', 'b.again']) expect(newestFor(line, pair, now + 1)).toBe('c.1');
    const [one, other] = [walk('a.0 b.0'), walk('b.again c.1', emptyLine, now + 1)];
    for (const merged of [mergeLines(one, other, now + 1), mergeLines(other, one, now + 1)])
      expect(newestFor(merged, 'a.0', now + 1)).toBe('c.1');
  });

  it('leaves a closing pair closing, whichever access token each process got, unless it was exchanged after it had closed', () => {
    const closed = present(walk('a.0 b.0'), 'b.0', now);
    const later = now + closingMs + 1;
    for (const [at, expected] of [
      [now + 1, undefined],
      [later, 'b.again'],
    ] as const) {
      const again = walk('a.0 b.again', emptyLine, at);
      for (const merged of [mergeLines(closed, again, later), mergeLines(again, closed, later)])
        expect(newestFor(merged, 'a.0', later)).toBe(expected);
    }
  });

  it('lets all holders wait as long as one of them, whichever access token it has', () => {
    const day = 24 * 60 * minute;
    const long = exchange(line, 'c.1', { newest: 'd.2', text: 'of d.2', held: 'b.0' }, now + 5 * day);
    expect(newestFor(long, 'b.0', now + 12 * day)).toBe('d.2');
    const received = deliver(walk('a.0 b.0 c.0'), 'b.other', 'from elsewhere', now);
    expect(['a.0', 'b.0'].map((pair) => newestFor(received, pair, now + minute))).toEqual(['c.0', undefined]);
  });

  it('closes what led to it when a browser has the newest', () => {
    for (const closed of [present(line, 'c.1', now), deliver(line, 'b.0', 'c.1', now), present(line, 'c.other', now)])
      expect(isOpen(closed, now)).toBe(false);
    const between = present(line, 'b.again', now);
    expect(['a.0', 'b.again'].map((pair) => newestFor(between, pair, now + minute))).toEqual([undefined, 'c.1']);
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
    const repeated = walk('a b.again', emptyLine, later);
    for (const merged of [mergeLines(closed, repeated, later), mergeLines(repeated, closed, later)]) {
      expect(newestFor(merged, 'a', later)).toBe('b.again');
      expect(newestFor(merged, 'a', later + closingMs + 1)).toBe('b.again');
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
    expect(mergeLines(both, later, now + openMs).spent.map(({ pair }) => pair)).toContain('a');
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
      const newest = newestTokenFor(line, each, at);
      if (step === 'refuse') return refuse(line, each, 'refused', at);
      if (step === 'forget') return forgetPair(line, each, at);
      if (step === 'deliver') return deliver(line, each, newest ?? '', at);
      const spent = step === 'renew' ? (newest ?? each) : each;
      serial += 1;
      const issued = step === 'repeat' ? pairOf(tokenOf(spent), `${serial}`) : `${each}${serial}`;
      const next = exchange(line, spent, { newest: issued, text: `text ${serial}`, held: each }, at);
      // A full line may drop a token between the browser's and the newest.
      if (line.spent.length < 16) expect(settledOf(next, spent, at)?.kind).toBe('renewed');
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
      if (new Set([...a.spent, ...b.spent].map((each) => each.pair)).size <= 16) {
        expect(merged).toEqual(mergeLines(b, a, now));
      }
      // What one process closed stays closed, whatever another one still thinks of the same exchange.
      const [spent] = a.spent.map((each) => each.pair);
      const closed = deliver(a, spent ?? '', a.spent.find((each) => each.pair === spent)?.issued ?? '', now + 1_000);
      for (const each of [mergeLines(a, closed, now), mergeLines(closed, a, now)]) {
        const isSpentElsewhere = each.spent.some(
          ({ pair }) => pair !== spent && tokenOf(pair) === tokenOf(spent ?? ''),
        );
        if (!isSpentElsewhere) expect(settledOf(each, spent ?? '', now + 2 * minute)?.kind).not.toBe('renewed');
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
