/** WorkOS' own helpers, as its documentation mounts them. */
import { WorkOS } from '@workos-inc/node';
import { CookieSessionStorage, configure, createAuthService } from '@workos/authkit-session';
import cookieParser from 'cookie-parser';
import { express } from './express.js';

/** https://workos.com/docs/user-management/vanilla/nodejs: `withAuth`. */
export function sealedSession({ host, port, apiKey, clientId, password, b2bCookie }) {
  const workos = new WorkOS(apiKey, { clientId, apiHostname: host, port, https: false });
  const app = express();
  app.use(cookieParser());
  const withAuth = async (req, res, next) => {
    const session = workos.userManagement.loadSealedSession({
      sessionData: req.cookies['b2b-session'],
      cookiePassword: password,
    });
    const { authenticated, user } = await session.authenticate();
    if (!authenticated) return void res.redirect('/login');
    res.locals.user = user;
    next();
  };
  app.get('/', withAuth, (_req, res) => void res.send(res.locals.user.id));
  return { app, cookies: [b2bCookie] };
}

class ExpressCookieStorage extends CookieSessionStorage {
  getCookie(req, name) {
    return Promise.resolve(req.cookies[name] ?? null);
  }
}

export function authkitSession({ host, port, apiKey, clientId, password, b2bCookie }) {
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
    const { auth } = await service.withAuth(req);
    if (!auth.user) return void res.redirect('/login');
    res.locals.user = auth.user;
    next();
  };
  app.get('/', withAuth, (_req, res) => void res.send(res.locals.user.id));
  return { app, cookies: [b2bCookie] };
}
