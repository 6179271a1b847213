import { Router } from 'express';
import type { Lab } from '../lab.ts';

/** The buttons of the start page; each redirects back to it, where the result is shown. */
export function labRoutes(lab: Lab): Router {
  const routes = Router();
  const experiments = new Map<string, () => Promise<void> | void>([
    ['expire', () => lab.expire()],
    ['outage', () => lab.takeDown()],
    ['rotate', () => lab.rotateKeys()],
  ]);

  routes.post('/lab/:name', (req, res, next) => {
    if (req.get('sec-fetch-site') === 'cross-site') res.sendStatus(403);
    else next();
  });

  routes.post('/lab/fifty', async (req, res) => {
    const { localPort: port = 0 } = req.socket;
    const cookies = await lab.askAtOnce({ port, cookie: req.get('cookie') ?? '' });
    for (const line of cookies) res.append('Set-Cookie', line);
    res.redirect(303, '/#lab');
  });

  routes.post('/lab/:name', async (req, res, next) => {
    const run = experiments.get(req.params.name);
    if (run === undefined) {
      next();
      return;
    }
    await run();
    res.redirect(303, '/#lab');
  });
  return routes;
}
