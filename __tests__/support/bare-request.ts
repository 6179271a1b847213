import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { noBackground } from '../../lib/tools/background.ts';
import { Parts } from '../../lib/http/adapter.ts';
import type { Adapter } from '../../lib/http/adapter.ts';
import type { AuthRequest } from '../../lib/http/request.ts';
import { createBrands } from '../../lib/pages/options.ts';
import { sharedText } from '../../lib/pages/texts.ts';
import { passAdapter } from '../../lib/http/passed-adapters.ts';
import type { B2bSession } from '../../lib/types.ts';

/** A session of the B2B adapter. */
export const bareSession: B2bSession = {
  adapter: 'b2b',
  credential: 'cookie',
  user: { id: 'user_1', email: 'ada@example.com' },
  accessToken: 'token',
  claims: { sub: 'user_1', exp: 2_000_000_000 },
  expiresAt: 2_000_000_000_000,
};

/** An adapter for visitors without a session. It has no routes and asks no provider. */
export function bareAdapter({ resolver, ...change }: AdapterChange = {}): Adapter {
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
    now: () => 1_800_000_000_000,
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
    parts: new Parts(),
    ...change,
    resolver: {
      background: noBackground,
      isConfirmed: () => true,
      isShared: false,
      cachedSession: () => undefined,
      resolve: () => Promise.resolve({ session: null, cookies: [] }),
      resolveBearer: () => Promise.resolve(undefined),
      endSession: () => Promise.resolve(),
      renewSession: () => Promise.resolve(),
      endOver: () => Promise.reject(new Error('unused')),
      watchSession: () => Promise.resolve(() => undefined),
      ...resolver,
    },
  };
}

/** What differs from such an adapter. */
export type AdapterChange = Omit<Partial<Adapter>, 'resolver'> & { readonly resolver?: Partial<Adapter['resolver']> };

interface RequestParts {
  readonly method?: string;
  readonly url?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A request that has passed an adapter, without a server: Node's own objects keep what is written to the response. */
export function bareRequest(
  change?: AdapterChange,
  { method = 'GET', url = '/', headers = {} }: RequestParts = {},
): AuthRequest {
  const req = new IncomingMessage(new Socket());
  Object.assign(req, { method, url });
  Object.assign(req.headers, { host: 'app.example.com', ...headers });
  return passAdapter(bareAdapter(change), req, new ServerResponse(req), '');
}
