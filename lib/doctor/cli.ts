#!/usr/bin/env node
import { existsSync, readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { startFile } from '../commands/start-file.ts';
import { parseCommand, usage } from './arguments.ts';
import { configuredAdapters } from './environment.ts';
import { print } from './report.ts';
import { runDoctor } from './run-doctor.ts';

/** @returns the exit code */
async function main(args: readonly string[]): Promise<0 | 1> {
  const command = parseCommand(args);
  if (command.kind !== 'doctor') {
    process.stdout.write(command.kind === 'help' ? usage : `${version()}\n`);
    return 0;
  }
  const { isJson, isQuiet, envFile, ...options } = command;
  // The last one takes precedence, as in other tools.
  const envFiles = envFile === undefined ? ['.env', '.env.local'].filter((path) => existsSync(path)) : [envFile];
  const variables = envFiles.flatMap((path) => Object.entries(readEnvFile(path)));
  const env: NodeJS.ProcessEnv = { ...Object.fromEntries(variables), ...process.env };
  const ofOne = [options.callbackPath && '--callback-path', options.pathPrefix && '--path-prefix'].find(Boolean);
  if (ofOne !== undefined && options.adapter === undefined && configuredAdapters(env).length > 1)
    throw new TypeError(`Both adapters are configured: say with --adapter which one ${ofOne} belongs to`);
  const report = await runDoctor({
    ...options,
    env,
    nodeVersion: process.versions.node,
    envFiles,
    startFile: startFile('.'),
  });
  // Only a terminal's stream has `hasColors`; it respects NO_COLOR and FORCE_COLOR.
  const hasColor = 'hasColors' in process.stdout && process.stdout.hasColors();
  process.stdout.write(isJson ? `${JSON.stringify(report, null, 2)}\n` : print(report, { hasColor, isQuiet }));
  return report.ok ? 0 : 1;
}

/** The compiled file is at the same depth below package.json as this one. */
function version(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { readonly version: string }).version;
}

function readEnvFile(path: string): NodeJS.Dict<string> {
  try {
    return parseEnv(readFileSync(path, 'utf8'));
  } catch {
    throw new TypeError(`${path} cannot be read`);
  }
}

try {
  // Not process.exit: output that is still being written to a pipe would be lost.
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof TypeError)) throw error;
  process.stderr.write(`${error.message}\n\n${usage}`);
  process.exitCode = 2;
}
