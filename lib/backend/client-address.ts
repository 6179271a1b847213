import type { IncomingMessage } from 'node:http';
import { appSetting } from '../http/request.ts';
import type { HostRequest } from '../http/request.ts';
import type { Emit } from '../session/events.ts';

/** The address that a visitor's attempts count under; `undefined` where none can be told. */
export type ClientAddress = (req: IncomingMessage) => string | undefined;

/** What proxies say of whom they speak for. */
const forwardingHeaders = ['forwarded', 'x-forwarded-for', 'x-real-ip', 'cf-connecting-ip', 'true-client-ip'];

/**
 * Express' `req.ip`, else the socket's peer. Behind a proxy that `trust proxy` does not name, every visitor would have the
 * proxy's address, and one guesser would lock everybody out: then there is none, and the operators are told once.
 *
 * @param own the application's own way to tell
 */
export function createClientAddress(own: ClientAddress | undefined, emit: Emit): ClientAddress {
  if (own !== undefined) return own;
  let isWarned = false;
  return (req: HostRequest) => {
    const peer = req.socket.remoteAddress;
    const isForwarded = forwardingHeaders.some((name) => req.headers[name] !== undefined);
    if (isForwarded && !trusts(req, peer)) {
      if (!isWarned) warn(emit);
      isWarned = true;
      return undefined;
    }
    return 'ip' in req && typeof req.ip === 'string' ? req.ip : peer;
  };
}

function trusts(req: HostRequest, peer: string | undefined): boolean {
  const trust = appSetting(req, 'trust proxy fn');
  return typeof trust === 'function' && Reflect.apply(trust, undefined, [peer, 0]) === true;
}

function warn(emit: Emit): void {
  const message =
    "backendAuth: a proxy forwards requests, but the application does not trust it, so failed sign-ins are not limited per network. Set Express' 'trust proxy', or the option clientAddress.";
  process.emitWarning(message, { code: 'BACKEND_TRUST_PROXY' });
  emit({ type: 'configuration_warning', message });
}
