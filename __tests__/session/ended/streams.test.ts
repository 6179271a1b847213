import { jest } from '@jest/globals';
import { createOutageReport } from '../../../lib/session/outages.ts';
import { createRevocations } from '../../../lib/session/ended/revocations.ts';
import { createSessionWatch } from '../../../lib/session/ended/session-watch.ts';
import type { WatchTarget } from '../../../lib/session/ended/session-watch.ts';
import type { B2bSession } from '../../../lib/types.ts';
import { createClock } from '../../support/clock.ts';
import { createShared } from '../../support/shared-memory.ts';
import type { SharedMemory } from '../../support/shared-memory.ts';

const start = 1_700_000_000_000;
const facts = { sessionId: 'a', userId: 'ada', beganAt: start - 1_000, issuedAt: start - 1_000 };
const second = 1_000;

beforeEach(() =>
  jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask', 'Date', 'performance'] }),
);
afterEach(() => jest.useRealTimers());

/** A session of an organization whose token lasts for so many seconds from the start. */
const lasting = (seconds: number, organizationId = 'north') =>
  ({ adapter: 'b2b', organizationId, expiresAt: start + seconds * second }) as B2bSession;

/** One process with its streams, and what ended them. */
function createProcess(shared?: SharedMemory, clock = createClock(start)) {
  const outages = createOutageReport(shared, () => undefined);
  const revocations = createRevocations('b2b', shared, outages, clock.now, { count: 0 });
  const watches = createSessionWatch(revocations, clock.now);
  const keys = revocations.keysOf(facts, 'token');
  const ends: string[] = [];
  const watch = (name: string, target: Partial<WatchTarget> = {}) =>
    watches.watch({ facts, session: lasting(10), pair: 'token', outlivesToken: true, ...target }, (end) =>
      ends.push(`${name} ${end}`),
    );
  /** As a request does that renews the session. */
  const renew = async (newer: B2bSession) => {
    await revocations.checkAfterRefresh(keys);
    await revocations.extend(keys, newer);
  };
  const pass = async (ms: number): Promise<void> => {
    clock.advance(ms);
    await jest.advanceTimersByTimeAsync(ms);
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { watch, renew, ends, pass };
}

describe('a stream', () => {
  it('goes on while requests renew the session, and ends with the last token', async () => {
    const { watch, renew, ends, pass } = createProcess();
    watch('stream');
    watch('of one token', { outlivesToken: false });
    for (const seconds of [20, 30]) {
      await pass(5 * second);
      await renew(lasting(seconds));
      await pass(5 * second);
    }
    expect(ends).toEqual(['of one token expired']);
    await pass(10 * second - 1);
    expect(ends).toEqual(['of one token expired']);
    await pass(1);
    expect(ends).toEqual(['of one token expired', 'stream expired']);
  });

  it('goes on where a process renews the session whose clock is a minute ahead, after the token has expired by it', async () => {
    const clock = createClock(start);
    const shared = createShared(clock.now);
    const here = createProcess(shared, clock);
    here.watch('stream');
    await here.pass(second);
    const ahead = createProcess(shared, { ...clock, now: () => clock.now() + 60 * second });
    await ahead.renew(lasting(20));
    await here.pass(10 * second);
    expect(here.ends).toEqual([]);
    await here.pass(10 * second);
    expect(here.ends).toEqual(['stream expired']);
  });

  it('does not go on by a renewal in another organization', async () => {
    const { watch, renew, ends, pass } = createProcess();
    watch('stream');
    await renew(lasting(20, 'south'));
    await pass(10 * second);
    expect(ends).toEqual(['stream expired']);
  });

  it('goes on by a renewal of another process, also just before its token expires', async () => {
    const shared = createShared();
    const clock = createClock(start);
    const [here, there] = [createProcess(shared, clock), createProcess(shared, clock)];
    here.watch('stream');
    await here.pass(9.5 * second);
    await there.renew(lasting(20));
    await here.pass(10 * second);
    expect(here.ends).toEqual([]);
    await here.pass(0.5 * second);
    expect(here.ends).toEqual(['stream expired']);
  });

  it('ends with its token where the coordinator does not say whether another process renewed it', async () => {
    const shared = createShared();
    const { watch, ends, pass } = createProcess(shared);
    watch('stream');
    await pass(9.5 * second);
    shared.isDown = true;
    await pass(0.5 * second);
    expect(ends).toEqual(['stream expired']);
  });
});

describe('the coordinator is told', () => {
  function told() {
    const shared = createShared();
    const merge = jest.spyOn(shared, 'merge');
    const process = createProcess(shared);
    return { ...process, names: () => merge.mock.calls.splice(0).flatMap(([, change]) => Object.keys(change)) };
  }
  const awaited = expect.stringMatching(/^awaited:/);
  const lasts = expect.stringMatching(/^lasts:/);

  it('once of the streams of a token, and of each renewal that lasts longer', async () => {
    const { watch, renew, names, pass } = told();
    for (const name of ['one', 'two']) watch(name);
    await pass(0);
    expect(names()).toEqual([awaited]);
    await renew(lasting(10));
    expect(names()).toEqual([]);
    await renew(lasting(20));
    await renew(lasting(20));
    expect(names()).toEqual([lasts]);
  });

  it('nothing of a renewal where no stream is open, or none is any more', async () => {
    const { watch, renew, names, pass } = told();
    await renew(lasting(20));
    expect(names()).toEqual([]);
    watch('stream');
    // By a clock that may be a minute ahead.
    await pass(70 * second);
    names();
    await renew(lasting(80));
    expect(names()).toEqual([]);
  });

  it.each([{ facts: { ...facts, sessionId: undefined } }, { outlivesToken: false }])(
    'nothing of a stream that no renewal continues: %j',
    async (target) => {
      const { watch, names, pass } = told();
      watch('stream', target);
      await pass(10 * second);
      expect(names()).toEqual([]);
    },
  );
});
