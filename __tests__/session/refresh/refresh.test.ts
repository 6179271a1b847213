import { jest } from '@jest/globals';
import { AuthError } from '../../../lib/errors.ts';
import type { SharedCoordinator } from '../../../lib/session/coordinator.ts';
import { VariantRefused } from '../../../lib/session/refresh/exchange.ts';
import type { Exchanged } from '../../../lib/session/refresh/exchange.ts';
import { refreshTokenName } from '../../../lib/session/ended/record.ts';
import { day, ended, given, holding, never, seen, setUp, setUpTwo, to, told } from '../../support/exchanges.ts';
import { until } from '../../support/until.ts';

/** Resolves once the answer for `a` is about to end. */
async function untilClosed(shared: SharedCoordinator) {
  for (;;) {
    const { ttlMs = Infinity } = await shared.take('a');
    if (ttlMs <= 25_000) return { ttlMs };
    await told();
  }
}

it('names a token by its adapter and a digest, never by its value', () => {
  expect(refreshTokenName('b2b', 'VISIBLE')).toMatch(/^b2b:[\w-]{43}$/);
  expect(refreshTokenName('backend', 'VISIBLE').slice(8)).toBe(refreshTokenName('b2b', 'VISIBLE').slice(4));
});

describe('an answer', () => {
  it('is fetched once for all simultaneous holders, and new for the first alone', async () => {
    const { refresh, calls, exchange } = setUp();
    const held = Promise.withResolvers<Exchanged>();
    const all = Array.from({ length: 50 }, () => exchange('a', held.promise));
    expect(refresh.knows(holding('a'))).toBe(true);
    held.resolve(to('b'));
    const answers = await Promise.all(all);
    expect([calls.length, answers.filter(({ isNew }) => isNew).length]).toEqual([1, 1]);
    for (const { answer } of answers) expect(answer).toEqual(to('b'));
  });

  it('stands for eight days while no browser has the new token, and for 25 seconds once one has it', async () => {
    const { clock, exchange, refresh, settled } = setUp();
    await exchange('a', to('b'));
    clock.advance(8 * day - 60_000);
    expect(settled('a')).toEqual(to('b'));
    refresh.received('b');
    clock.advance(20_000);
    refresh.received('b');
    clock.advance(5_000);
    expect(settled('a')).toEqual(to('b'));
    clock.advance(1);
    expect(settled('a')).toBeUndefined();
  });

  it('is the newest that the token led to, in one step', async () => {
    const { exchange, settled } = setUp();
    for (const [from, next] of [
      ['a', 'b'],
      ['b', 'c'],
      ['c', 'd'],
    ] as const)
      await exchange(from, to(next));
    for (const token of ['a', 'b', 'c']) expect(settled(token)).toEqual(to('d'));
    expect(settled('d')).toBeUndefined();
  });

  it('stays with the token that a browser holds while nothing delivers what it led to, however long that takes', async () => {
    const { clock, exchange, refresh, settled } = setUp();
    await exchange('a', to('t0'));
    for (let hour = 0; hour < 200; hour += 1) {
      clock.advance(day / 24);
      await exchange(`t${hour}`, to(`t${hour + 1}`), ['a']);
    }
    // Of the tokens in between, the browser may have received any of the last.
    expect(['a', 't150', 't190'].map(settled)).toEqual([to('t200'), undefined, to('t200')]);
    refresh.received('t200');
    clock.advance(25_001);
    expect(settled('a')).toBeUndefined();
  });

  it('of tokens in between stands as long as that of the token which a browser holds, and is stored with it alone', async () => {
    const { clock, shared, one } = setUpTwo();
    await one.exchange('a', to('b'));
    clock.advance(day);
    await one.exchange('b', to('c'), ['a']);
    await one.exchange('c', to('d'), ['a', 'b']);
    await told();
    clock.advance(7 * day);
    expect(['a', 'b', 'c'].map(one.settled)).toEqual([to('d'), to('d'), to('d')]);
    const standing = await Promise.all(['a', 'b', 'c'].map((token) => shared.take(token)));
    expect(standing.map(({ answer = '' }) => answer.includes('of d'))).toEqual([true, false, false]);
    expect(standing.slice(1).map(({ answer }) => answer)).toEqual(Array(2).fill('{"kind":"by","token":"a"}'));
  });

  it.each([to('b'), ended])(
    'that is the first for a spent token stays, whatever the provider says then: %j',
    async (answer) => {
      const { exchange, refresh, settled } = setUp();
      const held = Promise.withResolvers<Exchanged>();
      const late = exchange('a', held.promise);
      refresh.follow('a', { token: 'factor', text: 'of factor' });
      held.resolve(answer);
      expect([await late, settled('a')]).toEqual([{ answer: to('factor'), isNew: false }, to('factor')]);
    },
  );

  it('of another way than a refresh stands for eight days while no browser has it, and for 25 seconds once one has it', async () => {
    const { clock, exchange, refresh, settled } = setUp();
    await exchange('first', to('a'));
    refresh.follow('a', { token: 'b', text: 'of b' });
    clock.advance(8 * day);
    expect(['first', 'a'].map(settled)).toEqual([to('b'), to('b')]);
    refresh.follow('b', { token: 'c', text: 'of c' });
    refresh.received('c');
    clock.advance(25_000);
    expect(settled('b')).toEqual(to('c'));
    clock.advance(1);
    expect(settled('b')).toBeUndefined();
  });

  it('of another way than a refresh stands as long where the provider has just given the token again', async () => {
    const { clock, exchange, refresh, settled } = setUp();
    await exchange('a', to('a'));
    refresh.follow('a', { token: 'b', text: 'of b' });
    clock.advance(8 * day);
    expect(settled('a')).toEqual(to('b'));
  });

  it('of another way than a refresh is none where that gave the token again', async () => {
    const { exchange, refresh, settled } = setUp();
    refresh.follow('a', { token: 'a', text: 'again' });
    expect(settled('a')).toBeUndefined();
    await exchange('a', to('b'));
    expect(settled('a')).toEqual(to('b'));
  });

  it('of another way than a refresh keeps no answer open that is about to end', async () => {
    const { clock, exchange, refresh, settled } = setUp();
    await exchange('first', to('a'));
    refresh.received('a');
    refresh.follow('a', { token: 'b', text: 'of b' });
    clock.advance(25_000);
    expect(['first', 'a'].map(settled)).toEqual([to('b'), to('b')]);
    clock.advance(1);
    expect(['first', 'a'].map(settled)).toEqual([undefined, to('b')]);
  });

  it('of another way than a refresh opens no answer that has closed', async () => {
    const { clock, exchange, refresh, settled } = setUp();
    await exchange('first', to('a'));
    refresh.received('a');
    clock.advance(25_001);
    refresh.follow('a', { token: 'b', text: 'of b' });
    expect(['first', 'a'].map(settled)).toEqual([undefined, to('b')]);
  });

  it('closes with those of all tokens that led to it, whichever steps led there', async () => {
    const { clock, exchange, refresh, settled } = setUp();
    await exchange('a', to('b'));
    await exchange('b', to('c'));
    refresh.received('c');
    clock.advance(25_001);
    expect(['a', 'b'].map(settled)).toEqual([undefined, undefined]);
  });

  it('stays open where a browser has received a token that was exchanged since', async () => {
    const { clock, exchange, refresh, settled } = setUp();
    await exchange('a', to('b'));
    await exchange('b', to('c'), ['a']);
    refresh.received('b');
    clock.advance(25_001);
    expect(['a', 'b'].map(settled)).toEqual([to('c'), to('c')]);
  });

  it('that no browser has outlives thousands that one has', async () => {
    const { exchange, refresh, settled } = setUp();
    await exchange('a', to('b'));
    const text = 'x'.repeat(2_000);
    for (let index = 0; index < 9_000; index += 1) {
      await exchange(`${index}`, { ...to(`next ${index}`), text, owner: `${index}` });
      refresh.received(`next ${index}`);
    }
    expect([settled('a'), settled('0'), settled('8999')?.kind]).toEqual([to('b'), undefined, 'renewed']);
  });

  it('of one user takes an eighth of the memory at most, and none from other users', async () => {
    const { exchange, settled } = setUp();
    await exchange('a', { ...to('b'), owner: 'ada' });
    const text = 'x'.repeat(20_000);
    for (let index = 0; index < 1_000; index += 1)
      await exchange(`${index}`, { ...to(`next ${index}`), text, owner: 'mallory' });
    const left = Array.from({ length: 1_000 }, (_, index) => settled(`${index}`)).filter((each) => each !== undefined);
    expect(settled('a')).toEqual(to('b'));
    expect(left.length * 20_300).toBeLessThanOrEqual((16 * 1024 * 1024) / 8);
    expect(left.length).toBeGreaterThan(90);
  });

  it('of a token in between ends with that of the token which a browser held: then the provider is asked again', async () => {
    const { clock, exchange, refresh, settled } = setUp();
    await exchange('a', to('b'));
    await exchange('b', to('c'), ['a']);
    refresh.received('c');
    clock.advance(25_001);
    expect(await exchange('b', { ...to('b'), text: 'again' })).toMatchObject({
      answer: { text: 'again' },
      isNew: true,
    });
    clock.advance(25_001);
    expect(await exchange('b', to('c'))).toEqual({ answer: to('c'), isNew: true });
    expect(settled('b')).toEqual(to('c'));
  });

  it('of a token that a browser has stands as long, though a request with an earlier one asked for it', async () => {
    const { clock, exchange, refresh, settled } = setUp();
    await exchange('a', to('b'));
    refresh.received('b');
    await exchange('b', to('c'), ['a']);
    clock.advance(7 * day);
    expect(settled('b')).toEqual(to('c'));
  });

  it('that refuses stands for ten minutes', async () => {
    const { clock, exchange, calls } = setUp();
    await exchange('a', ended);
    clock.advance(10 * 60_000);
    expect(await exchange('a', never)).toEqual({ answer: ended, isNew: false });
    clock.advance(1);
    await exchange('a', ended);
    expect(calls).toHaveLength(2);
  });

  it('that leads on or refuses counts for every holder, whatever time the provider’s clock gave it', async () => {
    const { exchange, refresh } = setUp();
    await exchange('a', to('b'));
    await exchange('refused', ended);
    const isNewer = false;
    expect(given(refresh.settled(holding('a', isNewer))!)).toEqual(to('b'));
    expect(refresh.settled(holding('refused', isNewer))).toEqual(ended);
  });

  it.each([false, true])('outlives the refusals of 60,000 other tokens (received: %p)', async (isReceived) => {
    const { exchange, refresh, settled } = setUp();
    await exchange('a', to('b'));
    if (isReceived) refresh.received('b');
    for (let index = 0; index < 60_000; index += 1) await exchange(`made up ${index}`, ended);
    expect(settled('a')).toEqual(to('b'));
  });

  it('that no cookie can hold reaches those who wait, and is not kept', async () => {
    const { exchange, settled } = setUp();
    const large: Exchanged = { kind: 'renewed', token: 'b', text: 'x'.repeat(65_537), issuedAt: 0 };
    expect(await exchange('a', large)).toEqual({ answer: large, isNew: true });
    expect(settled('a')).toBeUndefined();
    await exchange('a', { ...large, text: 'x'.repeat(65_536) });
    expect(settled('a')).toBeDefined();
    await exchange('b', { ...large, token: 'c' }, ['a']);
    expect(settled('b')).toBeUndefined();
  });

  it('of a token in between counts little for the share of its user', async () => {
    const { exchange, settled } = setUp();
    const text = 'x'.repeat(2_700);
    const own = (token: string) => ({ ...to(token), text, owner: 'ada' });
    for (let index = 0; index < 500; index += 1) {
      await exchange(`${index}`, own(`${index}+`));
      await exchange(`${index}+`, own(`${index}++`), [`${index}`]);
    }
    const left = Array.from({ length: 500 }, (_, index) => settled(`${index}`)).filter((each) => each !== undefined);
    expect(left).toHaveLength(500);
  });

  it('is gone once it is forgotten', async () => {
    const { exchange, refresh, settled } = setUp();
    for (const token of ['a', 'x']) await exchange(token, to(`${token}2`));
    await exchange('refused', ended);
    refresh.follow('first factor', { token: 'second factor', text: 'of it' });
    for (const token of ['a', 'refused', 'second factor']) refresh.forget(token);
    expect(['a', 'x', 'refused', 'first factor'].map(settled)).toEqual([undefined, to('x2'), undefined, undefined]);
  });

  it('that is refused later stays the answer of the tokens that led to it', async () => {
    const { exchange, settled } = setUp();
    await exchange('a', to('b'));
    await exchange('b', ended);
    expect(['a', 'b'].map(settled)).toEqual([to('b'), ended]);
  });

  it('that the provider repeats leads on to what that led to, for 25 seconds', async () => {
    const { clock, exchange, refresh, calls } = setUp();
    await exchange('a', to('b'));
    refresh.received('b');
    await exchange('b', to('c'));
    clock.advance(25_001);
    const repeated = { ...to('b'), isRepeated: true };
    expect(await exchange('a', repeated)).toEqual({ answer: to('c'), isNew: false });
    clock.advance(25_000);
    expect(await exchange('a', never)).toEqual({ answer: to('c'), isNew: false });
    clock.advance(1);
    await exchange('a', repeated);
    expect(calls).toEqual(['a', 'b', 'a', 'a']);
  });

  it('that the provider repeats leads on for a token in between, too, and where the last one was given again', async () => {
    const { clock, exchange, refresh } = setUp();
    await exchange('a', to('b'));
    await exchange('b', to('c'), ['a']);
    refresh.received('c');
    clock.advance(25_001);
    await exchange('c', to('d'));
    await exchange('d', { ...to('d'), text: 'again' });
    const repeated = { ...to('c'), isRepeated: true };
    expect(await exchange('b', repeated)).toMatchObject({ answer: { text: 'again' }, isNew: false });
    expect(await exchange('b', never)).toMatchObject({ answer: { text: 'again' }, isNew: false });
  });

  it('that the provider repeats is none after what it led to has ended', async () => {
    const { clock, exchange, refresh } = setUp();
    await exchange('a', to('b'));
    await exchange('b', to('c'), ['a']);
    refresh.received('c');
    clock.advance(25_001);
    const superseded = { kind: 'ended', reason: 'superseded' };
    expect((await exchange('a', { ...to('b'), isRepeated: true })).answer).toEqual(superseded);
  });

  it('that the provider repeats stands as any where its token is not spent', async () => {
    const { clock, exchange, settled } = setUp();
    await exchange('b', to('b'));
    expect((await exchange('a', { ...to('b'), isRepeated: true })).answer).toEqual(to('b'));
    clock.advance(7 * day);
    expect(settled('a')).toEqual(to('b'));
  });

  it('of no user shares no eighth with others of none', async () => {
    const { exchange, settled } = setUp();
    await exchange('a', to('b'));
    const text = 'x'.repeat(20_000);
    for (let index = 0; index < 130; index += 1) await exchange(`${index}`, { ...to(`next ${index}`), text });
    expect(settled('a')).toEqual(to('b'));
  });

  it('of a user outlives others of that user that have ended, however many', async () => {
    const { clock, exchange, settled } = setUp();
    await exchange('a', { ...to('b'), owner: 'ada' });
    const own = { text: 'x'.repeat(20_000), owner: 'ada', lifeMs: 30_000 };
    for (let index = 0; index < 95; index += 1) await exchange(`${index}`, { ...to(`next ${index}`), ...own });
    clock.advance(30_001);
    for (let index = 95; index < 130; index += 1) await exchange(`${index}`, { ...to(`next ${index}`), ...own });
    expect(settled('a')).toEqual(to('b'));
  });
});

