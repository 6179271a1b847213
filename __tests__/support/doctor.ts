import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { text } from 'node:stream/consumers';
import { runDoctor } from '../../lib/doctor/run-doctor.ts';
import type { DoctorOptions } from '../../lib/doctor/run-doctor.ts';
import type { DoctorReport } from '../../lib/doctor/report.ts';
import type { WorkosStandIn } from '../../stand-ins/workos/index.ts';
import type { SupabaseStandIn } from '../../stand-ins/supabase/stand-in.ts';

export const workosEnv = (workos: WorkosStandIn): NodeJS.ProcessEnv => ({
  B2B_CLIENT_ID: workos.clientId,
  B2B_API_KEY: workos.apiKey,
  B2B_COOKIE_PASSWORD: randomBytes(32).toString('base64'),
  B2B_API_HOSTNAME: workos.hostname,
  B2B_API_PORT: String(workos.port),
  B2B_API_HTTPS: 'false',
});

export const supabaseEnv = (supabase: SupabaseStandIn): NodeJS.ProcessEnv => ({
  BAAS_URL: supabase.url,
  BAAS_PUBLISHABLE_KEY: supabase.publishableKey,
});

export function examine(env: NodeJS.ProcessEnv, options: Partial<DoctorOptions> = {}): Promise<DoctorReport> {
  return runDoctor({ env, nodeVersion: '24.0.0', ...options });
}

/** `level: message` of each finding with this id. */
export function lines({ findings }: DoctorReport, id: string): readonly string[] {
  return findings.filter((finding) => finding.id === id).map(({ level, message }) => `${level}: ${message}`);
}

export interface CliRun {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** The command line in a process of its own, with nothing but the given environment. */
export async function runCli(
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
  cwd = process.cwd(),
): Promise<CliRun> {
  const cli = `${process.cwd()}/lib/doctor/cli.ts`;
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', cli, ...args], { env, cwd });
  const exited = new Promise<number | null>((resolve) => child.once('close', resolve));
  const [stdout, stderr, code] = await Promise.all([text(child.stdout), text(child.stderr), exited]);
  return { code, stdout, stderr };
}
