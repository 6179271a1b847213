import { jest } from '@jest/globals';
import { createOutageReport } from '../../../lib/session/outages.ts';
import type { AuthError } from '../../../lib/errors.ts';
import { hash } from '../../../lib/session/ended/record.ts';
import { createRevocations, revocationMs } from '../../../lib/session/ended/revocations.ts';
import type { SharedCoordinator } from '../../../lib/session/coordinator.ts';
import { createClock } from '../../support/clock.ts';
import { createShared } from '../../support/shared-memory.ts';

const createProcess = (now: () => number, shared?: SharedCoordinator) =>
  createRevocations(
    'b2b',
    shared,
    createOutageReport(shared, () => undefined),
    now,
    { count: 0 },
  );

const createLocal = (now = createClock().now) => createProcess(now);

const keysOf = (sessionId: string | undefined) =>
  createLocal().keysOf({ sessionId, userId: undefined, beganAt: 0, issuedAt: 0 }, undefined);

describe('a revocation', () => {
  it('lasts until no token of the session can be valid anymore', async () => {
    const clock = createClock();
    const revocations = createLocal(clock.now);
    await revocations.revoke('session', 'signed_out', 300_000);
    clock.advance(325_000);
    expect(revocations.knownRevocation(keysOf('session'))).toBe('signed_out');
    clock.advance(1);
    expect(revocations.knownRevocation(keysOf('session'))).toBeUndefined();
  });

  it('returns how the session ended, for this session only', async () => {
    const revocations = createLocal();
    expect(revocations.knownRevocation(keysOf('one'))).toBeUndefined();
    await revocations.revoke('one', 'replaced', 1_000);
    await revocations.revoke('two', 'signed_out', 1_000);
    expect([
      revocations.knownRevocation(keysOf('one')),
      revocations.knownRevocation(keysOf('two')),
      revocations.knownRevocation(keysOf('three')),
      revocations.knownRevocation(keysOf(undefined)),
    ]).toEqual(['replaced', 'signed_out', undefined, undefined]);
  });

  it('ends a session whose start a clock said that is ahead, and none that begins later', async () => {
    const clock = createClock(10_000);
    const revocations = createLocal(clock.now);
    await revocations.revoke('session', 'signed_out', 300_000, 15_000.5);
    const standing = (beganAt: number) =>
      revocations.known(
        revocations.keysOf({ sessionId: 'session', userId: undefined, beganAt, issuedAt: 0 }, undefined),
      );
    expect([10_000, 15_000.5, 15_001, 15_002].map(standing)).toEqual([
      'signed_out',
      'signed_out',
      'signed_out',
      'live',
    ]);
    await revocations.revoke('session', 'replaced', 300_000, 5_000);
    expect(standing(15_002)).toBe('live');
  });

  it.each([
    ['a token of five minutes', 300_000, 325_000],
    ['a token that was never valid', -1_000, 25_000],
    ['the longest token that Supabase can be told to issue', 604_800_000, 604_825_000],
    ['a token that does not say', Infinity, 691_200_000],
  ])('lasts for the whole lifetime of %s and 25 seconds', (_, lifetime, expected) => {
    expect(revocationMs(lifetime)).toBe(expected);
  });
});

describe('a sign-in begins', () => {
  const facts = { sessionId: 'session', userId: 'ada', beganAt: 0, issuedAt: 0 };

  it.each<[string, string, (revocations: ReturnType<typeof createLocal>) => Promise<unknown>, number]>([
    ['now', 'nothing happened before', () => Promise.resolve(), 5_000],
    ['later', 'endSession was called for its user', (before) => before.end({ userId: 'ada' }), 10_001],
    ['later', 'its session was signed out', (before) => before.revoke('session', 'signed_out', 1_000), 10_001],
    ['later', 'its session was replaced', (before) => before.revoke('session', 'replaced', 1_000), 10_001],
    [
      'now',
      'no sign-in can continue its session',
      (before) => before.revoke('session', 'signed_out', 1_000, Infinity),
      5_000,
    ],
  ])('%s where %s, although the clock was set back since', async (_when, _where, happen, expected) => {
    const clock = createClock(10_000);
    const revocations = createLocal(clock.now);
    await happen(revocations);
    clock.advance(-5_000);
    expect(await revocations.begin(revocations.keysOf(facts, 'token'))).toBe(expected);
  });
});

