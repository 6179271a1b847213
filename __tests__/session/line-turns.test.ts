import { jest } from '@jest/globals';
import { AuthError } from '../../lib/errors.ts';
import { createLineTurns } from '../../lib/session/line-turns.ts';
import type { Turn } from '../../lib/session/line-turns.ts';
import { forever } from '../../lib/session/record.ts';
import type { SharedCoordinator, TakenLine } from '../../lib/session/coordinator.ts';
import { closingMs, deliver, emptyLine, exchange, settledOf } from '../../lib/session/token-line.ts';
import type { KnownLine, Place, TokenLine } from '../../lib/session/token-line.ts';
import { createClock } from '../support/clock.ts';
import { createShared } from '../support/shared-memory.ts';

const start = 1_700_000_000_000;
const turnMs = 2_000;
const unknown: KnownLine = { line: emptyLine };
const { signal } = new AbortController();
const none = (): undefined => undefined;

const at = (token: string): Place => ({ line: 'session', token, pair: token });

/** Processes that share a coordinator. Only their waits move its clock. */
function setUp() {
  const clock = createClock(start);
  const inner = createShared(clock.now);
  const commands: string[] = [];
  const shared: SharedCoordinator = {
    ...inner,
    take(...call) {
      commands.push('take');
      return inner.take(...call);
    },
    settle(...call) {
      commands.push('settle');
      return inner.settle(...call);
    },
  };
  const waits: number[] = [];
  const createProcess = ({ aheadMs = 0, onWait }: { aheadMs?: number; onWait?: () => Promise<unknown> } = {}) => {
    const now = (): number => clock.now() + aheadMs;
    const turns = createLineTurns(shared, now, async (ms) => {
      waits.push(ms);
      clock.advance(ms);
      await onWait?.();
    });
    const take = async (token: string): Promise<Turn> => {
      const turn = await turns.take(at(token), signal, ({ line }) => settledOf(line, token, now()));
      if (!('holder' in turn)) throw new Error('The line has an answer');
      return turn;
    };
    const to = (newest: string, token: string) => (line: TokenLine) =>
      exchange(line, token, { newest, text: `of ${newest}` }, now());
    const settle = async (token: string, newest: string): Promise<KnownLine> =>
      turns.settle(at(token), await take(token), to(newest, token), signal);
    /** What the coordinator has, in this process' times. */
    const read = async (): Promise<KnownLine> => (await take('a token to read with')).shared;
    return { now, turns, take, to, settle, read };
  };
  return { clock, inner, shared, commands, waits, createProcess };
}

/** A process whose coordinator gives this answer to each `take`. */
function answering(answer: Partial<TakenLine>, isGiven = true) {
  const waits: number[] = [];
  const shared: SharedCoordinator = {
    ...createShared(),
    take: (_line, { holder }) =>
      Promise.resolve({ version: '1', line: '', now: 0, turnMs, holder: isGiven ? holder : undefined, ...answer }),
  };
  const turns = createLineTurns(
    shared,
    () => 0,
    (ms) => {
      waits.push(ms);
      return waits.length > 5 ? Promise.reject(new Error('waited')) : Promise.resolve();
    },
  );
  return { turns, waits };
}

afterEach(() => jest.restoreAllMocks());

