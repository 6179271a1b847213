import fc from 'fast-check';
import {
  continuing,
  emptyRecord,
  forever,
  freshAfter,
  freshName,
  mergeRecords,
  othersName,
  ownName,
  reopenedName,
  sparedName,
  spentName,
  standingOf,
} from '../../../lib/session/ended/record.ts';
import type { SessionRecord } from '../../../lib/session/ended/record.ts';
import { checkInputs } from '../../support/inputs.ts';

const names = [
  'ended',
  'closed',
  sparedName(3),
  sparedName(5),
  ...['s', 't', 'u'].map((session) => othersName({ session, beganAt: 5 })),
  reopenedName(5),
  'signedOut',
  'replaced',
  'stale',
  'withdrawn',
  'allowed',
];
const tokens = Array.from('abcdefghijkl', (letter) => freshName({ pair: letter, issuedAt: 0 }));
const begun = fc.record({
  session: fc.constant('s'),
  beganAt: fc.constant(5),
  issuedAt: fc.integer({ min: 0, max: 6 }),
  pair: fc.constantFrom('a', 'b', 'c', 'own'),
});
/** Of any calls and sign-ins. */
const records = fc
  .tuple(
    fc.dictionary(fc.constantFrom(...names, ...tokens), fc.integer({ min: 0, max: 6 })),
    fc.array(begun, { maxLength: 4 }),
  )
  .map(([record, signIns]) =>
    signIns.reduce((known, own) => mergeRecords(known, continuing(known, own)), mergeRecords(emptyRecord, record)),
  );
const presented = fc.record({
  session: fc.constantFrom('s', 't', 'z'),
  beganAt: fc.integer({ min: 0, max: 7 }),
  issuedAt: fc.integer({ min: 0, max: 7 }),
  pair: fc.constantFrom(undefined, 'a', 'b'),
});
const inputs = { least: 2_000, variable: 'RECORD_RUNS' };
const at = { session: 's', beganAt: 5, issuedAt: 5, pair: 'a' };

describe('merging records', () => {
  it('gives the same in any order, with any grouping, and any number of times', async () => {
    await checkInputs(
      fc.property(records, records, records, (a, b, c) => {
        expect(mergeRecords(a, b)).toEqual(mergeRecords(b, a));
        expect(mergeRecords(mergeRecords(a, b), c)).toEqual(mergeRecords(a, mergeRecords(b, c)));
        const merged = mergeRecords(a, b);
        expect(mergeRecords(merged, b)).toBe(merged);
      }),
      inputs,
    );
  });

  it('keeps the latest time of each name, and the eight latest names of each kind', () => {
    const merged = mergeRecords({ ended: 3, stale: 4 }, { ended: 2, stale: 5, replaced: 1 });
    expect(merged).toEqual({ ended: 3, stale: 5, replaced: 1 });
    const many = Object.fromEntries(tokens.map((name, index) => [name, index]));
    // Names that only a later version knows are none of a kind.
    const plain = ['ended', 'closed', 'signedOut', 'stale', ...Array.from('abcdefgh', (letter) => `later${letter}`)];
    const spared = Array.from({ length: 8 }, (_, index) => sparedName(index));
    const rest = Object.fromEntries([...plain, ...spared, spentName('a'), reopenedName(1)].map((name) => [name, 1]));
    const expected = [...tokens.slice(4), ...Object.keys(rest)].sort();
    expect(Object.keys(mergeRecords(many, rest)).sort()).toEqual(expected);
  });

  it('loses no end of a user’s others, however many of their sign-ins end the others', async () => {
    const sessions = fc.constantFrom(...Array.from('abcdefghijklmn'));
    const calls = fc.array(fc.record({ session: sessions, at: fc.nat(30) }), { minLength: 9 });
    await checkInputs(
      fc.property(calls, sessions, (given, session) => {
        const changes = given.map((call) => ({ [othersName({ session: call.session, beganAt: 5 })]: call.at }));
        const times = given.filter((call) => call.session !== session).map((call) => call.at);
        const expected = Math.max(-1, ...times) >= at.beganAt ? 'ended' : 'live';
        expect(standingOf(changes.reduce(mergeRecords, emptyRecord), { ...at, session })).toBe(expected);
      }),
      inputs,
    );
  });

  it('keeps the greatest of the names of one time, as every process and Redis do', () => {
    const same = Object.fromEntries(tokens.map((name) => [name, 1]));
    expect(Object.keys(mergeRecords(emptyRecord, same)).sort()).toEqual(tokens.slice(4));
  });
});

