import { createTelling } from '../../lib/session/outages.ts';
import { createClock } from '../support/clock.ts';
import { createMemoryApp, tokenLifetimeMs } from '../support/memory-sessions.ts';
import { createShared } from '../support/shared-memory.ts';

/** Tells what fails as often as it says. */
function createTeller(failures: number, pause: Promise<unknown> = Promise.resolve()) {
  const [pauses, failed]: [number[], unknown[]] = [[], []];
  const work: Promise<unknown>[] = [];
  let attempts = 0;
  const outages = { failed: (operation: string) => failed.push(operation), succeeded: () => undefined };
  const background = { outlive: (each: Promise<unknown>) => work.push(each) };
  const telling = createTelling('record', outages, background, async (ms) => {
    pauses.push(ms);
    await pause;
  });
  const send = async (): Promise<void> => {
    attempts += 1;
    if (attempts <= failures) throw new Error('away');
  };
  return { telling, send, pauses, failed, work, attempts: () => attempts };
}

describe('what the other processes are to know', () => {
  it.each([
    ['once where that works', 0, 1, []],
    ['again where it fails for a moment', 1, 2, [1_100]],
    ['three times at most', 9, 3, [1_100, 3_000]],
  ])('is told %s', async (_, failures, attempts, pauses) => {
    const teller = createTeller(failures);
    await teller.telling(teller.send);
    await Promise.all(teller.work);
    expect([teller.attempts(), teller.pauses]).toEqual([attempts, pauses]);
    expect(teller.failed).toHaveLength(Math.min(failures, 3));
  });

  it('keeps no one waiting for the second attempt', async () => {
    const pause = Promise.withResolvers<undefined>();
    const teller = createTeller(1, pause.promise);
    await teller.telling(teller.send);
    expect(teller.attempts()).toBe(1);
    pause.resolve(undefined);
    await Promise.all(teller.work);
    expect(teller.attempts()).toBe(2);
  });
});

it('a sign-out is told again, and holds in the other process', async () => {
  const shared = createShared();
  const clock = createClock();
  const [one, two] = [createMemoryApp({ clock, shared }), createMemoryApp({ clock, shared })];
  const content = one.provider.issue('ada');
  shared.isDown = true;
  await one.resolver.revokeSession({ sessionId: content.sessionId, tokenLifetimeMs });
  shared.isDown = false;
  expect(await two.resolver.signOutOf(content.sessionId)).toBeUndefined();
  const merge = shared.merge.bind(shared);
  const told = Promise.withResolvers<undefined>();
  shared.merge = async (...change) => {
    await merge(...change);
    told.resolve(undefined);
  };
  await told.promise;
  expect(await two.resolver.signOutOf(content.sessionId)).toBe('signed_out');
});
