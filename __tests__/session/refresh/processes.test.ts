import { jest } from '@jest/globals';
import { noBackground } from '../../../lib/tools/background.ts';
import type { SharedCoordinator } from '../../../lib/session/coordinator.ts';
import type { Exchanged } from '../../../lib/session/refresh/exchange.ts';
import { day, ended, holding, never, setUp, setUpTwo, to, told } from '../../support/exchanges.ts';
import { createShared } from '../../support/shared-memory.ts';
import { until } from '../../support/until.ts';

afterEach(() => {
  jest.useRealTimers();
  jest.restoreAllMocks();
});

/** The coordinator fails with what it is asked about this token. @returns lets it answer again */
function failFor(shared: SharedCoordinator, name: 'take' | 'settle', token: string): () => void {
  const asked = Reflect.get(shared, name) as (...given: unknown[]) => Promise<unknown>;
  const failing = (...given: unknown[]) => (given[0] === token ? Promise.reject(new Error('down')) : asked(...given));
  Object.assign(shared, { [name]: failing });
  return () => void Object.assign(shared, { [name]: asked });
}

const tokensOf = (calls: readonly (readonly [string, ...unknown[]])[]) => calls.map(([token]) => token);
const by = (token: string): string => JSON.stringify({ kind: 'by', token });

