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
  /** Fails unless the transaction is still ours, and the user's. */
  readonly check: string;
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
 */
export function ownStatements({ role, claims }: SqlUser): OwnStatements {
  const json = `convert_from(decode('${Buffer.from(claims).toString('base64')}', 'base64'), 'UTF8')`;
  const settings = [
    `set_config('request.jwt.claims', ${json}, true)`,
    ...olderClaims.map((name) => `set_config('${name}', '', true)`),
    `set_config('role', '${role}', true)`,
  ];
  const isIntact = `current_setting('role') = '${role}' and current_setting('request.jwt.claims', true) = ${json}`;
  const kept = ['request.jwt.claims', ...olderClaims].map((name) => `current_setting('${name}', true)`);
  const isClean = `current_setting('role') <> '${role}' and concat(${kept.join(', ')}) = ''`;
  const state = `select case when ${isClean} then '${clean}' else 'kept' end as state`;
  const check = `select 1 / case when ${isIntact} then 1 else 0 end as intact`;
  return {
    begin: `begin; select ${settings.join(', ')}`,
    check,
    commit: `${check}; commit; ${state}`,
    rollback: `rollback; ${state}`,
  };
}

/** SQLSTATE: https://www.postgresql.org/docs/current/errcodes-appendix.html */
export const sqlState = { divisionByZero: '22012', inFailedTransaction: '25P02' };

/** Whether PostgreSQL refused a statement. Where only the driver gave up, as after its own timeout, the statement may still take effect. */
export function isRefusal(error: unknown): boolean {
  const code = isRecord(error) ? error['code'] : undefined;
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code);
}

/**
 * Statements that end a transaction or change its role, at the start of a text. They are refused before they are sent: what follows
 * them would run as the pool's own role. `rollback to` a savepoint is none.
 */
export const foreignStatement =
  /^(?:[\s;]|--[^\n]*(?:\n|$)|\/\*(?:[^*]|\*(?!\/))*\*\/)*((?:begin|start\s+transaction|commit|end|abort|prepare\s+transaction|rollback(?!\s+(?:(?:work|transaction)\s+)?to\b)|discard|(?:reset|set\s+local|set\s+session|set)\s+(?:all|"?role|"?session[\s_]+authorization))(?!\w))/i;

/** Results after which the transaction may be over: several statements in one text, or one behind a comment in a comment. */
export function mayHaveEnded(result: unknown): boolean {
  if (Array.isArray(result)) return true;
  return isRecord(result) && ['COMMIT', 'ROLLBACK', 'PREPARE TRANSACTION'].includes(String(result['command']));
}

export function isClean(result: unknown): boolean {
  const last: unknown = Array.isArray(result) ? result.at(-1) : result;
  const rows = isRecord(last) ? last['rows'] : undefined;
  const row: unknown = Array.isArray(rows) ? rows[0] : undefined;
  return typeof row === 'object' && row !== null && Object.values(row)[0] === clean;
}
