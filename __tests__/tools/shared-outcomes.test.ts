import { createSharedOutcomes } from '../../lib/tools/shared-outcomes.ts';

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
const forMinute = { keepMs: () => 60_000, failureMs: 60_000 };

describe('callers of one key', () => {
  it('share a result while the work runs, and callers of another key have their own', async () => {
    const outcomes = createSharedOutcomes<number>({ now });
    const share = (key: string) => outcomes.share([key], succeed);
    expect(await Promise.all([share('a'), share('a'), share('b')])).toEqual([1, 1, 2]);
    expect(await share('a')).toBe(3);
  });

  it('share a failure while the work runs', async () => {
    const outcomes = createSharedOutcomes<number>({ now, keepMs: () => 60_000 });
    const failures = await Promise.allSettled([outcomes.share(['a'], fail), outcomes.share(['a'], fail)]);
    expect([failures.map(({ status }) => status), runs]).toEqual([['rejected', 'rejected'], 1]);
    expect(await outcomes.share(['a'], succeed)).toBe(2);
  });

  it('have the same key only if all its parts are equal', async () => {
    const outcomes = createSharedOutcomes<number>({ now });
    const keys = [['a', 'b'], ['ab'], ['a', 'b', ''], ['a,b']];
    expect(await Promise.all(keys.map((key) => outcomes.share(key, succeed)))).toEqual([1, 2, 3, 4]);
  });

  it('start the work again after a minute without an outcome; a late result is kept where no newer work runs', async () => {
    const outcomes = createSharedOutcomes<string>({ now, ...forMinute });
    const [first, second] = [Promise.withResolvers<string>(), Promise.withResolvers<string>()];
    void outcomes.share(['a'], () => first.promise);
    time += 60_000;
    const joined = outcomes.share(['a'], () => Promise.resolve('not started'));
    time += 1;
    const restarted = outcomes.share(['a'], () => second.promise);
    first.resolve('late');
    expect([await joined, outcomes.kept(['a'])]).toEqual(['late', undefined]);
    second.resolve('new');
    expect([await restarted, outcomes.kept(['a'])]).toEqual(['new', 'new']);
    const third = Promise.withResolvers<string>();
    void outcomes.share(['b'], () => third.promise);
    time += 60_001;
    third.resolve('late');
    await third.promise;
    expect(outcomes.kept(['b'])).toBe('late');
  });
});

describe('an outcome', () => {
  it('is kept from its settling on, as long as its result says', async () => {
    const outcomes = createSharedOutcomes<number>({ now, keepMs: (result) => result * 1_000 });
    await outcomes.share(['a'], async () => {
      await Promise.resolve();
      time += 30_000;
      return 5;
    });
    time += 5_000;
    expect([outcomes.kept(['a']), await outcomes.share(['a'], succeed)]).toEqual([5, 5]);
    time += 1;
    expect([outcomes.kept(['a']), await outcomes.share(['a'], succeed)]).toEqual([undefined, 1]);
  });

  it('is kept where it is a failure and the work must not be tried again', async () => {
    const outcomes = createSharedOutcomes<number>({ now, failureMs: 60_000 });
    await expect(outcomes.share(['a'], fail)).rejects.toThrow('failure 1');
    time += 60_000;
    await expect(outcomes.share(['a'], fail)).rejects.toThrow('failure 1');
    expect(outcomes.kept(['a'])).toBeUndefined();
    time += 1;
    await expect(outcomes.share(['a'], fail)).rejects.toThrow('failure 2');
  });

  it('is no longer shared once forgotten', async () => {
    const outcomes = createSharedOutcomes<number>({ now, ...forMinute });
    await outcomes.share(['a'], succeed);
    outcomes.forget(['a']);
    expect([outcomes.kept(['a']), await outcomes.share(['a'], succeed)]).toEqual([undefined, 2]);
  });

  it('gives way to newer ones beyond the maximum', async () => {
    const outcomes = createSharedOutcomes<number>({ now, ...forMinute, max: 2 });
    for (const key of ['a', 'b', 'a', 'c']) await outcomes.share([key], succeed);
    expect(['a', 'b', 'c'].map((key) => outcomes.kept([key]))).toEqual([1, undefined, 3]);
  });

  it.each([
    ['results', async () => 'x'.repeat(100_000)],
    ['failures', async () => Promise.reject(new Error('x'.repeat(1_000)))],
  ])('takes the place of several if it is large: 8 MB of %s are kept, the newest', async (_, work) => {
    const outcomes = createSharedOutcomes<string>({ now, ...forMinute });
    const count = async (): Promise<string> => {
      runs += 1;
      return work();
    };
    const keys = Array.from({ length: 8_000 }, (__, index) => `key ${index}`);
    for (const key of keys) await outcomes.share([key], count).catch(() => undefined);
    runs = 0;
    for (const key of keys.slice(-30)) await outcomes.share([key], count).catch(() => undefined);
    expect(runs).toBe(0);
    await outcomes.share([keys[0]!], count).catch(() => undefined);
    expect(runs).toBe(1);
  });

  it('is measured by the provider’s response where it is a failure that holds one, directly or as its cause', async () => {
    const large = 'x'.repeat(200_000);
    const failures = [
      () => new Error(large),
      () => Object.assign(new Error('refused'), { rawData: large }),
      () => new Error('refused', { cause: Object.assign(new Error('refused'), { body: large }) }),
      () => new Error('refused', { cause: new Error(large) }),
      () => new Error('refused', { cause: { body: large } }),
    ];
    for (const failure of failures) {
      runs = 0;
      const outcomes = createSharedOutcomes<never>({ now, ...forMinute });
      const refuse = async (): Promise<never> => {
        runs += 1;
        throw failure();
      };
      const keys = Array.from({ length: 60 }, (_, index) => `key ${index}`);
      for (const key of [...keys, keys[0]!]) await outcomes.share([key], refuse).catch(() => undefined);
      expect(runs).toBe(61);
    }
  });

  it('is kept where it has no JSON, without an unhandled rejection', async () => {
    const rejected: unknown[] = [];
    const listen = (reason: unknown): void => void rejected.push(reason);
    process.on('unhandledRejection', listen);
    const outcomes = createSharedOutcomes<{ readonly id: bigint }>({ now, ...forMinute });
    const first = await outcomes.share(['a'], () => Promise.resolve({ id: 10n }));
    await new Promise((resolve) => setImmediate(resolve));
    process.off('unhandledRejection', listen);
    expect(await outcomes.share(['a'], () => Promise.resolve({ id: 11n }))).toBe(first);
    expect(rejected).toEqual([]);
  });
});