describe('a sign-in that is spared', () => {
  const own = { session: 's', beganAt: 5, issuedAt: 5, pair: 'own' };
  const noEnds = { ended: -1, closed: -1, signedOut: -1, replaced: -1, withdrawn: -1 };
  const withoutOthers = (record: SessionRecord) =>
    Object.fromEntries(Object.entries(record).filter(([name]) => !name.startsWith('others:')));
  const isStale = (record: SessionRecord, token: Partial<typeof own> | { readonly pair: undefined } = {}) =>
    standingOf({ ...withoutOthers(record), ...noEnds }, { ...own, ...token }) === 'stale';
  const begin = (record: SessionRecord, token = own) => mergeRecords(record, continuing(record, token));

  it('makes every token stale that was issued until its own, whatever is known of these', async () => {
    const known = fc.tuple(records, fc.integer({ min: 0, max: 5 }), fc.constantFrom('a', 'b', 'z'));
    await checkInputs(
      fc.property(known, ([before, issuedAt, pair]) => {
        expect(isStale(begin(before), { issuedAt, pair })).toBe(true);
        // Also that of another one that was spared.
        const earlier = begin(before, { ...own, issuedAt, pair });
        expect(isStale(begin(earlier), { issuedAt, pair })).toBe(true);
      }),
      inputs,
    );
  });

  it.each(['ended', 'closed'])('makes every token stale that was issued until the call that spares it: %s', (name) => {
    const after = begin({ [name]: 9 });
    expect(isStale(after, { issuedAt: 9, pair: 'a' })).toBe(true);
    expect(isStale(after, { issuedAt: 10, pair: 'a' })).toBe(false);
    expect(isStale(after)).toBe(false);
  });

  it('leaves its own token as renewSession has it, before and after, however often it begins', async () => {
    const issued = fc.integer({ min: 1, max: 12 });
    const shown = fc.record({ issuedAt: issued, pair: fc.constantFrom('own', undefined) });
    await checkInputs(
      fc.property(records, records, shown, (before, later, { issuedAt, pair }) => {
        const withoutBegin = (record: SessionRecord) => {
          const others = Object.entries(record).filter(([name]) => name !== 'continued' && !name.startsWith('own:'));
          return Object.fromEntries(others);
        };
        const begun = begin(begin(before, { ...own, issuedAt }), { ...own, issuedAt });
        const after = mergeRecords(begun, withoutBegin(later));
        expect(isStale(after, { issuedAt, pair })).toBe(isStale(withoutBegin(after), { issuedAt, pair }));
      }),
      inputs,
    );
  });

  it('leaves the bearer tokens that were issued later live', () => {
    expect(isStale(begin(emptyRecord), { issuedAt: own.issuedAt + 1, pair: undefined })).toBe(false);
  });

  it('says nothing of tokens that do not say when they were issued', () => {
    expect(continuing(emptyRecord, { ...own, issuedAt: 0 })).toEqual({});
  });
});

