import * as v from 'valibot';
import { isRecord } from '../tools/json.ts';
import { didYouMean, nearestName } from '../nearest.ts';
import { setVariable, valueOf } from '../tools/environment.ts';
import type { Environment } from '../tools/environment.ts';
import { nodeProblem } from '../tools/node-version.ts';
import { ConfigurationError } from '../errors.ts';
import { expressProblems } from '../http/express.ts';
import { unreadEnvFile } from './env-file.ts';
import { misspelledVariables } from './misspelled.ts';
import { carryFormer, formerOptions } from './former.ts';
import type { Carried } from './former.ts';
import { pathClashes, withPrefix } from './paths.ts';

/** The environment variables of each option. */
type Variables = Readonly<Record<string, readonly string[]>>;

/** The one environment variable that a message names for each option. */
export type NamedVariables = Readonly<Record<string, string | undefined>>;

export type OptionsSchema = v.GenericSchema & { readonly entries: Readonly<Record<string, v.GenericSchema>> };

export interface OptionRules<Schema extends OptionsSchema> {
  /** The factory's name. */
  readonly name: string;
  readonly schema: Schema;
  /** The environment variables of each option, in order of precedence. */
  readonly env: Variables;
  /** The variable that a message names where none is set. Default: the first one. */
  readonly named?: NamedVariables;
  /** The options that are paths of own routes, with their defaults; those in `paths` by names such as `paths.forgot`. */
  readonly paths: Readonly<Record<string, string>>;
  /** The SDKs that the application installs beside this package, because it needs only one provider's. */
  readonly sdks?: readonly string[];
  /** Problems of several options together. */
  readonly check?: (
    given: Readonly<Record<string, unknown>>,
    environment: Environment,
    variables: NamedVariables,
  ) => readonly string[];
}

/**
 * The given options, completed from the environment and checked together.
 *
 * @throws {ConfigurationError} with every problem, each naming its option and environment variables
 */
export function readOptions<Schema extends OptionsSchema>(
  input: unknown,
  rules: OptionRules<Schema>,
  environment: Environment = process.env,
): v.InferOutput<Schema> {
  const tooOld = nodeProblem();
  if (tooOld !== undefined) throw new ConfigurationError(rules.name, [tooOld]);
  if (isRequest(input)) {
    throw new ConfigurationError(rules.name, [
      `it is mounted without having been called; write app.use(${rules.name}()) with parentheses`,
    ]);
  }
  if (input !== undefined && (typeof input !== 'object' || input === null || Array.isArray(input))) {
    throw new ConfigurationError(rules.name, ['options must be an object']);
  }
  const { name, schema, paths } = rules;
  const today = carryFormer(withoutUndefined({ ...input }), { name, paths, entries: schema.entries });
  const { given: named, variables, writtenAs } = complete(today, rules, environment);
  const given = withPrefix(named, paths);
  const parsed = v.safeParse(schema, given);
  const problems = [
    ...problemsOf(parsed, schema, variables, writtenAs),
    ...pathClashes(given, paths, writtenAs),
    ...(rules.check?.(given, environment, variables) ?? []),
    ...expressProblems,
    ...missingSdks(rules.sdks ?? []),
  ];
  if (parsed.success && problems.length === 0) return parsed.output;
  // The doctor has hints of its own.
  const isMissing = (option: string): boolean =>
    problems.some((problem) => problem.startsWith(`${nameOf(option, variables[option])} is missing`));
  const hints = environment === process.env ? hintsFor(given, rules.env, isMissing) : [];
  throw new ConfigurationError(name, [...problems, ...hints]);
}

/** @param isMissing whether an application cannot start without the option */
function hintsFor(
  given: Readonly<Record<string, unknown>>,
  env: Variables,
  isMissing: (option: string) => boolean,
): string[] {
  const unset = Object.keys(env).filter((option) => given[option] === undefined);
  const variablesOf = (options: readonly string[]): string[] => options.flatMap((option) => env[option] ?? []);
  const misspelled = misspelledVariables(
    process.env,
    variablesOf(unset.filter(isMissing)),
    variablesOf(Object.keys(env)),
  );
  return [unreadEnvFile(variablesOf(unset)) ?? [], misspelled].flat();
}

/** Fills missing options from the environment, and says which variable a message names. */
function complete(
  today: Carried,
  { env, named }: Pick<OptionRules<OptionsSchema>, 'env' | 'named'>,
  environment: Environment,
) {
  const given = { ...today.given };
  const writtenAs = { ...today.writtenAs };
  const variables: Record<string, string | undefined> = {};
  for (const [option, names] of Object.entries(env)) {
    variables[option] = named?.[option] ?? names[0];
    const used = setVariable(environment, names);
    if (used === undefined || (given[option] ?? undefined) !== undefined) continue;
    given[option] = valueOf(environment[used]);
    variables[option] = used;
    // Only the variable is an option of today.
    if (formerOptions.has(option)) writtenAs[option] = used;
  }
  return { given, variables, writtenAs };
}

function withoutUndefined(options: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}

/** What a schema finds wrong, each with its option, as it was written, and environment variables. */
export function problemsOf(
  { issues = [] }: { readonly issues?: readonly v.BaseIssue<unknown>[] | undefined },
  schema: OptionsSchema,
  variables: NamedVariables = {},
  writtenAs: NamedVariables = {},
): string[] {
  const nameFor = (path: string): string => writtenAs[path] ?? nameOf(path, variables[path.split('.')[0] ?? '']);
  return issues.map((issue) => describe(issue, schema, nameFor));
}

