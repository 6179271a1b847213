import { createClock } from '../../support/clock.ts';
import {
  createMemoryApp,
  createMemoryBrowser,
  createMemoryProvider,
  createMemorySource,
  tokenLifetimeMs,
  visit,
} from '../../support/memory-sessions.ts';
import type { MemoryContent } from '../../support/memory-sessions.ts';
import { createShared } from '../../support/shared-memory.ts';
import { until } from '../../support/until.ts';

it('requests at once are all signed in, also by a clock that finds each new token due', async () => {
  const clock = createClock();
  const provider = createMemoryProvider(clock);
  const ahead = { ...clock, now: () => clock.now() + tokenLifetimeMs - 5_000 };
  const app = createMemoryApp({ clock: ahead, provider });
  const header = createMemoryBrowser(provider.issue('ada')).header();
  clock.advance(tokenLifetimeMs);
  const answers = await Promise.all(Array.from({ length: 8 }, () => visit(app, header)));
  expect(answers.map(({ session }) => session?.user.id)).toEqual(Array(8).fill('ada'));
  expect(provider.calls).toHaveLength(4);
});

it('a late request gets what a switch in another process led to', async () => {
  const clock = createClock();
  const setup = { clock, provider: createMemoryProvider(clock), shared: createShared(clock.now) };
  const [one, two] = [createMemoryApp(setup), createMemoryApp(setup)];
  const browser = createMemoryBrowser(setup.provider.issue('ada'));
  const late = browser.header();
  clock.advance(tokenLifetimeMs);
  browser.receive(await visit(one, late));
  const refresh = (content: MemoryContent) => setup.provider.refresh(content);
  await two.resolver.switchSession(browser.header(), { name: 'south', isReached: () => false, refresh }, {});
  expect((await visit(one, late)).session?.accessToken).toBe('access for refresh-3');
});

it('a refusal of the provider ends nothing where a new sign-in has taken the place of the session meanwhile', async () => {
  const gate = Promise.withResolvers<unknown>();
  const app = createMemoryApp({ pause: (what) => (what === 'refresh' ? gate.promise : Promise.resolve()) });
  const { sessionId, ...content } = app.provider.issue('ada');
  app.clock.advance(tokenLifetimeMs);
  const visiting = visit(app, createMemoryBrowser({ sessionId, ...content }).header());
  await until(() => app.provider.calls.length > 0);
  app.provider.revoke(sessionId);
  await app.resolver.markReplaced({ sessionId, tokenLifetimeMs });
  gate.resolve(undefined);
  // The browser holds the cookie of the new sign-in.
  expect(await visiting).toEqual({ session: null, cookies: [] });
  expect(app.events).toEqual([]);
});

describe('where only the record of a switch is left', () => {
  const isReached = ({ accessToken }: { readonly accessToken: string }): boolean => accessToken.endsWith('refresh-3');

  /** The second process sees what the first one records, but no answers. */
  function setUp(change: (content: MemoryContent) => MemoryContent = (content) => content) {
    const clock = createClock();
    const provider = createMemoryProvider(clock);
    const given: MemoryContent[] = [];
    const refresh = async (content: MemoryContent): ReturnType<typeof provider.refresh> => {
      const outcome = await provider.refresh(content);
      if (outcome.kind !== 'renewed') return outcome;
      given.push(change(outcome.content));
      return { ...outcome, content: change(outcome.content) };
    };
    const source = createMemorySource(provider, clock);
    const shared = createShared(clock.now);
    const records: typeof shared = {
      ...createShared(clock.now),
      read: (subject) => shared.read(subject),
      merge: (...call) => shared.merge(...call),
    };
    const verify: typeof source.verify = async (content, ...asked) => {
      const verdict = await source.verify(content, ...asked);
      const isRefused = content.refreshToken === 'refresh-2' && verdict.kind === 'live';
      return isRefused ? { kind: 'invalid', reason: 'audience' } : verdict;
    };
    const one = createMemoryApp({ clock, provider, shared, source: { refresh } });
    const refusing = createMemoryApp({ clock, provider, shared, source: { verify } });
    const two = createMemoryApp({ clock, provider, shared: records });
    return { clock, provider, given, one, two, refusing, variant: { name: 'south', isReached, refresh } };
  }

  it.each([0, 1])(
    'no token that led to it is sent again, of whatever session: after %d refreshes',
    async (refreshes) => {
      const { clock, provider, variant, given, one, two } = setUp((content) => ({
        ...content,
        sessionId: `of ${content.refreshToken}`,
      }));
      const first = provider.issue('ada');
      const header = createMemoryBrowser(first).header();
      clock.advance(tokenLifetimeMs);
      await visit(one, header);
      await one.resolver.switchSession(header, variant, {});
      clock.advance(tokenLifetimeMs);
      const spent = createMemoryBrowser([first, ...given][refreshes]).header();
      expect((await visit(two, spent)).session).toBeNull();
      expect(provider.calls).toEqual(['refresh-1', 'refresh-2']);
    },
  );

  it('its token is not sent again, also where the new tokens cannot be accepted', async () => {
    const { clock, provider, variant, refusing, two } = setUp();
    const header = createMemoryBrowser(provider.issue('ada')).header();
    await expect(refusing.resolver.switchSession(header, variant, {})).rejects.toMatchObject({
      code: 'token_rejected',
    });
    clock.advance(tokenLifetimeMs);
    expect((await visit(two, header)).session).toBeNull();
    expect(provider.calls).toEqual(['refresh-1']);
  });
});
