import { randomBytes } from 'node:crypto';
import { createRequire } from 'node:module';
import { SignJWT } from 'jose';
import { express } from './express.js';

const { auth, requiresAuth } = createRequire(import.meta.url)('express-openid-connect');

/** express-openid-connect with its defaults: an encrypted session cookie, rolling. */
export async function requiresAuthGuard({ clientId, userId, host, port }) {
  const secret = randomBytes(32).toString('base64');
  const idToken = await new SignJWT({ sub: userId, email: 'ada.lovelace@example.com', sid: 'session' })
    .setProtectedHeader({ alg: 'HS256' })
    .setIssuedAt()
    .setExpirationTime('1d')
    .sign(randomBytes(32));
  const app = express();
  app.use(
    auth({
      authRequired: false,
      baseURL: 'http://127.0.0.1',
      issuerBaseURL: `http://${host}:${port}`,
      clientID: clientId,
      secret,
    }),
  );
  app.get('/sign-in', (req, res) => {
    // The content that its callback stores; the benchmark skips the provider.
    Object.assign(req.appSession, { id_token: idToken, access_token: idToken, token_type: 'Bearer' });
    res.send('ok');
  });
  app.get('/', requiresAuth(), (req, res) => void res.send(req.oidc.user.sub));
  return { app, signInPath: '/sign-in' };
}