/** Options with more members, such as the texts, have a list in the docs. */
const mostListed = 20;

/** Where the path of a route is: in `paths`, or, for those that the specification names, an option of its own. */
function optionElsewhere(name: string, { entries }: OptionsSchema, path: string): string | undefined {
  if (path === `paths.${name}`) {
    const own = nearestName(`${name}Path`, Object.keys(entries));
    return own?.toLowerCase() === `${name}Path`.toLowerCase() ? `write ${own}` : undefined;
  }
  if (path !== name) return undefined;
  const inPaths = entries['paths'] === undefined ? [] : namesAt(entries['paths'], [{ key: '' } as v.IssuePathItem]);
  const names = inPaths.flatMap((each) => [each, `${each}Path`]);
  const nearest = nearestName(name, [...Object.keys(entries), ...names]);
  return nearest !== undefined && names.includes(nearest)
    ? `did you mean paths.${nearest.replace(/Path$/, '')}?`
    : callbackOption(name, entries);
}

/** For the names that other packages have for the callback's URL. */
function callbackOption(name: string, entries: OptionsSchema['entries']): string | undefined {
  if (!/^(?:redirect|callback)_?ur[il]$/i.test(name) || entries['callbackPath'] === undefined) return undefined;
  return entries['callbackUrl'] === undefined
    ? 'write appBaseUrl for its origin, and callbackPath for its path'
    : 'write callbackUrl';
}

function describe(issue: v.BaseIssue<unknown>, schema: OptionsSchema, nameFor: (path: string) => string): string {
  const path = v.getDotPath(issue) ?? '';
  if (issue.type === 'strict_object' && issue.expected === 'never') {
    const known = namesAt(schema, issue.path ?? []).filter((each) => !formerOptions.has(each));
    const otherwise = known.length > mostListed ? 'check its spelling' : `there are ${known.join(', ')}`;
    const name = path.split('.').at(-1) ?? '';
    const elsewhere = optionElsewhere(name, schema, path);
    return `${path} is not an option; ${elsewhere ?? didYouMean(name, known, otherwise)}`;
  }
  const name = nameFor(path);
  if (issue.type !== 'strict_object' || issue.received !== 'undefined') return `${name} ${issue.message}`;
  const entry = schema.entries[path];
  const what = entry === undefined ? undefined : v.getDescription(entry);
  return what === undefined ? `${name} is missing` : `${name} is missing: ${what}`;
}

/** The request that a host passes to a middleware; options have no `headers`. */
function isRequest(input: unknown): boolean {
  return typeof input === 'object' && input !== null && 'method' in input && 'headers' in input;
}

/** The allowed option names beside the last one of a path. */
function namesAt(schema: object, path: readonly v.IssuePathItem[]): string[] {
  const [step, ...rest] = path;
  if (step === undefined) return [];
  if ('wrapped' in schema) return namesAt(schema.wrapped as object, path);
  if ('getter' in schema) return namesAt((schema.getter as (input: unknown) => object)(step.input), path);
  if ('item' in schema) return namesAt(schema.item as object, rest);
  if ('value' in schema) return namesAt(schema.value as object, rest);
  if (!('entries' in schema)) return [];
  const entries = schema.entries as Readonly<Record<string, object>>;
  const next = entries[String(step.key)];
  return rest.length === 0 ? Object.keys(entries) : next === undefined ? [] : namesAt(next, rest);
}

function missingSdks(sdks: readonly string[]): string[] {
  const missing = missingPackages(sdks);
  if (missing.length === 0) return [];
  return [`${missing.join(' and ')} must be installed beside this package: npm install ${missing.join(' ')}`];
}

/** Those of the packages that are not installed beside this one; none in a bundled application, which holds all code. */
export function missingPackages(names: readonly string[]): readonly string[] {
  const resolve = resolverOfPackage();
  return resolve === undefined ? [] : names.filter((name) => !isInstalled(name, resolve));
}

/** How this package finds others; `undefined` where a bundler has moved this code out of the package. */
function resolverOfPackage(): NodeJS.RequireResolve | undefined {
  try {
    // ncc leaves `import.meta.resolve` as it is, which is a syntax error in CommonJS. An imported `createRequire` has the
    // name that the usual banner of an ESM bundle declares.
    const { createRequire } = process.getBuiltinModule('node:module');
    const { pathToFileURL } = process.getBuiltinModule('node:url');
    const { resolve } = createRequire(import.meta.url);
    const root = new URL('.', pathToFileURL(resolve('express-auth-adapters/package.json')));
    return import.meta.url.startsWith(root.href) ? resolve : undefined;
  } catch {
    return undefined;
  }
}

function isInstalled(name: string, resolve: NodeJS.RequireResolve): boolean {
  try {
    resolve(name);
    return true;
  } catch (error) {
    // A package without an entry for `require` is there.
    return !isRecord(error) || error['code'] !== 'MODULE_NOT_FOUND';
  }
}

/** `apiKey (env B2B_API_KEY)`: both ways to set it. */
export function nameOf(option: string, variable: string | undefined): string {
  return variable === undefined ? option : `${option} (env ${variable})`;
}
