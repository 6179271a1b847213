import { mergeRecords } from '../../lib/session/record.ts';
import type { Times } from '../../lib/session/coordinator.ts';
import type { SharedCoordinator, SharedLine } from '../../lib/session/coordinator.ts';

export interface SharedMemory extends SharedCoordinator {
  isDown: boolean;
  /** The number of look-ups of records. */
  lookUps: number;
  /** Look-ups that begin meanwhile read now and answer when it resolves. */
  heldBy: Promise<unknown> | undefined;
}

type KeptLine = Omit<SharedLine, 'now'> & { readonly known: readonly string[]; readonly until: number };

const noLine: KeptLine = { version: '', line: '', known: [], until: 0 };
const turnMs = 2_000;

/** What several processes share, without Redis. */
export function createShared(now: () => number = () => 0): SharedMemory {
  const records = new Map<string, { readonly record: Times; readonly heldUntil: number }>();
  const lines = new Map<string, KeptLine>();
  const turns = new Map<string, { readonly holder: string; readonly until: number }>();
  const lineOf = (name: string): KeptLine => {
    const kept = lines.get(name);
    return kept !== undefined && kept.until > now() ? kept : noLine;
  };
  const reach = <Result>(work: () => Result): Promise<Result> =>
    shared.isDown ? Promise.reject(new Error('down')) : Promise.resolve(work());
  const shared: SharedMemory = {
    isDown: false,
    lookUps: 0,
    heldBy: undefined,
    take: (name, { token, holder }, unless) =>
      reach(() => {
        const { version, line, answer, known } = lineOf(name);
        const kept = { version, line, answer, now: now(), turnMs };
        if (unless.some((each) => known.includes(each))) return { ...kept, holder: undefined };
        const turn = turns.get(`${name} ${token}`);
        if (turn !== undefined && turn.holder !== holder && turn.until > now()) {
          return { version: '', line: '', now: now(), holder: turn.holder, turnMs };
        }
        turns.set(`${name} ${token}`, { holder, until: now() + turnMs });
        return { ...kept, holder };
      }),
    settle: (name, change) =>
      reach(() => {
        const { version, line, answer } = lineOf(name);
        if (change.from !== undefined && change.from !== version) return { version, line, answer, now: now() };
        lines.set(name, { ...change, answer: change.answer ?? answer, until: now() + change.ttlMs });
        if (change.known.length === 0) lines.delete(name);
        const turn = `${name} ${change.token}`;
        if (turns.get(turn)?.holder === change.holder) turns.delete(turn);
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
