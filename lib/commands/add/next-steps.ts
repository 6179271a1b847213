import { statSync } from 'node:fs';
import { join } from 'node:path';
import type { AdapterName } from '../../types.ts';
import { readLoosely } from '../files.ts';
import { functionNames, linesOf, signInPaths } from './lines.ts';
import type { Project } from './project.ts';
import { missingSettings } from './variables.ts';

interface Done {
  readonly adapter: AdapterName;
  /** The file that starts the application, where that is known. */
  readonly file: string | undefined;
  /** Whether the settings are those of local stand-ins. */
  readonly isLocal: boolean;
  /** Where the adapter answers the session, as far as that is known. */
  readonly sessionPath: string;
}

export function nextSteps({ scripts, dependencies, manager }: Project, done: Done): string {
  const { adapter, file, isLocal, sessionPath } = done;
  const script = ['dev', 'start:dev', 'start'].find((name) => scripts[name] !== undefined);
  const command = scripts[script ?? ''] ?? '';
  const readsEnv = dependencies.has('dotenv') || /dotenv|--env-file/.test(command);
  const start =
    script === undefined
      ? [`node --env-file=.env ${file ?? '…, with the file that starts the application'}`]
      : [
          ...(readsEnv ? [] : [`Put --env-file=.env into the script ${script}: ${withEnvFile(command)}`]),
          `${manager} run ${script}`,
        ];
  const routes = adapter === 'b2b' ? `/login, /signup, /callback, /logout and ${sessionPath}` : 'paths below /auth';
  const name = functionNames[adapter];
  return [
    'Next:',
    ...(isLocal ? ['  npx express-auth-adapters providers   starts the stand-ins; leave it running'] : []),
    ...start.map((line) => `  ${line}`),
    `  Open ${signInPaths[adapter]} of the application.`,
    `  It answers ${routes}; the option pathPrefix moves them.`,
    `  Pages for signed-in users: ${name}({ protectedRoutes: '/account(.*)' })`,
    `  An API: app.use('/api', requireSession({ respond: 'json' })), from express-auth-adapters/${adapter}`,
    ...(isLocal ? ['  npx express-auth-adapters doctor   checks it all, once the stand-ins run'] : []),
  ].join('\n');
}

/** `node --env-file=.env app.js`; other programs pass the option on. */
function withEnvFile(command: string): string {
  return command.replace(/\b(node|nodemon|tsx(?: watch)?|ts-node)\b/, '$1 --env-file=.env');
}

const isFile = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isFile() === true;

/** What to do where the command does nothing. */
export function byHand(adapter: AdapterName, sdks: readonly string[], directory: string): string {
  const packageFile = join(directory, 'package.json');
  const manifest = isFile(packageFile) ? readLoosely(packageFile) : undefined;
  const isModule = manifest === undefined || /"type"\s*:\s*"module"/.test(manifest);
  const isTypeScript = isFile(join(directory, 'tsconfig.json'));
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
