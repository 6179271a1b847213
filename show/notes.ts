import { AuthError, getSupabaseClient, withUser } from 'express-auth-adapters/backend';
import type { SqlPool } from 'express-auth-adapters/backend';
import type { IncomingMessage } from 'node:http';
import type { NotesDatabase } from './notes-database.ts';

/** What reading the notes of a user came to. */
export type NotesAnswer = {
  /** The call that read them. */
  readonly through: string;
} & (
  | { readonly kind: 'rows'; readonly rows: readonly { readonly id: string; readonly body: string }[] }
  | { readonly kind: 'failed'; readonly reason: 'no table' | 'unavailable' }
);

export interface NotesPool extends SqlPool {
  end(): Promise<void>;
}

/** A pool of the database with the table of notes; the driver is loaded only where a database is named. */
export async function openNotes(databaseUrl: string): Promise<NotesPool> {
  const { Pool } = await import('pg');
  const pool = new Pool({ connectionString: databaseUrl });
  // An idle connection that breaks is replaced with the next query.
  pool.on('error', () => undefined);
  return pool;
}

/**
 * No `where user_id = …`: row-level security leaves only the rows of the user, by SQL as well as by Supabase's API.
 *
 * @param pool undefined where no database is named
 */
export async function readNotes(req: IncomingMessage, pool: SqlPool | undefined): Promise<NotesAnswer> {
  return pool === undefined ? readByApi(req) : readBySql(req, pool);
}

async function readByApi(req: IncomingMessage): Promise<NotesAnswer> {
  const through = 'getSupabaseClient(req)';
  const supabase = await getSupabaseClient<NotesDatabase>(req);
  const { data, error } = await supabase.from('notes').select('id, body').order('created_at');
  return error === null ? { through, kind: 'rows', rows: data } : failed(through, error);
}

async function readBySql(req: IncomingMessage, pool: SqlPool): Promise<NotesAnswer> {
  const through = 'withUser(pool, req, …)';
  try {
    const { rows } = await withUser(pool, req, (tx) =>
      tx.query<{ id: string; body: string }>('select id, body from notes order by created_at'),
    );
    return { through, kind: 'rows', rows };
  } catch (error) {
    if (error instanceof AuthError) throw error;
    return failed(through, error);
  }
}

/** Codes of PostgREST and of PostgreSQL for a table that does not exist. */
const noTable: readonly unknown[] = ['PGRST205', '42P01'];

/** An outage's message can be a gateway's HTML page: it is for the terminal alone. */
function failed(through: string, error: unknown): NotesAnswer {
  const { code, message } = Object(error) as { readonly code?: unknown; readonly message?: unknown };
  console.error(`The notes could not be read: ${String(message)}`);
  return { through, kind: 'failed', reason: noTable.includes(code) ? 'no table' : 'unavailable' };
}
