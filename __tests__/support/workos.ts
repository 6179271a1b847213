import { startWorkosStandIn } from '../../stand-ins/workos/index.ts';
import type { WorkosStandIn, WorkosStandInOptions } from '../../stand-ins/workos/index.ts';

declare global {
  /** A pair that no other stand-in of the suite has; see tools/jest-environment.js. */
  var takeRsaKeyPair: WorkosStandInOptions['generateKeyPair'];
}

/** The stand-in without the time that a new key takes. */
export function startWorkos(options: WorkosStandInOptions): Promise<WorkosStandIn> {
  return startWorkosStandIn({ generateKeyPair: globalThis.takeRsaKeyPair, ...options });
}
