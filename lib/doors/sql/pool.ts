import type { AuthRequest } from '../../http/request.ts';
import { partKey } from '../../http/adapter.ts';
import { untilAborted } from '../../tools/deadline.ts';
import { ConfigurationError } from '../../errors.ts';

/** What PostgreSQL's drivers answer. Values are as the driver parses them. */
export interface SqlResult<Row> {
  readonly rows: Row[];
  readonly rowCount: number | null;
}

/** A statement with options of the driver, such as the `name` of a prepared statement in pg. */
export interface SqlStatement {
  readonly text: string;
  readonly values?: readonly unknown[] | undefined;
  readonly [option: string]: unknown;
}

/** A transaction as the user. Its statements run one after another. */
export interface SqlTransaction {
  /**
   * Sends a statement to the driver's own `query`, as it is: it must not end the transaction or change its role.
   *
   * @param values for `$1`, `$2` and so on
   * @throws {Error} after the callback has settled, and for a cursor or stream
   * @throws whatever the driver throws
   */
  query<Row = Readonly<Record<string, unknown>>>(
    statement: string | SqlStatement,
    values?: readonly unknown[],
  ): Promise<SqlResult<Row>>;
}

/** A connection of the pool. Without `values` it must use the simple query protocol, which allows several statements. */
export interface SqlClient {
  query(text: string, values?: readonly unknown[]): Promise<unknown>;
  /** @param error closes the connection, which does not return to the pool */
  release(error?: Error): unknown;
}

/** A pool of connections to PostgreSQL, as `Pool` of pg. */
export interface SqlPool {
  connect(): Promise<SqlClient>;
}

const closingPart = partKey<AbortSignal>('closing');

/**
 * Aborts when the response closes, with or without an answer. A response has one listener, however many transactions its request opens.
 *
 * @throws {Error} where the response has ended or closed
 */
export function closingOf({ res, parts }: Pick<AuthRequest, 'res' | 'parts'>): AbortSignal {
  // Engine.IO has an object without events in place of a WebSocket's response.
  if (res.writableEnded || typeof (res.once as unknown) !== 'function')
    throw new Error('withUser: the response has ended; call withUser before you answer');
  // A response of HTTP/2 has no `destroyed` of its own.
  const { stream } = res as { readonly stream?: { readonly destroyed: boolean } };
  if (res.destroyed || stream?.destroyed === true) throw aborted();
  const known = parts.find(closingPart);
  if (known !== undefined) return known;
  const controller = new AbortController();
  res.once('close', () => controller.abort());
  return parts.set(closingPart, controller.signal);
}

export function aborted(): DOMException {
  return new DOMException('withUser: the response closed first; nothing was committed', 'AbortError');
}

/** @throws {DOMException} `AbortError`, {ConfigurationError}, or whatever the driver throws */
export async function connect(pool: SqlPool, closing: AbortSignal): Promise<SqlClient> {
  const connecting: Promise<unknown> = Promise.resolve(pool.connect());
  let client: unknown;
  try {
    client = await untilAborted(connecting, closing, aborted);
  } catch (error) {
    // A pool may have a free connection much later.
    const giveBack = (late: unknown): unknown => (isClient(late) ? late.release() : undefined);
    connecting.then(giveBack).catch(ignore);
    throw error;
  }
  if (isClient(client)) return client;
  throw new ConfigurationError('withUser', [
    'connect() of the pool must resolve to a client with query() and release(); pass a Pool, not a Client',
  ]);
}

function isClient(client: unknown): client is SqlClient {
  const { query, release } = (client ?? {}) as Partial<Record<string, unknown>>;
  return typeof query === 'function' && typeof release === 'function';
}

/** A connection that breaks between two statements emits `error`, which would end the process without a listener. */
export function listen(client: SqlClient, method: 'on' | 'removeListener'): void {
  const change: unknown = Reflect.get(client, method);
  if (typeof change === 'function') Reflect.apply(change, client, ['error', ignore]);
}

function ignore(): void {
  // The statement after it rejects.
}