/** Two processes with a coordinator, and a session of a user with another one. */
function createTwo() {
  const clock = createClock();
  const shared = createShared(clock.now);
  const [one, two] = [createProcess(clock.now, shared), createProcess(clock.now, shared)];
  const factsOf = (sessionId: string) => ({
    sessionId,
    userId: 'ada',
    beganAt: clock.now() - 1_000,
    issuedAt: clock.now() - 1_000,
  });
  const [kept, other] = [factsOf('kept'), factsOf('other')];
  const keys = one.keysOf(kept, 'token');
  /** What the kept token is worth, as a cookie's and as a bearer token, and what another session's is. */
  const standingsIn = (revocations: typeof one) =>
    Promise.all(
      [
        revocations.keysOf(kept, 'token'),
        revocations.keysOf(kept, undefined),
        revocations.keysOf(other, 'its token'),
      ].map(async (each) => (await revocations.check(each)).standing),
    );
  return { clock, shared, one, two, kept, keys, standingsIn };
}

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

describe('a call that renews the tokens of all sessions of a user but one', () => {
  it('leaves its token, and its access token as a bearer token, in every process', async () => {
    const { one, two, keys, standingsIn } = createTwo();
    await one.renewOthers('ada', [keys]);
    for (const each of [one, two]) expect(await standingsIn(each)).toEqual(['live', 'live', 'stale']);
  });

  it('leaves them, too, where a process whose clock is ahead had its session renewed', async () => {
    const { clock, shared, one, keys, standingsIn } = createTwo();
    const ahead = createProcess(() => clock.now() + 30_000, shared);
    await ahead.renew({ sessionId: 'kept' });
    await one.check(keys);
    const start = one.refreshStart(keys);
    await one.acceptRenewed(keys, start, 1_000_000);
    expect(await standingsIn(one)).toEqual(['live', 'stale', 'live']);
    await one.renewOthers('ada', [keys]);
    expect(await standingsIn(one)).toEqual(['live', 'live', 'stale']);
  });

  it.each(['before it, in another process', 'while it asks the coordinator'])(
    'leaves no token for which renewSession was called %s',
    async (when) => {
      const { shared, one, two, keys, standingsIn } = createTwo();
      const asked = Promise.withResolvers<undefined>();
      if (when.startsWith('before')) await two.renew({ userId: 'ada' });
      else shared.heldBy = asked.promise;
      const calling = one.renewOthers('ada', [keys]);
      await nextTurn();
      shared.heldBy = undefined;
      if (!when.startsWith('before')) await one.renew({ userId: 'ada' });
      asked.resolve(undefined);
      await calling;
      expect(await standingsIn(one)).toEqual(['stale', 'stale', 'stale']);
    },
  );

  it('leaves no token of a session of which only the coordinator could tell whether it goes on', async () => {
    const { shared, one, two, keys, standingsIn } = createTwo();
    const read = shared.read.bind(shared);
    await one.end({ userId: 'ada' });
    await two.begin(keys, { beganAt: keys.beganAt, arrivedAt: keys.beganAt });
    shared.read = (subject) => (subject === keys.session ? Promise.reject(new Error('away')) : read(subject));
    await expect(one.renewOthers('ada', [keys])).rejects.toMatchObject({ reason: 'coordinator' });
    shared.read = read;
    expect(await standingsIn(two)).toEqual(['stale', 'stale', 'ended']);
  });
});

describe('a call that ends all sessions of a user but one', () => {
  it('leaves no session that ended before it, in another process', async () => {
    const { one, two, kept, standingsIn } = createTwo();
    await two.end({ userId: 'ada' });
    await one.endOthers(kept);
    for (const each of [one, two]) expect(await standingsIn(each)).toEqual(['ended', 'ended', 'ended']);
  });

  it('leaves the one in every process', async () => {
    const { one, two, kept, standingsIn } = createTwo();
    await one.endOthers(kept);
    for (const each of [one, two]) expect(await standingsIn(each)).toEqual(['live', 'live', 'ended']);
  });
});

