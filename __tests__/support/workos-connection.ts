import type { WorkosStandIn } from '../../stand-ins/workos/index.ts';

/** The options by which an adapter reaches a stand-in. */
export function connectionTo({ clientId, apiKey, hostname: apiHostname, port }: WorkosStandIn) {
  return { clientId, apiKey, apiHostname, port, https: false };
}
