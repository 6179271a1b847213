import { jest } from '@jest/globals';
import { AuthError } from '../../lib/errors.ts';
import type { SharedCoordinator } from '../../lib/session/coordinator.ts';
import { VariantRefused } from '../../lib/session/token-exchange.ts';
import { pairOf } from '../../lib/session/token-line.ts';
import { createTokenLines, placeOf } from '../../lib/session/token-lines.ts';
import type { Exchanged, Place, SettledRefresh } from '../../lib/session/token-lines.ts';
import { readToken } from '../../lib/session/jwt.ts';
import { createClock } from '../support/clock.ts';
import { until } from '../support/until.ts';
import { createShared } from '../support/shared-memory.ts';

const renewed: SettledRefresh = { kind: 'renewed', text: 'new tokens' };
const ended: SettledRefresh = { kind: 'ended', reason: 'invalid_grant' };

interface SetUp {
  readonly shared?: SharedCoordinator;
  readonly timeoutMs?: number;
  readonly callLifeMs?: number;
}

function setUp({ shared, timeoutMs = 5_000, callLifeMs = 25_000 }: SetUp = {}) {
  const clock = createClock();
  const events: string[] = [];
  const told: unknown[] = [];
  const lines = createTokenLines({
    now: clock.now,
    emit: (event) => {
      events.push(event.type);
      told.push(event);
    },
    timeoutMs,
    callLifeMs,
    shared,
  });
  let calls = 0;
  const answering = (settled: SettledRefresh) => () => {
    calls += 1;
    return Promise.resolve(settled);
  };
  /** Exchanges the only token of a session. */
  const run = (name: string, refresh: (signal: AbortSignal) => Promise<SettledRefresh>, variant?: string) =>
    lines.run(place(name), {
      variant,
      run: async (signal) => exchanged(name, await refresh(signal)),
    });
  return {
    clock,
    events,
    told,
    lines,
    run,
    knows: (name: string) => lines.knows(place(name)),
    isResting: (name: string) => lines.isResting(place(name)),
    deliver: (name: string) => lines.deliver(place(name), `after ${name}`),
    forget: (name: string) => lines.forget(place(name)),
    answering,
    calls: () => calls,
  };
}

const place = (name: string): Place => ({ line: `session of ${name}`, token: name, pair: name });

function exchanged(name: string, settled: SettledRefresh): Exchanged {
  const { line } = place(name);
  return settled.kind === 'ended'
    ? settled
    : { ...settled, place: { line, token: `after ${name}`, pair: `after ${name}` } };
}

/** Where a token of one session stands, which may have several. */
const at = (token: string): Place => ({ line: 'session', token, pair: token });

const to = (next: string) => ({
  run: () => Promise.resolve({ kind: 'renewed' as const, text: `of ${next}`, place: at(next) }),
});

const day = 24 * 60 * 60_000;
/** What is told to the coordinator without waiting. */
const settle = (): Promise<unknown> => new Promise((resolve) => setImmediate(resolve));

const failing = (error: Error) => () => Promise.reject(error);

