import { isIP } from 'node:net';

/**
 * The network that an address counts as in a limit: an IPv4 address by itself, an IPv6 address by its /64, which is the least
 * that one customer gets (RFC 6177) and can roam at will. Every spelling of an address gives one key, and an IPv4 address
 * written as an IPv4-mapped IPv6 address (`::ffff:192.0.2.1`, RFC 4291 §2.5.5.2) the key of the IPv4 address.
 *
 * @param address as `req.ip` or `socket.remoteAddress` has it
 * @returns `undefined` for what is no address: there is nothing to count by then
 */
export function networkKey(address: string | undefined): string | undefined {
  const bare = bareAddress(address ?? '');
  switch (isIP(bare)) {
    case 4:
      return bare;
    case 6:
      return ipv6Key(groupsOf(bare));
    default:
      return undefined;
  }
}

function bareAddress(address: string): string {
  // Some proxies write the peer's port into X-Forwarded-For; its number changes with every connection.
  const [, host = address] = /^([\d.]+):\d+$/.exec(address) ?? /^\[([^\]]*)\](?::\d+)?$/.exec(address) ?? [];
  // A zone (`fe80::1%eth0`) names an interface of this machine, not a peer.
  return host.split('%', 1)[0] ?? '';
}

function ipv6Key(groups: readonly number[]): string {
  const [high = 0, low = 0] = groups.slice(6);
  const isMapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff;
  if (isMapped) return [high >> 8, high & 255, low >> 8, low & 255].join('.');
  const prefix = groups.slice(0, 4).map((group) => group.toString(16));
  return `${prefix.join(':')}::/64`;
}

/** The eight 16-bit groups of a valid IPv6 address (RFC 4291 §2.2). */
function groupsOf(address: string): readonly number[] {
  const [head = [], tail] = address.split('::', 2).map(groupsIn);
  if (tail === undefined) return head;
  return [...head, ...Array.from({ length: 8 - head.length - tail.length }, () => 0), ...tail];
}

function groupsIn(part: string): readonly number[] {
  if (part === '') return [];
  return part.split(':').flatMap((group) => {
    if (!group.includes('.')) return [parseInt(group, 16)];
    const [a = 0, b = 0, c = 0, d = 0] = group.split('.').map(Number);
    return [(a << 8) | b, (c << 8) | d];
  });
}