describe('a sign-in that is under way', () => {
  it.each([
    ['came before the new password', -1, 'ended'],
    ['came with the new password', 0, 'live'],
    ['began with an earlier request', undefined, 'ended'],
  ])('when its user gets a new password ends with the others where it %s', async (_, laterMs, expected) => {
    const { clock, one, two, kept } = createTwo();
    const facts = { ...kept, sessionId: 'under way', beganAt: clock.now() - 500 };
    await one.endOthers(kept);
    const keys = two.keysOf(facts, 'its token');
    const arrivedAt = laterMs === undefined ? undefined : clock.now() + laterMs;
    const begun = two.begin(keys, { beganAt: facts.beganAt, arrivedAt }).then(
      () => 'live',
      (error: unknown) => (error as AuthError).reason,
    );
    expect(await begun).toBe(expected);
    for (const each of [one, two]) expect((await each.check(keys)).standing).toBe(expected);
  });

  it('that was let in after its user got a new password may begin once more, as for a second factor', async () => {
    const { clock, one, kept } = createTwo();
    const beganAt = clock.now() - 500;
    await one.endOthers(kept);
    const keys = one.keysOf({ ...kept, sessionId: 'under way', beganAt }, 'its token');
    await one.begin(keys, { beganAt, arrivedAt: clock.now() });
    expect(await one.begin(keys, { beganAt })).toBeGreaterThan(beganAt);
  });

  it('works when endSession is called for its user', async () => {
    const { clock, one, two, kept } = createTwo();
    await one.end({ userId: 'ada' });
    const keys = two.keysOf(kept, 'its token');
    expect(await two.begin(keys, { beganAt: kept.beganAt, arrivedAt: clock.now() - 500 })).toBeDefined();
    expect((await one.check(keys)).standing).toBe('live');
  });
});

describe('the coordinator is told nothing of a session without an id', () => {
  const ada = `b2b:user:${hash('ada')}`;

  it.each<[string, (process: ReturnType<typeof createProcess>, keys: ReturnType<typeof keysOf>) => Promise<unknown>]>([
    ['when it begins after endSession', (process, keys) => process.begin(keys, { beganAt: 0 })],
    ['when its token was renewed', (process, keys) => process.acceptRenewed(keys, process.refreshStart(keys), 1_000)],
    [
      'when its token was exchanged for another organization',
      (process) => process.spend([undefined], { token: 1 }, 1_000),
    ],
  ])('%s', async (_when, happen) => {
    const { shared, one, kept } = createTwo();
    await one.end({ userId: 'ada' });
    await one.renew({ userId: 'ada' });
    const merge = jest.spyOn(shared, 'merge');
    await happen(one, one.keysOf({ ...kept, sessionId: undefined }, 'token'));
    expect(merge).not.toHaveBeenCalled();
  });

  it.each(['endOthers', 'renewOthers'] as const)('by %s, which keeps none then', async (name) => {
    const { shared, one, kept } = createTwo();
    const merge = jest.spyOn(shared, 'merge');
    const facts = { ...kept, sessionId: undefined };
    if (name === 'endOthers') await one.endOthers(facts);
    else await one.renewOthers('ada', [one.keysOf(facts, 'token')]);
    expect(merge.mock.calls.map(([subject]) => subject)).toEqual([ada]);
  });
});

it('the coordinator is told once of a token that was exchanged for another organization, and of each session of the switch', async () => {
  const { shared, one, two } = createTwo();
  const merge = jest.spyOn(shared, 'merge');
  await one.spend(['kept', undefined, 'kept', 'next'], { token: 1.5 }, 1_000);
  const [kept, next] = ['kept', 'next'].map((id) => `b2b:session:${hash(id)}`);
  const change = { 'spent:token': 2 };
  expect(merge.mock.calls).toEqual([
    [kept, change, 1_000],
    [next, change, 1_000],
  ]);
  await one.spend(['kept'], { token: 9 }, 1_000);
  expect(merge).toHaveBeenCalledTimes(2);
  await one.spend(['kept'], { token: 9, 'another token': 9 }, 1_000);
  expect(merge.mock.lastCall).toEqual([kept, { 'spent:another token': 9 }, 1_000]);
  const facts = { sessionId: 'next', userId: undefined, beganAt: 0, issuedAt: 0 };
  expect((await two.check(two.keysOf(facts, 'token.any'))).standing).toBe('spent');
});

it('the coordinator is told nothing of the others of no user', async () => {
  const { shared, one, kept } = createTwo();
  const merge = jest.spyOn(shared, 'merge');
  await one.endOthers({ ...kept, userId: undefined });
  expect(merge).not.toHaveBeenCalled();
});

it('the coordinator is told nothing of a renewed token that no call concerns', async () => {
  const { shared, one, keys } = createTwo();
  const merge = jest.spyOn(shared, 'merge');
  await one.acceptRenewed(keys, one.refreshStart(keys), 1_000);
  expect(merge).not.toHaveBeenCalled();
});

describe('the key of a session', () => {
  it('has the same number of bytes for every session id', () => {
    expect([hash('a'), hash('b'.repeat(10_000))].map((key) => key.length)).toEqual([43, 43]);
    expect(hash('a')).not.toBe(hash('b'));
  });
});
