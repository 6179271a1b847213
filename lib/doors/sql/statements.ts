import { isRecord } from '../../tools/json.ts';

/** Whom PostgreSQL has to see. */
export interface SqlUser {
  readonly role: 'authenticated' | 'anon';
  /** As JSON. */
  readonly claims: string;
}

/** Statements of our own. */
export interface OwnStatements {
  readonly begin: string;
  /** Fails, and commits nothing, unless role and claims are still those of the user. */
  readonly commit: string;
  readonly rollback: string;
}

/** Claims that functions of older Supabase projects, `auth.uid()` for example, read before `request.jwt.claims`. */
const olderClaims = ['', '.sub', '.role', '.email'].map((name) => `request.jwt.claim${name}`);
/** Of a connection that keeps no user. */
const clean = 'clean';

/**
 * The claims are text of the user, such as a name, so they travel as base64, which has no character that ends a literal. Parameters
 * would be as safe, but need a round trip of their own: the protocol binds them to a single statement.
 *
 * Functions and operators are those of `pg_catalog`: a `search_path` may name another schema before it, which has them as well.
 */
export function ownStatements({ role, claims }: SqlUser): OwnStatements {
  const encoded = Buffer.from(claims).toString('base64');
  const json = `pg_catalog.convert_from(pg_catalog.decode('${encoded}', 'base64'), 'UTF8')`;
  const settings = [
    `pg_catalog.set_config('request.jwt.claims', ${json}, true)`,
    ...olderClaims.map((name) => `pg_catalog.set_config('${name}', '', true)`),
    `pg_catalog.set_config('role', '${role}', true)`,
  ];
  const isUsers = `${current('role')} ${own('=')} '${role}' and ${current('request.jwt.claims')} ${own('=')} ${json}`;
  const kept = ['request.jwt.claims', ...olderClaims].map(current).join(', ');
  const isClean = `${current('role')} ${own('<>')} '${role}' and pg_catalog.concat(${kept}) ${own('=')} ''`;
  const state = `select case when ${isClean} then '${clean}' else 'kept' end as state`;
  return {
    begin: `begin; select ${settings.join(', ')}`,
    commit: `select 1 ${own('/')} case when ${isUsers} then 1 else 0 end as intact; commit; ${state}`,
    rollback: `rollback; ${state}`,
  };
}

function own(operator: string): string {
  return `operator(pg_catalog.${operator})`;
}

function current(setting: string): string {
  return `pg_catalog.current_setting('${setting}', true)`;
}

/** SQLSTATE: https://www.postgresql.org/docs/current/errcodes-appendix.html */
export const sqlState = { divisionByZero: '22012', inFailedTransaction: '25P02' };

/** Whether PostgreSQL refused a statement. Where only the driver gave up, as after its own timeout, the statement may still take effect. */
export function isRefusal(error: unknown): boolean {
  const code = isRecord(error) ? error['code'] : undefined;
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code);
}

export function isClean(result: unknown): boolean {
  const last: unknown = Array.isArray(result) ? result.at(-1) : result;
  const rows = isRecord(last) ? last['rows'] : undefined;
  const row: unknown = Array.isArray(rows) ? rows[0] : undefined;
  return typeof row === 'object' && row !== null && Object.values(row)[0] === clean;
}
