import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { jest } from '@jest/globals';
import { AuthError } from '../../../lib/errors.ts';
import { slotOf } from '../../../lib/tools/redis-slot.ts';
import { createAttempts } from '../../../lib/backend/throttle/limits.ts';
import type { ThrottleRedisClient } from '../../../lib/backend/throttle/options.ts';
import { fakeTimeoutSignals } from '../../support/fake-timeouts.ts';
import { createThrottle } from '../../support/throttle.ts';
import type { OpenAttempt, Throttle, ThrottleParts } from '../../support/throttle.ts';

const windowMs = 15 * 60 * 1000;
const home = '192.0.2.1';
const elsewhere = '198.51.100.7';

let events: unknown[];
let throttle: Throttle;

function create(parts: Partial<ThrottleParts> = {}): Throttle {
  return createThrottle({ keyPrefix: 'test', emit: (event) => events.push(event), ...parts });
}

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate'] });
  fakeTimeoutSignals();
  events = [];
  throttle = create();
});

afterEach(() => {
  jest.restoreAllMocks();
  jest.useRealTimers();
});

/** A client of `redis` whose commands have this answer. */
function storeOf(answer: (...call: unknown[]) => Promise<unknown>): ThrottleRedisClient {
  const multi = () => ({ set: () => undefined, pTTL: () => ({ exec: () => answer('set') }) });
  return { eval: (...call: unknown[]) => answer(...call), del: () => answer('del'), multi };
}

async function fail(times: number, account = 'ada@example.com', address: string | undefined = home): Promise<void> {
  for (let count = 0; count < times; count += 1) await (await throttle.attempt(account, address)).end('keep');
}

async function refusal(
  account = 'ada@example.com',
  address: string | undefined = home,
): Promise<AuthError | undefined> {
  return throttle.attempt(account, address).then(
    () => undefined,
    (error: unknown) => {
      if (error instanceof AuthError) return error;
      throw error;
    },
  );
}

describe('an account', () => {
  it('is closed to a network after ten failures, until the window ends', async () => {
    await fail(10);
    jest.advanceTimersByTime(60_500);
    const error = await refusal();
    expect(error?.code).toBe('rate_limited');
    expect(error?.status).toBe(429);
    expect(error?.retryAfter).toBe(14 * 60);
    expect(events).toEqual([{ type: 'throttled', scope: 'account' }]);
  });

  it('opens again when the window ends, and trying meanwhile does not make it longer', async () => {
    await fail(10);
    for (let minute = 1; minute < 15; minute += 1) {
      jest.advanceTimersByTime(60_000);
      expect(await refusal()).toBeDefined();
    }
    jest.advanceTimersByTime(60_000);
    await fail(10);
    expect(await refusal()).toBeDefined();
  });

  it('always says to wait at least a second', async () => {
    await fail(10);
    jest.advanceTimersByTime(windowMs - 1);
    expect((await refusal())?.retryAfter).toBe(1);
  });

  it('stays open to its owner elsewhere, however often an attacker guesses', async () => {
    await fail(10);
    expect(await refusal()).toBeDefined();
    expect(await refusal('ada@example.com', elsewhere)).toBeUndefined();
  });

  it('does not close others on the same network', async () => {
    await fail(10);
    expect(await refusal('grace@example.com')).toBeUndefined();
  });

  it('counts anew after a success', async () => {
    await fail(9);
    await (await throttle.attempt('ada@example.com', home)).end('forgive');
    await fail(10);
    expect(await refusal()).toBeDefined();
  });

  it.each([' Ada@Example.com ', 'ADA@EXAMPLE.COM', 'ａｄａ@example.com', 'ada@example.com\n'])(
    'is the same in another spelling: %j',
    async (spelling) => {
      await fail(10);
      expect(await refusal(spelling)).toBeDefined();
    },
  );

  it.each([
    ['admin@example.com', 'admİn@example.com'],
    ['i\u0307@example.com', 'İ@example.com'],
    ['ΟΔΟΣ@example.com', 'οδος@example.com'],
    ['οδοσ@example.com', 'ΟΔΟΣ@example.com'],
    ['straße@example.com', 'STRAẞE@example.com'],
    ['k@example.com', '\u212A@example.com'],
  ])('%s is the same as %s, as the backend lowers letters one by one', async (one, other) => {
    await fail(10, one);
    expect(await refusal(other)).toBeDefined();
  });

  it('is limited where the address is not known, while the network is not', async () => {
    throttle = create();
    for (let count = 0; count < 150; count += 1) await throttle.attempt(`user${count}@example.com`, undefined);
    for (let count = 0; count < 10; count += 1) await throttle.attempt('ada@example.com', undefined);
    expect((await refusal('ada@example.com', 'not an address'))?.code).toBe('rate_limited');
    expect(events).toEqual([{ type: 'throttled', scope: 'account' }]);
  });
});

