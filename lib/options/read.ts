import * as v from 'valibot';
import { isRecord } from '../tools/json.ts';
import { didYouMean } from '../nearest.ts';
import { nodeProblem } from '../tools/node-version.ts';
import { ConfigurationError } from '../errors.ts';
import { expressProblems } from '../http/express.ts';
import { faviconPath } from '../pages/favicon.ts';
import { unreadEnvFile } from './env-file.ts';
import { isPathPrefix } from './shared.ts';

type Environment = Readonly<Record<string, string | undefined>>;

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
  /** The options that are paths of own routes, with their defaults. */
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
  const { given: named, variables } = complete({ ...input }, rules, environment);
  const { pathPrefix } = named;
  const given = isPathPrefix(pathPrefix) ? { ...prefixPaths(pathPrefix, rules.paths), ...named } : named;
  const parsed = v.safeParse(rules.schema, given);
  const problems = [
    ...problemsOf(parsed, rules.schema, variables),
    ...pathClashes(given, rules.paths),
    ...(rules.check?.(given, environment, variables) ?? []),
    ...expressProblems,
    ...missingSdks(rules.sdks ?? []),
  ];
  if (parsed.success && problems.length === 0) return parsed.output;
  const hint = environment === process.env ? unreadEnvFile(missingNames(given, rules.env)) : undefined;
  throw new ConfigurationError(rules.name, hint === undefined ? problems : [...problems, hint]);
}

function missingNames(given: Readonly<Record<string, unknown>>, env: Variables): string[] {
  return Object.entries(env).flatMap(([option, names]) => (given[option] === undefined ? names : []));
}

/** Fills missing options from the environment, and says which variable a message names. */
function complete(
  input: Readonly<Record<string, unknown>>,
  { env, named }: Pick<OptionRules<OptionsSchema>, 'env' | 'named'>,
  environment: Environment,
) {
  const given = Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined));
  const variables: Record<string, string | undefined> = {};
  for (const [option, names] of Object.entries(env)) {
    variables[option] = named?.[option] ?? names[0];
    const used = setVariable(environment, names);
    if (used === undefined || (given[option] ?? undefined) !== undefined) continue;
    given[option] = valueOf(environment[used]);
    variables[option] = used;
  }
  return { given, variables };
}

/** The first of these variables that is set. */
export function setVariable(environment: Environment, names: readonly string[]): string | undefined {
  return names.find((name) => valueOf(environment[name]) !== '');
}

export function isProduction(environment: Environment): boolean {
  return valueOf(environment['NODE_ENV']) === 'production';
}

/** Without blanks and line breaks around it, nor the quotes that Docker's env files and dashboards keep. */
export function valueOf(text = ''): string {
  const value = text.trim();
  return /^(["'])(.*)\1$/s.exec(value)?.[2]?.trim() ?? value;
}

/** What a schema finds wrong, each with its option and environment variables. */
export function problemsOf(
  { issues = [] }: { readonly issues?: readonly v.BaseIssue<unknown>[] | undefined },
  schema: OptionsSchema,
  variables: NamedVariables = {},
): string[] {
  return issues.map((issue) => describe(issue, schema, variables));
}

function describe(issue: v.BaseIssue<unknown>, schema: OptionsSchema, variables: NamedVariables): string {
  const path = v.getDotPath(issue) ?? '';
  const option = path.split('.')[0] ?? '';
  if (issue.type === 'strict_object' && issue.expected === 'never') {
    const known = namesAt(schema, issue.path ?? []);
    const otherwise = known.length > 8 ? 'check its spelling' : `there are ${known.join(', ')}`;
    return `${path} is not an option; ${didYouMean(path.split('.').at(-1) ?? '', known, otherwise)}`;
  }
  const name = nameOf(path, variables[option]);
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

function pathClashes(given: Readonly<Record<string, unknown>>, paths: Readonly<Record<string, string>>): string[] {
  const taken = new Map<string, string>();
  const problems: string[] = [];
  const routes = Object.entries(paths).flatMap(([option, fallback]): [string, string][] => {
    const value = given[option] ?? fallback;
    if (typeof value !== 'string') return [];
    const icon: [string, string] = ['the icon of stylesheetPath', faviconPath(value)];
    return option === 'stylesheetPath' ? [[option, value], icon] : [[option, value]];
  });
  for (const [option, value] of routes) {
    const other = taken.get(value.toLowerCase());
    if (other !== undefined)
      problems.push(`${option} and ${other} are both '${value}'; give each route a path of its own`);
    taken.set(value.toLowerCase(), option);
  }
  return problems;
}

/** Default paths below a prefix that stands in for their `/auth`. */
export function prefixPaths(prefix: string, paths: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(paths).map(([name, path]) => [name, prefixPath(prefix, path)]));
}

/** `/auth/login` and `/login` become `/v1/auth/login`. The typed client does the same (`lib/client/send.ts`), without the server's code. */
export function prefixPath(prefix: string | undefined, path: string): string {
  return prefix === undefined ? path : prefix + path.replace(/^\/auth(?=\/)/, '');
}
