import type { Router } from 'express';
import { createKeySet } from '../session/keys.ts';
import { createAcceptance } from '../http/accept.ts';
import { createAuthRouter } from '../http/router.ts';
import { Parts } from '../http/adapter.ts';
import type { AuthorizationServer } from '../http/adapter.ts';
import { createBackground } from '../tools/background.ts';
import { cookieAttributes } from '../options/shared.ts';
import { createSessions } from '../session/sessions.ts';
import { createEmit, createExplain } from '../session/events.ts';
import { createSessionWriter } from '../session/source.ts';
import { AuthError } from '../errors.ts';
import { json } from '../http/reply.ts';
import type { AuthRoute } from '../http/router.ts';
import type { BackendSessionBody } from '../types.ts';
import { confirmRoute } from './confirm/route.ts';
import { enrollRoute } from './factors/enroll-route.ts';
import { hasVerifiedFactor } from './factors/factors.ts';
import { forgotRoute, resendRoute } from './reset/mail-routes.ts';
import { passkeyScriptRoute } from './webauthn/script-route.ts';
import { passkeyRoute } from './passkeys/sign-in-route.ts';
import { passkeysRoute } from './passkeys/manage-route.ts';
import { passwordRoute } from './reset/password-route.ts';
import { verifyRoute } from './factors/verify-route.ts';
import { backendPart } from './context.ts';
import type { BackendContext } from './context.ts';
import { createSubmitOnce } from './double-submit.ts';
import { offers, readBackendOptions } from './options.ts';
import type { BackendAuthOptions } from './option-schema.ts';
import type { BackendOptions } from './options.ts';
import { englishText } from './pages/text.ts';
import { createBrands } from '../pages/options.ts';
import { createPasswordRule } from './new-password.ts';
import { createHeldProviderTokens } from './provider-tokens/index.ts';
import { createSessionCookie, foreignClient } from './session-cookie.ts';
import { createBackendSource, freshSignIn } from './session-source.ts';
import { callbackRoute } from './callback-route.ts';
import { codeRoute } from './email-code/route.ts';
import { createFlowCookies } from './flow-cookies.ts';
import { signInRoute, ssoRoute } from './sign-in-route.ts';
import { signUpRoute } from './sign-up/route.ts';
import { signOutRoute } from './sign-out-route.ts';
import { createSupabase } from './supabase.ts';
import { createAttempts } from './throttle/limits.ts';
import { createTokenVerifier } from './verify-token.ts';

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
  const backend = createBackend(readBackendOptions(options));
  const { settings, brands, resolver, emit, explain } = backend;
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
      keepsOpener: settings.oauthConsent,
      guardStatusForForms: 303,
      cookieName: settings.cookieName,
      cookieOptions: cookieAttributes(settings.cookieOptions, settings.cookieName),
      appBaseUrl: settings.appBaseUrl,
      trustedOrigins: settings.trustedOrigins,
      clientAddress: settings.clientAddress,
      freshSignIn,
      secondFactor: {
        verifyPath: settings.verifyPath,
        enrollPath: settings.enrollPath,
        hasVerifiedFactor: (session) => hasVerifiedFactor(backend, session),
      },
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
    },
    [
      signInRoute(backend),
      callbackRoute(backend),
      signOutRoute(backend),
      sessionRoute(settings.sessionPath),
      confirmRoute(backend),
      verifyRoute(backend),
      resendRoute(backend),
      enrollRoute(backend),
      ...optionalRoutes(backend),
    ],
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

/** Routes that the options switch on or off. A route that is off does not exist, and the application may use its path. */
function optionalRoutes(backend: BackendContext): AuthRoute[] {
  const { settings } = backend;
  const { signUp, sso, oauthConsent } = settings;
  const hasPasswords = offers(settings, 'password');
  return [
    ...(hasPasswords ? [forgotRoute(backend), passwordRoute(backend)] : []),
    ...(hasPasswords && signUp !== false ? [signUpRoute(backend)] : []),
    ...(offers(settings, 'code') ? [codeRoute(backend)] : []),
    ...(sso ? [ssoRoute(backend)] : []),
    ...(offers(settings, 'passkey')
      ? [passkeyRoute(backend), passkeysRoute(backend), passkeyScriptRoute(backend.settings)]
      : []),
    ...(oauthConsent ? oauthRoutes(backend) : []),
  ];
}

