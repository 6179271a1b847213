import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

/**
 * Runs SQL in GoTrue's database by `psql`, for what no API can do: let time pass.
 *
 * @param values what `:'name'` stands for, quoted by psql
 */
export async function runSql(sql: string, values: Readonly<Record<string, string>>): Promise<string> {
  const { GOTRUE_DATABASE_URL = '' } = process.env;
  const variables = Object.entries(values).flatMap(([name, value]) => ['-v', `${name}=${value}`]);
  const child = run('psql', [GOTRUE_DATABASE_URL, '-qtAX', '-v', 'ON_ERROR_STOP=1', ...variables, '-f', '-']);
  child.child.stdin?.end(sql);
  return (await child).stdout.trim();
}

/** Makes a session's sign-in so old that its `amr` says so from the next token on. */
export async function ageSession(sessionId: string, days: number): Promise<void> {
  await runSql(
    `update auth.mfa_amr_claims set created_at = created_at - :'age'::interval, updated_at = updated_at - :'age'::interval where session_id = :'session';
     update auth.sessions set created_at = created_at - :'age'::interval where id = :'session';`,
    { session: sessionId, age: `${days} days` },
  );
}
