import { randomBytes } from 'node:crypto';
import { ExpressAuth, getSession } from '@auth/express';
import { encode } from '@auth/core/jwt';
import Credentials from '@auth/express/providers/credentials';
import { express } from './express.js';

const cookieName = 'authjs.session-token';

/** @auth/express with its default session, an encrypted token. https://authjs.dev/reference/express */
export async function getAuthSession({ userId }) {
  const secret = randomBytes(32).toString('base64');
  const config = { secret, trustHost: true, providers: [Credentials({})] };
  const token = await encode({
    token: { sub: userId, name: 'Ada Lovelace', email: 'ada.lovelace@example.com' },
    secret,
    salt: cookieName,
  });
  const app = express();
  app.use('/auth', ExpressAuth(config));
  const withSession = async (req, res, next) => {
    res.locals.session = await getSession(req, config);
    if (!res.locals.session?.user) return void res.redirect('/login');
    next();
  };
  app.get('/', withSession, (_req, res) => void res.send(res.locals.session.user.email));
  return { app, cookies: [`${cookieName}=${token}`] };
}