describe('a network', () => {
  async function failOnMany(times: number, address: string): Promise<void> {
    for (let count = 0; count < times; count += 1)
      await (await throttle.attempt(`user${count}@example.com`, address)).end('keep');
  }

  it('is closed after a hundred failures on whatever accounts', async () => {
    await failOnMany(100, home);
    jest.advanceTimersByTime(60_000);
    const error = await refusal('someone@example.com');
    expect(error?.retryAfter).toBe(14 * 60);
    expect(events).toEqual([{ type: 'throttled', scope: 'network' }]);
    expect(await refusal('someone@example.com', elsewhere)).toBeUndefined();
  });

  it('is one /64 for IPv6, and one address for IPv4 and its IPv4-mapped IPv6 form', async () => {
    for (let count = 0; count < 50; count += 1) {
      await throttle.attempt(`a${count}@example.com`, `2001:db8:1:2:${count.toString(16)}::1`);
      await throttle.attempt(`b${count}@example.com`, `2001:0DB8:0001:2::${count.toString(16)}`);
    }
    expect(await refusal('x@example.com', '2001:db8:1:2::ffff')).toBeDefined();
    expect(await refusal('x@example.com', '2001:db8:1:3::1')).toBeUndefined();
    await failOnMany(100, `::ffff:${home}`);
    expect(await refusal('x@example.com', home)).toBeDefined();
  });

  it('is not used up by successes, nor opened by them', async () => {
    await failOnMany(99, home);
    for (let count = 0; count < 200; count += 1) {
      await (await throttle.attempt('ada@example.com', home)).end('forgive');
    }
    await fail(1, 'last@example.com');
    expect(await refusal()).toBeDefined();
  });

  it('has a limit for links that valid ones neither use up nor reset', async () => {
    for (let count = 0; count < 99; count += 1) await (await throttle.link(home)).end('keep');
    for (let count = 0; count < 200; count += 1) await (await throttle.link(home)).end('forgive');
    await (await throttle.link(home)).end('keep');
    await expect(throttle.link(home)).rejects.toMatchObject({ code: 'rate_limited' });
    await expect(throttle.link(elsewhere)).resolves.toBeDefined();
    expect(await refusal()).toBeUndefined();
  });

  it('is not used up by one account that is closed: behind an address there may be a whole office', async () => {
    await fail(10);
    for (let count = 0; count < 200; count += 1) expect(await refusal()).toBeDefined();
    expect(await refusal('colleague@example.com')).toBeUndefined();
  });
});

