import { createOnce } from '../../lib/core/bounded-map.ts';

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
  it('shares its result among all callers, and runs again for another key', async () => {
    const once = createOnce<number>({ ttlMs: 60_000, max: 10, now });
    expect(await Promise.all([once(['a'], succeed), once(['a'], succeed), once(['b'], succeed)])).toEqual([1, 1, 2]);
  });

  it('runs again when its result has expired by the given clock', async () => {
    const once = createOnce<number>({ ttlMs: 60_000, max: 10, now });
    await once(['a'], succeed);
    time += 60_000;
    expect(await once(['a'], succeed)).toBe(1);
    time += 1;
    expect(await once(['a'], succeed)).toBe(2);
  });

  it('shares a failure, too', async () => {
    const once = createOnce<number>({ ttlMs: 60_000, max: 10, now });
    await expect(once(['a'], fail)).rejects.toThrow('failure 1');
    await expect(once(['a'], fail)).rejects.toThrow('failure 1');
  });

  it('shares a failure only among concurrent callers if it keeps successes', async () => {
    const once = createOnce<number>({ ttlMs: 60_000, max: 10, now, keeps: 'successes' });
    const failures = await Promise.allSettled([once(['a'], fail), once(['a'], fail)]);
    expect([failures.map(({ status }) => status), runs]).toEqual([['rejected', 'rejected'], 1]);
    expect(await once(['a'], succeed)).toBe(2);
    expect(await once(['a'], succeed)).toBe(2);
  });

  it('shares every outcome only among concurrent callers if it keeps none', async () => {
    const once = createOnce<number>({ ttlMs: 60_000, max: 10, now, keeps: 'none' });
    expect(await Promise.all([once(['a'], succeed), once(['a'], succeed)])).toEqual([1, 1]);
    expect(await once(['a'], succeed)).toBe(2);
    await expect(once(['a'], fail)).rejects.toThrow('failure 3');
    expect(await once(['a'], succeed)).toBe(4);
  });

  it('remembers no more keys than its limit', async () => {
    const once = createOnce<number>({ ttlMs: 60_000, max: 1, now });
    await once(['a'], succeed);
    await once(['b'], succeed);
    expect(await once(['a'], succeed)).toBe(3);
  });

  it.each([
    ['results', async () => 'x'.repeat(100_000)],
    ['failures', async () => Promise.reject(new Error('refused'))],
  ])('remembers 8 MB of %s at most, the newest', async (_, work: () => Promise<string>) => {
    const once = createOnce<string>({ ttlMs: 60_000, max: 10_000, now });
    const count = async (): Promise<string> => {
      runs += 1;
      return work();
    };
    const keys = Array.from({ length: 3_000 }, (__, index) => `key ${index}`);
    for (const key of keys) await once([key], count).catch(() => undefined);
    runs = 0;
    for (const key of keys.slice(-30)) await once([key], count).catch(() => undefined);
    expect(runs).toBe(0);
    await once([keys[0]!], count).catch(() => undefined);
    expect(runs).toBe(1);
  });

  it('measures a failure by the response that it holds, directly or as its cause', async () => {
    const large = 'x'.repeat(200_000);
    const failures = [
      () => new Error(large),
      () => Object.assign(new Error('refused'), { rawData: large }),
      () => new Error('refused', { cause: Object.assign(new Error('refused'), { body: large }) }),
      () => new Error('refused', { cause: new Error(large) }),
    ];
    for (const failure of failures) {
      runs = 0;
      const once = createOnce<never>({ ttlMs: 60_000, max: 10_000, now });
      const refuse = async (): Promise<never> => {
        runs += 1;
        throw failure();
      };
      const keys = Array.from({ length: 60 }, (_, index) => `key ${index}`);
      for (const key of [...keys, keys[0]!]) await once([key], refuse).catch(() => undefined);
      expect(runs).toBe(61);
    }
  });

  it('measures the lifetime from the start of the work, whatever the size of the result', async () => {
    const once = createOnce<string>({ ttlMs: 60_000, max: 10, now });
    await once(['a'], async () => {
      await Promise.resolve();
      time += 30_000;
      return 'x'.repeat(1_000);
    });
    time += 30_001;
    expect(await once(['a'], async () => 'again')).toBe('again');
  });

  it('remembers a result that cannot be serialized, without an unhandled rejection', async () => {
    const rejected: unknown[] = [];
    const listen = (reason: unknown): void => void rejected.push(reason);
    process.on('unhandledRejection', listen);
    const once = createOnce<{ readonly id: bigint }>({ ttlMs: 60_000, max: 10, now });
    const first = await once(['a'], () => Promise.resolve({ id: 10n }));
    await new Promise((resolve) => setImmediate(resolve));
    process.off('unhandledRejection', listen);
    expect(await once(['a'], () => Promise.resolve({ id: 11n }))).toBe(first);
    expect(rejected).toEqual([]);
  });
});