describe('a token that a refresh issued', () => {
  const fresh = (time: number) => ({ [freshName(at)]: time });
  const own = (time: number) => ({ [ownName(at)]: time });
  it.each<[string, SessionRecord, number, SessionRecord, number, SessionRecord]>([
    ['is fresh where the refresh began with the call of renewSession', { stale: 5 }, 5, {}, 5, fresh(5)],
    ['is not where the refresh began before', { stale: 5 }, 4, {}, 5, {}],
    ['is where the refresh knew of the call, whatever its clock said', { stale: 5 }, 4, { stale: 5 }, 5, fresh(5)],
    ['is not where the refresh knew of an earlier call', { stale: 5 }, 4, { stale: 4 }, 5, {}],
    ['needs no word where its own time is a minute later', { stale: 5 }, 5, {}, 60_006, {}],
    ['needs none where no call was made', {}, 5, {}, 5, {}],
    ['is of the sign-in of which the refresh knew', { continued: 5 }, 0, { continued: 5 }, 5, own(5)],
    ['may be of an earlier one where the refresh did not', { continued: 5 }, 9, { continued: 4 }, 5, {}],
    ['may be of an earlier one where the refresh knew of none', { continued: 5 }, 9, {}, 5, {}],
    ['is of none where it was issued later', { continued: 5 }, 9, { continued: 5 }, 6, {}],
  ])('%s', (_, record, startedAt, known, issuedAt, expected) => {
    expect(freshAfter(record, { ...at, issuedAt }, { at: startedAt, known })).toEqual(expected);
  });
});

