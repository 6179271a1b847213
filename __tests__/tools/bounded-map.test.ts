import { createBoundedMap, createLazy, stringBytes } from '../../lib/tools/bounded-map.ts';

let time: number;
const now = (): number => time;

beforeEach(() => {
  time = 1_000;
});

describe('a bounded map', () => {
  it('drops the least recently used entry when it is full', () => {
    const map = createBoundedMap<string>({ max: 2, ttlMs: 60_000, now });
    map.set('a', '1').set('b', '2');
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
    map.set('a', '12345').set('b', '123456').set('c', '1234567');
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
