import { untilAborted } from '../../tools/deadline.ts';
import { isRecord } from '../../tools/json.ts';
import type { AuthRequest } from '../../http/request.ts';
import { aborted, closingOf, connect, listen } from './pool.ts';
import type { SqlClient, SqlPool, SqlResult, SqlStatement, SqlTransaction } from './pool.ts';
import { isClean, isRefusal, ownStatements, sqlState } from './statements.ts';
import type { OwnStatements, SqlUser } from './statements.ts';

type Work<Result> = (tx: SqlTransaction) => Result | Promise<Result>;

/** @throws {DOMException} `AbortError`, {ConfigurationError}, or whatever the driver throws */
export async function openTransaction(pool: SqlPool, user: SqlUser, request: AuthRequest): Promise<UserTransaction> {
  const closing = closingOf(request);
  const client = await connect(pool, closing);
  const transaction = new UserTransaction(client, ownStatements(user), closing);
  await transaction.begin();
  return transaction;
}

/** A transaction on a connection that it holds from `begin` to its end. */
export class UserTransaction {
  readonly #client: SqlClient;
  readonly #own: OwnStatements;
  readonly #closing: AbortSignal;
  /** What has not settled: the first callback, and nested calls. */
  readonly #running = new Set<Promise<unknown>>();
  /** Settles after every statement that was sent or waits to be sent. */
  #queue: Promise<unknown> = Promise.resolve();
  /** Of a callback, or of the driver: nothing is committed. */
  #failure: { readonly error: unknown } | undefined;
  /** The last error of a statement, after which PostgreSQL commits nothing. */
  #statementError: unknown;
  /** Whether the transaction was no longer the user's at its end, so that the connection's state is unknown. */
  #isLost = false;

  constructor(client: SqlClient, own: OwnStatements, closing: AbortSignal) {
    this.#client = client;
    this.#own = own;
    this.#closing = closing;
    listen(client, 'on');
  }

  /** Whether a nested call may join. */
  get isOpen(): boolean {
    return this.#running.size > 0;
  }

  async begin(): Promise<void> {
    try {
      await this.#client.query(this.#own.begin);
    } catch (error) {
      await this.#rollBack();
      throw error;
    }
  }

  /** Keeps it open until the returned function is called. */
  hold(): () => void {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    this.#running.add(promise);
    return () => {
      this.#running.delete(promise);
      resolve(undefined);
    };
  }

  /** Runs the first callback, then commits. */
  async run<Result>(work: Work<Result>): Promise<Result> {
    let result: Result;
    try {
      result = await untilAborted(this.#runAll(work), this.#closing, aborted);
    } catch (error) {
      await this.#queue;
      await this.#rollBack();
      throw error;
    }
    await this.#commit();
    return result;
  }

  /** Runs a callback in this transaction. Its error fails all of it, so that nothing is committed by halves. */
  async join<Result>(work: Work<Result>): Promise<Result> {
    this.#refuseWhereFailed();
    const call = { isDone: false };
    const release = this.hold();
    try {
      return await runWork(work, { query: (statement, values) => this.#query(call, statement, values) });
    } catch (error) {
      this.#failure ??= { error };
      throw error;
    } finally {
      call.isDone = true;
      release();
    }
  }

  async #runAll<Result>(work: Work<Result>): Promise<Result> {
    const result = await this.join(work);
    // Nested calls that the callback did not wait for.
    while (this.isOpen) await Promise.allSettled(this.#running);
    await this.#queue;
    if (this.#failure !== undefined) throw this.#failure.error;
    return result;
  }

  #query<Row>(
    call: { readonly isDone: boolean },
    statement: string | SqlStatement,
    values: readonly unknown[] | undefined,
  ): Promise<SqlResult<Row>> {
    const problem = problemWith(call, statement);
    if (problem !== undefined) return Promise.reject(new Error(`withUser: ${problem}`));
    const sent = this.#queue.then(() => this.#send(statement, values));
    this.#queue = sent.catch(() => undefined);
    return sent as Promise<SqlResult<Row>>;
  }

  async #send(statement: string | SqlStatement, values: readonly unknown[] | undefined): Promise<unknown> {
    this.#refuseWhereFailed();
    // pg also takes an object in place of the text.
    const text = statement as string;
    try {
      return await (values === undefined ? this.#client.query(text) : this.#client.query(text, values));
    } catch (error) {
      this.#statementError = error;
      if (!isRefusal(error)) this.#failure ??= { error };
      throw error;
    }
  }

  #refuseWhereFailed(): void {
    if (this.#failure !== undefined) throw this.#failure.error;
    if (this.#closing.aborted) throw aborted();
  }

  async #commit(): Promise<void> {
    let result: unknown;
    try {
      result = await this.#client.query(this.#own.commit);
    } catch (error) {
      const reason = this.#reasonOf(error);
      await this.#rollBack();
      throw reason;
    }
    this.#release(isClean(result) ? undefined : keepsUser());
  }

  /** Why nothing was committed. */
  #reasonOf(error: unknown): unknown {
    switch (isRecord(error) ? error['code'] : undefined) {
      case sqlState.divisionByZero:
        this.#isLost = true;
        return new Error('withUser: the callback has ended the transaction or changed its role', { cause: error });
      case sqlState.inFailedTransaction:
        return new Error('withUser: nothing was committed, because a statement has failed', {
          cause: this.#statementError ?? error,
        });
      default:
        return error;
    }
  }

  async #rollBack(): Promise<void> {
    let problem: unknown;
    try {
      const result = await this.#client.query(this.#own.rollback);
      if (this.#isLost || !isClean(result)) problem = keepsUser();
    } catch (error) {
      problem = error ?? keepsUser();
    }
    this.#release(problem);
  }

  #release(problem: unknown): void {
    try {
      if (problem === undefined) this.#client.release();
      else
        this.#client.release(
          problem instanceof Error ? problem : new Error('withUser: rollback failed', { cause: problem }),
        );
    } finally {
      listen(this.#client, 'removeListener');
    }
  }
}

function keepsUser(): Error {
  return new Error('withUser: the connection may keep a user, so it is closed');
}

/** Also where the callback throws before it returns a promise. */
async function runWork<Result>(work: Work<Result>, tx: SqlTransaction): Promise<Result> {
  return work(tx);
}

/** Why a statement is not sent. */
function problemWith(call: { readonly isDone: boolean }, statement: unknown): string | undefined {
  if (call.isDone) return 'tx was used after its callback had settled';
  // It answers by events, so `tx` cannot tell its end, and a cursor that is not read to its end keeps `rollback` waiting.
  if (isRecord(statement) && typeof statement['submit'] === 'function')
    return 'tx.query takes no cursor or stream; use "declare a cursor for …" and "fetch 100 from a"';
  const text = isRecord(statement) ? statement['text'] : statement;
  return typeof text === 'string'
    ? undefined
    : 'tx.query takes the text of a statement, or an object with text and values';
}
