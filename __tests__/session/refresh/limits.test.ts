import { createClock } from '../../support/clock.ts';
import {
  createMemoryApp,
  createMemoryBrowser,
  createMemoryProvider,
  createMemorySource,
  tokenLifetimeMs,
  visit,
} from '../../support/memory-sessions.ts';
import { createShared } from '../../support/shared-memory.ts';

const [sent, throttled] = [() => true, 'throttled'];

/** Cookies that anyone can make; only the provider can judge their tokens. */
function setUpUnsealed() {
  const clock = createClock();
  const provider = createMemoryProvider(clock);
  const memory = createMemorySource(provider, clock);
  const verify: typeof memory.verify = async (content, origin) =>
    origin === 'provider' ? memory.verify(content, origin) : { kind: 'unverifiable' };
  const shared = createShared(clock.now);
  const app = createMemoryApp({ clock, provider, shared, source: { isSealed: false, verify } });
  return { app, provider, shared, header: () => createMemoryBrowser(provider.issue('ada')).header() };
}

it('a token that cannot be verified causes no call once the head is sent, also none of the coordinator', async () => {
  const { app, provider, shared, header } = setUpUnsealed();
  expect((await visit(app, header(), sent)).session).toBeNull();
  expect([shared.lookUps, provider.calls]).toEqual([0, []]);
});

it('requests whose head is sent use nothing of what a network may ask in a minute', async () => {
  const { app, header } = setUpUnsealed();
  for (let request = 0; request < 20; request += 1) await visit(app, header(), sent);
  expect((await visit(app, header())).session?.user.id).toBe('ada');
  expect(app.eventTypes()).not.toContain(throttled);
});

it('a sealed session has no limit of refreshes that fail', async () => {
  const app = createMemoryApp();
  const contents = Array.from({ length: 12 }, () => ({ ...app.provider.issue('ada'), sessionId: 'the same' }));
  app.clock.advance(tokenLifetimeMs);
  const headers = contents.map((content) => createMemoryBrowser(content).header());
  app.provider.fault = 'outage';
  for (const header of headers) await expect(visit(app, header)).rejects.toThrow();
  app.provider.fault = undefined;
  for (const header of headers) expect((await visit(app, header)).session?.user.id).toBe('ada');
  expect(app.eventTypes()).not.toContain(throttled);
});
