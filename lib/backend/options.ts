import type * as v from 'valibot';
import { cookiePrefixProblems } from '../http/cookie-jar.ts';
import { nameOf, readOptions } from '../http/read-options.ts';
import { refusedKeyKind } from './api-key.ts';
import { backendSchema, env, paths } from './option-schema.ts';
import type { BackendAuthOptions } from './option-schema.ts';

export type BackendOptions = Omit<v.InferOutput<typeof backendSchema>, 'cookieName'> & { readonly cookieName: string };

/** @throws {ConfigurationError} with every problem at once */
export function readBackendOptions(input: BackendAuthOptions | undefined, environment = process.env): BackendOptions {
  const options = readOptions(
    input,
    {
      name: 'backendAuth',
      schema: backendSchema,
      env,
      sdks: ['@supabase/ssr', '@supabase/supabase-js'],
      paths,
      check: (given, _, variables) => [
        ...keyProblems(given, variables),
        ...providerProblems(given),
        ...pageProblems(given),
        ...cookiePrefixProblems(given),
      ],
    },
    environment,
  );
  return { ...options, cookieName: options.cookieName ?? defaultCookieName(options.url) };
}

/** The default of @supabase/ssr, so that an app beside this one finds the session. */
function defaultCookieName(url: string): string {
  return `sb-${new URL(url).hostname.split('.')[0] ?? ''}-auth-token`;
}

function keyProblems(
  { anonKey, url, now }: Readonly<Record<string, unknown>>,
  variables: Readonly<Record<string, readonly string[]>>,
): string[] {
  if (typeof anonKey !== 'string' || anonKey === '') return [];
  const clock = typeof now === 'function' ? Number(Reflect.apply(now, undefined, [])) : Date.now();
  const kind = refusedKeyKind(anonKey, typeof url === 'string' ? url : '', clock);
  if (kind === undefined) return [];
  return [
    `${nameOf('anonKey', variables['anonKey'])} is ${kind}; only a publishable key (sb_publishable_…) or a legacy anon key may be used here`,
  ];
}

function providerProblems({ providers }: Readonly<Record<string, unknown>>): string[] {
  if (!Array.isArray(providers)) return [];
  const names = providers.map((each: unknown) =>
    typeof each === 'object' && each !== null && 'name' in each ? each.name : each,
  );
  const twice = names.filter((name, index) => names.indexOf(name) !== index);
  return [...new Set(twice)].map((name) => `providers names ${JSON.stringify(name)} twice`);
}

/** A sign-in page on the sign-in route itself would redirect to itself endlessly. */
function pageProblems({ pages, ...given }: Readonly<Record<string, unknown>>): string[] {
  if (typeof pages !== 'object' || pages === null) return [];
  const own: readonly (readonly [page: string, path: keyof typeof paths])[] = [
    ['signIn', 'loginPath'],
    ['signUp', 'signupPath'],
  ];
  return own
    .filter(([page, path]) => Reflect.get(pages, page) === (given[path] ?? paths[path]))
    .map(([page, path]) => `pages.${page} is ${path} itself; leave it out for the built-in page`);
}
