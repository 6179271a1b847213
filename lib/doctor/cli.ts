#!/usr/bin/env node
import { readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { parseCommand, usage } from './arguments.ts';
import type { Command } from './arguments.ts';
import { createPrinter } from './print.ts';
import { configuredAdapters, runDoctor } from './run-doctor.ts';

/** @returns the exit code */
async function main(args: readonly string[]): Promise<0 | 1 | 2> {
  const command = parseCommand(args);
  if (command.kind === 'help') {
    process.stdout.write(usage);
    return 0;
  }
  if (command.kind === 'wrong') return refuse(command.reason);
  return doctor(command);
}

async function doctor(command: Extract<Command, { kind: 'doctor' }>): Promise<0 | 1 | 2> {
  const { isJson, adapter, appUrl, callbackPath, envFile, timeoutMs } = command;
  const fromFile = envFile === undefined ? {} : readEnvFile(envFile);
  if (fromFile === undefined) return refuse(`${envFile ?? ''} cannot be read`);
  const env = { ...fromFile, ...process.env };
  if (callbackPath !== undefined && adapter === undefined && configuredAdapters(env).length > 1) {
    return refuse('Both adapters are configured: say with --adapter which one --callback-path belongs to');
  }
  const printer = createPrinter(process.stdout, hasColors(process.stdout));
  const report = await runDoctor({
    env,
    nodeVersion: process.versions.node,
    adapter,
    appUrl,
    callbackPath,
    timeoutMs,
    ...(isJson ? {} : { onStep: (step) => printer.step(step) }),
  });
  if (isJson) process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
  else printer.end(report);
  return report.ok ? 0 : 1;
}

/** Only a terminal's stream can tell; it knows NO_COLOR and FORCE_COLOR. */
function hasColors(stream: NodeJS.WritableStream): boolean {
  return 'hasColors' in stream && process.stdout.hasColors();
}

function readEnvFile(path: string): NodeJS.Dict<string> | undefined {
  try {
    return parseEnv(readFileSync(path, 'utf8'));
  } catch {
    return undefined;
  }
}

function refuse(reason: string): 2 {
  process.stderr.write(`${reason}\n\n${usage}`);
  return 2;
}

// Not process.exit: what is still on its way to a pipe would be lost.
process.exitCode = await main(process.argv.slice(2));
