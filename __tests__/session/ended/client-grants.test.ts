import { jest } from '@jest/globals';
import { createOutageReport } from '../../../lib/session/outages.ts';
import { createRevocations } from '../../../lib/session/ended/revocations.ts';
import { createSessionWatch } from '../../../lib/session/ended/session-watch.ts';
import type { BackendSession } from '../../../lib/types.ts';
import { createClock } from '../../support/clock.ts';
import { createMemoryApp } from '../../support/memory-sessions.ts';
import { createShared } from '../../support/shared-memory.ts';

const clock = createClock(1_000_000);
const grant = { userId: 'ada', clientId: 'cursor' };
const facts = { ...grant, sessionId: 'session', beganAt: 999_000, issuedAt: 999_000 };

function createProcess(shared = createShared(clock.now)) {
  return createRevocations(
    'backend',
    shared,
    createOutageReport(shared, () => undefined),
    clock.now,
    { count: 0 },
  );
}

const standing = async (revocations: ReturnType<typeof createProcess>, other: Partial<typeof facts> = {}) =>
  (await revocations.check(revocations.keysOf({ ...facts, ...other }, undefined))).standing;

it('a grant that is taken back ends the tokens of this user at this client, in every process', async () => {
  const shared = createShared(clock.now);
  const [here, there] = [createProcess(shared), createProcess(shared)];
  await here.withdrawGrant(grant);
  for (const revocations of [here, there]) {
    expect(await standing(revocations)).toBe('ended');
    expect(await standing(revocations, { issuedAt: clock.now() + 60_000 })).toBe('ended');
    expect(await standing(revocations, { issuedAt: clock.now() + 60_001 })).toBe('live');
    expect(await standing(revocations, { clientId: 'other' })).toBe('live');
    expect(await standing(revocations, { userId: 'eve' })).toBe('live');
  }
  const own = { userId: 'ada', sessionId: 'session', beganAt: 999_000, issuedAt: 999_000 };
  expect((await there.check(there.keysOf(own, undefined))).standing).toBe('live');
});

it('a grant that is given again lets the new tokens of the client pass at once, and the old ones never', async () => {
  const shared = createShared(clock.now);
  const [here, there] = [createProcess(shared), createProcess(shared)];
  await here.withdrawGrant(grant);
  const issuedAt = clock.now() + 2_000;
  await there.allowGrant({ ...grant, clientId: 'other' });
  expect(await standing(here, { issuedAt })).toBe('ended');
  await there.allowGrant(grant);
  for (const revocations of [here, there]) {
    expect(await standing(revocations, { issuedAt })).toBe('live');
    expect(await standing(revocations)).toBe('ended');
  }
  await here.withdrawGrant(grant);
  expect(await standing(there, { issuedAt })).toBe('ended');
});

it('a grant that was never taken back costs one read to give, and writes nothing', async () => {
  const shared = createShared(clock.now);
  const merge = jest.spyOn(shared, 'merge');
  await createProcess(shared).allowGrant({ userId: 'new', clientId: 'cursor' });
  expect([shared.lookUps, merge.mock.calls]).toEqual([1, []]);
});

it('the sessions of an adapter take a grant back, and give it again', async () => {
  const shared = createShared(clock.now);
  const { resolver } = createMemoryApp({ clock, shared });
  const other = createRevocations(
    'b2b',
    shared,
    createOutageReport(shared, () => undefined),
    clock.now,
    { count: 0 },
  );
  const later = { issuedAt: clock.now() + 1_000 };
  await resolver.withdrawGrant(grant);
  expect(await standing(other, later)).toBe('ended');
  await resolver.allowGrant(grant);
  expect(await standing(other, later)).toBe('live');
  expect(await standing(other)).toBe('ended');
});

it('ids cannot be put together to another grant', async () => {
  const revocations = createProcess();
  await revocations.withdrawGrant({ userId: 'ada","cursor', clientId: 'x' });
  expect(await standing(revocations, { userId: 'ada', clientId: 'cursor","x' })).toBe('live');
});

it('a watched token ends at once when this process takes its grant back', async () => {
  const revocations = createProcess();
  const ends: string[] = [];
  const session = { adapter: 'backend', expiresAt: clock.now() + 3_600_000 } as BackendSession;
  createSessionWatch(revocations, clock.now).watch({ facts, session, pair: undefined }, (end) => ends.push(end));
  await revocations.withdrawGrant(grant);
  expect(ends).toEqual(['ended']);
});

it('a watched token ends when another process took its grant back, and not by renewSession', async () => {
  jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask', 'Date', 'performance'] });
  try {
    const shared = createShared(clock.now);
    const [here, there] = [createProcess(shared), createProcess(shared)];
    const ends: string[] = [];
    const session = { adapter: 'backend', expiresAt: clock.now() + 3_600_000 } as BackendSession;
    createSessionWatch(there, clock.now).watch({ facts, session, pair: undefined }, (end) => ends.push(end));
    const poll = async (): Promise<void> => {
      await jest.advanceTimersByTimeAsync(3_000);
      await new Promise((resolve) => setImmediate(resolve));
    };
    await here.renew({ userId: 'ada' });
    await poll();
    expect(ends).toEqual([]);
    await here.withdrawGrant(grant);
    await poll();
    expect(ends).toEqual(['ended']);
    expect(jest.getTimerCount()).toBe(0);
  } finally {
    jest.useRealTimers();
  }
});
