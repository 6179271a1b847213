import { createOutageReport } from '../../../lib/session/outages.ts';
import { forever } from '../../../lib/session/ended/record.ts';
import type { SessionRecord } from '../../../lib/session/ended/record.ts';
import { createKeysOf, createRecords } from '../../../lib/session/ended/records.ts';
import { createClock } from '../../support/clock.ts';
import { createShared } from '../../support/shared-memory.ts';
import type { SharedMemory } from '../../support/shared-memory.ts';

const day = 24 * 60 * 60_000;
const user = 'user';

/** One process. */
function createProcess(shared?: SharedMemory) {
  const clock = createClock(1_000_000);
  const changes = { count: 0 };
  const outages = createOutageReport(shared, () => undefined);
  return { clock, changes, records: createRecords(shared, outages, clock.now, changes) };
}

describe('the record of a session or a user', () => {
  it.each(['ended', 'others:5:s', 'closed', 'spared:5', 'reopened:5'])(
    'keeps %s as long as browsers keep a cookie, whatever lifetime the rest has',
    (name) => {
      const { clock, records } = createProcess();
      records.note(user, { [name]: 5, signedOut: 5 }, day);
      clock.advance(day);
      expect(records.known([user])).toEqual({ [name]: 5, signedOut: 5 });
      clock.advance(399 * day);
      expect(records.known([user])).toEqual({ [name]: 5 });
      clock.advance(1);
      expect(records.known([user])).toEqual({});
    },
  );

  it.each(['signedOut', 'replaced', 'stale', 'withdrawn', 'allowed', 'fresh:a', 'continued', 'own:a', 'spent:a'])(
    'keeps %s as long as it is asked to, at the longest by any call',
    (name) => {
      const { clock, records } = createProcess();
      records.note(user, { [name]: 5 }, 2 * day);
      records.note(user, { [name]: 6 }, day);
      clock.advance(2 * day);
      expect(records.known([user])).toEqual({ [name]: 6 });
      clock.advance(1);
      expect(records.known([user])).toEqual({});
    },
  );

  it('counts as changed only by what was not known', async () => {
    const shared = createShared();
    await shared.merge(user, { ended: 5, stale: 5 }, day);
    const { changes, records } = createProcess(shared);
    await records.find([user, 'none']);
    const counted = changes.count;
    expect(counted).toBeGreaterThan(0);
    await records.find([user, 'none']);
    records.note(user, { ended: 4, stale: 5 }, day);
    expect(changes.count).toBe(counted);
    records.note(user, { ended: 6 }, day);
    expect(changes.count).toBeGreaterThan(counted);
  });

  it('is whole with the first answer of the coordinator, and confirmed with all of them', async () => {
    const shared = createShared();
    const read = shared.read.bind(shared);
    const { records } = createProcess(shared);
    const foundWithout = async (...away: string[]) => {
      shared.read = (subject) => (away.includes(subject) ? Promise.reject(new Error('away')) : read(subject));
      const { isWhole, isConfirmed } = await records.find(['session', user]);
      return { isWhole, isConfirmed };
    };
    expect(await foundWithout()).toEqual({ isWhole: true, isConfirmed: true });
    expect(await foundWithout(user)).toEqual({ isWhole: true, isConfirmed: false });
    expect(await foundWithout('session')).toEqual({ isWhole: false, isConfirmed: false });
    expect(await createProcess().records.find([user])).toEqual({ record: {}, isWhole: true, isConfirmed: true });
  });

  it.each<[string, unknown, boolean]>([
    ['none', undefined, true],
    ['null', null, true],
    ['a text', 'ended', false],
    ['a list', ['ended', '9'], false],
    ['a Map', new Map([['ended', 9]]), false],
    ['a time that is none', { ended: 9, stale: 'soon' }, false],
    ['an endless time', { ended: Infinity }, false],
  ])('is empty where a coordinator returns %s, and may be known elsewhere or not', async (_, answer, isConfirmed) => {
    const shared = Object.assign(createShared(), { read: () => Promise.resolve(answer as SessionRecord) });
    const { record, isConfirmed: found } = await createProcess(shared).records.find([user]);
    expect([record, found]).toEqual([{}, isConfirmed]);
  });

  it('has numbers where a coordinator returns the times as texts', async () => {
    const texts = { ended: '9' } as unknown as SessionRecord;
    const shared = Object.assign(createShared(), { read: () => Promise.resolve(texts) });
    expect((await createProcess(shared).records.find([user])).record).toEqual({ ended: 9 });
  });

  it('is read once for all calls of one group that wait, and by each other call for itself', async () => {
    const shared = createShared();
    const { records } = createProcess(shared);
    const readsOf = async (...groups: (string | undefined)[]): Promise<number> => {
      shared.lookUps = 0;
      await Promise.all(groups.map((group) => records.find([user], group)));
      return shared.lookUps;
    };
    expect(await readsOf('one', 'one', 'other')).toBe(2);
    expect(await readsOf('one')).toBe(1);
    expect(await readsOf(undefined, undefined)).toBe(2);
  });
});