describe('one process', () => {
  afterEach(() => jest.useRealTimers());

  it('runs one refresh for all simultaneous callers, and reports it as new only to the first', async () => {
    const { run, knows } = setUp();
    const { promise, resolve } = Promise.withResolvers<SettledRefresh>();
    let calls = 0;
    const refresh = () => {
      calls += 1;
      return promise;
    };
    const all = Array.from({ length: 50 }, () => run('key', refresh));
    expect(knows('key')).toBe(true);
    resolve(renewed);
    const answers = await Promise.all(all);
    expect(calls).toBe(1);
    expect(answers.filter(({ isNew }) => isNew)).toHaveLength(1);
    for (const { settled } of answers) expect(settled).toEqual(renewed);
  });

  it('keeps tokens separate', async () => {
    const { run, knows, answering, calls } = setUp();
    await run('one', answering(renewed));
    expect(knows('two')).toBe(false);
    await run('two', answering(ended));
    expect(calls()).toBe(2);
  });

  it('keeps an answer until the browser has received it', async () => {
    const { run, clock, answering, calls } = setUp();
    await run('key', answering(renewed));
    clock.advance(23 * 60 * 60_000);
    expect(await run('key', answering(ended))).toEqual({ settled: renewed, isNew: false });
    expect(calls()).toBe(1);
  });

  it('keeps an answer for 25 seconds after the browser received it', async () => {
    const { run, deliver, clock, answering, calls } = setUp();
    await run('key', answering(renewed));
    clock.advance(60_000);
    deliver('key');
    clock.advance(25_000);
    expect((await run('key', answering(ended))).settled).toEqual(renewed);
    clock.advance(1);
    expect((await run('key', answering(ended))).settled).toEqual(ended);
    expect(calls()).toBe(2);
  });

  it('does not restart the 25 seconds with each further delivery', async () => {
    const { run, knows, deliver, clock, answering } = setUp();
    await run('key', answering(renewed));
    deliver('key');
    clock.advance(20_000);
    deliver('key');
    clock.advance(5_001);
    expect(knows('key')).toBe(false);
  });

  it('remembers for ten minutes that a token was used', async () => {
    const { run, clock, answering, calls } = setUp();
    await run('key', answering(ended));
    clock.advance(10 * 60_000);
    expect(await run('key', answering(renewed))).toEqual({ settled: ended, isNew: false });
    expect(calls()).toBe(1);
    clock.advance(1);
    await run('key', answering(ended));
    expect(calls()).toBe(2);
  });

  it.each(['undelivered', 'delivered'])('keeps %s answers despite the traffic of other users', async (which) => {
    const { run, knows, deliver, answering } = setUp();
    await run('key', answering(renewed));
    if (which === 'delivered') deliver('key');
    for (let index = 0; index < 25_000; index += 1) await run(`other ${index}`, answering(ended));
    expect(knows('key')).toBe(true);
  });

  it('forgets only the tokens that it is told to forget', async () => {
    const { run, knows, forget, answering } = setUp();
    await run('one', answering(renewed));
    await run('two', answering(renewed));
    forget('one');
    expect([knows('one'), knows('two')]).toEqual([false, true]);
  });

  it('forgets a refusal, if it is told to', async () => {
    const { run, forget, answering } = setUp();
    await run('key', answering(ended));
    forget('key');
    expect(await run('key', answering(renewed))).toEqual({ settled: renewed, isNew: true });
  });

  it.each(['undelivered', 'delivered'])('forgets the %s tokens of one sign-in of a session', async (which) => {
    const { lines } = setUp();
    for (const token of ['a', 'x']) await lines.run(at(token), to(`${token}2`));
    if (which === 'delivered') for (const token of ['a', 'x']) lines.deliver(at(token), `${token}2`);
    lines.forgetPair(at('a'));
    expect([lines.knows(at('a')), lines.knows(at('x'))]).toEqual([false, true]);
    lines.forgetPair(at('x'));
    expect(lines.knows(at('x'))).toBe(false);
  });

  it('forgets tokens that the browser already received, if it is told to', async () => {
    const { run, knows, deliver, forget, answering, calls } = setUp();
    await run('key', answering(renewed));
    deliver('key');
    forget('key');
    expect(knows('key')).toBe(false);
    expect(await run('key', answering(ended))).toEqual({ settled: ended, isNew: true });
    expect(calls()).toBe(2);
  });

  it('shares a call among holders of one pair; those of another pair of its token ask after it, within their own limits', async () => {
    const { lines, answering, calls } = setUp();
    const held = Promise.withResolvers<SettledRefresh>();
    const [one, other] = ['one', 'other'].map((tag) => ({ ...place('key'), pair: pairOf('key', tag) })) as [
      Place,
      Place,
    ];
    const to = (tag: string, answer: () => Promise<SettledRefresh>) => ({
      run: async (): Promise<Exchanged> => {
        const settled = await answer();
        return settled.kind === 'ended' ? settled : { ...settled, place: { ...one, pair: pairOf('key', tag) } };
      },
    });
    const first = lines.run(
      one,
      to('first', () => held.promise),
    );
    const joined = lines.run(one, to('never', answering(renewed)));
    const later = lines.run(other, to('later', answering({ kind: 'renewed', text: 'later tokens' })));
    expect([lines.knows(one), lines.knows(other)]).toEqual([true, false]);
    held.resolve(renewed);
    expect([await first, await joined]).toEqual([
      { settled: renewed, isNew: true },
      { settled: renewed, isNew: false },
    ]);
    expect(await later).toEqual({ settled: { kind: 'renewed', text: 'later tokens' }, isNew: true });
    expect(calls()).toBe(1);
  });

  it('makes two calls at most for however many pairs of one token: the second began when all had theirs', async () => {
    const { lines } = setUp();
    let calls = 0;
    const held = Promise.withResolvers<undefined>();
    const runs = Array.from({ length: 100 }, (_, index) => {
      const at = { ...place('key'), pair: pairOf('key', `${index}`) };
      const run = async (): Promise<Exchanged> => {
        const call = (calls += 1);
        await held.promise;
        return { kind: 'renewed', text: `of call ${call}`, place: { ...at, pair: pairOf('key', `new ${call}`) } };
      };
      return lines.run(at, { run });
    });
    held.resolve(undefined);
    const answers = await Promise.all(runs);
    const texts = answers.map(({ settled }) => settled.kind === 'renewed' && settled.text);
    expect(texts).toEqual(['of call 1', ...Array.from({ length: 99 }, () => 'of call 2')]);
    expect([calls, answers.filter(({ isNew }) => isNew).length]).toEqual([2, 2]);
  });

  it('sends a token that the call before has rotated no second time, whatever session another holder names', async () => {
    const { lines } = setUp();
    const [one, other] = [place('key'), { ...place('key'), line: 'another session', pair: pairOf('key', 'other') }];
    const held = Promise.withResolvers<Exchanged>();
    const first = lines.run(one, { run: () => held.promise });
    const second = lines.run(other, { run: () => Promise.reject(new Error('sent twice')) });
    held.resolve({ ...renewed, place: { ...place('next'), line: one.line } });
    expect([(await first).settled, (await second).settled]).toEqual([renewed, renewed]);
  });

  const access = 'header.claims.signature';

  it('identifies a token by its adapter and a digest, and a pair by that of its access token, too, never by their values', () => {
    const find = (adapter: 'b2b' | 'backend', refreshToken: string, accessToken = access) =>
      placeOf(adapter, { refreshToken, sessionId: 'a session', token: readToken(accessToken) });
    const { token, pair } = find('b2b', 'a refresh token');
    expect(token).toMatch(/^b2b:[\w-]{43}$/);
    expect(pair).toMatch(/^b2b:[\w-]{43}\.[\w-]{22}$/);
    expect(find('backend', 'a refresh token').token).not.toBe(token);
    expect(find('b2b', 'another one').token).not.toBe(token);
    const again = find('b2b', 'a refresh token', 'header.claims.another');
    expect([again.token, again.pair === pair]).toEqual([token, false]);
    expect(find('b2b', 'a refresh token').pair).toBe(pair);
  });

  it('keeps the tokens of a session in one line, and each token without a session in its own', () => {
    const lineOf = (sessionId: string | undefined, adapter: 'b2b' | 'backend' = 'b2b') =>
      placeOf(adapter, { refreshToken: 'a refresh token', sessionId, token: readToken(access) }).line;
    expect(lineOf('one')).toMatch(/^b2b:session:[\w-]{43}$/);
    expect(placeOf('b2b', { refreshToken: 'another one', sessionId: 'one', token: readToken(access) }).line).toBe(
      lineOf('one'),
    );
    expect([lineOf('two'), lineOf('one', 'backend')]).not.toContain(lineOf('one'));
    expect(lineOf(undefined)).toBe(
      placeOf('b2b', { refreshToken: 'a refresh token', sessionId: undefined, token: readToken(access) }).token,
    );
  });

  it('supersedes a token by another of its session that was issued no earlier', () => {
    const { lines } = setUp();
    expect(lines.isSuperseded(at('a'), 5)).toBe(false);
    lines.note(at('b'), 5, []);
    expect([4, 5, 6].map((issuedAt) => lines.isSuperseded(at('a'), issuedAt))).toEqual([true, true, false]);
    expect(lines.isSuperseded(at('b'), 5)).toBe(false);
    expect(lines.isSuperseded({ ...at('a'), line: 'another session' }, 5)).toBe(false);
  });

  it('supersedes a token by the newest of its session, also where a request that waited brings an older one, or a clock went back', () => {
    const { lines } = setUp();
    for (const issuedAt of [7, 6]) lines.note(at(`of ${issuedAt}`), issuedAt, []);
    expect([lines.isSuperseded(at('of 6'), 6), lines.isSuperseded(at('of 7'), 7)]).toEqual([true, false]);
    lines.note(at('of the same second'), 7, []);
    expect(lines.isSuperseded(at('of 7'), 7)).toBe(true);
    // The provider's clock went back.
    lines.note(at('its answer'), 2, [at('of 6'), at('of the same second')]);
    expect([lines.isSuperseded(at('its answer'), 2), lines.isSuperseded(at('of 6'), 2)]).toEqual([false, true]);
  });

  it('gives requests under way the successor of a token that no refresh produced', () => {
    const { lines, clock } = setUp();
    lines.follow(at('a'), at('b'), 'of b');
    expect(lines.settled(at('a'))).toEqual({ kind: 'renewed', text: 'of b' });
    clock.advance(25_000);
    expect(lines.knows(at('a'))).toBe(true);
    clock.advance(1);
    expect(lines.knows(at('a'))).toBe(false);
  });

  it('keeps the successor of a token that was exchanged before, and its holders', async () => {
    const { lines, clock } = setUp();
    for (const token of ['a', 'x']) await lines.run(at(token), to(`${token}2`));
    lines.follow(at('a'), at('b'), 'of b');
    clock.advance(25_001);
    expect(lines.settled(at('a'))).toEqual({ kind: 'renewed', text: 'of a2' });
  });

  it('gives requests under way the successor of one token, also where another of its session was exchanged', async () => {
    const { lines, clock } = setUp();
    await lines.run(at('x'), to('x2'));
    lines.follow(at('a'), at('b'), 'of b');
    clock.advance(25_001);
    expect([lines.knows(at('a')), lines.knows(at('x'))]).toEqual([false, true]);
  });

  it('keeps the successors of a session rather than those that lead to another', async () => {
    const { lines } = setUp();
    await lines.run(at('a'), to('b'));
    lines.follow(at('x'), at('y'), 'of y');
    for (let index = 0; index < 20; index += 1) {
      lines.follow(at(`his ${index}`), { ...at(`next ${index}`), line: 'another session' }, 'of his');
    }
    expect([lines.settled(at('a')), lines.settled(at('x'))]).toMatchObject([{ text: 'of b' }, { text: 'of y' }]);
  });

  it.each([
    ['in its line', 'session'],
    ['in another line', 'a line of its own'],
  ])('gives the answer to holders of a token that led to it, %s', async (_where, line) => {
    const { lines } = setUp();
    const former = { ...at('former'), line };
    await lines.run(former, to('a'));
    await lines.run(at('a'), { ...to('b'), former: [former] });
    expect(lines.settled(former)).toEqual({ kind: 'renewed', text: 'of b' });
    await lines.run(at('b'), { former: [former], run: () => Promise.resolve(ended) });
    expect([lines.settled(former), lines.settled(at('b'))]).toEqual([{ kind: 'renewed', text: 'of b' }, ended]);
  });

  it('shares the refusal of a variant with requests for the same one, and runs the others', async () => {
    const { run, events, isResting, answering, calls } = setUp();
    const refused = new VariantRefused('south', new Error('not a member'));
    const [first, same, ordinary, north] = [
      run('key', failing(refused), 'south'),
      run('key', answering(ended), 'south'),
      run('key', answering(renewed)),
      run('key', answering(ended), 'north'),
    ];
    await expect(first).rejects.toBe(refused);
    await expect(same).rejects.toBe(refused);
    expect([await ordinary, await north]).toEqual([
      { settled: renewed, isNew: true },
      { settled: renewed, isNew: false },
    ]);
    expect([calls(), events, isResting('key')]).toEqual([1, [], false]);
  });

  it('shares a failure among waiting callers, and does not remember it', async () => {
    const { run, answering, events } = setUp();
    const failure = new AuthError('provider_unavailable', { retryAfter: 7 });
    const both = [run('key', failing(failure)), run('key', answering(renewed))];
    expect(await Promise.allSettled(both)).toEqual([
      { status: 'rejected', reason: failure },
      { status: 'rejected', reason: failure },
    ]);
    expect(events).toEqual(['refresh_failed']);
    expect((await run('key', answering(renewed))).isNew).toBe(true);
  });

  it('turns any error into an outage', async () => {
    const { run } = setUp();
    const cause = new TypeError('a bug');
    await expect(run('key', failing(cause))).rejects.toMatchObject({
      code: 'provider_unavailable',
      status: 503,
      retryAfter: 5,
      cause,
    });
  });

  it.each([
    [undefined, 5],
    [0, 1],
    [7, 7],
    [1_000_000, 60],
  ])('pauses after a failure with Retry-After %p for %p seconds', async (retryAfter, seconds) => {
    const { run, isResting, clock } = setUp();
    const failure = new AuthError('provider_unavailable', retryAfter === undefined ? {} : { retryAfter });
    await run('key', failing(failure)).catch(() => undefined);
    expect([isResting('key'), isResting('other')]).toEqual([true, false]);
    clock.advance(seconds * 1000);
    expect(isResting('key')).toBe(true);
    clock.advance(1);
    expect(isResting('key')).toBe(false);
  });

  it('reports that an answer is slow, and still receives it', async () => {
    const { run, knows, isResting, events, told, answering, calls } = setUp({ timeoutMs: 20 });
    const { promise, resolve } = Promise.withResolvers<SettledRefresh>();
    const first = run('key', () => promise);
    await until(() => events.length > 0);
    expect(told).toEqual([{ type: 'refresh_failed', code: 'provider_unavailable', reason: 'timeout' }]);
    expect([events, isResting('key'), knows('key')]).toEqual([['refresh_failed'], true, true]);
    const joined = run('key', answering(ended));
    resolve(renewed);
    expect([(await first).settled, (await joined).settled]).toEqual([renewed, renewed]);
    expect([calls(), events, isResting('key')]).toEqual([0, ['refresh_failed'], false]);
  });

  it('reports nothing once the answer is there', async () => {
    jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask', 'Date', 'performance'] });
    const { run, events, isResting, answering } = setUp({ timeoutMs: 1_000 });
    await run('key', answering(renewed));
    jest.advanceTimersByTime(1_000);
    expect([events, isResting('key')]).toEqual([[], false]);
  });

  it('reports a slow failure once', async () => {
    const { run, events } = setUp({ timeoutMs: 20 });
    const { promise, reject } = Promise.withResolvers<SettledRefresh>();
    const first = run('key', () => promise);
    await until(() => events.length > 0);
    reject(new AuthError('provider_unavailable'));
    await expect(first).rejects.toThrow(AuthError);
    expect(events).toEqual(['refresh_failed']);
  });

  it('gives up at the time limit of the call, and keeps an answer that comes later', async () => {
    const { run, knows, answering, calls } = setUp({ timeoutMs: 10, callLifeMs: 20 });
    const { promise, resolve } = Promise.withResolvers<SettledRefresh>();
    let signal: AbortSignal | undefined;
    const refresh = (given: AbortSignal) => {
      signal = given;
      return promise;
    };
    await expect(run('key', refresh)).rejects.toMatchObject({ code: 'provider_unavailable' });
    expect([signal?.aborted, knows('key')]).toEqual([true, false]);
    resolve(renewed);
    await new Promise((done) => setImmediate(done));
    expect((await run('key', answering(ended))).settled).toEqual(renewed);
    expect(calls()).toBe(0);
  });

  it('prefers a late answer to the refusal of a second try with the same token', async () => {
    const { run } = setUp({ timeoutMs: 10, callLifeMs: 20 });
    const first = Promise.withResolvers<SettledRefresh>();
    const second = Promise.withResolvers<SettledRefresh>();
    await run('key', () => first.promise).catch(() => undefined);
    const retry = run('key', () => second.promise);
    first.resolve(renewed);
    await first.promise;
    second.resolve(ended);
    expect((await retry).settled).toEqual(renewed);
  });
});