describe('attempts at once', () => {
  it('on an account that is closed are told to wait until its window ends', async () => {
    await fail(10);
    const answers = await Promise.allSettled(
      Array.from({ length: 4 }, () => throttle.attempt('ada@example.com', home)),
    );
    expect(answers.map((answer) => answer.status === 'rejected' && answer.reason.retryAfter)).toEqual([
      900, 900, 900, 900,
    ]);
  });

  it('are counted before any of them has failed', async () => {
    const answers = await Promise.allSettled(
      Array.from({ length: 100 }, () => throttle.attempt('ada@example.com', home)),
    );
    expect(answers.filter(({ status }) => status === 'fulfilled')).toHaveLength(10);
  });

  it('that end where the address is not known count as they would elsewhere', async () => {
    for (let count = 0; count < 20; count += 1) {
      await (await throttle.attempt('ada@example.com', undefined)).end('cancel');
      await (await throttle.attempt('ada@example.com', undefined)).end('forgive');
    }
    for (let count = 0; count < 10; count += 1) await throttle.attempt('ada@example.com', undefined);
    await expect(throttle.attempt('ada@example.com', undefined)).rejects.toMatchObject({ code: 'rate_limited' });
  });

  it('say to come back in a second while they are under way, and in fifteen minutes once they have failed', async () => {
    const answers = await Promise.allSettled(
      Array.from({ length: 40 }, () => throttle.attempt('ada@example.com', home)),
    );
    const [reserved, refused] = [
      answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : [])),
      answers.flatMap((answer) => (answer.status === 'rejected' ? [answer.reason.retryAfter] : [])),
    ];
    expect([reserved.length, new Set(refused)]).toEqual([10, new Set([1])]);
    for (const attempt of reserved) await attempt.end('keep');
    expect((await refusal())?.retryAfter).toBe(15 * 60);
  });

  it('say to come back in a second as long as one of them is under way', async () => {
    const attempts = [];
    for (let count = 0; count < 10; count += 1) attempts.push(await throttle.attempt('ada@example.com', home));
    for (const attempt of attempts.slice(1)) {
      await attempt.end('keep');
      expect((await refusal())?.retryAfter).toBe(1);
    }
    await attempts[0]?.end('keep');
    expect((await refusal())?.retryAfter).toBe(15 * 60);
  });

  it('say to come back in a second while a success is on its way to the store', async () => {
    const reset = Promise.withResolvers<unknown>();
    const reply = (points: number): Promise<unknown> => Promise.resolve([points, 900_000]);
    const replies = [reply(5), reset.promise, reply(6), reply(5)];
    throttle = create({ store: storeOf(() => replies.shift() ?? Promise.reject(new Error('asked too often'))) });
    const right = await throttle.code('factor:1');
    const succeeded = right.end('forgive');
    await expect(throttle.code('factor:1')).rejects.toMatchObject({ code: 'rate_limited', retryAfter: 1 });
    reset.resolve(null);
    await succeeded;
  });

  it('that stay counted in any case say to wait for the whole window: the time to wait would tell who has an account', async () => {
    const answers = await Promise.allSettled(
      Array.from({ length: 12 }, () => throttle.message('ada@example.com', home)),
    );
    expect(answers.flatMap((answer) => (answer.status === 'rejected' ? [answer.reason.retryAfter] : []))).toEqual([
      900, 900,
    ]);
  });

  it('that were refused count for nothing, so there is room once the others were right or met an outage', async () => {
    for (const end of ['forgive', 'cancel'] as const) {
      const answers = await Promise.allSettled(
        Array.from({ length: 40 }, () => throttle.attempt('ada@example.com', home)),
      );
      for (const answer of answers) if (answer.status === 'fulfilled') await answer.value.end(end);
      await fail(10);
      expect((await refusal())?.retryAfter).toBe(15 * 60);
      jest.advanceTimersByTime(windowMs);
    }
  });

  it('that were canceled count for nothing', async () => {
    for (let count = 0; count < 150; count += 1) {
      await (await throttle.attempt('ada@example.com', home)).end('cancel');
    }
    await fail(10);
    expect(await refusal()).toBeDefined();
  });

  it('grant no extra try where they end after their window, or after a success beside them', async () => {
    const late: OpenAttempt[] = [];
    for (let count = 0; count < 5; count += 1) late.push(await throttle.attempt('ada@example.com', home));
    jest.advanceTimersByTime(windowMs);
    await fail(10);
    for (const attempt of late) await attempt.end('cancel');
    expect(await refusal()).toBeDefined();

    jest.advanceTimersByTime(windowMs);
    const beside = await throttle.attempt('ada@example.com', home);
    await (await throttle.attempt('ada@example.com', home)).end('forgive');
    await beside.end('cancel');
    await fail(10);
    expect(await refusal()).toBeDefined();
  });
});

it('an attempt that is canceled as its window ends counts for nothing, and not in the next window either', async () => {
  const [last, later] = [
    await throttle.attempt('ada@example.com', home),
    await throttle.attempt('ada@example.com', home),
  ];
  await fail(8);
  jest.advanceTimersByTime(windowMs - 1);
  await last.end('cancel');
  await fail(1);
  expect(await refusal()).toBeDefined();
  jest.advanceTimersByTime(1);
  await fail(9);
  await later.end('cancel');
  await fail(1);
  expect(await refusal()).toBeDefined();
});

