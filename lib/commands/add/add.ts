import { existsSync } from 'node:fs';
import { join, relative } from 'node:path';
import { parseEnv } from 'node:util';
import { b2bSdks } from '../../b2b/options.ts';
import { backendSdks } from '../../backend/options.ts';
import type { AdapterName } from '../../types.ts';
import { readLoosely, readText, refuseLinkOut, writeText } from '../files.ts';
import { Refusal } from '../refusal.ts';
import { startFile } from '../start-file.ts';
import { readApplication } from './application.ts';
import type { Application } from './application.ts';
import type { AddCommand } from './arguments.ts';
import { functionNames, mountIn, secondSessionPath } from './lines.ts';
import { byHand, nextSteps } from './next-steps.ts';
import { managers, readProject, sourceFiles } from './project.ts';
import type { Project } from './project.ts';
import type { Surroundings } from './surroundings.ts';
import { missingSettings } from './variables.ts';
import { addSettings, ignoreEnvFile } from './env-file.ts';
import type { Settings } from './variables.ts';

/** All that the command does, and says before. */
export interface Plan {
  readonly project: Project;
  readonly packages: readonly string[];
  readonly settings: Settings;
  readonly target: Target;
  /** Whether the other adapter is mounted. */
  readonly isSecond: boolean;
  /** Whether the settings are those of local stand-ins, which a person starts later. */
  readonly isLocal: boolean;
}

type Target =
  | { readonly kind: 'application'; readonly file: string; readonly source: string; readonly application: Application }
  | { readonly kind: 'mounted'; readonly file: string; readonly line: number };

/** Where the settings of stand-ins have an address of this machine. */
const providers = { b2b: 'B2B_API_HOSTNAME', backend: 'BAAS_URL' } as const;

const sdks = { b2b: b2bSdks, backend: backendSdks } as const;

/** @returns the exit code */
export async function add(command: AddCommand, surroundings: Surroundings): Promise<0 | 1> {
  const { print, directory } = surroundings;
  let plan: Plan | undefined;
  try {
    plan = await makePlan(command, surroundings);
    return await carryOut(plan, command, surroundings);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    print(`${error.message}\n${error.advice}\n`);
    if (plan === undefined)
      print(`Nothing was changed. By hand:\n\n${byHand(command.adapter, sdks[command.adapter], directory)}`);
    return 1;
  }
}

async function makePlan({ adapter, isLocal, file }: AddCommand, surroundings: Surroundings): Promise<Plan> {
  const { directory, env, standIns } = surroundings;
  const project = readProject(directory);
  const files = file === undefined ? sourceFiles(directory) : [file];
  const target = findTarget(directory, files, adapter);
  for (const name of ['.env', '.gitignore']) readText(join(directory, name), name);
  const environment = { ...variablesIn(directory), ...env };
  const settings = missingSettings(adapter, environment, isLocal ? await standIns.settings(adapter) : {});
  const { made, local, empty } = settings;
  if ([...Object.keys(made), ...Object.keys(local), ...empty].length > 0)
    refuseLinkOut(join(directory, '.env'), '.env');
  return {
    project,
    packages: ['express-auth-adapters', ...sdks[adapter]].filter((name) => !project.dependencies.has(name)),
    settings,
    target,
    isSecond: isOtherMounted(directory, files, adapter),
    isLocal:
      isLocal && (Object.keys(local).length > 0 || environment[providers[adapter]]?.includes('127.0.0.1') === true),
  };
}

/** @throws {Refusal} where it is not certain which file to change */
function findTarget(directory: string, files: readonly string[], adapter: AdapterName): Target {
  const applications: Extract<Target, { kind: 'application' }>[] = [];
  const doubts: string[] = [];
  for (const file of files) {
    const source = readSource(directory, file);
    const reading = readApplication(source, functionNames[adapter]);
    if (reading.kind === 'mounted') return { kind: 'mounted', file, line: reading.line };
    if (reading.kind === 'application') applications.push({ ...reading, file, source });
    if (reading.kind === 'unclear') doubts.push(`${file} ${reading.reason}.`);
  }
  const [application, ...others] = applications;
  const advice = 'Add the lines below yourself';
  if (doubts.length > 0) throw new Refusal(doubts.join('\n'), `${advice}, right after the application is made.`);
  if (application === undefined)
    throw new Refusal('No file here calls express().', `${advice} where the application is made, before its routes.`);
  if (others.length > 0) {
    const list = [application, ...others].map((each) => each.file).join(' and ');
    throw new Refusal(
      `Several files call express(): ${list}.`,
      `Name one of them with --file, or add the lines below yourself.`,
    );
  }
  return { ...application, source: readText(join(directory, application.file), application.file) ?? '' };
}