describe('a presented token', () => {
  it('of a signed-out session stays without worth, whatever is learned later', async () => {
    await checkInputs(
      fc.property(records, records, presented, (before, change, each) => {
        const signedOut = mergeRecords(before, { signedOut: each.beganAt });
        expect(standingOf(mergeRecords(signedOut, change), each)).toBe('signed_out');
      }),
      inputs,
    );
  });

  it('never gains by an end, a sign-out, a replacement or a renewSession', async () => {
    const ends = fc.dictionary(
      fc.constantFrom('ended', othersName(at), 'closed', 'signedOut', 'replaced', 'stale'),
      fc.integer({ min: 0, max: 6 }),
    );
    await checkInputs(
      fc.property(records, ends, presented, (before, change, each) => {
        if (standingOf(before, each) === 'live') return;
        expect(standingOf(mergeRecords(before, change), each)).not.toBe('live');
      }),
      inputs,
    );
  });

  it.each<[string, SessionRecord, Partial<typeof at> | { readonly pair: undefined }, string]>([
    ['is live where nothing is known', emptyRecord, {}, 'live'],
    ['ends by endSession at the time of its sign-in', { ended: 5 }, {}, 'ended'],
    ['of a sign-in after endSession is live', { ended: 4 }, {}, 'live'],
    ['of a session that was spared is live', { ended: 5, [sparedName(5)]: 5 }, {}, 'live'],
    ['of a session that was spared once ends by the next call', { ended: 6, [sparedName(5)]: 5 }, {}, 'ended'],
    [
      'of an earlier sign-in stays ended where a later one of the same id was spared',
      { ended: 6, [sparedName(6)]: 6 },
      {},
      'ended',
    ],
    [
      'of another sign-in than the one that ended the others ends',
      { [othersName({ ...at, session: 't' })]: 5 },
      {},
      'ended',
    ],
    [
      'of an earlier sign-in of the same id ends with the others',
      { [othersName({ ...at, beganAt: 6 })]: 6 },
      {},
      'ended',
    ],
    ['of a sign-in after the end of the others is live', { [othersName({ ...at, session: 't' })]: 4 }, {}, 'live'],
    ['of the sign-in that ended the others is live', { [othersName(at)]: 9 }, {}, 'live'],
    ['of the sign-in that ended the others lifts no endSession', { ended: 5, [othersName(at)]: 9 }, {}, 'ended'],
    [
      'of a sign-in that is spared from the end of the others is live',
      { [othersName({ ...at, session: 't' })]: 6, [sparedName(5)]: 6 },
      {},
      'live',
    ],
    [
      'of a session that endSession names ends although its clock was a minute ahead',
      { closed: 5 },
      { beganAt: 60_005 },
      'ended',
    ],
    ['of a sign-in more than a minute after that is live', { closed: 5 }, { beganAt: 60_006 }, 'live'],
    ['of a sign-in that continues such a session is live', { closed: 5, [reopenedName(5)]: 5 }, {}, 'live'],
    [
      'of a sign-in that continues such a session ends by the next call',
      { closed: 6, [reopenedName(5)]: 5 },
      {},
      'ended',
    ],
    [
      'of a sign-in that continues such a session ends by a call for its user',
      { closed: 5, [reopenedName(5)]: 5, ended: 5 },
      {},
      'ended',
    ],
    ['of a sign-in after the sign-out of the same session is live', { signedOut: 4 }, {}, 'live'],
    [
      'of a session that no sign-in continues stays signed out',
      { signedOut: forever },
      { beganAt: 1e15 },
      'signed_out',
    ],
    ['of a replaced session is replaced', { replaced: 5 }, {}, 'replaced'],
    ['of a replaced session that was signed out is signed out', { replaced: 5, signedOut: 5 }, {}, 'signed_out'],
    ['of a replaced session clears no cookie when endSession follows', { replaced: 5, ended: 6 }, {}, 'replaced'],
    ['from before renewSession is stale', { stale: 5 }, {}, 'stale'],
    ['from a moment after renewSession is stale, as the provider may be ahead', { stale: 4 }, {}, 'stale'],
    ['from a minute after renewSession is stale', { stale: 5 }, { issuedAt: 60_005 }, 'stale'],
    ['from more than a minute after renewSession is live', { stale: 5 }, { issuedAt: 60_006 }, 'live'],
    ['without a refresh token from after renewSession is live', { stale: 4 }, { pair: undefined }, 'live'],
    ['that was renewed after renewSession is live', { stale: 5, [freshName(at)]: 5 }, {}, 'live'],
    ['that was renewed is stale again after the next call', { stale: 6, [freshName(at)]: 5 }, {}, 'stale'],
    ['of a grant that was taken back is over', { withdrawn: 5 }, {}, 'ended'],
    [
      'of a grant that was taken back a moment ago is over, as the provider may be ahead',
      { withdrawn: 4 },
      {},
      'ended',
    ],
    ['that was issued more than a minute later is live', { withdrawn: 5 }, { issuedAt: 60_006 }, 'live'],
    ['of a client that was allowed again is live', { withdrawn: 4, allowed: 5 }, {}, 'live'],
    [
      'from before the grant was taken back is over for a client that was allowed again',
      { withdrawn: 5, allowed: 6 },
      {},
      'ended',
    ],
    ['of a client that was allowed before its grant was taken back is over', { withdrawn: 4, allowed: 4 }, {}, 'ended'],
    ['of a grant that was taken back is not renewed', { withdrawn: 5, stale: 5, [freshName(at)]: 5 }, {}, 'ended'],
    ['of another renewal is stale', { stale: 5, [freshName({ ...at, pair: 'b' })]: 5 }, {}, 'stale'],
    [
      'without a refresh token counts by its time',
      { stale: 5, [freshName({ pair: undefined, issuedAt: 5 })]: 5 },
      { pair: undefined },
      'live',
    ],
    ['that was exchanged in a switch is spent', { [spentName('a')]: 1 }, {}, 'spent'],
    ['beside one that was exchanged is live', { [spentName('b')]: 1 }, {}, 'live'],
    ['whose name begins like that of one that was exchanged is live', { [spentName('ab')]: 9 }, {}, 'live'],
    ['without a refresh token was not exchanged', { [spentName('a')]: 9 }, { pair: undefined }, 'live'],
    [
      'that a switch issued with the same refresh token is live',
      { [spentName('a.new')]: 5 },
      { pair: 'a.new' },
      'live',
    ],
    ['that came with that refresh token until then is spent', { [spentName('a.new')]: 5 }, { pair: 'a.old' }, 'spent'],
    ['that came with that refresh token later is live', { [spentName('a.new')]: 4 }, { pair: 'a.old' }, 'live'],
    ['that came with another refresh token is live', { [spentName('ab.new')]: 5 }, { pair: 'a.old' }, 'live'],
    ['that was exchanged and has outdated claims is stale', { [spentName('a')]: 1, stale: 5 }, {}, 'stale'],
    ['of an ended session is ended before it is stale', { ended: 5, stale: 5 }, {}, 'ended'],
  ])('%s', (_, record, change, expected) => {
    expect(standingOf(record, { ...at, ...change })).toBe(expected);
  });
});
