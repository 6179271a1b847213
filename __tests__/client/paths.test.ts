import { createB2bClient, createBackendClient } from '../../lib/client/index.ts';
import type { B2bPathsOptions, BackendPathsOptions } from '../../lib/index.ts';
import { routeDefaults as b2bPaths } from '../../lib/b2b/options.ts';
import { routeDefaults as backendPaths } from '../../lib/backend/option-schema.ts';

const namesIn = (paths: Readonly<Record<string, string>>): string[] =>
  Object.keys(paths).flatMap((option) => (option.startsWith('paths.') ? [option.slice('paths.'.length)] : []));
const ownPaths = (names: readonly string[]): Readonly<Record<string, string>> =>
  Object.fromEntries(names.map((name) => [name, `/own/${name}`]));

/** The path that each call of a client asks for, by the call's name. */
async function pathsOf(create: (fetch: typeof globalThis.fetch) => object): Promise<Record<string, string>> {
  let asked = '';
  const client = create((input) => {
    asked = input instanceof Request ? input.url : String(input);
    return Promise.reject(new TypeError('offline'));
  });
  const found: Record<string, string> = {};
  for (const [name, call] of Object.entries(client) as [string, () => unknown][]) {
    if (name === 'subscribe') continue;
    await call();
    found[name] = asked;
  }
  return found;
}

it('the client of backendAuth calls every route of its option paths by the very same object', async () => {
  const names = namesIn(backendPaths);
  const paths: BackendPathsOptions = ownPaths(names);
  const called = await pathsOf((fetch) => createBackendClient({ paths, fetch }));
  // The links of emails lead to a page.
  const withCall = names.filter((name) => name !== 'confirm');
  expect(called).toMatchObject(ownPaths(withCall));
  expect(Object.entries(called).filter(([name]) => !withCall.includes(name))).toEqual([
    ['login', '/auth/login'],
    ['signup', '/auth/signup'],
    ['oauth', '/auth/login'],
    ['logout', '/auth/logout'],
    ['session', '/auth/session'],
  ]);
});

it('the client of b2bAuth calls every route of its option paths by the very same object', async () => {
  const names = namesIn(b2bPaths);
  const paths: B2bPathsOptions = ownPaths(names);
  const called = await pathsOf((fetch) => createB2bClient({ paths, fetch }));
  expect(called).toEqual({
    login: '/login',
    signup: '/signup',
    logout: '/logout',
    session: '/auth/session',
    ...ownPaths(names),
  });
});