describe('what a process knows of a token', () => {
  it('is the answer, without a second call, where the coordinator has lost it', async () => {
    const { shared, one } = setUpTwo();
    shared.isDown = true;
    await one.exchange('a', to('b'));
    await one.exchange('b', { ...to('b'), text: 'again' }, ['a']);
    shared.isDown = false;
    expect(await one.exchange('a', never)).toMatchObject({ answer: { token: 'b', text: 'again' }, isNew: false });
    expect(one.calls).toEqual(['a', 'b']);
  });

  it('leads on what another one answers', async () => {
    const { one, two } = setUpTwo();
    await one.exchange('a', to('b'));
    await two.exchange('b', to('c'));
    expect(await two.exchange('a', never)).toEqual({ answer: to('c'), isNew: false });
  });

  it('is what another one has exchanged it for since, once it knows it for a second', async () => {
    const { clock, one, two } = setUpTwo();
    await one.exchange('a', to('b'));
    await two.exchange('b', to('c'));
    clock.advance(999);
    expect((await one.exchange('a', never)).answer).toEqual(to('b'));
    clock.advance(1);
    expect((await one.exchange('a', never)).answer).toEqual(to('c'));
    expect(one.settled('b')).toEqual(to('c'));
  });

  it('is confirmed by one command, at most once a second', async () => {
    const { clock, shared, one } = setUpTwo();
    await one.exchange('a', to('b'));
    await one.exchange('b', to('c'));
    clock.advance(1_000);
    const take = jest.spyOn(shared, 'take');
    for (const ms of [0, 999, 1]) {
      clock.advance(ms);
      await one.exchange('a', never);
    }
    expect(tokensOf(take.mock.calls)).toEqual(['c', 'c']);
    clock.advance(7 * day);
    expect((await one.exchange('a', never)).answer).toEqual(to('c'));
    // It stands no longer for being confirmed.
    clock.advance(day);
    expect(['a', 'b'].map(one.settled)).toEqual([undefined, undefined]);
  });

  it('needs no confirmation where it is a refusal', async () => {
    const { clock, shared, one } = setUpTwo();
    await one.exchange('a', ended);
    clock.advance(2_000);
    const take = jest.spyOn(shared, 'take');
    expect((await one.exchange('a', never)).answer).toEqual(ended);
    expect(take).not.toHaveBeenCalled();
  });

  it('stands while the coordinator does not confirm it', async () => {
    const { clock, shared, one, two } = setUpTwo();
    await one.exchange('a', to('b'));
    await two.exchange('b', to('c'));
    clock.advance(1_000);
    shared.isDown = true;
    expect((await one.exchange('a', never)).answer).toEqual(to('b'));
  });

  it('is found where several others have exchanged it in turn', async () => {
    const { clock, shared, one, two } = setUpTwo();
    await one.exchange('a', to('b'));
    for (const [token, next] of [
      ['b', 'c'],
      ['c', 'd'],
      ['d', 'e'],
    ] as const) {
      one.refresh.received(token);
      two.refresh.received(token);
      await two.exchange(token, to(next));
      await told();
    }
    expect((await setUp({ shared, clock }).exchange('a', never)).answer).toEqual(to('e'));
  });

  it('is found where other processes exchanged it in turn, of which it knows the first', async () => {
    const { clock, shared, one, two } = setUpTwo();
    const third = setUp({ shared, clock });
    await one.exchange('a', to('b'));
    await two.exchange('b', to('c'));
    await third.exchange('c', to('d'));
    clock.advance(1_000);
    expect((await one.exchange('a', never)).answer).toEqual(to('d'));
  });

  it('is found where another process was given the last one again', async () => {
    const { clock, one, two } = setUpTwo();
    await one.exchange('a', to('b'));
    await two.exchange('b', to('c'));
    await two.exchange('c', { ...to('c'), text: 'again', issuedAt: 1_700_000_000_000 }, ['b']);
    await told();
    clock.advance(1_000);
    expect((await one.exchange('a', never)).answer).toMatchObject({ token: 'c' });
    expect(['a', 'b', 'c'].map((token) => one.refresh.isLed(holding(token)))).toEqual([true, true, false]);
  });

  it('is found beyond what came by another way than a refresh, as a browser may have that', async () => {
    const { clock, shared, one, two } = setUpTwo();
    await one.exchange('a', to('b'));
    one.refresh.follow('b', to('c'));
    two.refresh.follow('c', to('d'));
    await told();
    expect((await setUp({ shared, clock }).exchange('a', never)).answer).toEqual(to('d'));
  });

  it('leads on from what another process has exchanged the same token for meanwhile', async () => {
    const { clock, shared, one, two } = setUpTwo();
    await two.exchange('a', to('b'));
    one.refresh.follow('a', to('c'));
    await told();
    clock.advance(1_000);
    const third = setUp({ shared, clock });
    for (const each of [one, two, third])
      for (const token of ['a', 'b']) expect((await each.exchange(token, never)).answer).toMatchObject(to('c'));
  });

  it('leads on from what this process has exchanged the same token for', async () => {
    const { exchange, refresh, settled } = setUp();
    await exchange('a', to('b'));
    refresh.follow('a', to('c'));
    expect(['a', 'b'].map(settled)).toMatchObject([to('c'), to('c')]);
  });

  it('never leads back from a token to one that led to it', async () => {
    const { clock, shared, one, two } = setUpTwo();
    await one.exchange('a', to('b'));
    await two.exchange('a', never);
    two.refresh.follow('b', to('c'));
    await told();
    await one.exchange('c', to('d'));
    clock.advance(1_000);
    expect((await one.exchange('a', never)).answer).toEqual(to('d'));
    // It is due once more, and the browser still sends the first one.
    expect(await one.exchange('d', to('e'), ['a'])).toEqual({ answer: to('e'), isNew: true });
    await told();
    const answers = ['a', 'b', 'c', 'd'].map((token) => setUp({ shared, clock }).exchange(token, never));
    const tokens = (await Promise.all(answers)).map(({ answer }) => Reflect.get(answer, 'token'));
    expect(tokens).toEqual(['e', 'd', 'd', 'e']);
  });

  it('never leads back either where only the length of the way says what came before', async () => {
    const { clock, shared, one, two } = setUpTwo();
    const third = setUp({ shared, clock });
    await one.exchange('a', to('b'));
    await two.exchange('a', never);
    two.refresh.follow('b', to('c'));
    await told();
    await third.exchange('b', never);
    await third.exchange('c', to('d'), ['b']);
    await told();
    clock.advance(1_000);
    // It has learned of two steps at once, and nothing of the token in between.
    expect((await one.exchange('a', never)).answer).toEqual(to('d'));
    expect(await one.exchange('d', to('e'), ['a'])).toEqual({ answer: to('e'), isNew: true });
  });

  it('never leads back either where the way goes by the token of another request', async () => {
    const { clock, shared, one, two } = setUpTwo();
    const third = setUp({ shared, clock });
    await two.exchange('z', to('a'));
    await one.exchange('a', to('b'));
    await two.exchange('a', never, ['z']);
    two.refresh.follow('b', to('c'));
    await told();
    await third.exchange('z', never);
    await third.exchange('c', to('d'), ['z']);
    await told();
    clock.advance(1_000);
    expect((await one.exchange('a', never)).answer).toEqual(to('d'));
    expect(await one.exchange('d', to('e'), ['a'])).toEqual({ answer: to('e'), isNew: true });
  });

  it('is asked for once, however many late requests come at once', async () => {
    const { clock, shared, one } = setUpTwo();
    await one.exchange('a', to('b'));
    clock.advance(1_000);
    const take = jest.spyOn(shared, 'take');
    await Promise.all(Array.from({ length: 50 }, () => one.exchange('a', never)));
    expect(tokensOf(take.mock.calls)).toEqual(['b']);
  });

  it('ends with what that led to, which another one has exchanged and closed', async () => {
    const { clock, one, two } = setUpTwo();
    await one.exchange('a', to('b'));
    await two.exchange('a', never);
    await one.exchange('b', to('c'));
    one.refresh.received('c');
    await told();
    expect((await two.exchange('b', never, ['a'])).answer).toEqual(to('c'));
    expect(two.settled('a')).toEqual(to('c'));
    clock.advance(25_001);
    // Not the token in between, which is spent.
    expect(two.settled('a')).toBeUndefined();
  });

  it('of a token in between is what the browser’s own one leads to', async () => {
    const { one, two } = setUpTwo();
    await one.exchange('a', to('b'));
    await one.exchange('b', to('c'), ['a']);
    await told();
    expect((await two.exchange('b', never)).answer).toEqual(to('c'));
    expect(['a', 'b'].map(two.settled)).toEqual([to('c'), to('c')]);
  });

  it('wins with the next exchange where another one learned something else while the coordinator was away', async () => {
    const { clock, shared, one, two } = setUpTwo();
    shared.isDown = true;
    await one.exchange('a', to('x'));
    shared.isDown = false;
    await two.exchange('a', to('b'));
    expect(await one.exchange('x', to('y'), ['a'])).toEqual({ answer: to('y'), isNew: true });
    await told();
    expect((await setUp({ shared, clock }).exchange('a', never)).answer).toEqual(to('y'));
  });
});

