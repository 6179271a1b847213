import fc from 'fast-check';
import { networkKey } from '../../lib/session/allowance.ts';

const group = fc.integer({ min: 0, max: 0xffff });
const ipv6 = fc.array(group, { minLength: 8, maxLength: 8 });
const hex = (groups: readonly number[]): string => groups.map((value) => value.toString(16)).join(':');

/** The spelling of RFC 5952, by the URL parser's own serialiser. */
const shortest = (groups: readonly number[]): string => new URL(`http://[${hex(groups)}]/`).hostname.slice(1, -1);

const isMapped = (groups: readonly number[]): boolean => /^(?:0:){5}ffff:/.test(hex(groups));

describe('networkKey', () => {
  it('counts an IPv4 address separately', () => {
    fc.assert(fc.property(fc.ipV4(), (address) => expect(networkKey(address)).toBe(address)));
  });

  it('maps an IPv4-mapped IPv6 address to IPv4, however it is written', () => {
    for (const prefix of ['::ffff:', '::FFFF:', '0:0:0:0:0:ffff:', '0000:0000:0000:0000:0000:ffff:', '0::ffff:']) {
      expect(networkKey(`${prefix}192.0.2.1`)).toBe('192.0.2.1');
      expect(networkKey(`${prefix}c000:201`)).toBe('192.0.2.1');
      expect(networkKey(`${prefix}C000:0201`)).toBe('192.0.2.1');
    }
  });

  it('gives one key to all of a /64, and another to the next', () => {
    fc.assert(
      fc.property(ipv6, fc.array(group, { minLength: 4, maxLength: 4 }), fc.nat(3), (address, host, changed) => {
        const neighbour = [...address.slice(0, 4), ...host];
        const elsewhere = address.map((value, index) => (index === changed ? value ^ 1 : value));
        fc.pre(![address, neighbour, elsewhere].some(isMapped));
        expect(networkKey(hex(neighbour))).toBe(networkKey(hex(address)));
        expect(networkKey(hex(elsewhere))).not.toBe(networkKey(hex(address)));
      }),
    );
  });

  it('parses every spelling of an address alike', () => {
    const sparse = fc.array(fc.oneof(fc.constant(0), group), { minLength: 8, maxLength: 8 });
    fc.assert(
      fc.property(sparse, (groups) => {
        const key = networkKey(hex(groups));
        const padded = groups.map((value) => value.toString(16).padStart(4, '0')).join(':');
        const [high = 0, low = 0] = groups.slice(6);
        const dotted = `${hex(groups.slice(0, 6))}:${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`;
        for (const spelling of [padded, padded.toUpperCase(), dotted, shortest(groups), `${hex(groups)}%eth0`]) {
          expect(networkKey(spelling)).toBe(key);
        }
      }),
    );
  });

  it.each([
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['2001:db8:1:2:3::', '2001:db8:1:2::/64'],
    ['::1', '0:0:0:0::/64'],
    ['::', '0:0:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['64:ff9b::192.0.2.1', '64:ff9b:0:0::/64'],
    ['0:0:0:0:1:ffff:102:304', '0:0:0:0::/64'],
    ['::fffe:1.2.3.4', '0:0:0:0::/64'],
  ])('returns for %s the key %s', (address, key) => expect(networkKey(address)).toBe(key));

  it('ignores the port that some proxies add', () => {
    expect(networkKey('192.0.2.1:50123')).toBe('192.0.2.1');
    expect(networkKey('[2001:db8::1]:50123')).toBe('2001:db8:0:0::/64');
    expect(networkKey('[2001:db8::1]')).toBe('2001:db8:0:0::/64');
  });

  it.each([
    undefined,
    '',
    ' ',
    'unknown',
    '192.0.2',
    '192.0.2.256',
    '192.0.2.01',
    '::1::',
    'g::',
    '[192.0.2.1',
    '_hidden',
  ])('returns no key for an invalid address: %p', (address) => expect(networkKey(address)).toBeUndefined());

  it.each(['x[::1]', '[::1]x', '[::1]:80x', '192.0.2.1:', 'x192.0.2.1:80'])('refuses %s as an address', (text) => {
    expect(networkKey(text)).toBeUndefined();
  });

  it('never throws', () => {
    fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => void networkKey(text)));
    fc.assert(fc.property(fc.stringMatching(/^[0-9a-f:.%[\]]{0,40}$/), (text) => void networkKey(text)));
  });
});
