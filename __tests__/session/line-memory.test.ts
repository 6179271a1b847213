import { createLineMemory } from '../../lib/session/line-memory.ts';
import { emptyLine, exchange, refuse } from '../../lib/session/token-line.ts';
import { createClock } from '../support/clock.ts';

it('counts what each token takes, exchanged or refused', () => {
  const { now } = createClock();
  const memory = createLineMemory(now);
  const exchanged = exchange(emptyLine, 'a', { newest: 'b', text: 'of b' }, now());
  const line = Array.from('stuvwxyz').reduce((before, token) => refuse(before, token, 'refused', now()), exchanged);
  const bytes = 400 + 9 * 200 + 'of b'.length;
  const names = Array.from({ length: 8_000 }, (_, index) => `session ${index}`);
  for (const name of names) memory.replace(name, { line });
  const held = names.filter((name) => memory.find({ line: name, token: 'a', pair: 'a' }) !== undefined);
  expect(held).toHaveLength(Math.floor((16 * 1024 * 1024) / bytes));
});
