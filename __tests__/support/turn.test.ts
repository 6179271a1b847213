import { globSync } from 'node:fs';
import { hasTurn, variantsOf } from '../../tools/turn.ts';

const files = globSync('__tests__/*/**/*.test.ts', { exclude: ['**/node_modules'] }).map((file) =>
  file.replaceAll('\\', '/'),
);
const before = process.env['TEST_VARIANT_TURN'];

function inTurn(turn: string | undefined, file: string): readonly string[] {
  if (turn === undefined) delete process.env['TEST_VARIANT_TURN'];
  else process.env['TEST_VARIANT_TURN'] = turn;
  return variantsOf(file).filter((variant) => hasTurn(file, variant));
}

afterEach(() => {
  if (before === undefined) delete process.env['TEST_VARIANT_TURN'];
  else process.env['TEST_VARIANT_TURN'] = before;
});

it('a suite has one variant in each turn, and has had all after as many turns', () => {
  expect(files.length).toBeGreaterThan(150);
  for (const file of files) {
    const turns = variantsOf(file).map((_, turn) => inTurn(String(1_000 + turn), file));
    expect(turns.map(({ length }) => length)).toEqual(turns.map(() => 1));
    expect(new Set(turns.flat())).toEqual(new Set(variantsOf(file)));
  }
});

it.each([undefined, ''])('a suite has all variants without a turn: %j', (turn) => {
  const file = '__tests__/b2b/callback.test.ts';
  expect(inTurn(turn, file)).toEqual([
    'Express 4',
    'node:http',
    'Connect',
    'OpenTelemetry',
    'without a room',
    'sdks-oldest',
  ]);
});
