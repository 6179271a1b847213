import type { WorkosStandIn } from '../../stand-ins/workos/index.ts';

/** The options by which an adapter reaches a stand-in. */
export function connectionTo({ clientId, apiKey, hostname, port }: WorkosStandIn) {
  return { clientId, apiKey, apiUrl: `http://${hostname}:${port}` };
}