describe('a process that has only learned an answer', () => {
  it.each(['a', 'b'])('closes it once a browser has what it led to: %s', async (token) => {
    const { clock, shared, one, two } = setUpTwo();
    await one.exchange('a', to('b'));
    if (token === 'b') await one.exchange('b', to('c'), ['a']);
    await told();
    await two.exchange(token, never);
    two.refresh.received(token === 'b' ? 'c' : 'b');
    await told();
    clock.advance(25_001);
    const third = setUp({ shared, clock });
    for (const each of ['a', token]) expect((await third.exchange(each, ended)).answer).toEqual(ended);
  });

  it('needs to know nothing of the tokens that led to it', async () => {
    const { shared, one, two } = setUpTwo();
    await one.exchange('b', to('c'));
    shared.isDown = true;
    await two.exchange('x', to('y'));
    shared.isDown = false;
    expect(await two.exchange('b', never, ['a'])).toEqual({ answer: to('c'), isNew: false });
    expect(two.events).toEqual(['coordinator_unavailable', 'coordinator_recovered']);
  });

  it('closes it once', async () => {
    const { shared, one, two } = setUpTwo();
    await one.exchange('a', to('b'));
    await two.exchange('a', never);
    const settle = jest.spyOn(shared, 'settle');
    for (const token of ['b', 'b']) two.refresh.received(token);
    await told();
    expect(tokensOf(settle.mock.calls)).toEqual(['a']);
    expect(two.events).toEqual([]);
  });
});

describe('a token in between, whose answer is that of the browser’s own one,', () => {
  async function setUpLed(answer: object, ttlMs: number) {
    const { clock, shared, one } = setUpTwo();
    await shared.settle('a', { answer: JSON.stringify(answer), weight: 2e11, ttlMs });
    await shared.settle('b', { answer: by('a'), weight: 1.5e11, ttlMs: day });
    return { clock, one };
  }

  it('is exchanged where the provider has refused that one', async () => {
    const { one } = await setUpLed(ended, day);
    expect(await one.exchange('b', to('c'))).toEqual({ answer: to('c'), isNew: true });
  });

  it('is answered as long as that one', async () => {
    const { clock, one } = await setUpLed({ ...to('c'), steps: 2 }, 25_000);
    expect((await one.exchange('b', never)).answer).toEqual(to('c'));
    clock.advance(25_001);
    expect(one.settled('b')).toBeUndefined();
  });
});

