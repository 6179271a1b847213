import { createMasterOf, slotOf } from '../../lib/tools/redis-slot.ts';

describe('the slot of a key', () => {
  // `CLUSTER KEYSLOT` of Redis 7.0.15.
  it.each([
    ['123456789', 12739],
    ['foo', 12182],
    ['bar', 5061],
    ['', 0],
    ['{user1000}.following', 3443],
    ['{user1000}.followers', 3443],
    ['foo{}{bar}', 8363],
    ['foo{{bar}}zap', 4015],
    ['foo{bar}{zap}', 5061],
    ['é', 10180],
    ['a}b', 7866],
    ['}{foo}', 12182],
  ])('%p is %i', (key, slot) => {
    expect(slotOf(key)).toBe(slot);
  });
});

describe('the master node of a key', () => {
  it('is the same for all keys if the client is not a cluster client', () => {
    expect(createMasterOf({})('foo')).toBe('');
  });

  it('counts the prefix that ioredis puts before every key', () => {
    const slots: [string][] = [];
    slots[slotOf('app:foo')] = ['one:6379'];
    expect(createMasterOf({ slots, options: { keyPrefix: 'app:' } })('foo')).toBe('one:6379');
    for (const options of [{}, null]) expect(createMasterOf({ slots, options })('foo')).toBe('slot 12182');
  });

  it('is read from the slots of both clients', () => {
    const entries: readonly [unknown, string][] = [
      [['one:6379', 'replica:6379'], 'one:6379'],
      [{ master: { address: 'two:6379' } }, 'two:6379'],
      [{ master: { address: 6379 } }, 'slot 12182'],
      [{ master: {} }, 'slot 12182'],
    ];
    for (const [entry, expected] of entries) {
      const slots: unknown[] = [];
      slots[slotOf('foo')] = entry;
      expect(createMasterOf({ slots })('foo')).toBe(expected);
    }
  });

  it('is identified by its slot if the client does not know it', () => {
    expect(createMasterOf({ slots: [] })('foo')).toBe('slot 12182');
    expect(createMasterOf({ slots: Array.from({ length: 16_384 }, () => ({})) })('foo')).toBe('slot 12182');
    expect(createMasterOf({ slots: Array.from({ length: 16_384 }, () => [1]) })('foo')).toBe('slot 12182');
  });
});
