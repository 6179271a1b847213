import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { parseEnv } from 'node:util';
import { b2bSdks } from '../../b2b/options.ts';
import { backendSdks } from '../../backend/options.ts';
import type { AdapterName } from '../../types.ts';
import { readApplication } from './application.ts';
import type { Application } from './application.ts';
import type { AddCommand } from './arguments.ts';
import { functionNames, mountIn } from './lines.ts';
import { byHand, nextSteps } from './next-steps.ts';
import { managers, readProject, sourceFiles } from './project.ts';
import type { Project } from './project.ts';
import { Refusal } from './refusal.ts';
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
}

type Target =
  | { readonly kind: 'application'; readonly file: string; readonly source: string; readonly application: Application }
  | { readonly kind: 'mounted'; readonly file: string; readonly line: number };

const sdks = { b2b: b2bSdks, backend: backendSdks } as const;

/** @returns the exit code */
export async function add(command: AddCommand, surroundings: Surroundings): Promise<0 | 1> {
  const { print } = surroundings;
  try {
    const plan = await makePlan(command, surroundings);
    return await carryOut(plan, command, surroundings);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    print(
      `${error.message}\n${error.advice}\nNothing was changed. By hand:\n\n${byHand(command.adapter, sdks[command.adapter], surroundings.directory)}`,
    );
    return 1;
  }
}

async function makePlan({ adapter, isLocal, file }: AddCommand, surroundings: Surroundings): Promise<Plan> {
  const { directory, env, standIns } = surroundings;
  const project = readProject(directory);
  const files = file === undefined ? sourceFiles(directory) : [file];
  const target = findTarget(directory, files, adapter);
  const environment = { ...variablesIn(directory), ...env };
  return {
    project,
    packages: ['express-auth-adapters', ...sdks[adapter]].filter((name) => !project.dependencies.has(name)),
    settings: missingSettings(adapter, environment, isLocal ? await standIns.settings(adapter) : {}),
    target,
    isSecond: isOtherMounted(directory, files, adapter),
  };
}

/** @throws {Refusal} where it is not certain which file to change */
function findTarget(directory: string, files: readonly string[], adapter: AdapterName): Target {
  const applications: Target[] = [];
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
  return application;
}

function readSource(directory: string, file: string): string {
  const path = join(directory, file);
  if (existsSync(path)) return readFileSync(path, 'utf8');
  throw new TypeError(`There is no file ${file}`);
}

function isOtherMounted(directory: string, files: readonly string[], adapter: AdapterName): boolean {
  const other = functionNames[adapter === 'b2b' ? 'backend' : 'b2b'];
  return files.some((file) => readApplication(readSource(directory, file), other).kind === 'mounted');
}

/** As the doctor reads them. */
function variablesIn(directory: string): NodeJS.Dict<string> {
  const files = ['.env', '.env.local'].map((name) => join(directory, name)).filter((path) => existsSync(path));
  return Object.fromEntries(files.flatMap((path) => Object.entries(parseEnv(readFileSync(path, 'utf8')))));
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
  const isLocal = Object.keys(plan.settings.local).length > 0;
  const steps = nextSteps(project, { adapter, file: isStarted ? target.file : undefined, isLocal });
  print(`\n${steps}\n`);
  if (isDryRun)
    print('\nNothing was changed. Without --dry-run the command ends with: npx express-auth-adapters doctor\n');
  else await runDoctor(adapter);
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
    writeFileSync(join(directory, file), text);
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