it('what another process exchanged prolongs no answer that is about to end', async () => {
  const { clock, one, two } = setUpTwo();
  await one.exchange('a', to('b'));
  one.refresh.received('b');
  clock.advance(10_000);
  await two.exchange('b', to('c'));
  expect((await one.exchange('b', never, ['a'])).answer).toEqual(to('c'));
  clock.advance(15_000);
  expect(one.settled('a')).toEqual(to('c'));
  clock.advance(1);
  expect(one.settled('a')).toBeUndefined();
});

describe('a process that knows nothing of what led to a token', () => {
  it('leads it on all the same', async () => {
    const { clock, shared, one, two } = setUpTwo();
    await one.exchange('a', to('b'));
    expect(await two.exchange('b', to('c'), ['a'])).toEqual({ answer: to('c'), isNew: true });
    await told();
    clock.advance(7 * day);
    const third = setUp({ shared, clock });
    expect((await third.exchange('a', never)).answer).toEqual(to('c'));
    two.refresh.received('c');
    await told();
    clock.advance(25_001);
    expect((await third.exchange('b', to('c'))).isNew).toBe(true);
  });

  it('exchanges it also where the earlier one was refused', async () => {
    const { one, two } = setUpTwo();
    await one.exchange('a', ended);
    expect(await two.exchange('b', to('c'), ['a'])).toEqual({ answer: to('c'), isNew: true });
  });
});

describe('while the coordinator does not say where a token leads', () => {
  it('its answer is used as it is', async () => {
    const { shared, one, two } = setUpTwo();
    await one.exchange('a', to('b'));
    one.refresh.received('b');
    await told();
    failFor(shared, 'take', 'b');
    expect(await two.exchange('a', never)).toEqual({ answer: to('b'), isNew: false });
    expect(two.events).toEqual([]);
  });

  it('what the provider repeats is used as it is', async () => {
    const { shared, one } = setUpTwo();
    failFor(shared, 'take', 'b');
    expect(await one.exchange('a', { ...to('b'), isRepeated: true })).toEqual({ answer: to('b'), isNew: true });
    expect(one.events).toEqual([]);
  });

  it('one that lost its turn uses the answer that stays, for 25 seconds', async () => {
    const { clock, shared, one, two } = setUpTwo();
    const held = Promise.withResolvers<Exchanged>();
    const late = one.exchange('a', held.promise);
    await until(() => one.calls.length === 1);
    clock.advance(3_000);
    await two.exchange('a', to('b'));
    failFor(shared, 'take', 'a');
    held.resolve(to('x'));
    expect(await late).toEqual({ answer: to('b'), isNew: false });
    clock.advance(25_000);
    expect(one.settled('a')).toEqual(to('b'));
    clock.advance(1);
    expect(one.settled('a')).toBeUndefined();
  });
});

it('a token that the provider repeats though it was refused is no spent one', async () => {
  const { one, two } = setUpTwo();
  await two.exchange('b', ended);
  expect(await one.exchange('a', { ...to('b'), isRepeated: true })).toEqual({ answer: to('b'), isNew: true });
});

it.each(['one', 'two'] as const)(
  'a token in between leads nowhere once that of the browser has ended: %s',
  async (name) => {
    const { clock, one, two } = setUpTwo();
    await one.exchange('a', to('x'));
    await one.exchange('x', to('b'), ['a']);
    await one.exchange('b', to('c'), ['a']);
    one.refresh.received('c');
    await told();
    clock.advance(25_001);
    const { answer } = await { one, two }[name].exchange('x', { ...to('b'), isRepeated: true });
    expect(answer).toEqual({ kind: 'ended', reason: 'superseded' });
  },
);

