import type { Router } from 'express';
import { createKeySet } from '../tokens/key-set.ts';
import { createAuthRouter } from '../http/router.ts';
import { cookieAttributes } from '../http/options.ts';
import { createSessions } from '../session/sessions.ts';
import { createEmit, createExplain } from '../session/events.ts';
import { createSessionWriter } from '../session/session-writer.ts';
import { createAttempts } from './throttle-options.ts';
import { createSupabaseCalls } from './supabase-call.ts';
import { callbackRoute } from './sign-in/callback-route.ts';
import { createBackendCalls } from './supabase.ts';
import { registerClients } from './user-client.ts';
import { confirmRoute } from './account/confirm-route.ts';
import { createFlowCookies } from './sign-in/flow-cookies.ts';
import { loginRoute, signUpRoute } from './sign-in/form-routes.ts';
import { isOAuthStart, startOAuth } from './sign-in/oauth-start.ts';
import { createMailCalls } from './account/mail-calls.ts';
import { readBackendOptions } from './options.ts';
import type { BackendAuthOptions } from './options.ts';
import { mergeText } from './pages/index.ts';
import { resendRoute } from './account/resend-route.ts';
import { createSessionCookie } from './session-cookie.ts';
import { sessionRoute } from './session-route.ts';
import { createSignIn } from './sign-in/sign-in.ts';
import { signOutRoute } from './sign-out-route.ts';
import { createBackendSource } from './session-source.ts';
import { createTokenVerifier } from './verify-token.ts';
import { createViews } from './views.ts';

/**
 * Sign-in against a Supabase project by email and password or OAuth: `/auth/login`, `/auth/signup`, `/auth/callback`, `/auth/logout`,
 * `/auth/session`, `/auth/resend`, `/auth/confirm`, and the session behind `requireSession`, `getSession` and `getSupabaseClient`.
 *
 * @param options each beats its environment variable; see `BackendAuthOptions`
 * @throws {ConfigurationError} with every problem at once
 * @example app.use(backendAuth({ providers: ['github'], protectedRoutes: '/account/(.*)' }));
 * @see https://supabase.com/docs/guides/auth
 */
export function backendAuth(options?: BackendAuthOptions): Router {
  const settings = readBackendOptions(options);
  const { url, timeoutMs, now, pages, cookieName } = settings;
  const explain = createExplain('backend');
  const emit = createEmit('backend', settings.onEvent, explain, now);
  const connection = { ...settings, emit };
  const cookieOptions = cookieAttributes(settings.cookieOptions, settings.cookieName);
  const { sameSite } = cookieOptions;

  const calls = createBackendCalls(connection);
  const keySet = createKeySet({
    url: `${url}/auth/v1/.well-known/jwks.json`,
    fetch: settings.fetch,
    now,
    timeoutMs,
    onUnavailable: ({ stale }) => emit({ type: 'keys_unavailable', stale }),
  });
  const issuers = [`${url}/auth/v1`, ...settings.issuer];
  const tokens = createTokenVerifier({ keySet, ask: (token) => calls.introspect(token), issuers, now });
  const cookie = createSessionCookie(cookieName, cookieOptions, issuers);
  const source = createBackendSource({
    cookie,
    tokens,
    refresh: (refreshToken, signal, client) => calls.refresh(refreshToken, signal, client),
  });
  const writer = createSessionWriter(source, emit);
  const resolver = createSessions(source, { ...settings, emit });
  registerClients({ connection, cookie, source, writer, resolver, sameSite });

  const views = createViews(settings, mergeText(pages.text));
  const runFlow = createSupabaseCalls(connection, cookieName, sameSite);
  const flows = createFlowCookies(cookieName, sameSite);
  const signIn = createSignIn({ source, writer, resolver, calls, onSignIn: settings.onSignIn, emit, timeoutMs, now });
  const attempts = createAttempts({ ...settings, emit });
  const runMailCall = createMailCalls({
    settings,
    runFlow,
    flows,
    attempts,
    discard: (issued) => signIn.discard(issued),
    emit,
  });
  const forms = { settings, views, runFlow, runMailCall, signIn, attempts, emit };
  const oauth = { settings, runFlow, flows, emit };

  return createAuthRouter(
    {
      adapter: 'backend',
      name: 'backendAuth',
      resolver,
      protectedRoutes: settings.protectedRoutes,
      signInPage: pages.signIn,
      openPages: [pages.signIn, pages.signUp].filter((page) => page !== undefined),
      loginPath: settings.loginPath,
      stylesheetPath: settings.stylesheetPath,
      guardStatusForForms: 303,
      cookieName,
      cookieOptions,
      appBaseUrl: settings.appBaseUrl,
      trustedOrigins: settings.trustedOrigins,
      clientAddress: settings.clientAddress,
      onError: settings.onError,
      brand: { title: pages.title, logo: pages.logo, lang: pages.lang },
      emit,
      explain,
    },
    [
      loginRoute(
        forms,
        (request) => startOAuth(oauth, request),
        (request) => isOAuthStart(settings, request),
      ),
      signUpRoute(forms),
      callbackRoute({ path: settings.callbackPath, views, runFlow, flows, signIn, attempts, emit, now }),
      signOutRoute({
        path: settings.logoutPath,
        scope: settings.signOutScope,
        views,
        calls,
        source,
        resolver,
        timeoutMs,
        now,
        emit,
        explain,
      }),
      sessionRoute(settings.sessionPath),
      resendRoute(settings.resendPath, forms),
      confirmRoute({ path: settings.confirmPath, views, runFlow, signIn, attempts, emit }),
    ],
  );
}

export { currentSession, getSession } from '../http/get-session.ts';
export { requireSession } from '../http/require-session.ts';
export { AuthError, ConfigurationError } from '../errors.ts';
export { getSupabaseClient } from './user-client.ts';
export type { AuthErrorCode, AuthErrorOptions } from '../errors.ts';
export type {
  RequireAnySessionOptions,
  RequireB2bSessionOptions,
  RequireBackendSessionOptions,
  RequireSessionOptions,
} from '../http/require-session.ts';
export type { CookieOptions } from '../http/options.ts';
export type { BackendAuthOptions, BackendPagesOptions, OAuthProviderOptions } from './options.ts';
export type { ThrottleOptions } from './throttle-options.ts';
export type { OnError, SharedCoordinator, ThrottleRedisClient } from './option-schema.ts';
export type { BackendSignIn, OnBackendSignIn } from './hook.ts';
export type * from '../types.ts';
