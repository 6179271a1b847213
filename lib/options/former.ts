import * as v from 'valibot';
import { isRecord } from '../tools/json.ts';
import { routePath, wholeNumber } from './shared.ts';
import type { OptionsOf } from './shared.ts';

/**
 * Options of former versions: for one minor version they are still read, each with a warning that says what to write. The options
 * that were `forgotPath` and the like are known by `paths`.
 */

type Given = Readonly<Record<string, unknown>>;

export interface FormerOption {
  /** What became of it, and what to write: its warning and docs/options.md say so. */
  readonly fate: string;
  readonly write: string;
  /** The member of `paths` that gets its value. Default: the value stays where it is. */
  readonly member?: string;
}

const isMoved = { fate: 'is gone, because pathPrefix moves it with the other routes', write: 'leave it out' };
const isOfApiUrl = {
  fate: 'is now a part of apiUrl',
  write: "write an origin, such as apiUrl: 'https://api.workos.com'",
};

export const formerOptions: ReadonlyMap<string, FormerOption> = new Map<string, FormerOption>([
  ['apiHostname', isOfApiUrl],
  ['port', isOfApiUrl],
  ['https', isOfApiUrl],
  ['stylesheetPath', isMoved],
  ['scriptPath', isMoved],
  ['mailAnswerMs', { fate: 'is gone, because 1.5 seconds fit every project', write: 'leave it out' }],
  ['maxCachedSessions', { fate: 'is gone, because 10,000 sessions fit every process', write: 'leave it out' }],
]);

export const formerSharedEntries = {
  /** @deprecated It is gone: `pathPrefix` moves the stylesheet with the other routes. */
  stylesheetPath: routePath('/auth/pages.css'),
  /** @deprecated It is gone: 10,000 sessions are remembered. */
  maxCachedSessions: v.optional(wholeNumber('how many verified sessions are remembered', 0, 10_000_000), 10_000),
};

export const formerBackendEntries = {
  /** @deprecated It is gone: `pathPrefix` moves the script with the other routes. */
  scriptPath: routePath('/auth/pages.js'),
  /** @deprecated It is gone: the answer takes 1.5 seconds. */
  mailAnswerMs: v.optional(wholeNumber('milliseconds, or 0', 0, 10_000), 1_500),
};

/**
 * Their values, as the adapters read them. From the next minor version on they are fixed: 10,000 verified sessions are remembered, and the
 * answer about an email takes 1,500 milliseconds. With 0 it would come when the project answers.
 */
export type FixedShared = Readonly<Record<'stylesheetPath', string> & Record<'maxCachedSessions', number>>;
export type FixedBackend = Readonly<Record<'scriptPath', string> & Record<'mailAnswerMs', number>>;

/** Read from the environment for good; as options they are parts of `apiUrl` now. */
export const formerB2bEntries = {
  /** @deprecated Write `apiUrl`. */
  apiHostname: v.optional(
    v.pipe(
      v.string('must be a host name'),
      v.check(
        (value) => /^[a-z0-9.-]+$/i.test(value) && URL.parse(`https://${value}`) !== null,
        'must be a host name without protocol or port',
      ),
    ),
  ),
  /** @deprecated Write `apiUrl`. */
  port: v.optional(
    v.pipe(
      v.union([v.number(), v.pipe(v.string(), v.regex(/^\d+$/), v.transform(Number))], 'must be a port number'),
      v.integer('must be a port number'),
      v.minValue(1, 'must be a port number'),
      v.maxValue(65_535, 'must be a port number'),
    ),
  ),
  /** @deprecated Write `apiUrl`. */
  https: v.optional(
    v.union(
      [
        v.boolean(),
        v.pipe(
          v.picklist(['true', 'false']),
          v.transform((value) => value === 'true'),
        ),
      ],
      'must be true or false',
    ),
  ),
};

export interface FormerSharedOptions extends OptionsOf<typeof formerSharedEntries> {}
export interface FormerBackendOptions extends OptionsOf<typeof formerBackendEntries> {}
export interface FormerB2bOptions extends OptionsOf<typeof formerB2bEntries> {}

/** `forgotPath`, for `forgot` of `paths`. */
export type FormerPaths<Names extends string> = {
  /** @deprecated Write it in `paths`, without `Path` in its name. */
  readonly [Name in Names as `${Name}Path`]?: string | undefined;
};

/** What a name stood for, where this adapter had such an option. @param paths of its routes, as `paths.forgot` */
function formerOption(name: string, paths: Given, entries: Given): FormerOption | undefined {
  const path = pathOf(name);
  if (path !== undefined && Object.hasOwn(paths, path)) {
    const member = path.slice('paths.'.length);
    return { fate: `is now ${path}`, write: `write paths: { ${member}: '…' }`, member };
  }
  const former = formerOptions.get(name);
  return former !== undefined && Object.hasOwn(entries, name) ? former : undefined;
}

function pathOf(name: string): string | undefined {
  return name.endsWith('Path') ? `paths.${name.slice(0, -'Path'.length)}` : undefined;
}

export interface Carried {
  readonly given: Given;
  /** What the application wrote for an option of today. */
  readonly writtenAs: Readonly<Record<string, string>>;
}

/** Moves the values of former options to where they belong, and warns of each. What is given by its name of today wins. */
export function carryFormer(
  given: Given,
  { name, paths, entries }: { readonly name: string; readonly paths: Given; readonly entries: Given },
): Carried {
  const now: Record<string, unknown> = { ...given };
  const writtenAs: Record<string, string> = {};
  for (const [option, value] of Object.entries(given)) {
    const former = formerOption(option, paths, entries);
    if (former === undefined) continue;
    const { fate, write, member } = former;
    process.emitWarning(`${name}: ${option} ${fate}; ${write}. The next minor version will not read it.`, {
      type: 'DeprecationWarning',
      code: 'EXPRESS_AUTH_ADAPTERS_DEPRECATED',
    });
    if (member === undefined) {
      writtenAs[option] = option;
      continue;
    }
    Reflect.deleteProperty(now, option);
    const path = `paths.${member}`;
    if (valueAt(now, path) === undefined) writtenAs[path] = option;
    now['paths'] = addTo(now['paths'], member, value);
  }
  return { given: now, writtenAs };
}

/** Anything else than an object is a problem of its own. */
function addTo(group: unknown, member: string, value: unknown): unknown {
  return group === undefined || isRecord(group) ? { [member]: value, ...group } : group;
}

/** @param option below another one with a dot, as `paths.forgot` */
export function valueAt(given: Given, option: string): unknown {
  return option
    .split('.')
    .reduce<unknown>((value, step) => (isRecord(value) && Object.hasOwn(value, step) ? value[step] : undefined), given);
}

/** The options of today that the application wrote by a former name, with that name. */
export function writtenNames(input: object = {}): ReadonlyMap<string, string> {
  return new Map(
    Object.keys(input).flatMap((name) => {
      const path = pathOf(name);
      return path === undefined ? [] : [[path, name] as const];
    }),
  );
}

/** The routes, with each option as the application wrote it, for errors about two adapters. */
export function namedAsWritten<Named extends { readonly option?: string }>(
  routes: readonly Named[],
  written: ReadonlyMap<string, string>,
): readonly Named[] {
  return routes.map((route) => {
    const option = written.get(route.option ?? '');
    return option === undefined ? route : { ...route, option };
  });
}
