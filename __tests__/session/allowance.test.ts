import { jest } from '@jest/globals';
import { createAllowances } from '../../lib/session/allowance.ts';
import { readToken } from '../../lib/session/jwt.ts';
import { createClock } from '../support/clock.ts';

const home = '192.0.2.1';
const elsewhere = '198.51.100.1';

/** Refreshes beside a verified access token of one session. */
function setUp() {
  const clock = createClock();
  const events: { readonly type: string }[] = [];
  const allowanceOf = createAllowances(clock.now, (event) => void events.push(event));
  let count = 0;
  const refresh = (
    kind: 'renewed' | 'ended',
    { refreshToken = `token-${(count += 1)}`, network = home, sessionId = 'session' } = {},
  ) =>
    allowanceOf(network).refresh({ refreshToken, sessionId, token: readToken('') }, true, () =>
      Promise.resolve({ kind }),
    );
  const refreshTimes = async (times: number, ...call: Parameters<typeof refresh>): Promise<void> => {
    for (let time = 0; time < times; time += 1) await refresh(...call);
  };
  return { clock, events, refresh, refreshTimes };
}

describe('refresh tokens beside a genuine access token', () => {
  it('that fail are limited to ten a minute, which is reported once', async () => {
    const { clock, events, refresh, refreshTimes } = setUp();
    await refreshTimes(5, 'ended');
    clock.advance(20_000);
    // The minute begins with the first of them.
    await refreshTimes(5, 'ended');
    for (let time = 0; time < 3; time += 1) {
      await expect(refresh('ended')).rejects.toMatchObject({ code: 'provider_unavailable', retryAfter: 40 });
    }
    expect(events).toEqual([{ type: 'throttled', scope: 'network' }]);
    clock.advance(40_001);
    await expect(refresh('ended')).resolves.toEqual({ kind: 'ended' });
  });

  it('that fail count for their network alone', async () => {
    const { refresh, refreshTimes } = setUp();
    await refreshTimes(10, 'ended', { network: elsewhere });
    await expect(refresh('ended', { network: elsewhere })).rejects.toMatchObject({ code: 'provider_unavailable' });
    await expect(refresh('renewed')).resolves.toEqual({ kind: 'renewed' });
  });

  it('that fail count for their session alone', async () => {
    const { refresh, refreshTimes } = setUp();
    await refreshTimes(10, 'ended', { sessionId: 'stolen' });
    await expect(refresh('renewed')).resolves.toEqual({ kind: 'renewed' });
  });

  it('that fail count for their access token alone, if it names no session', async () => {
    const { allowanceOf } = setUpCalls();
    let count = 0;
    const fail = (text: string) => {
      const token = { text, header: {}, claims: {}, isCompact: true };
      const stored = { refreshToken: `token-${(count += 1)}`, sessionId: undefined, token };
      return allowanceOf(home).refresh(stored, true, () => Promise.resolve({ kind: 'ended' }));
    };
    for (let time = 0; time < 10; time += 1) await fail('one');
    await expect(fail('one')).rejects.toMatchObject({ code: 'provider_unavailable' });
    for (const other of ['another', '']) expect(await fail(other)).toEqual({ kind: 'ended' });
  });

  it('that succeed do not count', async () => {
    const { refresh, refreshTimes } = setUp();
    await refreshTimes(25, 'renewed');
    await refreshTimes(9, 'ended');
    await refreshTimes(5, 'renewed');
    await expect(refresh('ended')).resolves.toEqual({ kind: 'ended' });
    await expect(refresh('ended')).rejects.toMatchObject({ code: 'provider_unavailable' });
  });

  it('that are repeated count once', async () => {
    const { refresh, refreshTimes } = setUp();
    await refreshTimes(15, 'ended', { refreshToken: 'the same' });
    await refreshTimes(9, 'ended');
    await expect(refresh('ended', { refreshToken: 'the same' })).resolves.toEqual({ kind: 'ended' });
    await expect(refresh('ended')).rejects.toMatchObject({ code: 'provider_unavailable' });
  });
});

/** Requests with a token each that only the provider can judge. */
function setUpCalls() {
  const clock = createClock();
  const events: { readonly type: string }[] = [];
  const allowanceOf = createAllowances(clock.now, (event) => void events.push(event));
  const request = (isGenuine: boolean | Promise<boolean> = false, network = home) =>
    allowanceOf(network).spend(
      {},
      async () => isGenuine,
      (result) => result,
    );
  const requestTimes = async (times: number, ...call: Parameters<typeof request>): Promise<void> => {
    for (let time = 0; time < times; time += 1) await request(...call);
  };
  return { clock, events, allowanceOf, request, requestTimes };
}