describe('where the provider gives a token again', () => {
  it('nothing is spent: holders of older tokens get its answer for 25 seconds, and any other asks once more', async () => {
    const { clock, exchange, refresh, calls, settled } = setUp();
    await exchange('a', to('a'));
    expect([settled('a'), refresh.settled(holding('a', false))]).toEqual([to('a'), undefined]);
    const again = { former: [], run: () => Promise.resolve({ ...to('a'), text: 'newer' }) };
    expect(await refresh.run(holding('a', false), again)).toMatchObject({ answer: { text: 'newer' }, isNew: true });
    clock.advance(25_001);
    await exchange('a', to('a'));
    expect(calls).toHaveLength(2);
  });

  it('for the holder of an earlier one, any later holder of the token itself asks once more', async () => {
    const { clock, exchange, settled } = setUp();
    await exchange('a', to('b'));
    await exchange('b', { ...to('b'), text: 'again', issuedAt: 1_700_000_000_000 }, ['a']);
    clock.advance(25_001);
    expect(settled('b')).toBeUndefined();
    expect(await exchange('b', to('c'))).toEqual({ answer: to('c'), isNew: true });
  });

  it('holders of earlier tokens get its last answer, and what it led to once it is spent', async () => {
    const { clock, exchange, settled } = setUp();
    await exchange('a', to('b'));
    for (const seconds of [1_700_000_000, 1_700_000_060]) {
      const answer = { ...to('b'), text: `of ${seconds}`, issuedAt: seconds * 1_000 };
      await exchange('b', answer, ['a']);
      clock.advance(25_001);
    }
    expect(settled('a')).toMatchObject({ text: 'of 1700000060' });
    clock.advance(7 * day);
    await exchange('b', to('c'), ['a']);
    clock.advance(7 * day);
    expect(settled('a')).toEqual(to('c'));
  });

  it('two calls are made at most for however many holders: the second began when all had theirs', async () => {
    const { refresh } = setUp();
    let calls = 0;
    const run = () => Promise.resolve({ ...to('a'), text: `of call ${(calls += 1)}` });
    const all = await Promise.all(
      Array.from({ length: 100 }, () => refresh.run(holding('a', false), { former: [], run })),
    );
    expect([calls, new Set(all.slice(1).map(({ answer }) => JSON.stringify(answer))).size]).toEqual([2, 1]);
  });

  it('another process that waited gets the answer for 25 seconds, and a later one asks once more', async () => {
    const { clock, one, two } = setUpTwo();
    const held = Promise.withResolvers<Exchanged>();
    const [first, second] = [one.exchange('a', held.promise), two.exchange('a', never)];
    await until(() => one.calls.length === 1);
    held.resolve(to('a'));
    expect([(await first).answer, (await second).answer]).toEqual([to('a'), to('a')]);
    clock.advance(25_000);
    expect((await two.exchange('a', never)).answer).toEqual(to('a'));
    clock.advance(1);
    expect((await two.exchange('a', to('a'))).isNew).toBe(true);
    const later = setUp({ shared: setUpTwo().shared });
    expect((await later.exchange('a', to('a'))).isNew).toBe(true);
  });
});