describe('the memory for answers', () => {
  const answer = (length: number): SettledRefresh => ({ kind: 'renewed', text: 'x'.repeat(length) });

  it.each([
    ['undelivered answers', 16, 6_000, 'x'],
    ['delivered answers', 12, 6_000, 'x'],
    ['answers in another script, of two bytes a character', 16, 6_000, 'Ж'],
    ['small answers, with what an entry takes', 16, 10, 'x'],
  ])('needs for %s no more than its limit: %s MB', async (what, maxMegabytes, length, character) => {
    const { run, knows, deliver, answering } = setUp();
    const text = character.repeat(length);
    const bytes = length * (character === 'x' ? 1 : 2) + 600;
    const most = Math.floor((maxMegabytes * 1024 * 1024) / bytes);
    const keys = Array.from({ length: most + 100 }, (_, index) => `key ${index}`);
    for (const key of keys) {
      await run(key, answering({ kind: 'renewed', text }));
      if (what.startsWith('delivered')) deliver(key);
    }
    const held = keys.filter((key) => knows(key));
    expect(held).toHaveLength(most);
    expect(held.at(-1)).toBe(keys.at(-1));
  });

  it('keeps the answers of other users, however often one signs in and fetches none of the answers', async () => {
    const { lines, run, knows, answering, calls } = setUp();
    const exchangeOf = (index: number, owner: string | undefined) => {
      const token = `token ${index}`;
      const newest = { line: `line ${index}`, token: `after ${token}`, pair: `after ${token}`, owner };
      const renewal = { kind: 'renewed' as const, text: 'x'.repeat(6_000), place: newest };
      // Whose answer it is, its own tokens say: those that led to it may not be verified.
      return lines.run({ ...newest, token, pair: token, owner: undefined }, { run: () => Promise.resolve(renewal) });
    };
    await run('of another user', answering(renewed));
    for (let index = 0; index < 4_000; index += 1) await exchangeOf(index, 'mallory');
    expect(knows('of another user')).toBe(true);
    const known = (index: number) =>
      lines.knows({ line: `line ${index}`, token: `token ${index}`, pair: `token ${index}` });
    const kept = Array.from({ length: 4_000 }, (_, index) => known(index)).lastIndexOf(false);
    // An eighth of 16 MB: the newest ones.
    expect([4_000 - kept > 200, 4_000 - kept < 400, known(3_999), calls()]).toEqual([true, true, true, 1]);
  });

  it('counts for a user only what is kept: answers that were fetched make room', async () => {
    const { clock, lines } = setUp();
    const placed = (name: string): Place => ({ line: `line ${name}`, token: name, pair: name, owner: 'ada' });
    const exchangeOf = async (name: string): Promise<void> => {
      const renewal = {
        kind: 'renewed' as const,
        text: 'x'.repeat(6_000),
        place: { ...placed(name), pair: `after ${name}` },
      };
      await lines.run(placed(name), { run: () => Promise.resolve(renewal) });
    };
    await exchangeOf('of a phone');
    for (let index = 0; index < 1_000; index += 1) {
      await exchangeOf(`${index}`);
      lines.deliver(placed(`${index}`), `after ${index}`);
      clock.advance(1_000);
    }
    expect(lines.knows(placed('of a phone'))).toBe(true);
  });

  it('stores no answer that is too large for a cookie; waiting callers receive it', async () => {
    const { run, knows, answering } = setUp();
    const huge = answer(512 * 1024);
    const { settled } = await run('key', answering(huge));
    expect(settled.kind === 'renewed' && settled.text.length).toBe(512 * 1024);
    expect(knows('key')).toBe(false);
  });
});