/** The pages of the project's OAuth server, loaded by the first request for them. */
function oauthRoutes(backend: BackendContext): AuthRoute[] {
  const consent = () => import('./consent/route.ts');
  const apps = () => import('./consent/apps-route.ts');
  return [
    {
      path: backend.settings.consentPath,
      option: 'consentPath',
      isReturnTarget: true,
      hasGetEffects: true,
      get: async (request) => (await consent()).showConsent(backend, request),
      post: async (request) => (await consent()).answerConsent(backend, request),
    },
    {
      path: backend.settings.connectedAppsPath,
      option: 'connectedAppsPath',
      isReturnTarget: true,
      get: async (request) => (await apps()).showApps(backend, request),
      post: async (request) => (await apps()).disconnectApp(backend, request),
    },
  ];
}

function createBackend(settings: BackendOptions): BackendContext {
  const { url, timeoutMs, now, cookieName } = settings;
  const explain = createExplain('backend');
  const background = createBackground(settings);
  const emit = createEmit('backend', settings.onEvent, explain, now);
  const cookieOptions = cookieAttributes(settings.cookieOptions, cookieName);
  const { sameSite } = cookieOptions;

  const supabase = createSupabase({ ...settings, emit }, cookieName, sameSite, settings.now);
  const keySet = createKeySet({
    url: `${url}/auth/v1/.well-known/jwks.json`,
    fetch: settings.fetch,
    now,
    timeoutMs,
    background,
    onUnavailable: ({ stale }) => emit({ type: 'keys_unavailable', stale }),
  });
  const issuers = [`${url}/auth/v1`, ...settings.issuer];
  const tokens = createTokenVerifier(keySet, (token) => supabase.introspect(token), issuers, now);
  const cookie = createSessionCookie(cookieName, cookieOptions, issuers);
  const source = createBackendSource(cookie, tokens, supabase);
  const writer = createSessionWriter(source, emit);
  const resolver = createSessions(source, { ...settings, emit, background });

  const flows = createFlowCookies(cookieName, sameSite);
  const attempts = createAttempts({ ...settings, emit });
  const brands = createBrands(englishText, settings.pages);
  const passwordRule = createPasswordRule(settings.passwordMinLength);
  const submitOnce = createSubmitOnce(settings);
  const providerTokens = createHeldProviderTokens(settings);
  const parts = {
    settings,
    brands,
    supabase,
    attempts,
    flows,
    submitOnce,
    providerTokens,
    cookie,
    source,
    writer,
    resolver,
  };
  return { ...parts, passwordRule, emit, explain };
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

export { sqlSession, withUser } from '../doors/sql/index.ts';
export type { SqlSession, SqlSessionOptions } from '../doors/sql/index.ts';
export type { SqlClient, SqlPool, SqlResult, SqlStatement, SqlTransaction } from '../doors/sql/pool.ts';
export { getSupabaseClient } from './supabase-client/index.ts';
export type {
  BackendAuthOptions,
  BackendCookieOptions,
  BackendPagesOptions,
  BackendSignIn,
  BackendSignOut,
  OnBackendSignIn,
  OnBackendSignOut,
} from './option-schema.ts';
export type { OAuthProviderOptions } from './oauth/options.ts';
export type { FieldMessages, SignUpData, SignUpOptions } from './sign-up/options.ts';
export type { ThrottleOptions, ThrottleRedisClient } from './throttle/options.ts';
export type { PagesTextKey, Translation } from './pages/text.ts';
export * from '../every-entry.ts';
