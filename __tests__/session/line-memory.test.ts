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
  for (const name of names) memory.replace({ line: name }, { line });
  const held = names.filter((name) => memory.find({ line: name, token: 'a', pair: 'a' }) !== undefined);
  expect(held).toHaveLength(Math.floor((16 * 1024 * 1024) / bytes));
});

describe('the newest tokens of a session', () => {
  /** @param noted each a token, when it was issued, and the token that it replaced */
  function newestAfter(noted: readonly string[]) {
    const memory = createLineMemory(createClock().now);
    const placeOf = (token: string) => ({ line: 'session', token, pair: token });
    for (const each of noted) {
      const [token = '', issuedAt, replaced] = each.split(' ');
      const former = replaced === undefined ? [] : [placeOf(replaced)];
      memory.noteNewest('session', { token, issuedAt: Number(issuedAt) }, former);
    }
    return memory.newestOf(placeOf('any'));
  }

  it.each<[string, readonly string[], ReturnType<typeof newestAfter>]>([
    ['are none where none were seen', [], undefined],
    ['are those that were issued last', ['a 1', 'b 2'], { token: 'b', issuedAt: 2 }],
    ['stay, whatever an older request brings', ['b 2', 'a 1'], { token: 'b', issuedAt: 2 }],
    ['stay, whatever others replaced', ['b 2', 'a 1 z'], { token: 'b', issuedAt: 2 }],
    ['are those that replaced them, with the later time', ['b 2', 'c 1 b'], { token: 'c', issuedAt: 2 }],
  ])('%s', (_, noted, expected) => {
    expect(newestAfter(noted)).toEqual(expected);
  });
});