describe('a turn', () => {
  it('takes one command, and one for its answer', async () => {
    const { commands, createProcess } = setUp();
    await createProcess().settle('a', 'b');
    expect(commands).toEqual(['take', 'settle']);
  });

  it('is taken over once its holder’s time is over', async () => {
    const { clock, createProcess } = setUp();
    const [first, second] = [await createProcess().take('a'), await createProcess().take('a')];
    expect(second.holder).not.toBe(first.holder);
    expect(clock.now()).toBeGreaterThanOrEqual(start + turnMs);
  });

  it.each([
    ['least', 0, [4, 9, 14]],
    ['average', 0.5, [3, 8, 10]],
    ['longest', 0.999_999, [3, 7, 8]],
  ])('of another is asked for less and less often, with the %s waits', async (_which, random, expected) => {
    jest.spyOn(Math, 'random').mockReturnValue(random);
    const controller = new AbortController();
    const clock = createClock(0);
    const times: number[] = [];
    const shared: SharedCoordinator = {
      ...createShared(),
      take() {
        times.push(clock.now());
        return Promise.resolve({ version: '', line: '', now: 0, turnMs, holder: 'another' });
      },
    };
    const turns = createLineTurns(shared, clock.now, (ms) => {
      clock.advance(ms);
      if (clock.now() >= 60_000) controller.abort();
      return Promise.resolve();
    });
    await expect(turns.take(at('a'), controller.signal, none)).rejects.toThrow();
    const between = (from: number, to: number): number => times.filter((time) => time >= from && time < to).length;
    expect([between(0, 200), between(0, 1_000), between(50_000, 60_000)]).toEqual(expected);
  });

  describe('of another, where a later question fails,', () => {
    /** @param answers of `take`, in turn; the last one stays */
    function failing(...answers: readonly ('another' | 'own' | Error)[]) {
      const clock = createClock(start);
      let asked = 0;
      const shared: SharedCoordinator = {
        ...createShared(),
        take(_line, { holder }) {
          const answer = answers[Math.min(asked, answers.length - 1)];
          asked += 1;
          if (answer instanceof Error) return Promise.reject(answer);
          return Promise.resolve({
            version: '',
            line: '',
            now: 0,
            turnMs,
            holder: answer === 'own' ? holder : 'another',
          });
        },
      };
      const turns = createLineTurns(shared, clock.now, (ms) => {
        clock.advance(ms);
        return Promise.resolve();
      });
      return { clock, taken: turns.take(at('a'), signal, none) };
    }

    it('is waited for', async () => {
      const { taken } = failing('another', new Error('too late'), new Error('too late'), 'own');
      expect(await taken).toMatchObject({ turnMs });
    });

    it('is waited for until it is over', async () => {
      const { clock, taken } = failing('another', new Error('too late'));
      await expect(taken).rejects.toThrow('too late');
      expect(clock.now() - start).toBeGreaterThanOrEqual(turnMs);
      expect(clock.now() - start).toBeLessThan(2 * turnMs);
    });

    it('is not waited for where no answer has named it', async () => {
      const { clock, taken } = failing(new Error('too late'));
      await expect(taken).rejects.toThrow('too late');
      expect(clock.now()).toBe(start);
    });
  });

  it('is not asked for once the signal has aborted, nor waited for', async () => {
    const { commands, createProcess } = setUp();
    await expect(createProcess().turns.take(at('a'), AbortSignal.abort(), none)).rejects.toThrow();
    expect(commands).toEqual([]);

    const controller = new AbortController();
    const shared = Object.assign(createShared(), {
      take: () => Promise.resolve({ version: '', line: '', now: 0, turnMs, holder: 'another' }),
    });
    const turns = createLineTurns(
      shared,
      () => 0,
      (_ms, _value, options) => {
        controller.abort();
        return options?.signal?.aborted === true ? Promise.reject(new Error('aborted')) : new Promise(() => undefined);
      },
    );
    const taken = turns.take(at('a'), controller.signal, none).then(
      () => 'taken',
      () => 'stopped',
    );
    const later = new Promise((resolve) => setImmediate(() => resolve('still waits')));
    expect(await Promise.race([taken, later])).toBe('stopped');
  });

  it.each(['no failure', 'a failure of another attempt'])(
    'is given for a token whose time is over, with %s',
    async (what) => {
      const { clock, commands, createProcess } = setUp();
      const { now, turns, take, settle } = createProcess();
      await settle('x', 'y');
      const known = await settle('a', 'b');
      await turns.change('session', known, (line) => deliver(line, 'a', 'b', now()));
      clock.advance(closingMs + 1);
      if (what !== 'no failure') await turns.fail(at('z'), await take('z'), new Error('no answer'));
      commands.length = 0;
      await settle('a', 'c');
      expect(commands).toEqual(['take', 'take', 'settle']);
    },
  );

  it('that the coordinator neither gives nor says to be another’s is an outage', async () => {
    const { turns, waits } = answering({}, false);
    await expect(turns.take(at('a'), signal, none)).rejects.toThrow();
    expect(waits).toEqual([]);
  });

  it.each([
    [undefined as never, 100],
    [Number.NaN, 100],
    [1, 100],
    [100, 100],
    [5_000, 5_000],
    [60_000, 60_000],
    [3_600_000, 60_000],
  ])('of %p ms is taken for one of %p ms', async (given, taken) => {
    expect(await answering({ turnMs: given }).turns.take(at('a'), signal, none)).toMatchObject({ turnMs: taken });
  });

  describe('while its work runs', () => {
    beforeEach(() =>
      jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask', 'Date', 'performance'] }),
    );
    afterEach(() => jest.useRealTimers());

    async function setUpWork() {
      const { clock, inner, createProcess } = setUp();
      const { turns, take } = createProcess();
      const turn = await take('a');
      const controller = new AbortController();
      const work = Promise.withResolvers<string>();
      const held = turns.hold(at('a'), turn, () => work.promise, controller.signal);
      const pass = async (ms: number): Promise<void> => {
        for (let passed = 0; passed < ms; passed += 100) {
          clock.advance(100);
          await jest.advanceTimersByTimeAsync(100);
        }
      };
      const holder = async () => (await inner.take('session', { token: 'a', holder: 'another' }, [])).holder;
      return { controller, work, held, pass, holder, own: turn.holder };
    }

    it('stays with its holder', async () => {
      const { work, held, pass, holder, own } = await setUpWork();
      await pass(10 * turnMs);
      expect(await holder()).toBe(own);
      work.resolve('done');
      expect(await held).toBe('done');
      await pass(turnMs);
      expect(await holder()).toBe('another');
    });

    it('is free for another after the signal aborts', async () => {
      const { controller, pass, holder } = await setUpWork();
      await pass(turnMs);
      controller.abort();
      await pass(turnMs);
      expect(await holder()).toBe('another');
      expect(jest.getTimerCount()).toBe(0);
    });
  });
});