it('a token after one in between is answered by the browser’s own one, which stands as long', async () => {
  const { clock, shared, one } = setUpTwo();
  await one.exchange('a', to('b'));
  await one.exchange('b', to('c'), ['a']);
  clock.advance(7 * day);
  // A browser has received `b`, and said nothing since.
  await one.exchange('c', to('d'), ['b']);
  await told();
  expect((await shared.take('c')).answer).toBe(by('a'));
  clock.advance(7 * day);
  expect(one.settled('a')).toEqual(to('d'));
  expect((await setUp({ shared, clock }).exchange('a', never)).answer).toEqual(to('d'));
});

it('an answer that no cookie can hold reaches other processes that wait, and no later one', async () => {
  const { one, two } = setUpTwo();
  const held = Promise.withResolvers<Exchanged>();
  const large: Exchanged = { ...to('b'), text: 'x'.repeat(65_537) };
  const [first, second] = [one.exchange('a', held.promise), two.exchange('a', never)];
  await until(() => one.calls.length === 1);
  held.resolve(large);
  expect([await first, await second]).toEqual([
    { answer: large, isNew: true },
    { answer: large, isNew: false },
  ]);
  expect(await two.exchange('a', to('c'))).toEqual({ answer: to('c'), isNew: true });
});

it('a process without others has none to ask', async () => {
  await expect(setUp().refresh.ask('a')).resolves.toBe(true);
});

it('a process refuses a token of its own accord for itself alone', async () => {
  const { one, two } = setUpTwo();
  const superseded: Exchanged = { kind: 'ended', reason: 'superseded' };
  expect(await one.exchange('a', superseded)).toEqual({ answer: superseded, isNew: true });
  expect(await two.exchange('a', to('b'))).toEqual({ answer: to('b'), isNew: true });
});

it('a bug of one process is an outage for those that wait for it', async () => {
  const { one, two } = setUpTwo();
  const held = Promise.withResolvers<Exchanged>();
  const all = Promise.allSettled([one.exchange('a', held.promise), two.exchange('a', never)]);
  await until(() => one.calls.length === 1);
  held.reject(new TypeError('a bug'));
  expect((await all)[1]).toMatchObject({ reason: { code: 'provider_unavailable' } });
});

it('no token is spent by a process that waited too long', async () => {
  const { shared, clock, one } = setUpTwo();
  const held = Promise.withResolvers<Exchanged>();
  const first = one.exchange('a', held.promise);
  await until(() => one.calls.length === 1);
  const hurried = setUp({ shared, clock, timeoutMs: 1, callLifeMs: 1 });
  await expect(hurried.exchange('a', to('x'))).rejects.toMatchObject({ reason: 'timeout' });
  for (let turn = 0; turn < 5; turn += 1) await told();
  expect([hurried.calls, hurried.events]).toEqual([[], ['refresh_failed']]);
  held.resolve(to('b'));
  expect((await first).answer).toEqual(to('b'));
});

it.each([
  [undefined, 5_000, 25_000],
  [undefined, 60_000, 60_000],
  [30_000, 5_000, 30_000],
])('a call may take %p ms with a time limit of %p ms: %p', async (callLifeMs, timeoutMs, expected) => {
  const timeout = jest.spyOn(AbortSignal, 'timeout');
  await setUp({ timeoutMs, callLifeMs }).exchange('a', to('b'));
  expect(timeout.mock.calls).toEqual([[expected]]);
});

it('an exchange takes the turn and tells its answer, and to learn an answer takes one command', async () => {
  const { clock, shared, one, two } = setUpTwo();
  const [take, settle] = [jest.spyOn(shared, 'take'), jest.spyOn(shared, 'settle')];
  const commands = () => [take, settle].map(({ mock }) => tokensOf(mock.calls.splice(0)));
  await one.exchange('a', to('b'));
  expect(commands()).toStrictEqual([['a'], ['a']]);
  await one.exchange('refused', ended);
  expect(commands()).toStrictEqual([['refused'], ['refused']]);
  await two.exchange('a', never);
  expect(commands()).toStrictEqual([['a'], []]);
  // It is about to end.
  clock.advance(10 * 60_000 - 5_000);
  await two.exchange('refused', never);
  expect(commands()).toStrictEqual([['refused'], []]);
});

it('a refusal of another process stands as long as there', async () => {
  const { clock, one, two } = setUpTwo();
  await one.exchange('a', ended);
  clock.advance(9 * 60_000);
  expect((await two.exchange('a', never)).answer).toEqual(ended);
  clock.advance(60_000);
  expect(two.settled('a')).toEqual(ended);
  clock.advance(1);
  expect(two.settled('a')).toBeUndefined();
});

