import { existsSync, readdirSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { isRecord, parseJson } from '../../tools/json.ts';
import { readLoosely } from '../files.ts';
import { Refusal } from '../refusal.ts';

export const managers = { npm: 'install', pnpm: 'add', yarn: 'add', bun: 'add' } as const;

export type Manager = keyof typeof managers;

const lockFiles: Readonly<Record<string, Manager>> = {
  'package-lock.json': 'npm',
  'npm-shrinkwrap.json': 'npm',
  'pnpm-lock.yaml': 'pnpm',
  'yarn.lock': 'yarn',
  'bun.lock': 'bun',
  'bun.lockb': 'bun',
};

export interface Project {
  readonly manager: Manager;
  /** The folder that named the package manager; `undefined` where none did. */
  readonly managedBy: string | undefined;
  /** The names of the packages that it depends on. */
  readonly dependencies: ReadonlySet<string>;
  readonly scripts: Readonly<Record<string, string>>;
  /** Whether its `.js` files are ES modules. */
  readonly isModule: boolean;
  readonly isTypeScript: boolean;
}

/** @throws {Refusal} where the folder is no Express application's */
export function readProject(directory: string): Project {
  const manifest = readManifest(directory);
  if (manifest === undefined)
    throw new Refusal('There is no package.json here.', 'Run the command in the folder of your application.');
  const groups = ['dependencies', 'devDependencies', 'peerDependencies'].map((group) => manifest[group]);
  const dependencies = new Set(groups.flatMap((group) => (isRecord(group) ? Object.keys(group) : [])));
  if (!dependencies.has('express')) {
    throw new Refusal(
      'The package.json here does not depend on express.',
      'Run the command in the folder of your application; in a monorepo, in the folder of its package.',
    );
  }
  const { scripts, type } = manifest;
  return {
    ...managerOf(directory),
    dependencies,
    scripts: Object.fromEntries(
      Object.entries(isRecord(scripts) ? scripts : {}).filter(
        (script): script is [string, string] => typeof script[1] === 'string',
      ),
    ),
    isModule: type === 'module',
    isTypeScript: dependencies.has('typescript') || existsSync(join(directory, 'tsconfig.json')),
  };
}

function readManifest(directory: string): Readonly<Record<string, unknown>> | undefined {
  const manifest = parseJson(readLoosely(join(directory, 'package.json'), 'package.json') ?? '');
  return isRecord(manifest) ? manifest : undefined;
}

/** The package manager of the nearest folder that has one, up to the root of the repository. */
function managerOf(directory: string): Pick<Project, 'manager' | 'managedBy'> {
  const named = /^(npm|pnpm|yarn|bun)@/.exec(String(readManifest(directory)?.['packageManager']))?.[1];
  const locks = Object.keys(lockFiles).filter((file) => existsSync(join(directory, file)));
  const found = new Set(named === undefined ? locks.flatMap((file) => lockFiles[file] ?? []) : [named as Manager]);
  const [manager, another] = found;
  if (another !== undefined) {
    throw new Refusal(
      `There are lock files of several package managers: ${locks.join(' and ')}.`,
      'Remove those that are not used, or name one in package.json, such as "packageManager": "pnpm@10.0.0".',
    );
  }
  if (manager !== undefined) return { manager, managedBy: directory };
  const parent = dirname(directory);
  const isRoot = parent === directory || existsSync(join(directory, '.git'));
  return isRoot ? { manager: 'npm', managedBy: undefined } : managerOf(parent);
}

/** Folders without an application's own sources. */
const otherFolders =
  /^(?:\..*|node_modules|dist|build|out|coverage|public|static|vendor|tests?|__tests__|__mocks__|e2e)$/;
const sources = /(?<!\.d|\.test|\.spec|\.config|\.min)\.[cm]?[jt]s$/;

const most = { files: 5_000, bytes: 500_000 };

/**
 * The paths of an application's sources. A folder with a package.json of its own is another package.
 *
 * @throws {Refusal} where there are more than a person would look through
 */
export function sourceFiles(directory: string): readonly string[] {
  const files: string[] = [];
  const visit = (folder: string): void => {
    for (const entry of readdirSync(join(directory, folder), { withFileTypes: true })) {
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
      if (entry.isDirectory() && !otherFolders.test(entry.name)) {
        if (!existsSync(join(directory, path, 'package.json'))) visit(path);
      } else if (entry.isFile() && sources.test(basename(path))) files.push(path);
    }
    if (files.length > most.files) {
      throw new Refusal(
        `There are more than ${most.files} sources here.`,
        'Name the one that calls express(): --file src/app.js',
      );
    }
  };
  visit('');
  return files.filter((path) => statSync(join(directory, path)).size <= most.bytes);
}