function readSource(directory: string, file: string): string {
  const source = readLoosely(join(directory, file), file);
  if (source === undefined) throw new TypeError(`There is no file ${file}`);
  return source;
}

function isOtherMounted(directory: string, files: readonly string[], adapter: AdapterName): boolean {
  const other = functionNames[adapter === 'b2b' ? 'backend' : 'b2b'];
  return files.some((file) => readApplication(readSource(directory, file), other).kind === 'mounted');
}

/** As the doctor reads them. */
function variablesIn(directory: string): NodeJS.Dict<string> {
  const texts = ['.env', '.env.local'].map((name) => readLoosely(join(directory, name), name) ?? '');
  return Object.fromEntries(texts.flatMap((text) => Object.entries(parseEnv(text))));
}

async function carryOut(plan: Plan, command: AddCommand, surroundings: Surroundings): Promise<0 | 1> {
  const { project, packages, target } = plan;
  const { adapter, isDryRun } = command;
  const { directory, print, run, runDoctor } = surroundings;
  const where = project.managedBy === undefined ? '' : relative(directory, project.managedBy);
  print(
    `${project.isTypeScript ? 'TypeScript' : 'JavaScript'}, ${project.manager}${where === '' ? '' : ` (${where})`}\n`,
  );

  const install = installCommand(project, packages, existsSync(join(directory, 'pnpm-workspace.yaml')));
  if (packages.length === 0) print('The packages are installed.\n');
  else {
    print(`${isDryRun ? 'Would install' : 'Installing'}: ${install.join(' ')}\n`);
    const [program = '', ...args] = install;
    if (!isDryRun && (await run(program, args)) !== 0) {
      print(`${program} has failed, so nothing else was changed. Mend what it says, and run the command again.\n`);
      return 1;
    }
  }
  addSettings(plan.settings, command, surroundings);
  await ignoreEnvFile(command, surroundings);
  if (target.kind === 'mounted') print(`${functionNames[adapter]} is mounted: ${target.file}, line ${target.line}.\n`);
  else mountInFile(target, plan.isSecond, command, surroundings);
  const isStarted = readSource(directory, target.file).includes('.listen(');
  const { isLocal, isSecond } = plan;
  const ownPath = target.kind === 'mounted' ? 'its sessionPath' : secondSessionPath;
  const steps = nextSteps(project, {
    adapter,
    file: isStarted ? target.file : startFile(directory),
    isLocal,
    sessionPath: isSecond ? ownPath : '/auth/session',
  });
  print(`\n${steps}\n`);
  const ending = isLocal ? '' : ' Without --dry-run the command ends with: npx express-auth-adapters doctor';
  if (isDryRun) print(`\nNothing was changed.${ending}\n`);
  // It would find that the stand-ins don't answer yet.
  else if (!isLocal) await runDoctor(adapter);
  return 0;
}

/** Shows the lines, and writes them where that is wanted. */
function mountInFile(
  { application, file, source }: Extract<Target, { kind: 'application' }>,
  isSecond: boolean,
  { adapter, isDryRun, isWritten }: AddCommand,
  { directory, print }: Surroundings,
): void {
  const { text, added } = mountIn(source, application, adapter, isSecond);
  const lines = added.map(({ line, text: code }) => `  + ${String(line).padStart(4)}  ${code}\n`).join('');
  if (isWritten && !isDryRun) {
    writeText(join(directory, file), text, { name: file });
    print(`\n${file} has new lines:\n${lines}`);
  } else print(`\n${file} needs these lines${isWritten ? '' : '; --write adds them'}:\n${lines}`);
}

function installCommand(
  { manager }: Project,
  packages: readonly string[],
  isWorkspaceRoot: boolean,
): readonly string[] {
  // pnpm asks whether the root of a workspace is meant.
  const flags = manager === 'pnpm' && isWorkspaceRoot ? ['--workspace-root'] : [];
  return [manager, managers[manager], ...flags, ...packages];
}
