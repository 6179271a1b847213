import { errorMonitor } from 'node:events';
import type { CoordinatorReason } from '../types.ts';

export interface CoordinatorFailure {
  readonly reason: CoordinatorReason;
  /** The word that begins Redis' answer, such as `NOPERM`. */
  readonly answer?: string;
  /** The command that Redis names in it. */
  readonly command?: string;
}

/** What a coordinator holds cannot be read, as with another password, or where another program writes its keys. */
export class UnreadableAnswer extends Error {}

// https://redis.io/docs/latest/develop/reference/protocol-spec/#simple-errors: the first word is the kind of error.
const passing = ['ASK', 'BUSY', 'CLUSTERDOWN', 'LOADING', 'MASTERDOWN', 'MOVED', 'NOSCRIPT', 'TRYAGAIN', 'UNBLOCKED'];
const reasons: ReadonlyMap<string, CoordinatorReason> = new Map([
  ...passing.map((word) => [word, 'unavailable'] as const),
  ...['NOAUTH', 'WRONGPASS'].map((word) => [word, 'not_authenticated'] as const),
  ...['CROSSSLOT', 'DENIED', 'ERR', 'EXECABORT', 'MISCONF', 'NOREPLICAS', 'OOM', 'WRONGTYPE'].map(
    (word) => [word, 'refused'] as const,
  ),
  ['NOPERM', 'not_permitted'],
  ['READONLY', 'read_only'],
]);
/** Within a script, and then without the command's name. */
const notInScript = "user executing the script can't run this command";

/** @param thrown what a coordinator or a client of Redis failed with */
export function failureOf(thrown: unknown): CoordinatorFailure {
  // ioredis says of a transaction only that it was given up, and beside that why.
  const before: unknown = thrown instanceof Error ? Reflect.get(thrown, 'previousErrors') : undefined;
  if (Array.isArray(before) && before.length > 0) return failureOf(before[0]);
  for (let error = thrown, depth = 0; error instanceof Error && depth < 3; error = error.cause, depth += 1) {
    if (error instanceof UnreadableAnswer) return { reason: 'unreadable' };
    const text = error.message.replace(/^EXECABORT Transaction discarded because of: /, '');
    const [, answer = ''] = /^-?([A-Z]+) /.exec(text) ?? [];
    const reason = text.includes(notInScript) ? 'not_permitted' : reasons.get(answer);
    // The rest of an answer may name users, keys and values.
    const [, command] = /^NOPERM .* run the '([a-z|]{1,32})' command/.exec(text) ?? [];
    if (reason === 'not_permitted') return { reason, answer: 'NOPERM', ...(command !== undefined && { command }) };
    if (reason !== undefined) return { reason, answer };
  }
  return { reason: 'unavailable' };
}

/** What the connection of each client last failed with. One listener a client: Node warns of more than ten. */
const watched = new WeakMap<object, { last: unknown }>();

/**
 * What a client's connection last failed with, such as a refused password: commands fail with the connection only. It watches without
 * handling, so that an error without a listener still reaches the application.
 */
export function watchConnection(client: object): () => unknown {
  const known = watched.get(client);
  if (known !== undefined) return () => known.last;
  const seen = { last: undefined as unknown };
  watched.set(client, seen);
  const on: unknown = Reflect.get(client, 'on');
  if (typeof on === 'function') Reflect.apply(on, client, [errorMonitor, (error: unknown) => (seen.last = error)]);
  return () => seen.last;
}
