import { EventEmitter } from 'node:events';

/** A pool without a database: it records what it is asked for, and answers as PostgreSQL's drivers do. */
export interface RecordingPool {
  /** One entry per connection, in the order of `connect`. */
  readonly connections: RecordedConnection[];
  /** Replaces answers: `undefined` leaves the usual one. */
  answer: (text: string, connection: RecordedConnection) => unknown;
  /** Called before a connection is handed out. */
  beforeConnect: () => Promise<void>;
  connect(): Promise<RecordedConnection>;
}

export class RecordedConnection extends EventEmitter {
  readonly texts: string[] = [];
  readonly values: (readonly unknown[] | undefined)[] = [];
  /** The error of each `release`, or `kept` where the connection returns to the pool. */
  readonly released: unknown[] = [];
  readonly #pool: RecordingPool;
  #isBusy = false;

  constructor(pool: RecordingPool) {
    super();
    this.#pool = pool;
  }

  /** Fails for a statement that does not wait for the one before it, or comes after `release`. */
  async query(text: string, values?: readonly unknown[]): Promise<unknown> {
    if (this.#isBusy || this.released.length > 0) throw new Error(`not now: ${text}`);
    this.#isBusy = true;
    this.texts.push(text);
    this.values.push(values);
    try {
      await new Promise((resolve) => setImmediate(resolve));
      return (await this.#pool.answer(text, this)) ?? usualAnswer(text);
    } finally {
      this.#isBusy = false;
    }
  }

  release(error?: unknown): void {
    this.released.push(error ?? 'kept');
  }

  /** What was sent, by its first word; `check; commit; …` counts as `commit`. */
  get words(): string[] {
    return this.texts.map((text) => (text.includes('; commit;') ? 'commit' : (/^\w+/.exec(text)?.[0] ?? '')));
  }
}

function usualAnswer(text: string): unknown {
  const one = { command: 'SELECT', rows: [{ one: 1 }], rowCount: 1 };
  const state = { command: 'SELECT', rows: [{ state: 'clean' }], rowCount: 1 };
  return text.includes('; ') ? [one, state] : one;
}

export function createRecordingPool(): RecordingPool {
  const pool: RecordingPool = {
    connections: [],
    answer: () => undefined,
    beforeConnect: () => Promise.resolve(),
    async connect() {
      await pool.beforeConnect();
      const connection = new RecordedConnection(pool);
      pool.connections.push(connection);
      return connection;
    },
  };
  return pool;
}
