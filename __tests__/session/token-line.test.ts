import fc from 'fast-check';
import {
  closingMs,
  deliver,
  emptyLine,
  exchange,
  isOpen,
  lifeOf,
  openMs,
  positionOf,
  refuse,
  refusedMs,
} from '../../lib/session/token-line.ts';
import type { TokenLine } from '../../lib/session/token-line.ts';

const now = 1_700_000_000_000;
const newest = (token: string) => ({ token, issuedAt: now });
const inBrowser = { now, holder: 'browser' } as const;
const inRequests = { now, holder: 'requests' } as const;
const kindOf = (line: TokenLine, token: string, at = now) => positionOf(line, token, at)?.kind;

describe('a token', () => {
  const line = exchange(emptyLine, 'a', newest('b'), inBrowser);

  it('that was exchanged leads to the newest one for a day', () => {
    expect([kindOf(line, 'a', now + openMs), kindOf(line, 'a', now + openMs + 1)]).toEqual(['spent', undefined]);
    expect([line.newest?.token, isOpen(line, now), lifeOf(line, now)]).toEqual(['b', true, openMs]);
  });

  it('that is the newest, or unknown, leads nowhere', () => {
    expect([kindOf(line, 'b'), kindOf(line, 'x')]).toEqual([undefined, undefined]);
  });

  it('leads to the newest one for 25 seconds once its browser has that', () => {
    const delivered = deliver(line, 'a', 'b', now);
    expect([kindOf(delivered, 'a', now + closingMs), kindOf(delivered, 'a', now + closingMs + 1)]).toEqual([
      'spent',
      undefined,
    ]);
    expect([isOpen(delivered, now), deliver(delivered, 'a', 'b', now + 1)]).toEqual([false, delivered]);
  });

  it('that no browser had leads on only for the requests under way', () => {
    const longer = exchange(line, 'b', newest('c'), inRequests);
    expect([kindOf(longer, 'a', now + openMs), kindOf(longer, 'b', now + closingMs + 1)]).toEqual(['spent', undefined]);
  });

  it('stays open where its browser received tokens that were exchanged meanwhile', () => {
    const longer = exchange(line, 'b', newest('c'), inBrowser);
    const delivered = deliver(longer, 'a', 'b', now);
    expect([kindOf(delivered, 'a', now + closingMs + 1), kindOf(delivered, 'b', now + closingMs + 1)]).toEqual([
      undefined,
      'spent',
    ]);
  });

  it('that the provider refused stays refused for ten minutes, unless it was exchanged', () => {
    const refused = refuse(line, 'x', 'invalid_grant', now);
    expect(positionOf(refused, 'x', now + refusedMs)).toEqual({ kind: 'refused', reason: 'invalid_grant' });
    expect(positionOf(refused, 'x', now + refusedMs + 1)).toBeUndefined();
    expect(refuse(refused, 'x', 'another reason', now)).toBe(refused);
    expect(refuse(line, 'a', 'invalid_grant', now)).toBe(line);
    expect(kindOf(exchange(refused, 'x', newest('y'), inBrowser), 'x')).toBe('spent');
  });

  it('that the line does not know begins it anew', () => {
    const anew = exchange(line, 'z', newest('y'), inBrowser);
    expect([kindOf(anew, 'a'), kindOf(anew, 'z'), anew.newest?.token]).toEqual([undefined, 'spent', 'y']);
  });
});

it('is bounded, whatever happens to it', () => {
  const token = fc.constantFrom(...Array.from('abcdefghijklmnopqrstuvwxyz'));
  const step = fc.oneof(
    fc.record({
      does: fc.constant('exchange'),
      token,
      holder: fc.constantFrom('browser' as const, 'requests' as const),
    }),
    fc.record({ does: fc.constantFrom('refuse', 'deliver'), token, holder: fc.constant('browser' as const) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 100 }), (steps) => {
      let line = emptyLine;
      let at = now;
      for (const { does, token: each, holder } of steps) {
        at += 1_000;
        if (does === 'exchange') {
          line = exchange(line, each, newest(`${each}!`), { now: at, holder });
          expect(kindOf(line, each, at)).toBe('spent');
        } else if (does === 'refuse') {
          line = refuse(line, each, 'refused', at);
          expect(positionOf(line, each, at)).toBeDefined();
        } else {
          line = deliver(line, each, line.newest?.token ?? '', at);
          expect(isOpen(line, at)).toBe(false);
        }
      }
      expect([...line.spent, ...line.refused].length).toBeLessThanOrEqual(32);
      expect(JSON.parse(JSON.stringify(line))).toEqual(line);
    }),
  );
});
