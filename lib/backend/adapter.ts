import type { Router } from 'express';
import { AuthError } from '../errors.ts';
import { createAcceptance } from '../http/accept.ts';
import { Parts } from '../http/adapter.ts';
import type { AuthorizationServer } from '../http/adapter.ts';
import { json } from '../http/reply.ts';
import { createAuthRouter } from '../http/router.ts';
import type { AuthRoute } from '../http/router.ts';
import { namedAsWritten } from '../options/former.ts';
import { cookieAttributes, ownOrigins } from '../options/shared.ts';
import type { BackendSessionBody } from '../types.ts';
import { callbackRoute } from './sign-in/callback-route.ts';
import { backendPart } from './context.ts';
import type { BackendContext } from './context.ts';
import { createContext } from './create-context.ts';
import type { AdapterSlots } from './feature.ts';
import { features } from './features.ts';
import type { BackendAuthOptions } from './option-schema.ts';
import { readBackendOptions } from './options.ts';
import type { BackendOptions } from './options.ts';
import { foreignClient } from './supabase/session-cookie.ts';
import { scriptRoute } from './pages/script-route.ts';
import { freshSignIn } from './supabase/session-source.ts';
import { signInRoute } from './sign-in/sign-in-route.ts';
import { signOutRoute } from './sign-in/sign-out-route.ts';

/**
 * Sign-in against a Supabase project by email and password or OAuth: `/auth/login`, `/auth/signup`, `/auth/callback`, `/auth/logout`,
 * `/auth/session`, `/auth/resend`, `/auth/confirm`, `/auth/forgot`, `/auth/password`, `/auth/verify`, `/auth/enroll`, and the session behind
 * `requireSession`, `getSession` and `getSupabaseClient`.
 *
 * @param options each overrides its environment variable; see `BackendAuthOptions`
 * @throws {ConfigurationError} with every problem at once
 * @example app.use(backendAuth({ providers: ['github'], protectedRoutes: '/account/(.*)' }));
 * @see https://supabase.com/docs/guides/auth
 */
export function backendAuth(options?: BackendAuthOptions): Router {
  return backendRouter(readBackendOptions(options));
}

/** For tests, which change what no option does. */
export function backendRouter(settings: BackendOptions): Router {
  const backend = createContext(settings, features);
  const { brands, resolver, emit, explain } = backend;
  const { pages } = settings;
  const parts = new Parts();
  parts.set(backendPart, backend);
  return createAuthRouter(
    {
      adapter: 'backend',
      name: 'backendAuth',
      resolver,
      acceptance: createAcceptance('backend', settings.accept, { ...settings, emit }),
      protectedRoutes: settings.protectedRoutes,
      signInPage: pages.signIn,
      openPages: [pages.signIn, pages.signUp].filter((page) => page !== undefined),
      loginPath: settings.loginPath,
      stylesheetPath: settings.stylesheetPath,
      guardStatusForForms: 303,
      cookieName: settings.cookieName,
      cookieOptions: cookieAttributes(settings.cookieOptions, settings.cookieName),
      appBaseUrl: settings.appBaseUrl,
      ...ownOrigins(settings),
      clientAddress: settings.clientAddress,
      freshSignIn,
      foreignClient,
      authorizationServer: authorizationServerOf(backend),
      now: settings.now,
      timeoutMs: settings.timeoutMs,
      onError: settings.onError,
      brands,
      renderPage: pages.render,
      emit,
      explain,
      parts,
      ...(Object.assign({}, ...features.map(({ adapter }) => adapter?.(backend))) as AdapterSlots),
    },
    namedAsWritten<AuthRoute>(
      [
        signInRoute(backend),
        callbackRoute(backend),
        signOutRoute(backend),
        sessionRoute(settings.sessionPath),
        scriptRoute(settings),
        ...features.flatMap(({ routes }) => routes?.(backend) ?? []),
      ],
      settings.writtenAs,
    ),
  );
}

function authorizationServerOf({ settings, resolver }: BackendContext): AuthorizationServer {
  return {
    issuer: `${settings.url}/auth/v1`,
    resolve: resolver.resolveForResource,
    bindsResource: false,
    hasFirstParty: true,
    clientOf: foreignClient,
    isUser: () => true,
  };
}

/** `GET /auth/session`: the signed-in user; never a token. */
function sessionRoute(path: string): AuthRoute {
  return {
    path,
    option: 'sessionPath',
    isJsonOnly: true,
    async get(request) {
      const session = await request.resolveSession();
      if (session?.adapter !== 'backend') throw new AuthError('unauthenticated');
      const body: BackendSessionBody = { authenticated: true, user: session.user };
      return json(200, body);
    },
  };
}
