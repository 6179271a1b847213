#!/usr/bin/env node
/** `npx express-auth-adapters <command>`. The stand-ins are loaded by their own command only. */
if (process.argv[2] === 'providers') await import('../example-app/providers-only.ts');
else await import('../lib/doctor/cli.ts');

export {};