const used = { code: 'provider_unavailable' };
const nextTurn = (): Promise<unknown> => new Promise((resolve) => setImmediate(resolve));

describe('calls for unverified tokens', () => {
  it('are limited to ten a minute, which is reported once', async () => {
    const { clock, events, request, requestTimes } = setUpCalls();
    for (let minute = 0; minute < 2; minute += 1) {
      events.length = 0;
      await requestTimes(5);
      clock.advance(20_000);
      await requestTimes(5);
      for (let time = 0; time < 3; time += 1) {
        await expect(request()).rejects.toMatchObject({ ...used, retryAfter: 40 });
      }
      expect(events).toEqual([{ type: 'throttled', scope: 'network' }]);
      clock.advance(40_001);
    }
  });

  it('that prove their token do not count', async () => {
    const { request, requestTimes } = setUpCalls();
    await requestTimes(25, true);
    await requestTimes(10);
    await expect(request(true)).rejects.toMatchObject(used);
  });

  it('that fail count', async () => {
    const { request } = setUpCalls();
    const down = new Error('down');
    for (let time = 0; time < 10; time += 1) await expect(request(Promise.reject(down))).rejects.toBe(down);
    await expect(request()).rejects.toMatchObject(used);
  });

  it('count for their network alone', async () => {
    const { request, requestTimes } = setUpCalls();
    await requestTimes(10, false, home);
    for (const network of [elsewhere, 'no address']) expect(await request(false, network)).toBe(false);
  });

  it('without an address count together', async () => {
    const { allowanceOf } = setUpCalls();
    const call = (peer: string | undefined) =>
      allowanceOf(peer).spend(
        {},
        () => Promise.resolve(),
        () => false,
      );
    for (let time = 0; time < 5; time += 1) {
      await call(undefined);
      await call('no address');
    }
    await expect(call(undefined)).rejects.toMatchObject(used);
  });

  it('are for one token of each request', async () => {
    const { allowanceOf } = setUpCalls();
    const allowance = allowanceOf(home);
    const token = { text: 'own', header: {}, claims: {}, isCompact: true };
    const stored = { refreshToken: 'own', sessionId: undefined, token: readToken('another') };
    const ended = () => Promise.resolve({ kind: 'ended' });
    const isProof = () => false;
    await allowance.spend(token, ended, isProof);
    expect(await allowance.spend(token, ended, isProof)).toEqual({ kind: 'ended' });
    expect(await allowance.refresh({ ...stored, token }, false, ended)).toEqual({ kind: 'ended' });
    const called = jest.fn(ended);
    await expect(allowance.spend({ ...token }, called, isProof)).rejects.toMatchObject({ ...used, retryAfter: 1 });
    await expect(allowance.refresh(stored, false, called)).rejects.toMatchObject({ ...used, retryAfter: 1 });
    expect(called).not.toHaveBeenCalled();
  });

  it('are refreshes, too, unless they renew', async () => {
    const { allowanceOf } = setUpCalls();
    const refresh = (kind: string) =>
      allowanceOf(home).refresh({ refreshToken: '', sessionId: undefined, token: readToken('') }, false, () =>
        Promise.resolve({ kind }),
      );
    for (let time = 0; time < 15; time += 1) await refresh('renewed');
    for (let time = 0; time < 10; time += 1) await refresh('ended');
    await expect(refresh('renewed')).rejects.toMatchObject(used);
  });

  it('run side by side; those beyond ten wait, and take the place of each that proves its token', async () => {
    const { allowanceOf } = setUpCalls();
    const running: PromiseWithResolvers<boolean>[] = [];
    const call = (): Promise<boolean> => {
      running.push(Promise.withResolvers<boolean>());
      return running.at(-1)!.promise;
    };
    const outcomes = Array.from({ length: 13 }, () =>
      allowanceOf(home)
        .spend({}, call, (result) => result)
        .catch((error: unknown) => error),
    );
    await nextTurn();
    expect(running).toHaveLength(10);
    for (const [index, isProof, expected] of [
      [0, true, 11],
      [1, false, 11],
      [2, true, 12],
    ] as const) {
      running[index]!.resolve(isProof);
      await nextTurn();
      expect(running).toHaveLength(expected);
    }
    for (const each of running) {
      each.resolve(false);
      await nextTurn();
    }
    const judged = await Promise.all(outcomes);
    expect(judged.slice(0, 12)).toEqual([true, false, true, ...Array.from({ length: 9 }, () => false)]);
    expect(judged[12]).toMatchObject(used);
  });
});
