import type { Router } from 'express';
import { isProduction } from '../tools/environment.ts';
import { defined } from '../tools/json.ts';
import { AuthError } from '../errors.ts';
import { createAcceptance } from '../http/accept.ts';
import { createAuthRouter } from '../http/router.ts';
import type { AuthRoute } from '../http/router.ts';
import { Parts } from '../http/adapter.ts';
import type { FreshSignIn } from '../http/adapter.ts';
import { json } from '../http/reply.ts';
import { namedAsWritten } from '../options/former.ts';
import { cookieAttributes, ownOrigins } from '../options/shared.ts';
import { createBrands } from '../pages/options.ts';
import { sharedText } from '../pages/texts.ts';
import type { B2bSession, B2bSessionBody, Session } from '../types.ts';
import type { Emit } from '../session/events.ts';
import { callbackRoute } from './callback.ts';
import { authkitServer } from './authorization-server.ts';
import { b2bPart, createB2bContext } from './context.ts';
import type { SourcePart } from './feature.ts';
import { features } from './features.ts';
import { readB2bOptions } from './options.ts';
import type { B2bAuthOptions, B2bOptions } from './options.ts';
import { foreignClient } from './session.ts';
import { signInRoute } from './start.ts';
import { revokeEnded, signOutRoute } from './sign-out.ts';

/**
 * Sign-in through WorkOS AuthKit: `GET /login`, `GET /signup`, `GET /callback`, `POST /logout`, `GET /auth/session`, and the
 * session behind `requireSession` and `getSession`.
 *
 * @param options each overrides its environment variable; see `B2bAuthOptions`
 * @throws {ConfigurationError} with every problem at once
 * @example app.use(b2bAuth({ protectedRoutes: '/dashboard(.*)' }));
 * @see https://workos.com/docs/authkit
 */
export function b2bAuth(options?: B2bAuthOptions): Router {
  return b2bRouter(readB2bOptions(options));
}

/** For tests, which change what no option does. */
export function b2bRouter(settings: B2bOptions): Router {
  const added = Object.assign({}, ...features.map((feature) => feature.source?.(settings))) as SourcePart;
  const context = createB2bContext(settings, added);
  const { source, resolver, emit, explain } = context;
  const parts = new Parts();
  parts.set(b2bPart, context);
  if (settings.isFallbackPassword)
    warnOfPassword(emit, 'no cookiePassword is set, so a local one is derived from the API key. Production needs one');
  else if (isProduction() && settings.passwords.some(isGuessable))
    warnOfPassword(emit, 'a cookiePassword is easy to guess');
  return createAuthRouter(
    {
      adapter: 'b2b',
      name: 'b2bAuth',
      resolver,
      revokeSession: (sessionId) => revokeEnded(context, sessionId),
      acceptance: createAcceptance('b2b', settings.accept, { ...settings, emit }),
      protectedRoutes: settings.protectedRoutes,
      signInPage: undefined,
      openPages: [],
      loginPath: settings.loginPath,
      stylesheetPath: settings.stylesheetPath,
      guardStatusForForms: 307,
      cookieName: settings.cookieName,
      cookieOptions: cookieAttributes(settings.cookieOptions, settings.cookieName),
      appBaseUrl: settings.appBaseUrl,
      ...ownOrigins(settings),
      freshSignIn: createFreshSignIn((session) => source.signedInAt(session), settings.now),
      foreignClient: (claims) => foreignClient(claims, settings.clientId),
      authorizationServer: authkitServer(settings.authkitDomain, resolver.resolveForResource),
      now: settings.now,
      timeoutMs: settings.timeoutMs,
      onError: settings.onError,
      brands: createBrands(sharedText, settings.pages),
      renderPage: settings.pages.render,
      emit,
      explain,
      parts,
    },
    namedAsWritten<AuthRoute>(
      [
        signInRoute(context, 'sign-in'),
        signInRoute(context, 'sign-up'),
        callbackRoute(context, features.find(({ question }) => question !== undefined)?.question),
        signOutRoute(context),
        sessionRoute(settings),
        ...features.flatMap(({ routes }) => routes?.(context) ?? []),
      ],
      settings.writtenAs,
    ),
  );
}

/**
 * When the user signed in: WorkOS' `auth_time` where the token has it, otherwise when our callback ran.
 *
 * @param signedInAt the callback time from the session's seal, in seconds since the epoch
 * @param now milliseconds since the epoch
 */
function createFreshSignIn(signedInAt: (session: B2bSession) => number | undefined, now: () => number): FreshSignIn {
  const ownTime = (session: Session): number | undefined =>
    session.adapter === 'b2b' ? signedInAt(session) : undefined;
  return {
    authenticatedAt(session) {
      const { auth_time: authTime } = session.claims;
      if (typeof authTime === 'number' && Number.isFinite(authTime)) return authTime;
      // A sign-in after `endSession` begins later than the call, which is not by WorkOS' clock.
      const own = ownTime(session);
      return own === undefined ? undefined : Math.min(own, now() / 1000);
    },
    signInId: (session) => JSON.stringify([session.claims.sid, session.claims.auth_time, ownTime(session)]),
    // AuthKit receives it as `max_age` (OpenID Connect Core §3.1.2.1). The person stays in the organization where they are.
    parameters: (session, maxAge) => ({
      max_age: String(maxAge),
      ...(session.adapter === 'b2b' && defined({ organization_id: session.organizationId })),
    }),
  };
}

function sessionRoute({ sessionPath }: B2bOptions): AuthRoute {
  return {
    path: sessionPath,
    option: 'sessionPath',
    isJsonOnly: true,
    async get(request) {
      const session = await request.resolveSession();
      if (session?.adapter !== 'b2b') throw new AuthError('unauthenticated');
      return json(200, sessionBody(session));
    },
  };
}

function sessionBody(session: B2bSession): B2bSessionBody {
  const { sessionId, organizationId, impersonator } = session;
  const { id, email, firstName = null, lastName = null, profilePictureUrl = null } = session.user;
  return {
    authenticated: true,
    ...defined({ sessionId, organizationId }),
    user: { id, email, firstName, lastName, profilePictureUrl },
    ...defined({ impersonator }),
  };
}

/** What a person made up, such as one letter many times; a random one of this length has at least twice as many. */
const isGuessable = (password: string): boolean => new Set(password).size < 8;

function warnOfPassword(emit: Emit, problem: string): void {
  const message = `b2bAuth: ${problem}. Set B2B_COOKIE_PASSWORD to the output of: openssl rand -base64 32`;
  process.emitWarning(message, { code: 'B2B_COOKIE_PASSWORD' });
  emit({ type: 'configuration_warning', message });
}
