import { execFile, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { chown, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { freePortsInARow } from './servers.ts';

/** The folder of `initdb` and `postgres`: in `PATH`, else where Debian has them; the newest version first. */
const folder = [
  ...(process.env['PATH'] ?? '').split(delimiter),
  ...globSync('/usr/lib/postgresql/*/bin').toSorted(
    (one, other) => Number(other.split('/')[4]) - Number(one.split('/')[4]),
  ),
].find((path) => existsSync(join(path, 'initdb')) && existsSync(join(path, 'postgres')));

/** Skips the suite, with a sentence that says why, where PostgreSQL is not installed. */
export function describeOnPostgres(name: string, body: () => void): void {
  if (folder !== undefined) describe(name, body);
  else
    it.skip(`${name} (skipped: no initdb and postgres in PATH or /usr/lib/postgresql; on Debian: apt install postgresql)`, () =>
      undefined);
}

export interface PostgresServer {
  /** Of the superuser, for what is set up. */
  readonly adminUrl: string;
  /** Of the role that an application logs in with: no rights of its own, and `authenticated` and `anon` granted. */
  readonly url: string;
  stop(): Promise<void>;
}

/**
 * What a Supabase project has: its roles, `auth.uid()` and a table of notes under row-level security. `authenticator` logs in and may
 * become a user; the notes of its own that a lost user would read show as `of the pool`.
 *
 * @see https://github.com/supabase/postgres/blob/develop/migrations/db/init-scripts/00000000000001-auth-schema.sql
 */
const project = `
create role anon nologin noinherit;
create role authenticated nologin noinherit;
create role service_role nologin noinherit bypassrls;
create role authenticator login noinherit;
grant anon, authenticated, service_role to authenticator;
create schema auth;
grant usage on schema auth to public;
create function auth.uid() returns uuid stable language sql as $$
  select coalesce(
    nullif(current_setting('request.jwt.claim.sub', true), ''),
    (nullif(current_setting('request.jwt.claims', true), '')::jsonb ->> 'sub')
  )::uuid
$$;
create function auth.jwt() returns jsonb stable language sql as $$
  select coalesce(
    nullif(current_setting('request.jwt.claim', true), ''),
    nullif(current_setting('request.jwt.claims', true), '')
  )::jsonb
$$;
create table notes (id bigserial primary key, user_id uuid not null default auth.uid(), body text not null);
alter table notes enable row level security;
create policy "own notes" on notes to authenticated using (auth.uid() = user_id) with check (auth.uid() = user_id);
create table news (id bigserial primary key, body text not null);
alter table news enable row level security;
create policy "news for all" on news for select to anon, authenticated using (true);
-- A pool's own role that reads everything makes a lost user visible: its rows are those of others.
create policy "all notes" on notes for select to authenticator using (true);
grant select on notes, news to authenticator;
grant select, insert, update, delete on notes to authenticated;
grant select on news to anon, authenticated;
grant usage on all sequences in schema public to authenticated;
`;

/** A PostgreSQL of its own on a free port of 127.0.0.1, with the tables above. Stop it in `afterAll`. */
export async function startPostgresServer(): Promise<PostgresServer> {
  if (folder === undefined) throw new Error('PostgreSQL is not installed');
  const owner = serverOwner();
  const directory = await mkdtemp(join(tmpdir(), 'postgres-'));
  if (owner.uid !== undefined) await chown(directory, owner.uid, owner.gid);
  const options = { ...owner, cwd: directory, env: { PATH: process.env['PATH'], LC_ALL: 'C' } };
  const data = join(directory, 'data');
  const create = ['--pgdata', data, '--username', 'admin', '--auth', 'trust', '--encoding', 'UTF8', '--no-sync'];
  let child: ChildProcess | undefined;
  try {
    await promisify(execFile)(join(folder, 'initdb'), create, options);
    const port = await freePortsInARow(1);
    const settings = {
      listen_addresses: '127.0.0.1',
      unix_socket_directories: '',
      fsync: 'off',
      log_min_messages: 'panic',
      max_connections: '100',
    };
    const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    child = spawn(join(folder, 'postgres'), ['-D', data, '-p', String(port), ...flags], {
      ...options,
      stdio: 'ignore',
    });
    const adminUrl = `postgres://admin@127.0.0.1:${port}/postgres`;
    await setUp(adminUrl, child);
    const running = child;
    return {
      adminUrl,
      url: `postgres://authenticator@127.0.0.1:${port}/postgres`,
      stop: () => end(running, directory),
    };
  } catch (error) {
    await end(child, directory);
    throw error;
  }
}

/** PostgreSQL refuses to run as root; Debian's package brings a user for it. */
function serverOwner():
  { readonly uid: number; readonly gid: number } | { readonly uid?: undefined; readonly gid?: undefined } {
  if (process.getuid?.() !== 0) return {};
  const [, uid, gid] = /^postgres:[^:]*:(\d+):(\d+):/m.exec(readFileSync('/etc/passwd', 'utf8')) ?? [];
  if (uid === undefined || gid === undefined)
    throw new Error('PostgreSQL needs a user named postgres where tests run as root');
  return { uid: Number(uid), gid: Number(gid) };
}

async function setUp(url: string, child: ChildProcess): Promise<void> {
  for (let tries = 0; ; tries += 1) {
    if (child.exitCode !== null) throw new Error(`postgres ended with ${child.exitCode}`);
    const client = new Client({ connectionString: url });
    try {
      await client.connect();
      await client.query(project);
      await client.end();
      return;
    } catch (error) {
      await client.end().catch(() => undefined);
      // It refuses connections, or says that it is starting up.
      const isStarting = /ECONNREFUSED|57P03/.test(String((error as { code?: unknown }).code));
      if (!isStarting || tries === 500) throw error;
      await wait(20);
    }
  }
}

/** At once, without waiting for clients. */
async function end(child: ChildProcess | undefined, directory: string): Promise<void> {
  if (child?.exitCode === null && child.signalCode === null) {
    const exited = once(child, 'exit');
    child.kill('SIGQUIT');
    await exited;
  }
  await rm(directory, { recursive: true, force: true });
}
