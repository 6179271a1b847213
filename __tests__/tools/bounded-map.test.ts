import fc from 'fast-check';
import { createBoundedMap, createLazy, stringBytes } from '../../lib/tools/bounded-map.ts';

let time: number;
const now = (): number => time;

beforeEach(() => {
  time = 1_000;
});

describe('a bounded map', () => {
  it('drops the least recently used entry when it is full', () => {
    const map = createBoundedMap<string>({ max: 2, ttlMs: 60_000, now });
    map.set('a', '1');
    map.set('b', '2');
    map.get('a');
    map.set('c', '3');
    expect([map.get('a'), map.get('b'), map.get('c')]).toEqual(['1', undefined, '3']);
  });

  it('counts each entry that is set: a new one, another value, the same value, and an expired one', () => {
    const changes = { count: 0 };
    const map = createBoundedMap<string>({ max: 2, ttlMs: 10, now, changes });
    const counts = ['a', 'b', 'b'].map((value) => {
      map.set('key', value);
      return changes.count;
    });
    time += 11;
    map.set('key', 'b');
    map.get('key');
    map.delete('key');
    expect([...counts, changes.count]).toEqual([1, 2, 3, 4]);
  });

  it('measures entries by a size function if it has one, and holds none that is too large', () => {
    const sizes = { max: 10, maxSizeOfOne: 6, sizeOf: (text: string) => text.length };
    const map = createBoundedMap<string>({ ...sizes, ttlMs: 60_000, now });
    for (const [key, text] of Object.entries({ a: '12345', b: '123456', c: '1234567' })) map.set(key, text);
    expect([map.get('a'), map.get('b'), map.get('c')]).toEqual([undefined, '123456', undefined]);
  });

  it('holds an entry until it expires by the given clock, and no longer', () => {
    const map = createBoundedMap<string>({ max: 2, ttlMs: 60_000, now });
    map.set('a', '1');
    time += 60_000;
    expect(map.get('a')).toBe('1');
    time += 1;
    expect(map.get('a')).toBeUndefined();
  });

  it('says how long an entry lasts, by its own time if it has one', () => {
    const map = createBoundedMap<string>({ max: 2, ttlMs: 60_000, now });
    map.set('a', '1');
    map.set('b', '2', { ttl: 10 });
    time += 4;
    expect(['a', 'b', 'c'].map((key) => map.getRemainingTTL(key))).toEqual([59_996, 6, 0]);
    time += 7;
    expect([map.has('a'), map.has('b')]).toEqual([true, false]);
  });

  it('tells of each entry beyond the limit, and of no other', () => {
    const told: string[] = [];
    const map = createBoundedMap<string>({ max: 2, ttlMs: 10, now, onEvict: (key) => told.push(key) });
    for (const key of ['a', 'b', 'b', 'c']) map.set(key, key);
    map.delete('c');
    time += 11;
    expect([map.has('b'), told]).toEqual([false, ['a']]);
  });

  it('drops what an entry that is too large would have replaced', () => {
    const map = createBoundedMap<string>({ max: 4, ttlMs: 60_000, now, sizeOf: (text) => text.length });
    map.set('a', '1');
    map.set('a', '12345');
    expect(map.has('a')).toBe(false);
  });

  it('does at each step what a list of its entries in the order of use would do', () => {
    const key = fc.constantFrom('a', 'b', 'c', 'd', 'e');
    const step = fc.record({
      act: fc.constantFrom('set', 'set', 'get', 'has', 'delete'),
      key,
      size: fc.integer({ min: 1, max: 5 }),
      passes: fc.constantFrom(0, 0, 3),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const map = createBoundedMap<{ readonly size: number }>({ max: 8, ttlMs: 10, now, sizeOf: ({ size }) => size });
        let list: { readonly key: string; readonly value: { readonly size: number }; readonly endsAt: number }[] = [];
        for (const { act, key, size, passes } of steps) {
          time += passes;
          // Like the map, the list has entries whose time is over until they are asked for.
          list = list.filter((each) => each.key !== key || time <= each.endsAt);
          const found = list.find((each) => each.key === key);
          if (act === 'has') expect(map.has(key)).toBe(found !== undefined);
          if (act === 'get') expect(map.get(key)).toBe(found?.value);
          if (act === 'delete') map.delete(key);
          const value = { size };
          if (act === 'set') map.set(key, value);
          if (act !== 'has') list = list.filter((each) => each !== found);
          if (act === 'get' && found !== undefined) list.push(found);
          if (act === 'set') list.push({ key, value, endsAt: time + 10 });
          while (list.reduce((sum, each) => sum + each.value.size, 0) > 8) list.shift();
        }
        const left = list.filter(({ endsAt }) => time <= endsAt).map((each) => each.key);
        expect(['a', 'b', 'c', 'd', 'e'].filter((each) => map.has(each))).toEqual(left.sort());
      }),
    );
  });
});

it.each([
  ['', 0],
  ['abc\0', 4],
  ['\n\xff', 2],
  ['ab\u0100', 6],
  ['\u0100ab', 6],
  ['😀', 4],
])('the characters of %j take %i bytes', (text, bytes) => {
  expect(stringBytes(text)).toBe(bytes);
});

it('loads with the first call, once, and again after a failure', async () => {
  const outcomes = [Promise.reject(new Error('too many files')), Promise.resolve('loaded')];
  let calls = 0;
  const load = createLazy(() => outcomes[calls++] ?? Promise.resolve('again'));
  expect(calls).toBe(0);
  const failed = [load(), load()];
  await expect(failed[0]).rejects.toThrow('too many files');
  await expect(failed[1]).rejects.toThrow('too many files');
  expect(calls).toBe(1);
  expect(await Promise.all([load(), load()])).toEqual(['loaded', 'loaded']);
  expect(await load()).toBe('loaded');
  expect(calls).toBe(2);
});
