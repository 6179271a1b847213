import type { Router } from 'express';
import { createKeySet } from '../tokens/key-set.ts';
import { AuthError } from '../errors.ts';
import { createAuthRouter } from '../http/router.ts';
import type { AuthRoute } from '../http/router.ts';
import { json } from '../http/reply.ts';
import { cookieAttributes } from '../http/options.ts';
import { createEmit, createExplain } from '../session/events.ts';
import { createSessions } from '../session/sessions.ts';
import { createSessionWriter } from '../session/session-writer.ts';
import type { B2bSessionBody, Session } from '../types.ts';
import { callbackRoute } from './callback-route.ts';
import { createFlowCookies } from './flow-cookie.ts';
import { readB2bOptions } from './options.ts';
import type { B2bAuthOptions, B2bOptions } from './options.ts';
import { createProvider } from './workos.ts';
import { createSeal } from './seal.ts';
import { signInRoute } from './sign-in-route.ts';
import { signOutRoute } from './sign-out-route.ts';
import { createB2bSource } from './session-source.ts';

/**
 * Sign-in through WorkOS AuthKit: `GET /login`, `GET /signup`, `GET /callback`, `POST /logout`, `GET /auth/session`, and the
 * session behind `requireSession` and `getSession`.
 *
 * @param options each beats its environment variable; see `B2bAuthOptions`
 * @throws {ConfigurationError} with every problem at once
 * @example app.use(b2bAuth({ protectedRoutes: '/dashboard(.*)' }));
 * @see https://workos.com/docs/authkit
 */
export function b2bAuth(options?: B2bAuthOptions): Router {
  const settings = readB2bOptions(options);
  const { now } = settings;
  const explain = createExplain('b2b');
  const emit = createEmit('b2b', settings.onEvent, explain, now);
  if (settings.isFallbackPassword) announceFallback(emit);

  const cookieOptions = cookieAttributes(settings.cookieOptions, settings.cookieName);
  const { cookieName, clientId, timeoutMs, fetch } = settings;
  const provider = createProvider(settings);
  const seal = createSeal(settings.passwords);
  const keySet = createKeySet({
    url: provider.jwksUrl,
    fetch,
    now,
    timeoutMs,
    onUnavailable: ({ stale }) => emit({ type: 'keys_unavailable', stale }),
  });
  const source = createB2bSource({
    cookieName,
    cookieOptions,
    seal,
    keySet,
    provider,
    clientId,
    issuers: settings.issuer,
    sessionMaxAge: settings.sessionMaxAge,
    now,
  });
  const writer = createSessionWriter(source, emit);
  const resolver = createSessions(source, { ...settings, emit });
  const flows = createFlowCookies({ cookieName, sameSite: cookieOptions.sameSite, seal, now });
  const signIn = { provider, flows, callbackPath: settings.callbackPath, organizationId: settings.organizationId, now };

  return createAuthRouter(
    {
      adapter: 'b2b',
      name: 'b2bAuth',
      resolver,
      protectedRoutes: settings.protectedRoutes,
      signInPage: undefined,
      openPages: [],
      loginPath: settings.loginPath,
      stylesheetPath: settings.stylesheetPath,
      guardStatusForForms: 307,
      cookieName,
      cookieOptions,
      appBaseUrl: settings.appBaseUrl,
      trustedOrigins: settings.trustedOrigins,
      onError: settings.onError,
      brand: {},
      emit,
      explain,
    },
    [
      signInRoute(signIn, 'sign-in', settings.loginPath, 'loginPath'),
      signInRoute(signIn, 'sign-up', settings.signUpPath, 'signUpPath'),
      callbackRoute({ ...signIn, source, writer, resolver, onSignIn: settings.onSignIn, emit, explain }),
      signOutRoute({
        path: settings.logoutPath,
        logoutReturnTo: settings.logoutReturnTo,
        source,
        provider,
        resolver,
        flows,
        emit,
        explain,
      }),
      sessionRoute(settings),
    ],
  );
}

function sessionRoute({ sessionPath }: B2bOptions): AuthRoute {
  return {
    path: sessionPath,
    option: 'sessionPath',
    isJsonOnly: true,
    async get(request) {
      const session = await request.resolveSession();
      if (session === null) throw new AuthError('unauthenticated');
      return json(200, sessionBody(session));
    },
  };
}

function sessionBody(session: Session): B2bSessionBody | undefined {
  if (session.adapter !== 'b2b') return undefined;
  const { sessionId, organizationId } = session;
  const { id, email, firstName = null, lastName = null, profilePictureUrl = null } = session.user;
  return {
    authenticated: true,
    ...(sessionId === undefined ? {} : { sessionId }),
    ...(organizationId === undefined ? {} : { organizationId }),
    user: { id, email, firstName, lastName, profilePictureUrl },
  };
}

function announceFallback(emit: ReturnType<typeof createEmit>): void {
  const message =
    'b2bAuth: no cookiePassword is set, so a local one is derived from the API key. Set B2B_COOKIE_PASSWORD (32 characters or more) before you deploy.';
  process.emitWarning(message, { code: 'B2B_COOKIE_PASSWORD' });
  emit({ type: 'configuration_warning', message });
}

export { currentSession, getSession } from '../http/context.ts';
export { requireSession } from '../http/require-session.ts';
export { AuthError, ConfigurationError } from '../errors.ts';
export type { AuthErrorCode, AuthErrorOptions } from '../errors.ts';
export type {
  RequireAnySessionOptions,
  RequireB2bSessionOptions,
  RequireBackendSessionOptions,
  RequireSessionOptions,
} from '../http/require-session.ts';
export type { CookieOptions } from '../http/options.ts';
export type { B2bAuthOptions, OnError, SharedCoordinator } from './options.ts';
export type { B2bSignIn, OAuthTokens, OnB2bSignIn, SignInHookResult } from './hook.ts';
export type * from '../types.ts';
