import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { createRefresh } from '../../../lib/session/refresh/refresh.ts';
import { closingMs as lateMs, createAnswers, openMs as lostMs } from '../../../lib/session/refresh/answers.ts';
import type { Ended, Renewed } from '../../../lib/session/refresh/answers.ts';
import { createClock } from '../../support/clock.ts';
import { checkInputs } from '../../support/inputs.ts';

/**
 * What the holder of a token gets, said a second time. The tokens of one session are numbered in the order in which the provider issued
 * them. A token was either exchanged for its browser, or on the way from a token that its browser holds: then that one decides.
 */
interface Entry {
  /** The token in whose place it stands. */
  readonly by?: number;
  to: number;
  until: number;
}

const [openMs, closingMs] = [8 * 24 * 3_600_000, 25_000];

function createModel() {
  const entries = new Map<number, Entry>();
  const live = (token: number, now: number): Entry | undefined => {
    const entry = entries.get(token);
    return entry !== undefined && entry.until >= now ? entry : undefined;
  };

  function settled(token: number, now: number): number | undefined {
    const entry = live(token, now);
    if (entry === undefined) return undefined;
    if (entry.by !== undefined) return settled(entry.by, now);
    return settled(entry.to, now) ?? entry.to;
  }

  return {
    settled,
    exchange(from: number, to: number, held: number | undefined, now: number): void {
      const until = now + openMs;
      const own = held === undefined ? undefined : live(held, now);
      const head = own?.by ?? held;
      const led = head === undefined ? undefined : live(head, now);
      if (head === undefined || led === undefined || settled(head, now) !== from) {
        entries.set(from, { to, until });
        return;
      }
      entries.set(head, { to, until });
      entries.set(from, { by: head, to, until });
    },
    received(newest: number, now: number): void {
      const left = [...entries].filter(([token, { by }]) => by === undefined && settled(token, now) === newest);
      for (const [, entry] of left) entry.until = Math.min(entry.until, now + closingMs);
    },
  };
}

const step = fc.record({
  does: fc.constantFrom('visit', 'visit', 'visit', 'lose', 'lose', 'receive', 'late'),
  afterMs: fc.oneof(
    fc.integer({ min: 1, max: 30_000 }),
    fc.constantFrom(closingMs, closingMs + 1, 3_600_000, openMs / 8, openMs - 60_000, openMs, openMs + 1),
  ),
  pick: fc.nat(7),
});

it('the holder of each token gets what the tokens that browsers hold lead to', async () => {
  await checkInputs(
    fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 14 }), async (steps) => {
      const clock = createClock(1_000_000);
      const settings = { emit: (): void => undefined, timeoutMs: 5_000, shared: undefined };
      const refresh = createRefresh({ now: clock.now, ...settings });
      const model = createModel();
      const holding = (token: number) => ({ token: `${token}`, pair: `${token}`, isNewer: () => true });
      const of = (answer: Renewed | Ended | undefined): number | undefined =>
        answer?.kind === 'renewed' ? Number(answer.token) : undefined;
      let [issued, held] = [0, 0];
      for (const { does, afterMs, pick } of steps) {
        clock.advance(afterMs);
        const now = clock.now();
        if (does === 'receive') {
          // Whichever response brings it.
          const token = Math.max(held, issued - (pick % 3));
          refresh.received(`${token}`);
          model.received(token, now);
          held = token;
        } else if (does !== 'late') {
          // The browser's own token, as a request of its renews it: what it led to has expired.
          const from = of(refresh.settled(holding(held))) ?? held;
          if (from !== issued) continue;
          const former = from === held ? [] : [held];
          issued += 1;
          const answer = { kind: 'renewed', token: `${issued}`, text: `of ${issued}`, issuedAt: 0 } as const;
          await refresh.run(holding(from), { former: former.map(String), run: () => Promise.resolve(answer) });
          model.exchange(from, issued, former[0], now);
        }
        if (does === 'visit') {
          const token = of(refresh.settled(holding(held))) ?? held;
          refresh.received(`${token}`);
          model.received(token, now);
          held = token;
        }
        for (let token = 0; token <= issued; token += 1)
          expect([token, of(refresh.settled(holding(token)))]).toEqual([token, model.settled(token, now)]);
      }
    }),
    { least: 300, variable: 'ANSWER_RUNS' },
  );
});

it('a browser that holds any of the last tokens gets the newest one, whichever responses were lost, for eight days', async () => {
  await checkInputs(
    fc.asyncProperty(fc.array(fc.nat(5), { minLength: 1, maxLength: 12 }), async (holds) => {
      const clock = createClock(1_000_000);
      const settings = { emit: (): void => undefined, timeoutMs: 5_000, shared: undefined };
      const refresh = createRefresh({ now: clock.now, ...settings });
      const holding = (token: number) => ({ token: `${token}`, pair: `${token}`, isNewer: () => true });
      let issued = 0;
      for (const back of holds) {
        clock.advance(24 * 3_600_000);
        // A response brought it, and the process was stopped before it noted that.
        const held = Math.max(0, issued - back);
        const answer = refresh.settled(holding(held));
        expect(answer?.kind === 'renewed' ? Number(answer.token) : held).toBe(issued);
        const next = { kind: 'renewed', token: `${issued + 1}`, text: 'next', issuedAt: 0 } as const;
        const former = held === issued ? [] : [`${held}`];
        await refresh.run(holding(issued), { former, run: () => Promise.resolve(next) });
        issued += 1;
      }
    }),
    { least: 300, variable: 'ANSWER_RUNS' },
  );
});

describe('what answers take of the heap for their users', () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;

  /** Megabytes, for so many users with so many refreshes each, in turn or one user after the other. */
  function heapOf({
    users,
    refreshes,
    everyMs,
    isOwned,
    isInTurn,
  }: Readonly<Record<'users' | 'refreshes' | 'everyMs', number>> &
    Readonly<Record<'isOwned' | 'isInTurn', boolean>>): number {
    collect();
    const before = process.memoryUsage().heapUsed;
    const clock = createClock(1_000_000);
    const answers = createAnswers(clock.now);
    for (let each = 0; each < users * refreshes; each += 1) {
      const user = isInTurn ? each % users : Math.floor(each / refreshes);
      clock.advance(everyMs);
      const token = `${each}`.padStart(64, 'x');
      const owner = isOwned ? { owner: `${user}`.padStart(40, 'x') } : {};
      answers.settle(token, { kind: 'renewed', token: `${each} next`, steps: 1, text: '', ...owner }, lostMs);
      answers.close(token);
    }
    collect();
    const grown = (process.memoryUsage().heapUsed - before) / 1e6;
    // It is in use up to here.
    expect(answers.find('other')).toBeUndefined();
    return grown;
  }

  it('does not grow with the refreshes of a user, whose former answers are gone', () => {
    const life = { users: 20, refreshes: 3_000, everyMs: lateMs, isInTurn: true };
    const [owned, unowned] = [heapOf({ ...life, isOwned: true }), heapOf({ ...life, isOwned: false })];
    expect(owned - unowned).toBeLessThan(1);
  }, 60_000);

  it('is limited also where each of many users had many answers at a time', () => {
    const life = { users: 800, refreshes: 200, everyMs: 1, isInTurn: false };
    const [owned, unowned] = [heapOf({ ...life, isOwned: true }), heapOf({ ...life, isOwned: false })];
    expect(owned - unowned).toBeLessThan(2 * 5.3);
  }, 60_000);
});
