import { createB2bClient, createBackendClient } from '../../lib/client/index.ts';
import type { B2bPathsOptions, BackendPathsOptions } from '../../lib/index.ts';

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

/** All of them, which the compiler checks. */
const backendPaths: Required<BackendPathsOptions> = {
  resend: '/own/resend',
  confirm: '/own/confirm',
  forgot: '/own/forgot',
  password: '/own/password',
  code: '/own/code',
  sso: '/own/sso',
  verify: '/own/verify',
  enroll: '/own/enroll',
  passkey: '/own/passkey',
  passkeys: '/own/passkeys',
  consent: '/own/consent',
  connectedApps: '/own/connected-apps',
  account: '/own/account',
};

it('the client of backendAuth calls every route of its option paths by the very same object', async () => {
  // The links of emails lead to a page.
  const page = { confirm: '/own/confirm' };
  const called = await pathsOf((fetch) => createBackendClient({ paths: backendPaths, fetch }));
  expect({ ...called, ...page }).toEqual({
    ...backendPaths,
    login: '/auth/login',
    signup: '/auth/signup',
    oauth: '/auth/login',
    logout: '/auth/logout',
    session: '/auth/session',
  });
});

it('the client of b2bAuth calls every route of its option paths by the very same object', async () => {
  const paths: Required<B2bPathsOptions> = { organization: '/own/organization' };
  expect(await pathsOf((fetch) => createB2bClient({ paths, fetch }))).toEqual({
    ...paths,
    login: '/login',
    signup: '/signup',
    logout: '/logout',
    session: '/auth/session',
  });
});