describe('a failure', () => {
  afterEach(() => jest.useRealTimers());

  it('is shared by those who wait, reported once, and not kept', async () => {
    const { events, exchange, refresh, calls } = setUp();
    const failure = new AuthError('provider_unavailable', { retryAfter: 7 });
    const all = await Promise.allSettled([exchange('a', failure), exchange('a', failure)]);
    expect(all.map((each) => each.status === 'rejected' && each.reason)).toEqual([failure, failure]);
    expect([refresh.isResting('a'), events, calls.length]).toEqual([true, ['refresh_failed'], 1]);
    expect((await exchange('a', to('b'))).isNew).toBe(true);
    expect(refresh.isResting('a')).toBe(false);
  });

  it('of any kind is an outage', async () => {
    const { exchange } = setUp();
    await expect(exchange('a', new TypeError('a bug'))).rejects.toMatchObject({
      code: 'provider_unavailable',
      reason: 'timeout',
    });
  });

  it.each([
    [undefined, 5],
    [7, 7],
    [0.1, 1],
    [0, 1],
    [3_600, 60],
  ])('lets the token rest for the seconds that the provider asks for: %p', async (retryAfter, seconds) => {
    const { clock, exchange, refresh } = setUp();
    const failing = exchange(
      'a',
      new AuthError('provider_unavailable', retryAfter === undefined ? {} : { retryAfter }),
    );
    await expect(failing).rejects.toThrow(AuthError);
    clock.advance(seconds * 1000);
    expect(refresh.isResting('a')).toBe(true);
    clock.advance(1);
    expect(refresh.isResting('a')).toBe(false);
  });

  it('of a variant is shared by requests for the same one; the others exchange the token', async () => {
    const { events, refresh } = setUp();
    const refusal = new VariantRefused('south', 'refused');
    const asking = (variant: string | undefined, answer: Promise<Exchanged>) =>
      refresh.run(holding('a'), { former: [], variant, run: () => answer });
    const failing = Promise.reject(refusal);
    failing.catch(() => undefined);
    const [first, same, other] = await Promise.allSettled([
      asking('south', failing),
      asking('south', failing),
      asking(undefined, Promise.resolve(to('b'))),
    ]);
    expect([first, same]).toMatchObject([{ reason: refusal }, { reason: refusal }]);
    expect(other).toMatchObject({ value: { answer: { token: 'b' } } });
    expect(events).toEqual([]);
  });

  it('of slowness is reported, and the answer counts even so', async () => {
    jest.useFakeTimers({ doNotFake: ['setImmediate'] });
    const { events, exchange, settled } = setUp({ timeoutMs: 1_000 });
    const held = Promise.withResolvers<Exchanged>();
    const slow = exchange('a', held.promise);
    jest.advanceTimersByTime(1_000);
    expect(events).toEqual(['refresh_failed']);
    held.resolve(to('b'));
    expect([(await slow).answer, settled('a')]).toEqual([to('b'), to('b')]);
    expect(events).toEqual(['refresh_failed']);
  });

  it('of slowness is reported once, also where the provider fails then, and not for an answer in time', async () => {
    jest.useFakeTimers({ doNotFake: ['setImmediate'] });
    const { events, exchange } = setUp({ timeoutMs: 1_000 });
    await exchange('in time', to('b'));
    jest.advanceTimersByTime(1_000);
    expect(events).toEqual([]);
    const held = Promise.withResolvers<Exchanged>();
    const slow = exchange('a', held.promise);
    jest.advanceTimersByTime(1_000);
    held.reject(new AuthError('provider_unavailable'));
    await expect(slow).rejects.toMatchObject({ code: 'provider_unavailable' });
    expect(events).toEqual(['refresh_failed']);
  });
});

