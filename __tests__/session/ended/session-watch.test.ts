import { jest } from '@jest/globals';
import { createOutageReport } from '../../../lib/session/outages.ts';
import { createRevocations } from '../../../lib/session/ended/revocations.ts';
import { createSessionWatch } from '../../../lib/session/ended/session-watch.ts';
import type { B2bSession } from '../../../lib/types.ts';
import { createClock } from '../../support/clock.ts';
import { createShared } from '../../support/shared-memory.ts';
import type { SharedMemory } from '../../support/shared-memory.ts';

const start = 1_700_000_000_000;
const hour = 3_600_000;
const pollMs = 3_000;
const maxDelayMs = 2 ** 31 - 1;

beforeEach(() =>
  jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask', 'Date', 'performance'] }),
);
afterEach(() => jest.useRealTimers());

/** One process with its watches, and what ended them. */
function createProcess(shared: SharedMemory | undefined, clock = createClock(start)) {
  const outages = createOutageReport(shared, () => undefined);
  const revocations = createRevocations('b2b', shared, outages, clock.now, { count: 0 });
  const watches = createSessionWatch(revocations, clock.now);
  const ends: string[] = [];
  const sessionIn = (organizationId: string, lifeMs = hour) =>
    ({ adapter: 'b2b', organizationId, expiresAt: clock.now() + lifeMs }) as B2bSession;
  const watchOne = (sessionId: string, organizationId = 'north', lifeMs = hour) =>
    watches.watch(
      {
        facts: { sessionId, userId: `user of ${sessionId}`, beganAt: start - 1_000, issuedAt: start - 1_000 },
        session: sessionIn(organizationId, lifeMs),
        pair: `token of ${sessionId}`,
      },
      (end) => ends.push(`${sessionId} ${end}`),
    ).stop;
  const pass = async (ms: number): Promise<void> => {
    clock.advance(ms);
    await jest.advanceTimersByTimeAsync(ms);
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { revocations, watches, sessionIn, watchOne, ends, pass };
}

describe('a watched session', () => {
  it('ends once, when its token expires', async () => {
    const { watchOne, ends, pass, revocations } = createProcess(undefined);
    watchOne('a', 'north', 10_000);
    await pass(9_999);
    expect(ends).toEqual([]);
    await pass(1);
    expect(ends).toEqual(['a expired']);
    await revocations.end({ userId: 'user of a' });
    expect(ends).toEqual(['a expired']);
    watchOne('b', 'north', 0);
    expect(ends).toEqual(['a expired', 'b expired']);
  });

  it('may live longer than a timer waits', async () => {
    const { watchOne, ends, pass } = createProcess(undefined);
    watchOne('a', 'north', maxDelayMs + 10_000);
    await pass(maxDelayMs);
    expect(ends).toEqual([]);
    await pass(10_000);
    expect(ends).toEqual(['a expired']);
  });

  it('is no longer watched once that is stopped', async () => {
    const { watchOne, ends, pass, revocations } = createProcess(undefined);
    const [stop] = [watchOne('a'), watchOne('b')];
    stop();
    stop();
    await revocations.end({ userId: 'user of a' });
    await revocations.end({ userId: 'user of b' });
    await pass(hour);
    expect(ends).toEqual(['b ended']);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('holds no timer once it is stopped or has ended', async () => {
    const { watchOne, revocations } = createProcess(undefined);
    const stop = watchOne('a');
    watchOne('b');
    await revocations.end({ userId: 'user of b' });
    expect(jest.getTimerCount()).toBe(1);
    stop();
    expect(jest.getTimerCount()).toBe(0);
  });

  it('ends for each of its watches that is left', async () => {
    const { watchOne, ends, revocations } = createProcess(undefined);
    const [stop] = [watchOne('a', 'one'), watchOne('a', 'two'), watchOne('a', 'three')];
    stop();
    await revocations.end({ sessionId: 'a' });
    expect(ends).toEqual(['a ended', 'a ended']);
  });

  it('that began after a call of endSession goes on', async () => {
    const { watchOne, ends, revocations } = createProcess(undefined, createClock(start - 2_000));
    watchOne('a');
    await revocations.end({ userId: 'user of a' });
    expect(ends).toEqual([]);
  });

  it('ends at once where another process ended it since it was resolved', async () => {
    const shared = createShared();
    const [here, there] = [createProcess(shared), createProcess(shared)];
    await there.revocations.end({ userId: 'user of a' });
    here.watchOne('a');
    await here.pass(0);
    expect(here.ends).toEqual(['a ended']);
  });

  it('ends as switched where another process exchanged its token for one of another organization', async () => {
    const shared = createShared();
    const [here, there] = [createProcess(shared), createProcess(shared)];
    here.watchOne('a');
    here.watchOne('b');
    await there.revocations.spend(['a'], { 'token of a': 1 }, hour);
    await there.revocations.spend(['b'], { 'another token': 1 }, hour);
    await here.pass(pollMs);
    expect(here.ends).toEqual(['a switched']);
  });

  it('goes on while only a record that cannot be read could tell whether it was spared', async () => {
    const shared = createShared();
    const read = shared.read.bind(shared);
    const [here, there] = [createProcess(shared), createProcess(shared)];
    here.watchOne('a');
    await there.revocations.end({ userId: 'user of a' });
    shared.read = (subject) => (subject.includes(':session:') ? Promise.reject(new Error('away')) : read(subject));
    await here.pass(pollMs);
    expect(here.ends).toEqual([]);
    shared.read = read;
    await here.pass(pollMs);
    expect(here.ends).toEqual(['a ended']);
  });

  it('ends where it was switched from another organization', () => {
    const { watchOne, watches, sessionIn, ends } = createProcess(undefined);
    watchOne('a', 'north');
    watchOne('a', 'south');
    watchOne('b', 'north');
    watches.switched({ sessionId: undefined }, sessionIn('south'));
    expect(ends).toEqual([]);
    watches.switched({ sessionId: 'a' }, sessionIn('south'));
    expect(ends).toEqual(['a switched']);
  });

  it('ends within seconds where another process ended it, and costs nothing once no session is watched', async () => {
    const shared = createShared();
    const clock = createClock(start);
    const [here, there] = [createProcess(shared, clock), createProcess(shared, clock)];
    here.watchOne('a');
    const stop = here.watchOne('b');
    await here.pass(pollMs);
    expect(here.ends).toEqual([]);
    await there.revocations.end({ userId: 'user of a' });
    await here.pass(pollMs);
    expect(here.ends).toEqual(['a ended']);
    stop();
    await here.pass(pollMs);
    shared.lookUps = 0;
    await here.pass(10 * pollMs);
    expect([shared.lookUps, jest.getTimerCount()]).toEqual([0, 0]);
  });

  it('is asked for in every poll, also after a failed one', async () => {
    const shared = createShared();
    const { watchOne, pass } = createProcess(shared);
    watchOne('a');
    shared.isDown = true;
    await pass(pollMs);
    shared.isDown = false;
    shared.lookUps = 0;
    for (const polls of [1, 2, 3]) {
      await pass(pollMs);
      expect(shared.lookUps / polls).toBe(2);
    }
  });

  it('is asked for with at most 99 others at a time, and a slow coordinator no more often', async () => {
    const shared = createShared();
    const { watchOne, pass } = createProcess(shared);
    for (let index = 0; index < 250; index += 1) watchOne(`session ${index}`);
    await pass(0);
    shared.lookUps = 0;
    const asked: number[] = [];
    let answer = (): void => undefined;
    for (let batch = 0; batch < 3; batch += 1) {
      const { promise, resolve } = Promise.withResolvers<undefined>();
      shared.heldBy = promise;
      answer();
      answer = () => resolve(undefined);
      await pass(10 * pollMs);
      asked.push(shared.lookUps / 2);
    }
    expect(asked).toEqual([100, 200, 250]);
  });
});
