/** Every package that refreshes, mounted as its documentation shows. Responds with 200 to signed-in users and 302 to others. */
import { WorkOS } from '@workos-inc/node';
import { CookieSessionStorage, configure, createAuthService } from '@workos/authkit-session';
import { createServerClient, parseCookieHeader, serializeCookieHeader } from '@supabase/ssr';
import cookieParser from 'cookie-parser';
import { b2bAuth, requireSession } from '../../lib/b2b/index.ts';
import { backendAuth, requireSession as requireBackendSession } from '../../lib/backend/index.ts';
import { express } from './express.js';

const cookieOptions = { path: '/', httpOnly: true, sameSite: 'lax' };
const greet = (_req, res) => void res.send('hello');

function guarded(auth, guard) {
  const app = express();
  app.use(auth);
  app.get('/', guard, greet);
  return app;
}

const oursForWorkos = ({ host, port, apiKey, clientId, password }) =>
  guarded(b2bAuth({ apiKey, clientId, cookiePassword: password, apiUrl: `http://${host}:${port}` }), requireSession());

const oursForSupabase = ({ supabaseUrl, anonKey }) =>
  guarded(backendAuth({ url: supabaseUrl, anonKey, throttle: false }), requireBackendSession());

/** https://workos.com/docs/user-management/vanilla/nodejs: `withAuth`, its redirect to the same page left out. */
function sealedSession({ host, port, apiKey, clientId, password }) {
  const workos = new WorkOS(apiKey, { clientId, apiHostname: host, port, https: false });
  const app = express();
  app.use(cookieParser());
  const withAuth = async (req, res, next) => {
    const session = workos.userManagement.loadSealedSession({
      sessionData: req.cookies['b2b-session'],
      cookiePassword: password,
    });
    const { authenticated, reason } = await session.authenticate();
    if (authenticated) return void next();
    if (reason === 'no_session_cookie_provided') return void res.redirect('/login');
    try {
      const refreshed = await session.refresh();
      if (!refreshed.authenticated) return void res.redirect('/login');
      res.cookie('b2b-session', refreshed.sealedSession, cookieOptions);
      next();
    } catch {
      res.clearCookie('b2b-session');
      res.redirect('/login');
    }
  };
  app.get('/', withAuth, greet);
  return app;
}

class ExpressCookieStorage extends CookieSessionStorage {
  getCookie(req, name) {
    return Promise.resolve(req.cookies[name] ?? null);
  }
}

function authkitSession({ host, port, apiKey, clientId, password }) {
  configure({
    clientId,
    apiKey,
    redirectUri: 'http://127.0.0.1/callback',
    cookiePassword: password,
    cookieName: 'b2b-session',
    apiHostname: host,
    apiPort: port,
    apiHttps: false,
  });
  const service = createAuthService({ sessionStorageFactory: (config) => new ExpressCookieStorage(config) });
  const app = express();
  app.use(cookieParser());
  const withAuth = async (req, res, next) => {
    const { auth, refreshedSessionData } = await service.withAuth(req);
    if (!auth.user) return void res.redirect('/login');
    if (refreshedSessionData) {
      const { headers } = await service.saveSession(undefined, refreshedSessionData);
      res.appendHeader('Set-Cookie', headers['Set-Cookie']);
    }
    next();
  };
  app.get('/', withAuth, greet);
  return app;
}

/** https://supabase.com/docs/guides/auth/server-side/creating-a-client */
function getClaims({ supabaseUrl, anonKey }) {
  const app = express();
  const withUser = async (req, res, next) => {
    const supabase = createServerClient(supabaseUrl, anonKey, {
      cookies: {
        getAll: () => parseCookieHeader(req.headers.cookie ?? ''),
        setAll: (cookies) => {
          for (const { name, value, options } of cookies) {
            if (!res.headersSent) res.appendHeader('Set-Cookie', serializeCookieHeader(name, value, options));
          }
        },
      },
    });
    const { data } = await supabase.auth.getClaims();
    if (!data?.claims) return void res.redirect('/login');
    next();
  };
  app.get('/', withUser, greet);
  return app;
}

export const contenders = [
  { name: 'express-auth-adapters b2bAuth', provider: 'workos', createApp: oursForWorkos },
  { name: '@workos-inc/node sealed session', provider: 'workos', createApp: sealedSession },
  { name: '@workos/authkit-session', provider: 'workos', createApp: authkitSession },
  { name: 'express-auth-adapters backendAuth', provider: 'supabase', createApp: oursForSupabase },
  { name: '@supabase/ssr getClaims', provider: 'supabase', createApp: getClaims },
];
