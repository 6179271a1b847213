import { express } from './express.js';

/** Only a handler that responds with a user id, as all others do. */
function bare({ userId }) {
  const app = express();
  app.get('/', (_req, res) => void res.send(userId));
  return app;
}

export const withoutCookie = (fixtures) => ({ app: bare(fixtures) });
export const b2bCookie = (fixtures) => ({ app: bare(fixtures), cookies: [fixtures.b2bCookie] });
export const b2bCookieAgain = b2bCookie;
export const b2bCookies = (fixtures) => ({ app: bare(fixtures), cookies: fixtures.b2bCookies });
export const backendCookie = (fixtures) => ({ app: bare(fixtures), cookies: [fixtures.backendCookie] });

const padded = (kilobytes) => (fixtures) => ({ app: bare(fixtures), cookies: [fixtures.paddedCookies[kilobytes]] });
export const padded1 = padded(1);
export const padded2 = padded(2);
export const padded4 = padded(4);
export const padded8 = padded(8);
export const padded12 = padded(12);
export const padded16 = padded(16);
