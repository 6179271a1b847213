import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ConfigurationError } from 'express-auth-adapters/b2b';
import { banner } from './banner.ts';
import { PortTakenError } from './listen.ts';
import { readSettings, SettingsError } from '../stand-ins/settings.ts';
import { startTour } from './start.ts';

try {
  const settings = readSettings(process.env);
  const clientModules = dirname(fileURLToPath(import.meta.resolve('express-auth-adapters/client')));
  const tour = await startTour({ settings, clientModules });
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => void tour.close().then(() => process.exit(0)));
  }
  console.log(banner(tour));
} catch (error) {
  console.error(explain(error));
  process.exit(1);
}

/** The error and its fix in one sentence; a stack trace only for unexpected errors. */
function explain(error: unknown): string {
  if (error instanceof PortTakenError)
    return `${error.message} Stop what uses it, or choose another: PORT=3001 npm start`;
  if (error instanceof SettingsError) return error.problems.join('\n');
  if (error instanceof ConfigurationError) return error.message;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
