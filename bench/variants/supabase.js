/** @supabase/ssr as its documentation mounts it. https://supabase.com/docs/guides/auth/server-side/creating-a-client */
import { createServerClient, parseCookieHeader, serializeCookieHeader } from '@supabase/ssr';
import { express } from './express.js';

const withClient = (userIdOf) => (fixtures) => {
  const url = `http://${fixtures.host}:${fixtures.port}`;
  const app = express();
  const withUser = async (req, res, next) => {
    const supabase = createServerClient(url, fixtures.anonKey, {
      cookies: {
        getAll: () => parseCookieHeader(req.headers.cookie ?? ''),
        setAll: (cookies) => {
          for (const { name, value, options } of cookies) {
            res.appendHeader('Set-Cookie', serializeCookieHeader(name, value, options));
          }
        },
      },
    });
    const userId = await userIdOf(supabase);
    if (userId === undefined) return void res.redirect('/login');
    res.locals.userId = userId;
    next();
  };
  app.get('/', withUser, (_req, res) => void res.send(res.locals.userId));
  return { app, cookies: [fixtures.backendCookie] };
};

export const getClaims = withClient(async (supabase) => (await supabase.auth.getClaims()).data?.claims.sub);
export const getUser = withClient(async (supabase) => (await supabase.auth.getUser()).data.user?.id);
