import { jest } from '@jest/globals';
import type { RefreshOutcome } from '../../../lib/session/source.ts';
import { createClock } from '../../support/clock.ts';
import {
  createMemoryApp,
  createMemoryBrowser,
  createMemoryProvider,
  tokenLifetimeMs,
  visit,
} from '../../support/memory-sessions.ts';
import type { MemoryContent } from '../../support/memory-sessions.ts';
import { createShared } from '../../support/shared-memory.ts';

/** A provider that gives its answer once more for 30 seconds, as WorkOS does, and two processes; the second one's clock is behind. */
function setUp(behindMs: number) {
  const clock = createClock();
  const shared = createShared(clock.now);
  const provider = createMemoryProvider(clock);
  const given = new Map<string, { readonly at: number; readonly outcome: RefreshOutcome<MemoryContent> }>();
  const refresh = async (content: MemoryContent): Promise<RefreshOutcome<MemoryContent>> => {
    const known = given.get(content.refreshToken);
    if (known !== undefined && clock.now() - known.at <= 30_000) return known.outcome;
    const outcome = await provider.refresh(content);
    given.set(content.refreshToken, { at: clock.now(), outcome });
    return outcome;
  };
  const source = { refresh };
  const behind = { now: () => clock.now() - behindMs, advance: (ms: number) => clock.advance(ms) };
  const one = createMemoryApp({ clock, shared, provider, source });
  const two = createMemoryApp({ clock: behind, shared, provider, source });
  return { clock, provider, one, two };
}

it.each([0, 30_000])(
  'an answer that the provider gives again leads on to the newest tokens, by a clock that is %d ms behind',
  async (behindMs) => {
    const { clock, provider, one, two } = setUp(behindMs);
    const [browser, other] = [createMemoryBrowser(provider.issue('ada')), createMemoryBrowser(provider.issue('bob'))];
    const first = browser.header();
    clock.advance(tokenLifetimeMs + behindMs + 1_000);
    // From its first refresh on, the process knows how far the provider's clock is ahead.
    other.receive(await visit(two, other.header()));
    const arrive = async () => {
      const response = await visit(one, browser.header());
      browser.receive(response);
      response.onDelivered?.();
    };
    await arrive();
    clock.advance(10_000);
    await one.resolver.renewSession({ userId: 'ada' });
    await arrive();
    const newest = browser.cookie;
    clock.advance(17_000);
    // The answers of the first token are closed here, and the provider gives its own again.
    const late = await visit(two, first);
    browser.receive(late);
    expect(browser.cookie).toBe(newest);
    clock.advance(tokenLifetimeMs);
    expect((await visit(one, browser.header())).session?.user.id).toBe('ada');
  },
);

it('an answer that the provider gives again leads on, also where it is the first one that a process gets', async () => {
  const { clock, provider, one, two } = setUp(0);
  const browser = createMemoryBrowser(provider.issue('ada'));
  const first = browser.header();
  clock.advance(tokenLifetimeMs);
  browser.receive(await visit(one, first));
  clock.advance(10_000);
  await one.resolver.renewSession({ userId: 'ada' });
  browser.receive(await visit(one, browser.header()));
  await visit(one, browser.header());
  clock.advance(17_000);
  expect((await visit(two, first)).session?.accessToken).toBe('access for refresh-3');
});

it('each answer that the provider gives again leads on, also after another one that it gave again', async () => {
  const { clock, provider, one, two } = setUp(0);
  const browsers = ['ada', 'bob', 'eve'].map((user) => createMemoryBrowser(provider.issue(user)));
  const [, ...firsts] = browsers.map((browser) => browser.header());
  clock.advance(tokenLifetimeMs);
  browsers[0]!.receive(await visit(two, browsers[0]!.header()));
  for (const browser of browsers) browser.receive(await visit(one, browser.header()));
  clock.advance(10_000);
  for (const userId of ['bob', 'eve']) await one.resolver.renewSession({ userId });
  const newest = [];
  for (const browser of browsers) {
    browser.receive(await visit(one, browser.header()));
    newest.push((await visit(one, browser.header())).session?.accessToken);
  }
  clock.advance(17_000);
  const late = [];
  for (const first of firsts) late.push((await visit(two, first)).session?.accessToken);
  expect(late).toEqual(newest.slice(1));
});

it('a refresh costs the coordinator two commands, though the provider counts in seconds', async () => {
  const clock = createClock(1_700_000_000_000);
  const provider = createMemoryProvider(clock);
  const shared = createShared(clock.now);
  const refresh = async (content: MemoryContent): Promise<RefreshOutcome<MemoryContent>> => {
    const outcome = await provider.refresh(content);
    if (outcome.kind !== 'renewed') return outcome;
    const issuedAt = Math.floor(clock.now() / 1_000) * 1_000;
    return { ...outcome, content: { ...outcome.content, issuedAt, expiresAt: issuedAt + tokenLifetimeMs } };
  };
  const app = createMemoryApp({ clock, provider, shared, source: { refresh } });
  const [take, settle] = [jest.spyOn(shared, 'take'), jest.spyOn(shared, 'settle')];
  const browser = createMemoryBrowser(provider.issue('ada'));
  for (const afterMs of [0, 900]) {
    clock.advance(tokenLifetimeMs + afterMs);
    take.mockClear();
    settle.mockClear();
    const answer = await visit(app, browser.header());
    expect([take, settle].map(({ mock }) => mock.calls.length)).toEqual([1, 1]);
    browser.receive(answer);
  }
});

it('a process asks what an answer led to no more once eight answers are as new as its clock says', async () => {
  const clock = createClock();
  const shared = createShared(clock.now);
  let behindMs = 30_000;
  const app = createMemoryApp({
    clock: { ...clock, now: () => clock.now() - behindMs },
    shared,
    provider: createMemoryProvider(clock),
  });
  const browser = createMemoryBrowser(app.provider.issue('ada'));
  const take = jest.spyOn(shared, 'take');
  const looks = async (): Promise<number> => {
    clock.advance(tokenLifetimeMs + 30_000);
    take.mockClear();
    browser.receive(await visit(app, browser.header()));
    return take.mock.calls.filter(([, attempt]) => attempt === undefined).length;
  };
  const found = [await looks()];
  // The clock is set right.
  behindMs = 0;
  for (let refresh = 0; refresh < 10; refresh += 1) found.push(await looks());
  expect(found).toEqual([0, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0]);
});
