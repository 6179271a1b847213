/** Common session stores of Express applications: in memory, sealed, or an encrypted token. */
import { randomBytes } from 'node:crypto';
import session from 'express-session';
import { getIronSession } from 'iron-session';
import { express } from './express.js';

/** The first request signs in and stores `content` on the server; later requests read it by its id. */
function signedIn(content) {
  const app = express();
  app.use(session({ secret: randomBytes(32).toString('base64'), resave: false, saveUninitialized: false }));
  app.get('/sign-in', (req, res) => {
    Object.assign(req.session, content);
    res.send('ok');
  });
  app.get('/', (req, res) => {
    if (req.session.user === undefined) return void res.redirect('/login');
    res.send(req.session.user.id);
  });
  return { app, signInPath: '/sign-in' };
}

/** The same session as in WorkOS' cookie: a refresh needs its tokens. */
export const expressSession = ({ b2bContent }) => signedIn(b2bContent);
/** Only the user id: no tokens to refresh or verify. */
export const expressSessionUserId = ({ userId }) => signedIn({ user: { id: userId } });

/** The same session as WorkOS' cookie holds; unsealed, without verifying its token. */
export function ironSession({ password, b2bCookie }) {
  const app = express();
  app.get('/', async (req, res) => {
    const { user } = await getIronSession(req, res, { password: { 1: password }, cookieName: 'b2b-session', ttl: 0 });
    if (user === undefined) return void res.redirect('/login');
    res.send(user.id);
  });
  return { app, cookies: [b2bCookie] };
}
