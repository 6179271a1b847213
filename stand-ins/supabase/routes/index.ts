import { picture } from '../../page.ts';
import { json } from '../http.ts';
import type { Reply, StandInRequest } from '../http.ts';
import type { Project } from '../project.ts';
import type { Endpoint } from '../types.ts';
import { logout, settings, user } from './account.ts';
import { adminUsers } from './admin.ts';
import { createDemoApp } from './demo-app.ts';
import { createOauth } from './oauth.ts';
import { challenge, enroll, unenroll, verifyFactor } from './factors.ts';
import { notes } from './notes.ts';
import { otp, reauthenticate, recover } from './mail.ts';
import { oauthServerRoute } from './oauth-server.ts';
import { resend, signup } from './signup.ts';
import { passkeyCallOf } from './passkeys.ts';
import { token } from './token.ts';
import { updateUser } from './update-user.ts';
import { followMailLink, verify } from './verify.ts';

export interface Route {
  readonly endpoint: Endpoint;
  /** Browsers request it directly, so the gateway requires no key. */
  readonly open?: boolean;
  handle(request: StandInRequest): Reply | Promise<Reply>;
}

const grants: Readonly<Record<string, Endpoint>> = { password: 'password', refresh_token: 'refresh', pkce: 'pkce' };

type Handler = (project: Project, request: StandInRequest) => Promise<Reply>;

const factorCalls: Readonly<Record<string, readonly [Endpoint, Handler]>> = {
  'POST /auth/v1/factors': ['enroll', enroll],
  'POST /auth/v1/factors/:id/challenge': ['challenge', challenge],
  'POST /auth/v1/factors/:id/verify': ['verify-factor', verifyFactor],
  'DELETE /auth/v1/factors/:id': ['unenroll', unenroll],
};

/** Finds the route of a request. */
export function createRoutes(project: Project): (request: StandInRequest) => Route {
  const oauth = createOauth(project);
  const demoApp = createDemoApp(project);
  return ({ method, url }) => {
    if (/^\/provider\/[^/]+\/authorize$/.test(url.pathname)) {
      return { endpoint: 'authorize', open: true, handle: oauth.consent };
    }
    const shown = method === 'GET' ? picture(url.pathname) : undefined;
    if (shown) return { endpoint: 'other', open: true, handle: () => shown };
    if (/^\/auth\/v1\/admin\/users(?:\/[^/]+)?$/.test(url.pathname))
      return { endpoint: 'admin', handle: (request) => adminUsers(project, request) };
    const factorCall = factorCalls[`${method} ${url.pathname.replace(/^(\/auth\/v1\/factors)\/[^/]+/, '$1/:id')}`];
    const ofOAuthServer = oauthServerRoute(project, method, url.pathname);
    if (ofOAuthServer) return ofOAuthServer;
    if (factorCall) return { endpoint: factorCall[0], handle: (request) => factorCall[1](project, request) };
    if (method === 'DELETE' && url.pathname.startsWith('/auth/v1/user/identities/'))
      return { endpoint: 'unlink-identity', handle: oauth.unlink };
    const passkeyCall = passkeyCallOf(method, url);
    if (passkeyCall) return { endpoint: passkeyCall[0], handle: (request) => passkeyCall[1](project, request) };
    switch (`${method} ${url.pathname}`) {
      case 'POST /auth/v1/token': {
        const endpoint = grants[url.searchParams.get('grant_type') ?? ''] ?? 'other';
        return { endpoint, handle: (request) => token(project, request) };
      }
      case 'POST /auth/v1/signup':
        return { endpoint: 'signup', handle: (request) => signup(project, request) };
      case 'POST /auth/v1/resend':
        return { endpoint: 'resend', handle: (request) => resend(project, request) };
      case 'POST /auth/v1/recover':
        return { endpoint: 'recover', handle: (request) => recover(project, request) };
      case 'POST /auth/v1/otp':
        return { endpoint: 'otp', handle: (request) => otp(project, request) };
      case 'POST /auth/v1/sso':
        return { endpoint: 'sso', handle: oauth.sso };
      case 'PUT /auth/v1/user':
        return { endpoint: 'update-user', handle: (request) => updateUser(project, request) };
      case 'GET /auth/v1/reauthenticate':
        return { endpoint: 'reauthenticate', handle: (request) => reauthenticate(project, request) };
      case 'POST /auth/v1/verify':
        return { endpoint: 'verify', handle: (request) => verify(project, request) };
      case 'GET /auth/v1/verify':
        return { endpoint: 'verify', open: true, handle: (request) => followMailLink(project, request) };
      case 'GET /auth/v1/authorize':
        return { endpoint: 'authorize', open: true, handle: (request) => oauth.authorize(request) };
      case 'GET /auth/v1/user/identities/authorize':
        return { endpoint: 'link-identity', handle: oauth.link };
      case 'GET /auth/v1/callback':
        return { endpoint: 'authorize', open: true, handle: oauth.callback };
      case 'POST /auth/v1/logout':
        return { endpoint: 'logout', handle: (request) => logout(project, request) };
      case 'GET /auth/v1/user':
        return { endpoint: 'user', handle: (request) => user(project, request) };
      case 'GET /auth/v1/settings':
        return { endpoint: 'settings', handle: () => settings(project) };
      case 'GET /auth/v1/.well-known/jwks.json':
        return { endpoint: 'jwks', open: true, handle: () => json(200, project.keys.jwks()) };
      case 'GET /demo-app':
        return { endpoint: 'other', open: true, handle: demoApp.start };
      case 'GET /demo-app/callback':
        return { endpoint: 'other', open: true, handle: demoApp.callback };
      case 'GET /rest/v1/notes':
      case 'POST /rest/v1/notes':
      case 'PATCH /rest/v1/notes':
      case 'DELETE /rest/v1/notes':
        return { endpoint: 'rest', handle: (request) => notes(project, request) };
      default:
        return { endpoint: 'other', open: true, handle: ({ url }) => unknownRoute(url.pathname) };
    }
  };
}

function unknownRoute(path: string): Reply {
  const [, table] = /^\/rest\/v1\/(\w+)$/.exec(path) ?? [];
  if (table === undefined) return json(404, { message: 'no Route matched with those values' });
  const message = `Could not find the table 'public.${table}' in the schema cache`;
  return json(404, { code: 'PGRST205', details: null, hint: null, message });
}