it('an answer that spends nothing is kept for those who wait alone', async () => {
  const { shared, one } = setUpTwo();
  const settle = jest.spyOn(shared, 'settle');
  await one.exchange('a', to('a'));
  expect(settle.mock.calls.map(([, { weight, ttlMs }]) => [weight, ttlMs < 25_000])).toEqual([[0, true]]);
});

it('what another way than a refresh led to reaches the other processes, until 25 seconds after a browser has it', async () => {
  const { clock, shared, one, two } = setUpTwo();
  await one.exchange('first', to('a'));
  one.refresh.follow('a', { token: 'b', text: 'of b' });
  await told();
  clock.advance(day);
  for (const token of ['first', 'a']) expect((await two.exchange(token, never)).answer).toEqual(to('b'));
  one.refresh.received('b');
  await told();
  clock.advance(25_000);
  const third = setUp({ shared, clock });
  expect((await third.exchange('a', to('c'))).isNew).toBe(true);
});

it('a sign-out tells of the last tokens that led to its own, and of each once', async () => {
  const { shared, one } = setUpTwo();
  for (let at = 0; at < 40; at += 1) await one.exchange(`t${at}`, to(`t${at + 1}`));
  await one.exchange('t40', to('t40'));
  const settle = jest.spyOn(shared, 'settle');
  one.refresh.forget('t40');
  await told();
  const tokens = tokensOf(settle.mock.calls);
  expect(tokens).toHaveLength(17);
  expect(new Set(tokens).size).toBe(17);
  expect(tokens).toEqual(expect.arrayContaining(['t40', 't39', 't24']));
});

it('the end of an outage is reported with the first exchange that the coordinator takes part in', async () => {
  const { shared, one } = setUpTwo();
  shared.isDown = true;
  await one.exchange('a', to('b'));
  shared.isDown = false;
  await one.exchange('b', to('c'));
  expect(one.events).toEqual(['coordinator_unavailable', 'coordinator_recovered']);
});

it('an answer of a token in between is stored with the browser’s own one also where that needs a second attempt', async () => {
  const { shared, one } = setUpTwo();
  await one.exchange('a', to('b'));
  let settled = 0;
  const settle = shared.settle.bind(shared);
  shared.settle = async (token, change) => {
    settled += 1;
    // After the turn's end and that of the browser's own token.
    if (settled === 3) throw new Error('down');
    return settle(token, change);
  };
  await one.exchange('b', to('c'), ['a']);
  await until(() => settled >= 5);
  await told();
  expect((await shared.take('b')).answer).toBe(by('a'));
});

it('an answer that is told late stands no longer than it does by then', async () => {
  const { shared, one } = setUpTwo();
  await one.exchange('a', to('b'));
  const settle = shared.settle.bind(shared);
  const answers: (string | undefined)[] = [];
  shared.settle = async (token, change) => {
    if (token === 'a' && answers.push(change.answer) === 1) throw new Error('down');
    return settle(token, change);
  };
  await one.exchange('b', to('c'), ['a']);
  await until(() => answers.length === 1);
  one.refresh.received('c');
  await until(() => answers.length === 3);
  await told();
  expect(answers.map((answer) => answer !== undefined)).toEqual([true, false, true]);
  expect(await shared.take('a')).toMatchObject({ answer: answers[2], ttlMs: 25_000 });
});

it('a provider that fails while the coordinator fails is what a process reports, and all that it says', async () => {
  const shared = createShared();
  const works: Promise<unknown>[] = [];
  const background = { ...noBackground, run: (work: Promise<unknown>) => void works.push(work) };
  const one = setUp({ shared, background });
  const held = Promise.withResolvers<Exchanged>();
  const failing = one.exchange('a', held.promise);
  await until(() => one.calls.length === 1);
  shared.isDown = true;
  held.reject(new TypeError('a bug'));
  await expect(failing).rejects.toMatchObject({ reason: 'timeout' });
  expect((await Promise.allSettled(works)).map(({ status }) => status)).toEqual(['fulfilled']);
  expect(one.events).toEqual(['refresh_failed']);
});
