import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { AdapterName } from '../../types.ts';
import { functionNames, linesOf, signInPaths } from './lines.ts';
import type { Project } from './project.ts';
import { missingSettings } from './variables.ts';

const routes = {
  b2b: '/login, /signup, /callback, /logout and /auth/session',
  backend: 'paths below /auth',
} as const;

interface Done {
  readonly adapter: AdapterName;
  /** The file that starts the application, where that is known. */
  readonly file: string | undefined;
  /** Whether the settings are those of local stand-ins. */
  readonly isLocal: boolean;
}

export function nextSteps({ scripts, dependencies, manager }: Project, { adapter, file, isLocal }: Done): string {
  const script = ['dev', 'start:dev', 'start'].find((name) => scripts[name] !== undefined);
  const command = scripts[script ?? ''] ?? '';
  const readsEnv = dependencies.has('dotenv') || /dotenv|--env-file/.test(command);
  const start =
    script === undefined
      ? `node --env-file=.env ${file ?? '…, with the file that starts the application'}`
      : `${manager} run ${script}${readsEnv ? '' : `, after --env-file=.env is in it: ${withEnvFile(command)}`}`;
  const name = functionNames[adapter];
  return [
    'Next:',
    ...(isLocal ? ['  npx express-auth-adapters providers   starts the stand-ins; leave it running'] : []),
    `  ${start}`,
    `  Open ${signInPaths[adapter]} of the application.`,
    `  It answers ${routes[adapter]}; the option pathPrefix moves them.`,
    `  Pages for signed-in users: ${name}({ protectedRoutes: '/account(.*)' })`,
    `  An API: app.use('/api', requireSession({ respond: 'json' })), from express-auth-adapters/${adapter}`,
  ].join('\n');
}

/** `node --env-file=.env app.js`; other programs pass the option on. */
function withEnvFile(command: string): string {
  return command.replace(/\b(node|nodemon|tsx(?: watch)?|ts-node)\b/, '$1 --env-file=.env');
}

/** What to do where the command does nothing. */
export function byHand(adapter: AdapterName, sdks: readonly string[], directory: string): string {
  const packageFile = join(directory, 'package.json');
  const isModule = !existsSync(packageFile) || /"type"\s*:\s*"module"/.test(readFileSync(packageFile, 'utf8'));
  const isTypeScript = existsSync(join(directory, 'tsconfig.json'));
  const { load, mount } = linesOf(adapter, false, { isModule: isModule || isTypeScript, quote: "'", semicolon: ';' });
  const { made, empty } = missingSettings(adapter, {});
  return [
    `  npm install express-auth-adapters ${sdks.join(' ')}`,
    '',
    '  # .env',
    ...[...empty, ...Object.keys(made)].map((name) => `  ${name}=`),
    '',
    `  ${load}`,
    `  ${mount}`,
    '',
    '  npx express-auth-adapters doctor',
    '',
  ].join('\n');
}
