import { BlockList, isIP } from 'node:net';

/** Networks of an application's own proxies: loopback, private, shared and link-local addresses (RFC 6890). */
const privateNetworks = new BlockList();
for (const [network, prefix] of [
  ['127.0.0.0', 8],
  ['10.0.0.0', 8],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
  ['100.64.0.0', 10],
  ['169.254.0.0', 16],
] as const) {
  privateNetworks.addSubnet(network, prefix, 'ipv4');
}
privateNetworks.addAddress('::1', 'ipv6');
privateNetworks.addSubnet('fc00::', 7, 'ipv6');
privateNetworks.addSubnet('fe80::', 10, 'ipv6');

/** Whether a peer may be the application's own proxy. */
export function isPrivate(peer = ''): boolean {
  const [address = ''] = peer.split('%', 1);
  const version = isIP(address);
  return version === 0 || privateNetworks.check(address, version === 4 ? 'ipv4' : 'ipv6');
}