it('an attempt that the store did not answer in time ends there, too, whenever it is counted', async () => {
  const stalled = Promise.withResolvers<unknown>();
  const asked: { readonly arguments: readonly string[] }[] = [];
  const store = storeOf((_script, call) => {
    asked.push(call as (typeof asked)[number]);
    return stalled.promise;
  });
  throttle = create({ store });
  const first = throttle.code('factor:1');
  while (asked.length === 0) await new Promise((resolve) => setImmediate(resolve));
  jest.advanceTimersByTime(2_500);
  await (await first).end('cancel');
  expect(asked.map(({ arguments: [points] }) => points)).toEqual(['1', '-1']);
  // In memory it was taken back as well.
  for (let count = 0; count < 5; count += 1) await (await throttle.code('factor:1')).end('keep');
  await expect(throttle.code('factor:1')).rejects.toMatchObject({ code: 'rate_limited' });
  expect(asked).toHaveLength(2);
});

describe('a key that is closed', () => {
  it('is closed at the store, for the other processes', async () => {
    const sets: unknown[] = [];
    const multi = () => ({ set: (...call: unknown[]) => sets.push(call), pTTL: () => ({ exec: async () => [] }) });
    throttle = create({ store: { ...storeOf(() => Promise.resolve([5, 60_000])), multi } });
    await (await throttle.code('factor:1')).end('keep');
    expect(sets).toEqual([[expect.stringMatching(/^test:code:/), 6, { EX: 900 }]]);
  });

  it('stays so, whatever is refused meanwhile, and no longer than a window', async () => {
    const attempts = await Promise.all(Array.from({ length: 5 }, () => throttle.code('factor:1')));
    for (const attempt of attempts.toReversed()) await attempt.end('keep');
    for (let count = 0; count < 100; count += 1) {
      await expect(throttle.code('factor:1')).rejects.toMatchObject({ code: 'rate_limited', retryAfter: 15 * 60 });
    }
    jest.advanceTimersByTime(windowMs);
    for (let count = 0; count < 5; count += 1) await expect(throttle.code('factor:1')).resolves.toBeDefined();
  });

  it('says to wait for the whole window, although the attempts before the last one have not ended', async () => {
    const attempts = await Promise.all(Array.from({ length: 5 }, () => throttle.code('factor:1')));
    await attempts[4]?.end('keep');
    await expect(throttle.code('factor:1')).rejects.toMatchObject({ code: 'rate_limited', retryAfter: 15 * 60 });
  });

  it('opens after a right code that was under way', async () => {
    const [right, ...wrong] = await Promise.all(Array.from({ length: 5 }, () => throttle.code('factor:1')));
    for (const attempt of wrong) await attempt.end('keep');
    await right?.end('forgive');
    for (let count = 0; count < 5; count += 1) await expect(throttle.code('factor:1')).resolves.toBeDefined();
  });
});

describe('the memory it takes', () => {
  const send = (account: string): Promise<OpenAttempt> => throttle.mail(account);

  it('is bounded: the key that was not asked for the longest goes', async () => {
    throttle = create({ maxKeys: 3 });
    for (const account of ['a', 'b', 'c']) await send(account);
    await expect(send('a')).rejects.toMatchObject({ code: 'rate_limited' });
    await send('d');
    await expect(send('a')).rejects.toMatchObject({ code: 'rate_limited' });
    await expect(send('b')).resolves.toBeDefined();
  });

  it('is not taken by attempts that count for nothing: made-up accounts push out none that is counted', async () => {
    throttle = create({ maxKeys: 20 });
    await fail(10);
    for (let count = 0; count < 100; count += 1) {
      await (await throttle.attempt(`u${count}@example.com`, home)).end('cancel');
    }
    expect(await refusal()).toBeDefined();
  });

  it('is shared by no two throttles', async () => {
    await fail(10);
    throttle = create();
    expect(await refusal()).toBeUndefined();
  });

  it('holds no more accounts for a network that is closed', async () => {
    throttle = create({ maxKeys: 101 });
    await fail(10);
    for (let count = 0; count < 300; count += 1) {
      await throttle.attempt(`u${count}@x.y`, elsewhere).catch(() => undefined);
    }
    expect(await refusal()).toBeDefined();
  });
});

