import { existsSync } from 'node:fs';
import { express, libUrl } from './express.js';

const { b2bAuth, currentSession, requireSession } = await import(libUrl('b2b'));

function b2bOptions(fixtures) {
  // Every build reads the variables; the option has had two forms.
  Object.assign(process.env, {
    B2B_API_HOSTNAME: fixtures.host,
    B2B_API_PORT: String(fixtures.port),
    B2B_API_HTTPS: 'false',
  });
  return { clientId: fixtures.clientId, apiKey: fixtures.apiKey, cookiePassword: fixtures.password };
}
const backendOptions = (fixtures) => ({
  url: `http://${fixtures.host}:${fixtures.port}`,
  anonKey: fixtures.anonKey,
  throttle: false,
});

async function backendAuth(options) {
  // A build from before the backend adapter can still be measured.
  if (!existsSync(libUrl('backend'))) return (_req, _res, next) => next();
  const backend = await import(libUrl('backend'));
  return backend.backendAuth(options);
}

const patterns = (count) =>
  Array.from({ length: count }, (_, index) => (index % 2 === 0 ? `/section-${index}(.*)` : `/area-${index}/:id/edit`));

/** A public page, with both adapters mounted before it. */
const publicRoute = (count) => async (fixtures) => {
  const app = express();
  const protectedRoutes = patterns(count);
  app.use(b2bAuth({ ...b2bOptions(fixtures), protectedRoutes }));
  app.use(await backendAuth({ ...backendOptions(fixtures), protectedRoutes, sessionPath: '/backend/session' }));
  app.get('/', (_req, res) => void res.send(fixtures.userId));
  return { app, cookies: [fixtures.b2bCookie] };
};
export const public20 = publicRoute(20);
export const public5 = publicRoute(5);
export const public500 = publicRoute(500);

/** A handler behind the guard. */
function guarded(auth, cookies) {
  const app = express();
  app.use(auth);
  app.get('/', requireSession(), (req, res) => void res.send(currentSession(req).user.id));
  return { app, cookies };
}

const b2b = (cookies, options) => (fixtures) =>
  guarded(b2bAuth({ ...b2bOptions(fixtures), ...options }), cookies(fixtures));
const own = (fixtures) => [fixtures.b2bCookie];
export const b2bSignedIn = b2b(own);
/** The option is a former one, which builds of this minor version still read. */
const cached = (maxCachedSessions) => ({ maxCachedSessions });
export const b2bCold = b2b(own, cached(0));
/** Asked once for the token, then remembered. */
export const b2bAccepting = b2b(own, { accept: () => true });
/** Twice as many users as the cache holds, in rotation: no request finds its session. */
export const b2bCacheMisses = (fixtures) =>
  b2b(({ b2bCookies }) => b2bCookies, cached(fixtures.b2bCookies.length / 2))(fixtures);

const padded = (kilobytes) => b2b(({ paddedCookies }) => [paddedCookies[kilobytes]]);
export const b2bPadded1 = padded(1);
export const b2bPadded2 = padded(2);
export const b2bPadded4 = padded(4);
export const b2bPadded8 = padded(8);
export const b2bPadded12 = padded(12);
export const b2bPadded16 = padded(16);

const backend = (options) => async (fixtures) =>
  guarded(await backendAuth({ ...backendOptions(fixtures), ...options }), [fixtures.backendCookie]);
export const backendSignedIn = backend();
export const backendCold = backend(cached(0));