describe('a failure reaches waiting processes', () => {
  const outage = { code: 'provider_unavailable', reason: undefined, retryAfter: undefined };

  async function failureOf(
    apply: (first: ReturnType<ReturnType<typeof setUp>['createProcess']>, turn: Turn) => unknown,
  ) {
    const { createProcess } = setUp();
    const first = createProcess();
    const turn = await first.take('a');
    const second = createProcess({ onWait: async () => apply(first, turn) });
    const error: unknown = await second.turns.take(at('a'), signal, none).catch((failure: unknown) => failure);
    if (!(error instanceof AuthError)) throw new Error('There was no failure');
    const { code, reason, retryAfter } = error;
    return { code, reason, retryAfter };
  }

  it.each([
    [
      'with all that it says',
      new AuthError('provider_refused', { reason: 'bad_key', retryAfter: 7 }),
      { code: 'provider_refused', reason: 'bad_key', retryAfter: 7 },
    ],
    ['with its code only', new AuthError('token_rejected'), { ...outage, code: 'token_rejected' }],
    [
      'without free text',
      new AuthError('provider_refused', { reason: 'a text of\na stranger' }),
      { ...outage, code: 'provider_refused' },
    ],
    [
      'as an outage where it has another code',
      new AuthError('session_too_large', { reason: 'other' }),
      { ...outage, reason: 'other' },
    ],
    ['as an outage where it is any error', new TypeError('a bug'), outage],
  ])('%s', async (_how, error, expected) => {
    expect(await failureOf(({ turns }, turn) => turns.fail(at('a'), turn, error))).toEqual(expected);
  });

  it('also where they ask only every second by now, and the line has nothing else', async () => {
    jest.spyOn(Math, 'random').mockReturnValue(0.999_999);
    const { createProcess, clock, inner, waits } = setUp();
    const first = createProcess();
    const turn = await first.take('a');
    const second = createProcess({
      onWait: async () => {
        const longest = waits.at(-1) ?? 0;
        if (longest < 1_249) return inner.take('session', { token: 'a', holder: turn.holder }, []);
        await first.turns.fail(at('a'), turn, new AuthError('token_rejected'));
        // It failed at the beginning of this wait.
        clock.advance(longest);
      },
    });
    await expect(second.turns.take(at('a'), signal, none)).rejects.toMatchObject({ code: 'token_rejected' });
  });

  it('without what no process of ours writes', async () => {
    const { inner, createProcess } = setUp();
    const { holder } = await createProcess().take('a');
    const second = createProcess({
      onWait: () => {
        const failure = { attempt: `${holder}:a`, code: 'provider_refused', reason: 5, retryAfter: '7' };
        const line = JSON.stringify({ spent: [], refused: [], failure });
        return inner.settle('session', { from: undefined, version: '1', line, known: [failure.attempt], ttlMs: 1_000 });
      },
    });
    const error: unknown = await second.turns.take(at('a'), signal, none).catch((failure: unknown) => failure);
    expect(error).toMatchObject({ ...outage, code: 'provider_refused' });
  });
});

