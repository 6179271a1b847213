import { createAllowances } from '../../lib/session/allowance.ts';
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
  ) => allowanceOf(network).refresh({ refreshToken, sessionId }, true, () => Promise.resolve({ kind }));
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