describe('a store that is away', () => {
  function brokenStore(answer: () => Promise<unknown>) {
    let calls = 0;
    const call = (): Promise<unknown> => {
      calls += 1;
      return answer();
    };
    return { store: storeOf(call), calls: () => calls };
  }

  it('is replaced by memory, is told once, and is left alone for a second', async () => {
    const { store, calls } = brokenStore(() => Promise.reject(new Error('ECONNREFUSED')));
    throttle = create({ store });
    await fail(10);
    expect((await refusal())?.code).toBe('rate_limited');
    expect(calls()).toBe(1);
    jest.advanceTimersByTime(1_000);
    expect(await refusal()).toBeDefined();
    expect(calls()).toBe(2);
    expect(events.filter((event) => JSON.stringify(event).includes('coordinator_unavailable'))).toEqual([
      { type: 'coordinator_unavailable', operation: 'throttle', reason: 'unavailable' },
    ]);
  });

  it('still gets the end of an attempt that it has counted, while it is left alone', async () => {
    let isStalled = false;
    const { store, calls } = brokenStore(() =>
      isStalled ? Promise.reject(new Error('ECONNREFUSED')) : Promise.resolve([1, 900_000]),
    );
    throttle = create({ store });
    const ends = ['forgive', 'cancel'] as const;
    const running = [];
    for (const end of ends) running.push({ end, attempt: await throttle.attempt(undefined, home) });
    const last = await throttle.code('factor:1');
    isStalled = true;
    await throttle.attempt(undefined, elsewhere);
    const before = calls();
    // It is paused, so this one is counted in memory.
    await throttle.attempt(undefined, elsewhere);
    expect(calls()).toBe(before);
    isStalled = false;
    for (const { end, attempt } of running) await attempt.end(end);
    await last.end('forgive');
    expect(calls()).toBe(before + 3);
  });

  it('that fails at the end of an attempt, or throws, is told once', async () => {
    let isDown = false;
    const store = storeOf(() => {
      if (isDown) throw new Error('closed');
      return Promise.resolve([1, 900_000]);
    });
    throttle = create({ store });
    const running = [await throttle.code('factor:1'), await throttle.code('factor:2')];
    isDown = true;
    for (const attempt of running) await attempt.end('forgive');
    expect(events).toEqual([{ type: 'coordinator_unavailable', operation: 'throttle', reason: 'unavailable' }]);
  });

  it.each([[undefined], [null], ['1'], [[]], [['x', 900_000]], [[1, undefined]], [[Number.NaN, 900_000]]])(
    'counts as away where it answers %j',
    async (reply) => {
      throttle = create({ store: storeOf(() => Promise.resolve(reply)) });
      await fail(10);
      expect((await refusal())?.code).toBe('rate_limited');
      expect(events[0]).toEqual({ type: 'coordinator_unavailable', operation: 'throttle', reason: 'unavailable' });
    },
  );

  it('has a key of its own for each limit, below the prefix', async () => {
    const keys: string[] = [];
    const store = storeOf((...call) => {
      keys.push(...(JSON.stringify(call).match(/test:[\w-]+:/g) ?? []));
      return Promise.resolve([1, 900_000]);
    });
    throttle = create({ store });
    for (const open of [
      throttle.attempt('ada@example.com', home),
      throttle.link(home),
      throttle.message('ada@example.com', home),
      throttle.code('factor:1'),
      throttle.mailedCode('ada@example.com', undefined),
      throttle.mail('ada@example.com'),
    ]) {
      await (await open).end('keep');
    }
    expect(new Set(keys)).toEqual(
      new Set(
        ['network', 'account', 'link', 'messages', 'message', 'code', 'mailedCode', 'mail'].map(
          (limit) => `test:${limit}:`,
        ),
      ),
    );
  });

  it('may return its numbers as text', async () => {
    throttle = create({ store: storeOf(() => Promise.resolve(['6', '59000'])) });
    await expect(throttle.code('factor:1')).rejects.toMatchObject({ code: 'rate_limited', retryAfter: 59 });
    expect(events).toEqual([{ type: 'throttled', scope: 'code' }]);
  });

  it('that counts and refuses the end of an attempt is told of once, and once more when it does both', async () => {
    let mayDelete = false;
    const denied = new Error("NOPERM User app has no permissions to run the 'del' command");
    throttle = create({
      store: storeOf((call) => (call === 'del' && !mayDelete ? Promise.reject(denied) : Promise.resolve([1, 900_000]))),
    });
    jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    const succeed = async (): Promise<void> => (await throttle.attempt('ada@example.com', home)).end('forgive');
    for (let count = 0; count < 3; count += 1) await succeed();
    const unavailable = { type: 'coordinator_unavailable', operation: 'throttle', reason: 'not_permitted' };
    expect(events).toEqual([unavailable]);
    mayDelete = true;
    for (let count = 0; count < 2; count += 1) {
      await succeed();
      // It is not waited for while it is away.
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(events).toEqual([unavailable, { type: 'coordinator_recovered' }]);
  });

  it('is told of once more when it is back', async () => {
    let isDown = true;
    const { store } = brokenStore(() =>
      isDown ? Promise.reject(new Error('ECONNREFUSED')) : Promise.resolve([1, 900_000]),
    );
    throttle = create({ store });
    await fail(3);
    isDown = false;
    jest.advanceTimersByTime(1_000);
    await fail(3);
    expect(events).toEqual([
      { type: 'coordinator_unavailable', operation: 'throttle', reason: 'unavailable' },
      { type: 'coordinator_recovered' },
    ]);
  });

  /** An attempt that waits for a store without an answer, until so many milliseconds have passed. */
  async function attemptFor(ms: number, calls: () => number): Promise<'waits' | 'counted'> {
    const asked = calls();
    const attempt = throttle.attempt('ada@example.com', home).then(async (counted) => {
      await counted.end('forgive');
      return 'counted' as const;
    });
    while (calls() === asked) await new Promise((resolve) => setImmediate(resolve));
    jest.advanceTimersByTime(ms);
    const soon = new Promise<'waits'>((resolve) => setImmediate(() => setImmediate(resolve, 'waits')));
    return Promise.race([attempt, soon]);
  }

  it('holds no request up for longer than half a second where it answers no more', async () => {
    let hangs = false;
    const { store, calls } = brokenStore(() => (hangs ? new Promise(() => undefined) : Promise.resolve([1, 900_000])));
    throttle = create({ store });
    await fail(1);
    hangs = true;
    expect(await attemptFor(499, calls)).toBe('waits');
    jest.advanceTimersByTime(1_000);
    expect(await attemptFor(500, calls)).toBe('counted');
    expect(events).toEqual([{ type: 'coordinator_unavailable', operation: 'throttle', reason: 'unavailable' }]);
  });

  it('delays the end of an attempt by half a second, however often it is counted', async () => {
    let hangs = false;
    const { store } = brokenStore(() => (hangs ? new Promise(() => undefined) : Promise.resolve([1, 900_000])));
    throttle = create({ store });
    const attempt = await throttle.attempt('ada@example.com', home);
    hangs = true;
    let hasEnded = false;
    const ended = attempt.end('forgive').then(() => (hasEnded = true));
    await jest.advanceTimersByTimeAsync(499);
    expect(hasEnded).toBe(false);
    await jest.advanceTimersByTimeAsync(2);
    await ended;
  });

  it('of a cluster is told of once while one of its masters is away', async () => {
    const addressOf = (slot: number): string => (slot < 8_192 ? 'one' : 'two');
    const slots = Array.from({ length: 16_384 }, (_, slot) => ({ master: { address: addressOf(slot) } }));
    const store = storeOf((_script, call) => {
      const [key] = (call as { readonly keys: readonly string[] }).keys;
      return addressOf(slotOf(key ?? '')) === 'one'
        ? Promise.reject(new Error('CLUSTERDOWN'))
        : Promise.resolve([1, 9]);
    });
    throttle = create({ store: Object.assign(store, { slots }) });
    for (let count = 0; count < 50; count += 1) {
      await throttle.code(`factor:${count}`);
      jest.advanceTimersByTime(1_000);
    }
    expect(events).toEqual([{ type: 'coordinator_unavailable', operation: 'throttle', reason: 'unavailable' }]);
  });

  it('has two and a half seconds for its first answer, while its connection opens', async () => {
    const { store, calls } = brokenStore(() => new Promise(() => undefined));
    throttle = create({ store });
    expect(await attemptFor(2_499, calls)).toBe('waits');
    expect(events).toEqual([]);
    jest.advanceTimersByTime(1);
    await new Promise((resolve) => setImmediate(resolve));
    expect(events).toEqual([{ type: 'coordinator_unavailable', operation: 'throttle', reason: 'unavailable' }]);
    jest.advanceTimersByTime(1_000);
    expect(await attemptFor(500, calls)).toBe('counted');
  });
});

it('calls ioredis without a command of its own, which could take the place of one of the application’s', async () => {
  const calls: unknown[][] = [];
  const say =
    (name: string, answer: unknown) =>
    (...call: unknown[]) => {
      calls.push([name, ...call]);
      return answer;
    };
  const pttl = { pttl: () => ({ exec: async () => [] }) };
  throttle = create({
    store: {
      defineCommand: say('defineCommand', undefined),
      eval: say('eval', Promise.resolve([5, 60_000])),
      del: say('del', Promise.resolve(1)),
      multi: () => ({ set: say('set', pttl), ...pttl }),
    } as unknown as ThrottleRedisClient,
  });
  await (await throttle.code('factor:1')).end('keep');
  await (await throttle.code('factor:2')).end('forgive');
  const key = expect.stringMatching(/^test:code:/);
  const count = ['eval', expect.stringContaining('redis.call'), 1, key, '1', '900', '5', '900'];
  expect(calls).toEqual([count, ['set', key, 6, 'EX', 900], count, ['del', key]]);
  expect(events).toEqual([]);
});

describe('a code of six digits', () => {
  const tryCode = async (subject = 'factor:1'): Promise<OpenAttempt> => throttle.code(subject);

  it('is closed after five wrong ones, until the window ends', async () => {
    for (let count = 0; count < 5; count += 1) await (await tryCode()).end('keep');
    await expect(tryCode()).rejects.toMatchObject({ code: 'rate_limited', retryAfter: 15 * 60 });
    expect(events).toEqual([{ type: 'throttled', scope: 'code' }]);
    await expect(tryCode('factor:2')).resolves.toBeDefined();
    jest.advanceTimersByTime(windowMs);
    await expect(tryCode()).resolves.toBeDefined();
  });

  it('is refused for a whole window from the fifth wrong one on, whenever the first one was', async () => {
    for (let count = 0; count < 4; count += 1) await (await tryCode()).end('keep');
    jest.advanceTimersByTime(windowMs - 60_000);
    await (await tryCode()).end('keep');
    jest.advanceTimersByTime(120_000);
    await expect(tryCode()).rejects.toMatchObject({ code: 'rate_limited', retryAfter: 13 * 60 });
    jest.advanceTimersByTime(windowMs - 120_000);
    await expect(tryCode()).resolves.toBeDefined();
  });

  it('lets no more than five through at once', async () => {
    const outcomes = await Promise.allSettled(Array.from({ length: 50 }, () => tryCode()));
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(5);
  });

  describe('through a route', () => {
    const req = new IncomingMessage(new Socket());
    const attempts = () => createAttempts({ throttle: {}, emit: (event) => events.push(event), now: Date.now });
    const failed = (error: AuthError) => () => Promise.reject(error);

    it.each([
      ['a hook that slows down wrong ones', new AuthError('sign_in_failed', { reason: 'unknown' })],
      ['a hook that rejects them', new AuthError('sign_in_refused', { reason: 'mfa_verification_rejected' })],
      ['a backend with a code of its own for them', new AuthError('action_failed', { reason: 'a_future_code' })],
      ['a backend that does not answer in time', new AuthError('provider_unavailable', { reason: 'timeout' })],
      ['a hook that does not answer in time', new AuthError('provider_unavailable', { reason: 'hook_timeout' })],
      [
        'a hook that does not answer twice',
        new AuthError('provider_unavailable', { reason: 'hook_timeout_after_retry' }),
      ],
      ['a backend whose own time is up', new AuthError('provider_unavailable', { reason: 'request_timeout' })],
    ])('is limited by %s as by wrong ones', async (_, error) => {
      const limited = attempts();
      for (let count = 0; count < 5; count += 1) {
        await expect(limited.runCode(req, 'factor:1', failed(error))).rejects.toBe(error);
      }
      await expect(limited.runCode(req, 'factor:1', failed(error))).rejects.toMatchObject({ code: 'rate_limited' });
    });

    it('and a password count nothing where the backend is out of reach, and passwords nothing where it is slow', async () => {
      const limited = attempts();
      for (const reason of ['timeout', 'unexpected_failure', undefined]) {
        const error = new AuthError('provider_unavailable', { reason });
        for (let count = 0; count < 120; count += 1) {
          await expect(limited.run(req, 'ada@example.com', failed(error))).rejects.toBe(error);
          if (reason !== 'timeout') await expect(limited.runCode(req, 'factor:1', failed(error))).rejects.toBe(error);
        }
      }
    });

    it('and a password that the application refuses after a right answer counts nothing', async () => {
      const limited = attempts();
      const late = new AuthError('forbidden', { reason: 'timeout' });
      for (const error of [new AuthError('sign_in_failed'), late, new Error('no database')]) {
        for (let count = 0; count < 12; count += 1) {
          const refused = () => Promise.reject(error);
          await expect(limited.run(req, 'ada@example.com', refused)).rejects.toBe(error);
          await expect(limited.runCode(req, 'factor:1', refused)).rejects.toBe(error);
        }
      }
    });

    it('and a password count nothing where a hook fails as the backend would', async () => {
      const limited = attempts();
      const error = new AuthError('provider_unavailable', { reason: 'unknown' });
      for (let count = 0; count < 12; count += 1) {
        const refused = () => Promise.reject(error);
        await expect(limited.run(req, 'ada@example.com', refused)).rejects.toBe(error);
        await expect(limited.runCode(req, 'factor:1', refused)).rejects.toBe(error);
      }
    });

    it('is limited, while a link, an OAuth sign-in, a sign-up and an email that a hook refuses count nothing', async () => {
      const limited = createAttempts({
        throttle: {},
        clientAddress: () => home,
        emit: (event) => events.push(event),
        now: Date.now,
      });
      const error = new AuthError('sign_in_failed', { reason: 'unknown' });
      const refused = () => Promise.reject(error);
      for (let count = 0; count < 101; count += 1) {
        await expect(limited.run(req, undefined, refused)).rejects.toBe(error);
        await expect(limited.runMessage(req, 'ada@example.com', refused)).rejects.toBe(error);
        await expect(limited.runMail('ada@example.com', refused)).rejects.toBe(error);
      }
    });

    it.each<
      [string, (limited: ReturnType<typeof createAttempts>, attempt: number, error: AuthError) => Promise<never>]
    >([
      ['a factor', (limited, attempt, error) => limited.runCode(req, `factor:${attempt}`, failed(error))],
      ['an email', (limited, attempt, error) => limited.runMailedCode(req, `${attempt}@a.example`, failed(error))],
    ])('is limited by network, too, where a hook refuses it: of %s', async (_, run) => {
      const clientAddress = () => home;
      const limited = createAttempts({ throttle: {}, clientAddress, emit: () => undefined, now: Date.now });
      const error = new AuthError('sign_in_failed', { reason: 'unknown' });
      for (let attempt = 0; attempt < 100; attempt += 1) await expect(run(limited, attempt, error)).rejects.toBe(error);
      await expect(run(limited, 100, error)).rejects.toMatchObject({ code: 'rate_limited', reason: undefined });
    });

    it('and a password that a hook refuses counts', async () => {
      const limited = attempts();
      const error = new AuthError('sign_in_failed', { reason: 'unknown' });
      for (let count = 0; count < 10; count += 1) {
        await expect(limited.run(req, 'ada@example.com', failed(error))).rejects.toBe(error);
      }
      await expect(limited.run(req, 'ada@example.com', failed(error))).rejects.toMatchObject({
        code: 'rate_limited',
      });
    });
  });

  it('starts anew after a right one, and counts no outage', async () => {
    for (let count = 0; count < 4; count += 1) await (await tryCode()).end('keep');
    await (await tryCode()).end('forgive');
    for (let count = 0; count < 5; count += 1) await (await tryCode()).end('cancel');
    for (let count = 0; count < 5; count += 1) await (await tryCode()).end('keep');
    await expect(tryCode()).rejects.toMatchObject({ code: 'rate_limited' });
  });
});

it('counts an email to an address once a minute, in any spelling and from whatever network', async () => {
  await (await throttle.mail('Ada@Example.com')).end('keep');
  jest.advanceTimersByTime(20_000);
  await expect(throttle.mail('ada@example.com')).rejects.toMatchObject({ code: 'rate_limited', retryAfter: 40 });
  await expect(throttle.mail('ida@example.com')).resolves.toBeDefined();
  jest.advanceTimersByTime(40_000);
  const again = await throttle.mail('ada@example.com');
  await again.end('cancel');
  await expect(throttle.mail('ada@example.com')).resolves.toBeDefined();
});

describe('an emailed code', () => {
  it.each([
    ['of a network is refused after five wrong ones from there', home, 5],
    ['where the address is not known is refused after thirty, as five would close it for everyone', undefined, 30],
    ['where the address is none is refused after thirty', 'not an address', 30],
  ])('%s', async (_, address, limit) => {
    for (let count = 0; count < limit; count += 1) {
      await (await throttle.mailedCode('ada@example.com', address)).end('keep');
    }
    await expect(throttle.mailedCode('Ada@example.com', address)).rejects.toMatchObject({ code: 'rate_limited' });
  });
});