describe('a line at the coordinator', () => {
  it('has its times by the coordinator’s clock', async () => {
    const { clock, createProcess } = setUp();
    const [ahead, behind] = [createProcess({ aheadMs: 30_000 }), createProcess({ aheadMs: -30_000 })];
    await ahead.settle('a', 'b');
    const known = await ahead.settle('b', 'c');
    const refused = { token: 'x', reason: 'invalid_grant', until: ahead.now() + 1_000 };
    const { line: own } = await ahead.turns.change('session', known, (line) => ({
      ...deliver(line, 'a', 'b', ahead.now()),
      refused: [refused],
    }));
    expect(own.spent.map(({ closes }) => closes)).toEqual([ahead.now() + closingMs, undefined]);
    const { line } = await behind.read();
    expect(line.spent).toEqual(
      own.spent.map(({ at: exchangedAt, newestAt, until, closes, ...rest }) => ({
        ...rest,
        at: exchangedAt - 60_000,
        newestAt: newestAt - 60_000,
        until: until - 60_000,
        ...(closes !== undefined && { closes: closes - 60_000 }),
      })),
    );
    expect(line.refused).toEqual([{ ...refused, until: clock.now() - 30_000 + 1_000 }]);
  });

  it('is first asked for its clock by a process that has not heard of it, and then changed at once', async () => {
    const { commands, createProcess } = setUp();
    const { turns, to, read } = createProcess({ aheadMs: 30_000 });
    await turns.change('session', unknown, to('b', 'a'));
    expect(commands.splice(0)).toEqual(['settle', 'settle']);
    await turns.change('another session', unknown, to('d', 'c'));
    expect(commands.splice(0)).toEqual(['settle']);
    expect((await read()).line.spent).toHaveLength(1);
  });

  it('is changed once, also where the coordinator says that the change stands already', async () => {
    const { inner, shared, commands, createProcess } = setUp();
    shared.settle = async (line, change) => {
      commands.push('settle');
      await inner.settle(line, change);
      return inner.settle(line, { ...change, from: 'the version before' });
    };
    const { line } = await createProcess().settle('a', 'b');
    expect(settledOf(line, 'a', start)).toEqual({ kind: 'renewed', text: 'of b' });
    expect(commands).toEqual(['take', 'settle']);
  });

  it('is not changed where another process made the change', async () => {
    const { commands, createProcess } = setUp();
    const [one, two] = [createProcess(), createProcess()];
    const known = await one.settle('a', 'b');
    const close = (line: TokenLine): TokenLine => deliver(line, 'a', 'b', start);
    await two.turns.change('session', known, close);
    commands.length = 0;
    expect((await one.turns.change('session', known, close)).line.spent).toMatchObject([{ closes: start + closingMs }]);
    expect(commands).toEqual(['settle']);
  });

  it('keeps nothing of a session that another process forgot', async () => {
    const { createProcess } = setUp();
    const [one, two] = [createProcess(), createProcess()];
    const known = await one.settle('a', 'b');
    await two.turns.forget('session');
    await one.turns.change('session', known, (line) => deliver(line, 'a', 'b', start));
    expect((await two.read()).line.spent).toEqual([]);
  });

  it('keeps its answers where a process that cannot open them changes it', async () => {
    const { inner, shared, createProcess } = setUp();
    const known = await createProcess().settle('a', 'b');
    shared.settle = async (line, change) => {
      const standing = await inner.settle(line, change);
      return standing && { ...standing, answer: undefined };
    };
    const refused = [{ token: 'x', reason: 'invalid_grant', until: start + 1_000 }];
    const change = (line: TokenLine): TokenLine => ({ ...line, refused });
    await createProcess().turns.change('session', { ...known, version: 'an old one' }, change);
    const { line } = await createProcess().read();
    expect([line.refused, settledOf(line, 'a', start)]).toEqual([refused, { kind: 'renewed', text: 'of b' }]);
  });

  it('that changes all the time is given up after five attempts, with short random waits between', async () => {
    jest.spyOn(Math, 'random').mockReturnValue(0.5);
    const { shared, commands, waits, createProcess } = setUp();
    const { turns, settle, to } = createProcess();
    await settle('a', 'b');
    commands.length = 0;
    shared.settle = () => {
      commands.push('settle');
      return Promise.resolve({ version: `${commands.length} of another`, line: '', now: start });
    };
    await expect(turns.change('session', { line: emptyLine, version: '1' }, to('c', 'x'))).rejects.toThrow();
    expect([commands, waits]).toEqual([Array.from({ length: 5 }, () => 'settle'), [10, 10, 10, 10]]);
  });

  const spent = { pair: 'a', issued: 'b', newest: 'b', at: 0, newestAt: 0, until: 1_000, closes: 1_000 };
  const refused = { token: 'x', reason: 'invalid_grant', until: 1_000 };
  const reading = (line: object, answer = '{"b":"of b"}') =>
    answering({ line: JSON.stringify(line), answer }).turns.take(at('z'), signal, none);

  it('is whole: it has each text and each time', async () => {
    for (const time of [-forever, 0, forever]) {
      const line = {
        spent: [{ ...spent, at: time, newestAt: time, until: time, closes: time }],
        refused: [{ ...refused, until: time }],
      };
      expect(await reading(line)).toMatchObject({ shared: { line } });
    }
    for (const [list, whole] of Object.entries({ spent, refused })) {
      for (const [name, value] of Object.entries(whole)) {
        const wrongs = typeof value === 'string' ? [5, null] : ['5', null, 2 * forever, -2 * forever];
        for (const wrong of wrongs) {
          const line = { spent: [spent], refused: [refused], [list]: [whole, { ...whole, [name]: wrong }] };
          await expect(reading(line)).rejects.toThrow();
        }
      }
    }
  });

  it.each(['spent', 'refused'])('has at most 64 tokens that were %s', async (list) => {
    const whole = list === 'spent' ? spent : refused;
    const line = (length: number) => ({ spent: [], refused: [], [list]: Array.from({ length }, () => whole) });
    expect(await reading(line(64))).toMatchObject({ shared: { line: line(64) } });
    await expect(reading(line(65))).rejects.toThrow();
  });

  it('has texts of 1,000 characters at most', async () => {
    const [text, longer] = ['x'.repeat(1_000), 'x'.repeat(1_001)];
    for (const [list, whole] of Object.entries({ spent, refused })) {
      const name = list === 'spent' ? 'pair' : 'token';
      const line = (value: string) => ({ spent: [], refused: [], [list]: [{ ...whole, [name]: value }] });
      expect(await reading(line(text))).toMatchObject({ shared: { line: line(text) } });
      await expect(reading(line(longer))).rejects.toThrow();
    }
  });

  it.each(['5', 'null', '["of b"]', '{"b":5}', '{"c":"of c","b":5}', '"of b"'])(
    'has no tokens where its answer is %s',
    async (answer) => {
      const line = { spent: [spent, { ...spent, token: '0', newest: '0' }], refused: [] };
      const read = await reading(line, answer);
      expect('holder' in read && read.shared.line.answers).toEqual({});
    },
  );

  it('says why a token was refused, and no free text', async () => {
    const line = { spent: [], refused: [refused, { ...refused, token: 'y', reason: 'a text of\na stranger' }] };
    const read = await reading(line);
    expect('holder' in read && read.shared.line.refused.map(({ reason }) => reason)).toEqual([
      'invalid_grant',
      'refused',
    ]);
  });
});