it('says whose the tokens are', () => {
  const token = readToken('a.b.c');
  const ownerOf = (userId: string | undefined) =>
    placeOf('b2b', { refreshToken: 'r', sessionId: 's', token, userId }).owner;
  expect([ownerOf('ada') === ownerOf('ada'), ownerOf('ada') === ownerOf('eve'), ownerOf(undefined)]).toEqual([
    true,
    false,
    undefined,
  ]);
});

describe('several processes', () => {
  const createTwo = (shared = createShared()) => ({ shared, one: setUp({ shared }), two: setUp({ shared }) });

  it('keep tokens that no response delivered for a week, and close them once a request carries them', async () => {
    const clock = createClock();
    const { one, two } = createTwo(createShared(clock.now));
    const advance = (ms: number): void => [clock, one.clock, two.clock].forEach((each) => each.advance(ms));
    await one.run('key', one.answering(renewed));
    await settle();
    advance(7 * day);
    expect((await two.run('key', two.answering(ended))).settled).toEqual(renewed);
    two.lines.present({ ...place('key'), token: 'after key', pair: 'after key' });
    await settle();
    advance(26_000);
    expect(two.knows('key')).toBe(false);
    expect((await two.run('key', two.answering(ended))).settled).toEqual(ended);
  });
  const away = (): Promise<never> => Promise.reject(new Error('no Redis'));

  it('exchange a token once, and give its answer to all', async () => {
    const { one, two } = createTwo();
    expect(await one.run('key', one.answering(renewed))).toEqual({ settled: renewed, isNew: true });
    expect(await two.run('key', two.answering(ended))).toEqual({ settled: renewed, isNew: false });
    expect(two.calls()).toBe(0);
  });

  it('wait for the process whose turn it is', async () => {
    const { one, two } = createTwo();
    const { promise, resolve } = Promise.withResolvers<SettledRefresh>();
    const first = one.run('key', () => promise);
    const second = two.run('key', two.answering(ended));
    await new Promise((done) => setTimeout(done, 100));
    resolve(renewed);
    expect([await first, await second]).toEqual([
      { settled: renewed, isNew: true },
      { settled: renewed, isNew: false },
    ]);
  });

  it('share a refusal, too', async () => {
    const { one, two } = createTwo();
    await one.run('key', one.answering(ended));
    expect(await two.run('key', two.answering(renewed))).toEqual({ settled: ended, isNew: false });
    expect(two.knows('key')).toBe(true);
  });

  it('share no refusal of a variant', async () => {
    const { one, two } = createTwo();
    const { promise, reject } = Promise.withResolvers<SettledRefresh>();
    const first = one.run('key', () => promise, 'south');
    await settle();
    const second = two.run('key', two.answering(renewed));
    await settle();
    reject(new VariantRefused('south', new Error('not a member')));
    await expect(first).rejects.toMatchObject({ variant: 'south' });
    expect(await second).toEqual({ settled: renewed, isNew: true });
    expect([one.events, two.events]).toEqual([[], []]);
  });

  it('give the answer to holders of a token that led to it in another line', async () => {
    const { one, two } = createTwo();
    const former = { ...at('former'), line: 'a line of its own' };
    await one.lines.run(former, to('a'));
    await one.lines.run(at('a'), { ...to('b'), former: [former] });
    await settle();
    expect((await two.lines.run(former, to('none'))).settled).toEqual({ kind: 'renewed', text: 'of b' });
  });

  it('share the failure of an attempt with those that waited for it, and not with later ones', async () => {
    const { one, two } = createTwo();
    const { promise, reject } = Promise.withResolvers<SettledRefresh>();
    const first = one.run('key', () => promise);
    const second = two.run('key', two.answering(renewed));
    await new Promise((done) => setTimeout(done, 100));
    reject(new AuthError('provider_refused', { retryAfter: 7, reason: 'a bad key', cause: new Error('secret') }));
    await expect(first).rejects.toMatchObject({ code: 'provider_refused' });
    const failure: unknown = await second.catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: 'provider_refused', retryAfter: 7 });
    expect(failure).not.toHaveProperty('cause');
    expect([two.calls(), two.events]).toEqual([0, ['refresh_failed']]);
    expect((await two.run('key', two.answering(renewed))).isNew).toBe(true);
  });

  it('give holders of a spent token the newest tokens, whichever process exchanged what', async () => {
    const { one, two } = createTwo();
    const exchange = (next: string) => ({
      run: () =>
        Promise.resolve({
          kind: 'renewed' as const,
          text: next,
          place: at(next),
        }),
    });
    await one.lines.run(at('a'), exchange('b'));
    await two.lines.run(at('b'), exchange('c'));
    expect(await two.lines.run(at('a'), exchange('none'))).toEqual({
      settled: { kind: 'renewed', text: 'c' },
      isNew: false,
    });
    two.lines.note(at('c'), 5, []);
    expect([two.lines.isSuperseded(at('a'), 5), two.lines.isSuperseded(at('c'), 5)]).toEqual([true, false]);
  });

  it.each([
    ['rotated', (serial: number) => at(`t${serial}`)],
    ['given again', (serial: number) => ({ ...at('t'), pair: pairOf('t', `${serial}`) })],
  ])('use no pair twice that a full line has dropped while one of them knew it as the newest: %s', async (_, nth) => {
    const clock = createClock();
    const { shared, one, two } = createTwo(createShared(clock.now));
    const held = nth(0);
    const exchange = ({ lines }: ReturnType<typeof setUp>, serial: number) => {
      [clock, one.clock, two.clock].forEach((each) => each.advance(60_000));
      const newest = { kind: 'renewed' as const, text: `of ${serial + 1}`, place: nth(serial + 1) };
      return lines.run(nth(serial), {
        former: serial === 0 ? [] : [held],
        run: () => Promise.resolve(newest),
      });
    };
    await exchange(one, 0);
    for (let serial = 1; serial < 20; serial += 1) await exchange(two, serial);
    expect(one.lines.settled(held)).toEqual({ kind: 'renewed', text: 'of 1' });
    expect(await exchange(one, 1)).toEqual({ settled: { kind: 'renewed', text: 'of 20' }, isNew: false });
    expect(one.lines.settled(held)).toEqual({ kind: 'renewed', text: 'of 20' });
    await settle();
    expect(await shared.take('session', { token: nth(1).token, holder: 'another' }, [])).toMatchObject({
      holder: 'another',
    });
  });

  it.each(['take', 'settle'] as const)(
    'continue alone where %s fails, use no token twice, and report it',
    async (verb) => {
      const { one } = createTwo(Object.assign(createShared(), { [verb]: away }));
      expect(await one.run('key', one.answering(renewed))).toEqual({ settled: renewed, isNew: true });
      expect(await one.run('key', one.answering(ended))).toEqual({ settled: renewed, isNew: false });
      expect(one.calls()).toBe(1);
      expect(one.told).toEqual([{ type: 'coordinator_unavailable', operation: 'refresh', reason: 'unavailable' }]);
    },
  );

  it('continue an own line after an outage, so that no holder of its tokens is left behind', async () => {
    const { shared, one, two } = createTwo();
    const at = (token: string): Place => ({ line: 'session', token, pair: token });
    const to = (next: string) => ({
      run: () =>
        Promise.resolve({
          kind: 'renewed' as const,
          text: next,
          place: at(next),
        }),
    });
    shared.isDown = true;
    await one.lines.run(at('a'), to('b'));
    shared.isDown = false;
    await one.lines.run(at('b'), to('c'));
    expect((await two.lines.run(at('a'), to('none'))).settled).toEqual({ kind: 'renewed', text: 'c' });
  });

  describe('after an outage', () => {
    const settledOf = async ({ lines }: ReturnType<typeof setUp>, token: string): Promise<SettledRefresh> =>
      (await lines.run(at(token), to('none'))).settled;

    /** Two processes, and the answers that the coordinator has accepted. */
    function createHeard(now?: () => number) {
      const accepted: (string | undefined)[] = [];
      const inner = createShared(now);
      const settle = inner.settle.bind(inner);
      inner.settle = async (line, change) => {
        const standing = await settle(line, change);
        if (standing === undefined) accepted.push(change.answer);
        return standing;
      };
      return { ...createTwo(inner), accepted };
    }

    it.each([0, 30_000, -30_000])(
      'tell each other with a delivery what was exchanged meanwhile, and for what, clocks %d ms apart',
      async (aheadMs) => {
        const { now } = createClock();
        const { shared, one, two, accepted } = createHeard(() => now() + aheadMs);
        shared.isDown = true;
        await one.lines.run(at('a'), to('b'));
        shared.isDown = false;
        one.lines.deliver(at('a'), 'b');
        await until(() => accepted.length > 0);
        expect(await settledOf(two, 'a')).toEqual({ kind: 'renewed', text: 'of b' });
      },
    );

    it('keep the answers that the others have', async () => {
      const { shared, one, two, accepted } = createHeard();
      await two.lines.run(at('a'), to('b'));
      shared.isDown = true;
      await one.lines.run(at('b'), to('c'));
      shared.isDown = false;
      // It has what both know, and shares it with its next change.
      expect(await settledOf(one, 'a')).toEqual({ kind: 'renewed', text: 'of c' });
      one.lines.deliver(at('a'), 'b');
      await until(() => accepted.at(-1)?.includes('of c') === true);
      for (const token of ['a', 'b']) {
        expect(await settledOf(setUp({ shared }), token)).toEqual({ kind: 'renewed', text: 'of c' });
      }
    });

    it('bring no session back that was signed out elsewhere', async () => {
      const { one, two } = createTwo();
      await one.lines.run(at('a'), to('b'));
      two.lines.forget(at('a'));
      one.lines.deliver(at('a'), 'b');
      expect(await settledOf(two, 'a')).toEqual({ kind: 'renewed', text: 'of none' });
    });
  });

  const cannotTell = (): never => {
    throw new Error('unknown');
  };
  it.each([
    ['throws', cannotTell],
    ['returns nothing', () => undefined as never],
    ['is missing', undefined],
  ])('treat an answer as the end of an outage if isAvailable %s', async (_what, isAvailable) => {
    const { shared, one } = createTwo(Object.assign(createShared(), isAvailable && { isAvailable }));
    shared.isDown = true;
    await one.run('one', one.answering(renewed));
    shared.isDown = false;
    await one.run('two', one.answering(renewed));
    expect(one.events).toEqual(['coordinator_unavailable', 'coordinator_recovered']);
  });

  it('report an outage once when it begins and once when it ends, however many refreshes it affects', async () => {
    let isDown = true;
    const inner = createShared();
    const shared: SharedCoordinator = {
      ...inner,
      take: (line, ...rest) => (isDown && line !== place('live').line ? away() : inner.take(line, ...rest)),
      isAvailable: () => !isDown,
    };
    const { run, answering, events } = setUp({ shared });
    // One part of the coordinator is unreachable, and the other one works.
    for (const name of ['one', 'live', 'two', 'live']) await run(name, answering(renewed));
    expect(events).toEqual(['coordinator_unavailable']);
    isDown = false;
    for (const name of ['three', 'four']) await run(name, answering(renewed));
    expect(events).toEqual(['coordinator_unavailable', 'coordinator_recovered']);
    isDown = true;
    await run('five', answering(renewed));
    expect(events).toEqual(['coordinator_unavailable', 'coordinator_recovered', 'coordinator_unavailable']);
  });

  it('start no exchange of their own once the time limit was spent waiting for another', async () => {
    const shared = Object.assign(createShared(), {
      take: () => Promise.resolve({ version: '', line: '', holder: 'another', turnMs: 1_000, now: 0 }),
    });
    const { run, answering, calls } = setUp({ shared, timeoutMs: 10, callLifeMs: 20 });
    await expect(run('key', answering(renewed))).rejects.toMatchObject({ code: 'provider_unavailable' });
    await settle();
    expect(calls()).toBe(0);
  });

  it('tell each other once what was delivered, and what has ended', async () => {
    const inner = createShared();
    const told: string[] = [];
    const shared: SharedCoordinator = {
      ...inner,
      settle: (line, change) => {
        told.push(`${change.known.length} known, ${change.ttlMs} ms`);
        return inner.settle(line, change);
      },
    };
    const { run, deliver, forget, answering } = setUp({ shared });
    await run('key', answering(renewed));
    deliver('key');
    deliver('key');
    forget('key');
    expect(told).toEqual(['1 known, 691200000 ms', '1 known, 25000 ms', '0 known, 0 ms']);
  });

  it('tell each other nothing where nothing changes, and know each other’s line', async () => {
    const inner = createShared();
    let changes = 0;
    const shared: SharedCoordinator = {
      ...inner,
      settle: (line, change) => {
        changes += 1;
        return inner.settle(line, change);
      },
    };
    const { lines } = setUp({ shared });
    await lines.run(at('a'), to('b'));
    await lines.run(at('b'), { ...to('c'), former: [at('a')] });
    lines.present(at('a'));
    await settle();
    expect(changes).toBe(2);
    lines.deliver(at('a'), 'c');
    lines.forgetPair(at('x'));
    await settle();
    expect(changes).toBe(3);
  });

  it('forget the tokens of a sign-in that one of them forgets', async () => {
    const { one, two } = createTwo();
    for (const token of ['a', 'x']) await one.lines.run(at(token), to(`${token}2`));
    one.lines.forgetPair(at('a'));
    await settle();
    expect(await two.lines.run(at('x'), to('none'))).toMatchObject({ isNew: false });
    expect(await two.lines.run(at('a'), to('none'))).toMatchObject({ isNew: true });
  });

  it('continue if the others cannot be informed', async () => {
    const { shared, one } = createTwo();
    await one.run('key', one.answering(renewed));
    shared.isDown = true;
    one.deliver('key');
    one.forget('key');
    await new Promise((done) => setImmediate(done));
    expect(one.told).toEqual([{ type: 'coordinator_unavailable', operation: 'refresh', reason: 'unavailable' }]);
    shared.isDown = false;
    one.forget('key');
    await settle();
    expect(one.events).toEqual(['coordinator_unavailable', 'coordinator_recovered']);
  });

  it.each([
    'not JSON',
    '{"spent":5}',
    '5',
    '{"spent":[{"token":"key"}],"refused":[]}',
    '{"spent":[],"refused":[{"token":"key","reason":{},"until":8e15}]}',
    '{"spent":[],"refused":[{"token":"key","reason":"refused","until":1e300}]}',
    '{"spent":[{"token":"key","issued":"n","newest":"n","at":0,"until":8e15,"closes":"soon"}],"refused":[]}',
    '{"spent":[],"refused":[],"failure":5}',
  ])('continue alone where the coordinator returns %s', async (line) => {
    const shared = Object.assign(createShared(), {
      take: (_line: string, { holder }: { readonly holder: string }) =>
        Promise.resolve({ version: '1', line, holder, turnMs: 1_000, now: 0 }),
    });
    const { run, answering, events } = setUp({ shared });
    expect((await run('key', answering(renewed))).settled).toEqual(renewed);
    expect(events).toEqual(['coordinator_unavailable']);
  });

  /** A coordinator that says that the token is known, and has this line. */
  const knowing = (line: object): SharedCoordinator =>
    Object.assign(createShared(), {
      take: (_line: string, { holder }: { readonly holder: string }, unless: readonly string[]) =>
        Promise.resolve({
          version: '1',
          line: JSON.stringify(line),
          answer: '{"n":"of n"}',
          holder: unless.length > 0 ? undefined : holder,
          turnMs: 1_000,
          now: 0,
        }),
    });

  it('continue alone where a line is longer than any of ours', async () => {
    const refused = Array.from({ length: 65 }, () => ({ token: 'key', reason: 'refused', until: 8e15 }));
    const { run, answering } = setUp({ shared: knowing({ spent: [], refused }) });
    expect((await run('key', answering(renewed))).settled).toEqual(renewed);
  });

  it.each(['__proto__', 'constructor'])('take no property that every object has for tokens: %s', async (newest) => {
    const spent = [{ pair: 'key', issued: 'n', newest, at: 0, newestAt: 0, until: 8e15 }];
    const { run, answering } = setUp({ shared: knowing({ spent, refused: [] }) });
    expect((await run('key', answering(renewed))).settled).toEqual(renewed);
  });

  it.each([
    ['invalid_grant', 'invalid_grant'],
    ['a text of\na stranger', 'refused'],
  ])('take from a line that a token was refused, and no free text: %j', async (reason, taken) => {
    const refused = [{ token: 'key', reason, until: 8e15 }];
    const { run, answering } = setUp({ shared: knowing({ spent: [], refused }) });
    expect((await run('key', answering(renewed))).settled).toEqual({ kind: 'ended', reason: taken });
  });

  it('share an answer although the line changes meanwhile, however often', async () => {
    const inner = createShared();
    let conflicts = 0;
    const shared: SharedCoordinator = {
      ...inner,
      settle(line, change) {
        conflicts += 1;
        return conflicts <= 20
          ? Promise.resolve({ version: `of a stranger ${conflicts}`, line: '', now: 0 })
          : inner.settle(line, { ...change, from: undefined });
      },
    };
    const [one, two] = [setUp({ shared }), setUp({ shared })];
    await one.run('key', one.answering(renewed));
    expect((await two.run('key', two.answering(ended))).settled).toEqual(renewed);
  });

  it('give the answer of a token that another session answers only to those who have the token', async () => {
    const { one, two } = createTwo();
    const forged = { ...at('attacker'), line: place('victim').line };
    await one.run('victim', one.answering(renewed));
    const exchange = {
      run: () => Promise.resolve(exchanged('attacker', { kind: 'renewed', text: 'of the attacker' })),
    };
    expect((await one.lines.run(forged, exchange)).settled).toEqual({ kind: 'renewed', text: 'of the attacker' });
    expect((await one.lines.run(forged, exchange)).isNew).toBe(false);
    for (const each of [one, two]) expect((await each.run('victim', each.answering(ended))).settled).toEqual(renewed);
  });

  it('let no later answer of a stranger displace those of the session that he names', async () => {
    const { one, two } = createTwo();
    const at = (line: string, token: string): Place => ({ line, token, pair: token });
    const to = (next: Place, text = `of ${next.token}`, former: readonly Place[] = []) => ({
      former,
      run: () => Promise.resolve({ kind: 'renewed' as const, text, place: next }),
    });
    await one.lines.run(at('victim', 'a'), to(at('victim', 'b')));
    await one.lines.run(at('victim', 'b'), to(at('victim', 'c')));
    const forged = at('victim', 'his');
    await one.lines.run(forged, to(at('own', 'his next')));
    await one.lines.run(at('own', 'his next'), to(at('own', 'his last'), 'x'.repeat(64 * 1024), [forged]));
    for (const token of ['a', 'b']) {
      const { settled } = await two.lines.run(at('victim', token), to(at('victim', 'none')));
      expect(settled).toEqual({ kind: 'renewed', text: 'of c' });
    }
  });
});
