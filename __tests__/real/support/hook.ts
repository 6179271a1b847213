import { json } from 'node:stream/consumers';
import { sendJson } from '../../support/hosts.ts';
import { serve } from '../../support/servers.ts';

/** A hook that GoTrue asks over HTTP; it answers what the test wants, else with the claims that it was given. */
export async function startHook(port: number) {
  const hook = { asked: [] as any[], answer: (asked: any): object => ({ claims: asked.claims }) };
  const server = await serve((req, res) => {
    json(req).then(
      (asked) => {
        hook.asked.push(asked);
        sendJson(res, hook.answer(asked));
      },
      () => res.destroy(),
    );
  }, port);
  return { hook, close: () => server.close() };
}
