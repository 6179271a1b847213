import { createOnce } from '../../lib/core/once.ts';

let time: number;
let runs: number;
const now = (): number => time;

beforeEach(() => {
  time = 1_000;
  runs = 0;
});

const succeed = async (): Promise<number> => ++runs;
const fail = async (): Promise<number> => {
  runs += 1;
  throw new Error(`failure ${runs}`);
};

describe('work that runs once per key', () => {
  it('gives its outcome to everybody who asks, and runs again under another key', async () => {
    const once = createOnce<number>({ ttlMs: 60_000, max: 10, now });
    expect(await Promise.all([once(['a'], succeed), once(['a'], succeed), once(['b'], succeed)])).toEqual([1, 1, 2]);
  });

  it('runs again when its time is over by the given clock', async () => {
    const once = createOnce<number>({ ttlMs: 60_000, max: 10, now });
    await once(['a'], succeed);
    time += 60_000;
    expect(await once(['a'], succeed)).toBe(1);
    time += 1;
    expect(await once(['a'], succeed)).toBe(2);
  });

  it('fails once for everybody, too', async () => {
    const once = createOnce<number>({ ttlMs: 60_000, max: 10, now });
    await expect(once(['a'], fail)).rejects.toThrow('failure 1');
    await expect(once(['a'], fail)).rejects.toThrow('failure 1');
  });

  it('remembers no more keys than it may', async () => {
    const once = createOnce<number>({ ttlMs: 60_000, max: 1, now });
    await once(['a'], succeed);
    await once(['b'], succeed);
    expect(await once(['a'], succeed)).toBe(3);
  });
});
