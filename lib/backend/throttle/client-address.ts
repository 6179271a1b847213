import type { IncomingMessage } from 'node:http';
import { appSetting, isPrivate, peerAddress } from '../../http/origin.ts';
import type { HostRequest } from '../../http/message.ts';
import type { Emit } from '../../session/events.ts';

/** The address under which a visitor's attempts are counted; `undefined` where it is unknown. */
export type ClientAddress = (req: IncomingMessage) => string | undefined;

/** Headers in which a proxy names the client. */
const forwardingHeaders = ['forwarded', 'x-forwarded-for', 'x-real-ip', 'cf-connecting-ip', 'true-client-ip'];

/**
 * Express' `req.ip`, else the socket's peer. Behind a proxy that `trust proxy` does not cover, all visitors share the
 * proxy's address, and one attacker could lock out all of them: no address is used, and operators get one warning. A
 * peer from the public internet counts by its own address, and causes no warning, because anyone can send forwarding headers.
 *
 * @param own the application's own function
 */
export function createClientAddress(own: ClientAddress | undefined, emit: Emit): ClientAddress {
  if (own !== undefined) return own;
  let isWarned = false;
  return (req: HostRequest) => {
    const peer = req.socket.remoteAddress;
    const isForwarded = forwardingHeaders.some((name) => req.headers[name] !== undefined);
    if (!isForwarded || trusts(req, peer)) return peerAddress(req);
    if (!isPrivate(peer)) return peer;
    if (!isWarned) warn(emit);
    isWarned = true;
    return undefined;
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
