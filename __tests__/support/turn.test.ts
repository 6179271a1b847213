import { globSync } from 'node:fs';
import { hasTurn } from '../../tools/turn.ts';

const files = globSync('__tests__/*/*.test.ts').map((file) => file.replaceAll('\\', '/'));
const before = process.env['TEST_VARIANT_TURN'];

function inTurn(turn: string | undefined, file: string, count: number): number[] {
  if (turn === undefined) delete process.env['TEST_VARIANT_TURN'];
  else process.env['TEST_VARIANT_TURN'] = turn;
  return Array.from({ length: count }, (_, index) => index).filter((index) => hasTurn(file, index, count));
}

afterEach(() => {
  if (before === undefined) delete process.env['TEST_VARIANT_TURN'];
  else process.env['TEST_VARIANT_TURN'] = before;
});

describe.each([1, 2, 3, 4])('a suite that runs on one of %i in turn', (count) => {
  it('has one in each turn, and has had all after as many turns', () => {
    expect(files.length).toBeGreaterThan(150);
    for (const file of files) {
      const turns = Array.from({ length: count }, (_, turn) => inTurn(String(1_000 + turn), file, count));
      expect(turns.map(({ length }) => length)).toEqual(turns.map(() => 1));
      expect(new Set(turns.flat()).size).toBe(count);
    }
  });

  it.each([undefined, ''])('runs on all without a turn: %j', (turn) => {
    expect(inTurn(turn, '__tests__/b2b/callback.test.ts', count)).toHaveLength(count);
  });
});