describe('several processes', () => {
  it('exchange a token once, and each knows its answer then', async () => {
    const { one, two } = setUpTwo();
    await one.exchange('a', to('b'));
    expect(await two.exchange('a', never)).toEqual({ answer: to('b'), isNew: false });
    expect(two.settled('a')).toEqual(to('b'));
  });

  it('wait for the one whose turn it is', async () => {
    const { one, two } = setUpTwo();
    const held = Promise.withResolvers<Exchanged>();
    const [first, second] = [one.exchange('a', held.promise), two.exchange('a', never)];
    await until(() => one.calls.length === 1);
    held.resolve(to('b'));
    expect([(await first).isNew, (await second).isNew]).toEqual([true, false]);
  });

  it.each([
    [ended, to('b'), to('b')],
    [to('b'), ended, to('b')],
    [to('b'), to('c'), to('b')],
  ])('keep one answer where a turn was lost: %j, then %j', async (first, second, standing) => {
    const { clock, one, two } = setUpTwo();
    const held = Promise.withResolvers<Exchanged>();
    const late = one.exchange('a', held.promise);
    await until(() => one.calls.length === 1);
    clock.advance(3_000);
    expect((await two.exchange('a', first)).answer).toEqual(first);
    held.resolve(second);
    expect((await late).answer).toEqual(standing);
  });

  it('share the failure of an attempt with those who waited for it, and not with later ones', async () => {
    const { one, two } = setUpTwo();
    const held = Promise.withResolvers<Exchanged>();
    const all = Promise.allSettled([one.exchange('a', held.promise), two.exchange('a', never)]);
    await until(() => one.calls.length === 1);
    held.reject(new AuthError('provider_unavailable', { retryAfter: 7 }));
    for (const each of await all)
      expect(each).toMatchObject({ reason: { code: 'provider_unavailable', retryAfter: 7 } });
    expect([one.events, two.events]).toEqual([['refresh_failed'], ['refresh_failed']]);
    expect((await two.exchange('a', to('b'))).isNew).toBe(true);
  });

  it('close an answer for each other once a browser has the new token', async () => {
    const { clock, one, two } = setUpTwo();
    await one.exchange('a', to('b'));
    one.refresh.received('b');
    await told();
    clock.advance(25_001);
    expect((await two.exchange('a', ended)).answer).toEqual(ended);
  });

  it('tell a third one the newest token that an undelivered one led to', async () => {
    const { clock, shared, one, two } = setUpTwo();
    await one.exchange('a', to('b'));
    await two.exchange('a', never);
    await two.exchange('b', to('c'), ['a']);
    await told();
    clock.advance(2 * 60 * 60_000);
    const third = setUp({ shared, clock });
    expect((await third.exchange('a', never)).answer).toEqual(to('c'));
  });

  it('know where a token leads that another one has exchanged long ago', async () => {
    const { clock, shared, one, two } = setUpTwo();
    await one.exchange('a', to('t0'));
    await two.exchange('a', never);
    for (let at = 0; at < 20; at += 1) await two.exchange(`t${at}`, to(`t${at + 1}`), ['a']);
    await told();
    // It keeps those of the last sixteen in between.
    const standing = await Promise.all(['t3', 't4'].map((token) => shared.take(token)));
    expect(standing.map(({ answer }) => answer)).toEqual([undefined, '{"kind":"by","token":"a"}']);
    expect(await one.exchange('t0', never, ['a'])).toEqual({ answer: to('t20'), isNew: false });
    // Also one that knows nothing.
    const third = setUp({ shared, clock });
    expect(await third.exchange('t1', never, ['a'])).toEqual({ answer: to('t20'), isNew: false });
    await told();
    expect((await shared.take('t0')).answer).toBe('{"kind":"by","token":"a"}');
  });

  it('follow a token to what its browser exchanged it for, within the 25 seconds', async () => {
    const { clock, shared, one, two } = setUpTwo();
    await one.exchange('a', to('b'));
    one.refresh.received('b');
    await told();
    await two.exchange('b', to('c'));
    const [third, fourth] = [setUp({ shared, clock }), setUp({ shared, clock })];
    for (const each of [third, fourth]) expect((await each.exchange('a', never)).answer).toEqual(to('c'));
    clock.advance(20_000);
    await third.exchange('c', to('d'), ['a']);
    await told();
    expect((await setUp({ shared, clock }).exchange('a', never)).answer).toEqual(to('d'));
    clock.advance(5_001);
    expect(fourth.settled('a')).toBeUndefined();
  });

  it('close no answer that leads on by way of another one', async () => {
    const { clock, shared, one, two } = setUpTwo();
    await one.exchange('a', to('b'));
    await two.exchange('a', never);
    await two.exchange('b', to('c'), ['a']);
    one.refresh.received('b');
    await told();
    clock.advance(25_001);
    const third = setUp({ shared, clock });
    for (const token of ['a', 'b']) expect((await third.exchange(token, never)).answer).toEqual(to('c'));
  });

  it('ask the provider for a token in between, once that of the browser has ended', async () => {
    const { clock, one, two } = setUpTwo();
    await one.exchange('a', to('b'));
    await one.exchange('b', to('c'), ['a']);
    one.refresh.received('c');
    await told();
    clock.advance(25_001);
    expect(await two.exchange('b', to('c'))).toEqual({ answer: to('c'), isNew: true });
    expect((await one.exchange('b', never)).answer).toEqual(to('c'));
    expect(two.events).toEqual([]);
  });

  it('give no tokens that the provider gives again after what they led to has ended', async () => {
    const { clock, one, two } = setUpTwo();
    await one.exchange('a', to('b'));
    await one.exchange('b', to('c'), ['a']);
    one.refresh.received('c');
    await told();
    clock.advance(25_001);
    const again = { ...to('b'), isRepeated: true };
    for (const each of [one, two]) {
      const { answer, isNew } = await each.exchange('a', again);
      expect([answer, isNew]).toEqual([{ kind: 'ended', reason: 'superseded' }, false]);
    }
    // It is no refusal of the provider's.
    expect((await two.exchange('a', to('x'))).answer).toEqual(to('x'));
  });

  it.each<[readonly string[]]>([[[]], [['a']]])(
    'ask before they give what led to a token that the provider gave again here, for a holder of %j, and rotated elsewhere',
    async (former) => {
      const { one, two } = setUpTwo();
      await one.exchange('a', to('b'));
      await one.exchange('b', { ...to('b'), text: 'again', issuedAt: 1_700_000_000_000 }, former);
      await told();
      await two.exchange('b', to('c'));
      expect(one.settled('a')).toBeUndefined();
      expect((await one.exchange('a', never)).answer).toEqual(to('c'));
    },
  );

  it('use the answer of a token that the provider gave again where neither it nor the coordinator answers', async () => {
    const { shared, one } = setUpTwo();
    await one.exchange('a', { ...to('a'), text: 'again' });
    shared.isDown = true;
    expect(await one.exchange('a', never)).toMatchObject({ answer: { text: 'again' }, isNew: false });
    const run = () => Promise.resolve({ ...to('a'), text: 'newer' });
    const asked = one.refresh.run(holding('a', false), { former: [], run });
    expect(await asked).toMatchObject({ answer: { text: 'newer' }, isNew: true });
  });

  it('answer a token by the one that a browser holds, never by one in between', async () => {
    const { shared, one, two } = setUpTwo();
    const settle = shared.settle.bind(shared);
    await one.exchange('a', to('b'));
    await two.exchange('a', never);
    // Two knows the own answer of `b`, which is answered by `a` then.
    await two.exchange('b', to('c'));
    await one.exchange('b', never, ['a']);
    await settle('b', { answer: '{"kind":"by","token":"a"}', weight: 2e11, ttlMs: day });
    const further = JSON.stringify({ kind: 'renewed', token: 'd', text: 'of d', steps: 3 });
    await settle('a', { answer: further, weight: 3e11, ttlMs: day });
    expect((await two.exchange('c', never, ['b'])).answer).toEqual(to('d'));
    await told();
    expect((await shared.take('c')).answer).toBe('{"kind":"by","token":"a"}');
  });

  it('ask once more for a token that the provider gave again here and rotated elsewhere', async () => {
    const { one, two } = setUpTwo();
    await one.exchange('a', { ...to('a'), text: 'again' });
    expect(await one.exchange('a', never)).toMatchObject({ answer: { text: 'again' }, isNew: false });
    await two.exchange('a', to('b'));
    expect((await one.exchange('a', never)).answer).toEqual(to('b'));
  });

  it('ask no provider for a token in between, while the coordinator does not say where it leads', async () => {
    const { shared, one, two } = setUpTwo();
    await one.exchange('a', to('b'));
    await one.exchange('b', to('c'), ['a']);
    const take = shared.take.bind(shared);
    shared.take = (token, turn) => (token === 'a' ? Promise.reject(new Error('down')) : take(token, turn));
    await expect(two.exchange('b', never)).rejects.toMatchObject({ reason: 'coordinator' });
    shared.take = take;
    expect((await two.exchange('b', never)).answer).toEqual(to('c'));
  });

  it.each(['fails', 'leads elsewhere'])(
    'keep an answer with the token itself where that of the browser %s',
    async (what) => {
      const { shared, one, two } = setUpTwo();
      await one.exchange('a', to('b'));
      const settle = shared.settle.bind(shared);
      const further = { kind: 'renewed', token: 'x', text: 'of x', steps: 9 };
      shared.settle = async (token, change) => {
        if (token !== 'a') return settle(token, change);
        if (what === 'fails') throw new Error('down');
        return JSON.stringify(further);
      };
      expect((await one.exchange('b', to('c'), ['a'])).answer).toEqual(to('c'));
      await told();
      expect((await two.exchange('b', never)).answer).toEqual(to('c'));
    },
  );

  it('keep the answer of the one that took over, for as long as it stands', async () => {
    const { clock, shared, one, two } = setUpTwo();
    const held = Promise.withResolvers<Exchanged>();
    const late = one.exchange('a', held.promise);
    await until(() => one.calls.length === 1);
    clock.advance(3_000);
    await two.exchange('a', to('b'));
    held.resolve(to('b'));
    await late;
    clock.advance(day);
    shared.isDown = true;
    expect((await one.exchange('a', never)).answer).toEqual(to('b'));
  });

  it('forget an answer for each other', async () => {
    const { shared, one, two } = setUpTwo();
    await one.exchange('a', to('b'));
    const settle = jest.spyOn(shared, 'settle');
    one.refresh.forget('a');
    await told();
    expect(settle.mock.calls.map(([token]) => token)).toEqual(['a']);
    expect((await two.exchange('a', ended)).answer).toEqual(ended);
  });

  it.each(['take', 'settle'] as const)('go on alone where the coordinator fails: %s', async (call) => {
    const { shared, one } = setUpTwo();
    Object.assign(shared, { [call]: () => Promise.reject(new Error('down')) });
    expect(await one.exchange('a', to('b'))).toEqual({ answer: to('b'), isNew: true });
    expect([one.calls, one.settled('a')]).toEqual([['a'], to('b')]);
    expect(one.reports).toEqual([{ type: 'coordinator_unavailable', operation: 'refresh', reason: 'unavailable' }]);
  });

  it.each(['take', 'settle'] as const)('know the answer of one that went on alone, as its %s failed', async (call) => {
    const { shared, one, two } = setUpTwo();
    const asked = Reflect.get(shared, call) as (...given: unknown[]) => Promise<unknown>;
    let isFirst = true;
    const failOnce = async (...given: unknown[]): Promise<unknown> => {
      if (!isFirst) return asked(...given);
      isFirst = false;
      // The turn is given, and its answer comes too late.
      if (call === 'take') await asked(...given);
      throw new Error('too late');
    };
    Object.assign(shared, { [call]: failOnce });
    expect((await one.exchange('a', to('b'))).answer).toEqual(to('b'));
    await told();
    expect(await two.exchange('a', never)).toEqual({ answer: to('b'), isNew: false });
  });

  it('ask again for a turn that another one may still have, where the coordinator fails once', async () => {
    const { shared, one, two } = setUpTwo();
    const held = Promise.withResolvers<Exchanged>();
    const first = one.exchange('a', held.promise);
    await until(() => one.calls.length === 1);
    const asked = jest.spyOn(shared, 'take');
    const second = two.exchange('a', never);
    await until(() => asked.mock.calls.length === 1);
    shared.isDown = true;
    await until(() => asked.mock.calls.length === 2);
    shared.isDown = false;
    held.resolve(to('b'));
    expect([(await first).answer, (await second).answer]).toEqual([to('b'), to('b')]);
  });

  it.each(['one', 'two'] as const)(
    'take no answer that the provider gave before for the newest one: %s',
    async (name) => {
      const { clock, shared, one, two } = setUpTwo();
      await one.exchange('a', to('b'));
      one.refresh.received('b');
      await one.exchange('b', to('c'));
      await told();
      clock.advance(25_001);
      const repeated = { ...to('b'), isRepeated: true };
      expect(await { one, two }[name].exchange('a', repeated)).toEqual({ answer: to('c'), isNew: false });
      const third = setUp({ shared, clock });
      expect(await third.exchange('a', never)).toEqual({ answer: to('c'), isNew: false });
      clock.advance(25_001);
      expect((await third.exchange('a', repeated)).isNew).toBe(false);
      expect(third.calls).toEqual(['a']);
    },
  );

  it('keep the answer of a token that a browser got by way of another one', async () => {
    const { clock, shared, one, two } = setUpTwo();
    await one.exchange('a', to('b'));
    await two.exchange('a', never);
    one.refresh.received('b');
    await told();
    await two.exchange('b', to('c'), ['a']);
    clock.advance(7 * day);
    const third = setUp({ shared, clock });
    expect((await third.exchange('b', never)).answer).toEqual(to('c'));
  });

  it.each(['a token that it holds', 'a refused variant'])(
    'do not wait for ever where the coordinator keeps the outcome of one attempt for all: %s',
    async (outcome) => {
      const { shared, one } = setUpTwo();
      const text =
        outcome === 'a refused variant' ? { kind: 'failed', reason: 'variant_refused' } : { ...to('a'), steps: 0 };
      shared.take = () => Promise.resolve({ answer: JSON.stringify(text), ttlMs: 60_000, turnMs: 2_000 });
      const run = () => Promise.resolve(to('b'));
      expect(seen(await one.refresh.run(holding('a', false), { former: [], run })).answer).toEqual(to('b'));
      expect(one.events).toEqual(['coordinator_unavailable']);
    },
  );

  it('tell once more what the coordinator did not take', async () => {
    const { clock, shared, one, two } = setUpTwo();
    await one.exchange('a', to('b'));
    shared.isDown = true;
    one.refresh.received('b');
    await told();
    shared.isDown = false;
    await until(() => one.events.includes('coordinator_unavailable'));
    const { ttlMs } = await untilClosed(shared);
    expect(ttlMs).toBeLessThanOrEqual(25_000);
    clock.advance(25_001);
    expect((await two.exchange('a', ended)).answer).toEqual(ended);
  });
});