describe('the time of a call', () => {
  it('is now, in whole milliseconds, or later than every call before', () => {
    const { records } = createProcess();
    expect(records.nextTime({ subject: user, name: 'ended', at: 0 })).toBe(0);
    expect(records.nextTime({ subject: user, name: 'ended', at: 6.5 })).toBe(7);
    records.note(user, { ended: 9 }, day);
    expect(records.nextTime({ subject: user, name: 'ended', at: 9 })).toBe(10);
    expect(records.nextTime({ subject: user, name: 'others:5:s', at: 9 })).toBe(10);
    expect(records.nextTime({ subject: user, name: 'stale', at: 9 })).toBe(9);
    expect(records.nextTime({ subject: 'other', name: 'ended', at: 9 })).toBe(9);
  });

  it('applies here at once, and is moved behind the calls that the coordinator knows, here and there', async () => {
    const shared = createShared();
    const { records } = createProcess(shared);
    const noted: (number | undefined)[] = [];
    const callNext = (at: number) =>
      records.callNext({ subject: user, name: 'ended', ttlMs: day, at }, () =>
        noted.push(records.known([user])['ended']),
      );
    const first = callNext(0);
    expect(noted).toEqual([0]);
    await first;
    expect([noted, await shared.read(user)]).toEqual([[0, 0], { ended: 0 }]);
    await shared.merge(user, { ended: 20 }, day);
    await callNext(10);
    expect([noted, await shared.read(user)]).toEqual([[0, 0, 10, 21], { ended: 21 }]);
  });
});

describe('the look-up keys', () => {
  const keysOf = createKeysOf('b2b');
  const own = { sessionId: 'session', userId: 'ada', beganAt: 1, issuedAt: forever };
  const facts = { ...own, clientId: 'client' };

  it('name the session, its user, and the user at a client, each where it is known', () => {
    const { session, subjects } = keysOf(facts, 'token');
    expect(subjects.map((subject) => subject.replace(/:[^:]+$/, ''))).toEqual(['b2b:session', 'b2b:user', 'b2b:grant']);
    expect(session).toBe(subjects[0]);
    expect(keysOf(own, undefined).subjects).toEqual(subjects.slice(0, 2));
    expect(keysOf({ ...facts, userId: undefined }, undefined).subjects).toEqual(subjects.slice(0, 1));
    expect(keysOf({ ...facts, sessionId: undefined }, undefined)).toMatchObject({
      session: undefined,
      subjects: subjects.slice(1),
    });
  });

  it('differ for each adapter, and keep the times and the tokens', () => {
    const keys = keysOf(facts, 'token');
    expect(keys).toMatchObject({ pair: 'token', beganAt: 1, issuedAt: forever });
    const others = createKeysOf('backend')(facts, 'token').subjects;
    expect(others.filter((subject) => keys.subjects.includes(subject))).toEqual([]);
  });
});
