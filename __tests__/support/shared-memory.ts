import { mergeRecords } from '../../lib/session/ended/record.ts';
import type { Times } from '../../lib/session/coordinator.ts';
import type { SharedCoordinator } from '../../lib/session/coordinator.ts';

export interface SharedMemory extends SharedCoordinator {
  isDown: boolean;
  /** The number of look-ups of records. */
  lookUps: number;
  /** Look-ups that begin meanwhile read now and answer when it resolves. */
  heldBy: Promise<unknown> | undefined;
}

interface KeptAnswer {
  readonly answer: string;
  readonly weight: number;
  readonly holder: string | undefined;
  readonly until: number;
}

const turnMs = 2_000;

/** What several processes share, without Redis. */
export function createShared(now: () => number = () => 0): SharedMemory {
  const records = new Map<string, { readonly record: Times; readonly heldUntil: number }>();
  const answers = new Map<string, KeptAnswer>();
  const turns = new Map<string, { readonly holder: string; readonly until: number }>();
  const answerOf = (token: string): KeptAnswer | undefined => {
    const kept = answers.get(token);
    return kept !== undefined && kept.until > now() ? kept : undefined;
  };
  const reach = async <Result>(work: () => Result): Promise<Result> => {
    if (shared.isDown) throw new Error('down');
    return work();
  };
  const shared: SharedMemory = {
    isDown: false,
    lookUps: 0,
    heldBy: undefined,
    take: (token, asked) =>
      reach(() => {
        const kept = answerOf(token);
        if (kept !== undefined && (kept.weight > 0 || (kept.holder !== undefined && kept.holder === asked?.awaited)))
          return { answer: kept.answer, ttlMs: kept.until - now(), turnMs };
        const turn = turns.get(token);
        const isTaken = turn !== undefined && turn.until > now();
        if (asked === undefined || (isTaken && turn.holder !== asked.holder))
          return { ...(isTaken && { holder: turn.holder }), turnMs };
        turns.set(token, { holder: asked.holder, until: now() + turnMs });
        return { holder: asked.holder, turnMs };
      }),
    settle: (token, { holder, answer, weight = Infinity, ttlMs }) =>
      reach(() => {
        const kept = answerOf(token);
        // Redis refuses one, too.
        if (!Number.isFinite(ttlMs)) throw new TypeError(`No time: ${ttlMs}`);
        if (holder !== undefined && turns.get(token)?.holder === holder) turns.delete(token);
        const until = now() + ttlMs;
        if (answer === undefined) {
          if (kept !== undefined && kept.weight <= weight)
            answers.set(token, { ...kept, until: Math.min(kept.until, until) });
          return undefined;
        }
        if (kept !== undefined && kept.weight > 0 && kept.weight >= weight) return kept.answer;
        answers.set(token, { answer, weight, holder, until });
        return undefined;
      }),
    async read(subject) {
      shared.lookUps += 1;
      const { heldBy } = shared;
      const found = await reach(() => records.get(subject));
      await heldBy;
      return found !== undefined && found.heldUntil > now() ? found.record : undefined;
    },
    merge: (subject, change, ttlMs) =>
      reach(() => {
        const { record, heldUntil } = records.get(subject) ?? { record: {}, heldUntil: 0 };
        records.set(subject, {
          record: mergeRecords(record, change),
          heldUntil: Math.max(heldUntil, now() + ttlMs),
        });
      }),
  };
  return shared;
}
