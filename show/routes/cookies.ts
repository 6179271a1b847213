import cookieParser from 'cookie-parser';
import { Router } from 'express';
import { cookiesPage } from '../pages/cookies.ts';

/** Which cookies the browser sends, and how large they are. */
export function cookieRoutes(): Router {
  const router = Router();
  router.get('/cookies', cookieParser(), (req, res) => {
    const cookies = Object.entries(req.cookies as Readonly<Record<string, unknown>>);
    const present = cookies.map(([name, value]) => ({ name, bytes: Buffer.byteLength(`${name}=${String(value)}`) }));
    res.set('Cache-Control', 'private, no-store').send(cookiesPage(present));
  });
  return router;
}
