import { Router } from 'express';
import type { EventLog } from '../event-log.ts';
import { eventsPage } from '../pages/events.ts';

/** What the adapters reported, as a page and as a stream that says when there is more. */
export function eventRoutes(log: EventLog): Router {
  const router = Router();
  router.get('/events', (_req, res) => res.set('Cache-Control', 'no-store').send(eventsPage(log.list())));
  router.get('/events/stream', (_req, res) => {
    res.set({ 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store' }).flushHeaders();
    res.on(
      'close',
      log.subscribe(({ id }) => void res.write(`data: ${id}\n\n`)),
    );
  });
  return router;
}
