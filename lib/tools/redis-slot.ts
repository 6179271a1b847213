const slots = 16_384;

/** The slot of a Redis Cluster that a key belongs to: CRC16 (XMODEM) of the key, or of its hash tag. */
export function slotOf(key: string): number {
  const open = key.indexOf('{');
  const close = open === -1 ? -1 : key.indexOf('}', open + 1);
  const hashed = close > open + 1 ? key.slice(open + 1, close) : key;
  let crc = 0;
  for (const byte of Buffer.from(hashed)) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit += 1) crc = ((crc & 0x8000) === 0 ? crc << 1 : (crc << 1) ^ 0x1021) & 0xffff;
  }
  return crc % slots;
}

/**
 * The master that holds a key, as the client currently knows it; one constant name where it is not a cluster client.
 *
 * The cluster clients of both libraries have a map of the slots: `['host:port', …]` for each slot in ioredis,
 * `{ master: { address } }` in node-redis.
 */
export function createMasterOf(client: object): (key: string) => string {
  return (key) => {
    const map: unknown = Reflect.get(client, 'slots');
    if (!Array.isArray(map)) return '';
    const slot = slotOf(prefixOf(client) + key);
    return nameOf(map[slot]) ?? `slot ${slot}`;
  };
}

/** ioredis prepends its own option `keyPrefix` to every key. */
function prefixOf(client: object): string {
  const options: unknown = Reflect.get(client, 'options');
  const prefix: unknown =
    typeof options === 'object' && options !== null ? Reflect.get(options, 'keyPrefix') : undefined;
  return typeof prefix === 'string' ? prefix : '';
}

function nameOf(entry: unknown): string | undefined {
  if (Array.isArray(entry)) return typeof entry[0] === 'string' ? entry[0] : undefined;
  const { master } = (entry ?? {}) as { readonly master?: { readonly address?: unknown } };
  return typeof master?.address === 'string' ? master.address : undefined;
}