describe('superseded', () => {
  it('is a token of a session that has another one, issued no earlier', () => {
    const { refresh } = setUp();
    expect(refresh.isSuperseded('s', 'a', 5)).toBe(false);
    refresh.note('s', { token: 'b', issuedAt: 5 }, []);
    expect([4, 5, 6].map((issuedAt) => refresh.isSuperseded('s', 'a', issuedAt))).toEqual([true, true, false]);
    expect([refresh.isSuperseded('s', 'b', 5), refresh.isSuperseded('t', 'a', 4)]).toEqual([false, false]);
    expect(refresh.isSuperseded(undefined, 'a', 4)).toBe(false);
  });

  it('is no newest token, also where a request that waited brings an older one, or the clock went back', () => {
    const { refresh } = setUp();
    for (const issuedAt of [7, 6]) refresh.note('s', { token: `of ${issuedAt}`, issuedAt }, []);
    expect([refresh.isSuperseded('s', 'of 6', 6), refresh.isSuperseded('s', 'of 7', 7)]).toEqual([true, false]);
    refresh.note('s', { token: 'late', issuedAt: 6 }, [holding('of 5')]);
    expect(refresh.isSuperseded('s', 'late', 6)).toBe(true);
    refresh.note('s', { token: 'its answer', issuedAt: 2 }, [holding('of 7')]);
    expect([refresh.isSuperseded('s', 'its answer', 2), refresh.isSuperseded('s', 'of 7', 7)]).toEqual([false, true]);
  });

  it('is of two that were issued in the same second the first one', () => {
    const { refresh } = setUp();
    for (const token of ['first', 'second']) refresh.note('s', { token, issuedAt: 7 }, []);
    expect(['first', 'second'].map((token) => refresh.isSuperseded('s', token, 7))).toEqual([true, false]);
  });
});
