#!/usr/bin/env node
import { nodeProblem } from '../lib/tools/node-version.ts';

const isProviders = process.argv[2] === 'providers';

// `… | head` reads no more. A command finishes what it began, and the stand-ins end.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  if (isProviders) process.exit();
});

/** `npx express-auth-adapters <command>`. The stand-ins are loaded by their own command only. */
const tooOld = nodeProblem();
if (tooOld !== undefined) {
  process.stderr.write(`${tooOld}\n`);
  process.exitCode = 1;
} else if (isProviders) await import('../stand-ins/providers-only.ts');
else if (process.argv[2] === 'add') await import('./add.ts');
else if (process.argv[2] === 'emails') await import('./emails.ts');
else await import('../lib/doctor/cli.ts');
