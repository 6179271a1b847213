import type { Adapter } from '../../lib/http/adapter.ts';
import type { AuthRequest } from '../../lib/http/auth-request.ts';
import { createBrands } from '../../lib/http/page-options.ts';
import { sharedText } from '../../lib/http/page-text.ts';
import { passAdapter } from '../../lib/http/passed-adapters.ts';
import type { Resolution } from '../../lib/session/source.ts';
import type { Session } from '../../lib/types.ts';
import { serve } from './servers.ts';

const signedOut: Resolution = { session: null, cookies: [] };

/** What no test here asks of a resolver. */
const unused = {
  isConfirmed: () => true,
  isShared: false,
  resolveBearer: () => Promise.resolve(undefined),
  endSession: () => Promise.resolve(),
  renewSession: () => Promise.resolve(),
  endOver: () => Promise.reject(new Error('unused')),
  watchSession: () => Promise.resolve(() => undefined),
};

export const session: Session = {
  adapter: 'b2b',
  credential: 'cookie',
  user: { id: 'user_1', email: 'ada@example.com' },
  accessToken: 'token',
  claims: { sub: 'user_1', exp: 2_000_000_000 },
  expiresAt: 2_000_000_000_000,
};

/** What differs from an adapter whose visitors are all signed out. */
export type Change = Omit<Partial<Adapter>, 'resolver'> & { readonly resolver?: Partial<Adapter['resolver']> };

export function createDefinition(change: Change = {}): Adapter {
  return {
    adapter: 'b2b',
    name: 'b2bAuth',
    ownPaths: new Map([['/login', { path: '/login', option: 'loginPath' }]]),
    protectedRoutes: [],
    signInPage: undefined,
    openPages: [],
    loginPath: '/login',
    stylesheetPath: '/auth/pages.css',
    freshSignIn: { authenticatedAt: () => undefined, signInId: () => '', parameters: () => ({}) },
    foreignClient: () => undefined,
    now: Date.now,
    timeoutMs: 5_000,
    guardStatusForForms: 303,
    cookieName: 'session',
    cookieOptions: { path: '/', sameSite: 'lax', httpOnly: true, maxAge: undefined },
    appBaseUrl: undefined,
    trustedOrigins: [],
    onError: undefined,
    brands: createBrands(sharedText, {}),
    emit: () => undefined,
    explain: () => undefined,
    ...change,
    resolver: {
      ...unused,
      cachedSession: () => undefined,
      resolve: () => Promise.resolve(signedOut),
      ...change.resolver,
    },
  };
}

/** What an exchange says of one request to `/somewhere?a=1`. */
export async function ask<Said>(
  change: Change,
  prefix: string,
  question: (exchange: AuthRequest) => Said | Promise<Said>,
  headers: Readonly<Record<string, string>> = {},
): Promise<{ readonly said: Said; readonly origin: string; readonly headers: Headers }> {
  const definition = createDefinition(change);
  const answer = Promise.withResolvers<Said>();
  const server = await serve((req, res) => {
    const exchange = passAdapter(definition, req, res, prefix);
    void new Promise<Said>((resolve) => resolve(question(exchange)))
      .then(answer.resolve, answer.reject)
      .finally(() => res.end());
  });
  const response = await fetch(`${server.origin}/somewhere?a=1`, { headers });
  const said = await answer.promise;
  await server.close();
  return { said, origin: server.origin, headers: response.headers };
}
