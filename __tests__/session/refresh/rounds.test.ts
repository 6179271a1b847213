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
  expect(answers.at(-1)?.session?.accessToken).toBe('access for refresh-5');
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

describe('a refusal of the provider', () => {
  /** A request whose exchange waits for the test. The provider names another session with each of them. */
  function setUp() {
    const gates = [Promise.resolve<unknown>(undefined)];
    const clock = createClock();
    const provider = createMemoryProvider(clock, (what) => (what === 'refresh' ? gates.at(-1)! : Promise.resolve()));
    const refresh = async (content: MemoryContent): ReturnType<typeof provider.refresh> => {
      const outcome = await provider.refresh(content);
      if (outcome.kind !== 'renewed') return outcome;
      return { ...outcome, content: { ...outcome.content, sessionId: `after ${content.sessionId}` } };
    };
    const app = createMemoryApp({ clock, provider, source: { refresh } });
    const visitAfter = async (header: string | undefined, change: () => Promise<unknown>) => {
      const [gate, calls] = [Promise.withResolvers<unknown>(), provider.calls.length];
      gates.push(gate.promise);
      const visiting = visit(app, header);
      await until(() => provider.calls.length > calls);
      await change();
      gate.resolve(undefined);
      return visiting;
    };
    return { app, clock, provider, visitAfter };
  }

  it.each([0, 1])(
    'ends nothing where a sign-in has replaced the session meanwhile: after %d renewals',
    async (renewals) => {
      const { app, clock, provider, visitAfter } = setUp();
      const { sessionId, ...content } = provider.issue('ada');
      const header = createMemoryBrowser({ sessionId, ...content }).header();
      clock.advance(tokenLifetimeMs);
      for (let renewal = 0; renewal < renewals; renewal += 1) await visit(app, header);
      clock.advance(tokenLifetimeMs);
      const resolution = await visitAfter(header, () => {
        for (const id of [sessionId, `after ${sessionId}`]) provider.revoke(id);
        return app.resolver.markReplaced({ sessionId, tokenLifetimeMs });
      });
      // The browser holds the cookie of the new sign-in.
      expect(resolution).toEqual({ session: null, cookies: [] });
      expect(app.eventTypes()).not.toContain('session_ended');
    },
  );

  it('ends a session that has itself replaced one of the same id', async () => {
    const { app, clock, provider } = setUp();
    const { sessionId } = provider.issue('ada');
    await app.resolver.markReplaced({ sessionId, tokenLifetimeMs });
    clock.advance(1_000);
    const header = createMemoryBrowser({ ...provider.issue('ada'), sessionId }).header();
    provider.revoke(sessionId);
    clock.advance(tokenLifetimeMs);
    expect((await visit(app, header)).cookies).toEqual([{ name: 'memory', value: undefined }]);
    expect(app.eventTypes()).toContain('session_ended');
  });
});

it('the end of a session during a renewal leaves nothing of it, also for earlier tokens', async () => {
  const gates = [Promise.resolve<unknown>(undefined)];
  const app = createMemoryApp({ pause: (what) => (what === 'answer' ? gates.at(-1)! : Promise.resolve()) });
  const { clock, provider } = app;
  const content = provider.issue('ada');
  const header = createMemoryBrowser(content).header();
  clock.advance(tokenLifetimeMs);
  await visit(app, header);
  clock.advance(tokenLifetimeMs);
  const gate = Promise.withResolvers<unknown>();
  gates.push(gate.promise);
  const visiting = visit(app, header);
  await until(() => provider.calls.length === 2);
  await app.resolver.revokeSession({ sessionId: content.sessionId, tokenLifetimeMs });
  gate.resolve(undefined);
  expect((await visiting).session).toBeNull();
  // By now the process does not remember the end.
  clock.advance(2 * tokenLifetimeMs);
  expect((await visit(app, header)).session).toBeNull();
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

it('tokens that were issued after a switch are not spent by it, also where the provider’s clock is behind', async () => {
  const clock = createClock();
  const provider = createMemoryProvider(clock);
  const ahead = { ...clock, now: () => clock.now() + 60_000 };
  let calls = 0;
  // It gives the same refresh token again.
  const refresh = async (content: MemoryContent) => {
    calls += 1;
    const times = { issuedAt: clock.now(), expiresAt: clock.now() + tokenLifetimeMs };
    return { kind: 'renewed', content: { ...content, ...times } } as const;
  };
  const app = createMemoryApp({ clock: ahead, provider, source: { refresh } });
  const browser = createMemoryBrowser(provider.issue('ada'));
  clock.advance(tokenLifetimeMs);
  const variant = { name: 'south', isReached: () => false, refresh };
  browser.receive(await app.resolver.switchSession(browser.header(), variant, {}));
  clock.advance(5_000);
  await app.resolver.renewSession({ userId: 'ada' });
  browser.receive(await visit(app, browser.header()));
  expect((await visit(app, browser.header())).cookies).toEqual([]);
  expect(calls).toBe(2);
});

it('tokens that have expired when they come cost one call, and are reported', async () => {
  const clock = createClock();
  const provider = createMemoryProvider(clock);
  const ahead = { ...clock, now: () => clock.now() + 2 * tokenLifetimeMs };
  const app = createMemoryApp({ clock: ahead, provider });
  const { sessionId, ...content } = provider.issue('ada');
  const visiting = visit(app, createMemoryBrowser({ sessionId, ...content }).header());
  await expect(visiting).rejects.toMatchObject({ code: 'token_rejected' });
  expect(provider.calls).toHaveLength(1);
  expect(app.events).toEqual([{ type: 'refresh_failed', code: 'token_rejected', reason: 'expired', sessionId }]);
});

it('answers that one user does not fetch take none from another user', async () => {
  const clock = createClock();
  const provider = createMemoryProvider(clock);
  const padding = 'x'.repeat(60_000);
  const refresh = async (content: MemoryContent): ReturnType<typeof provider.refresh> => {
    const outcome = await provider.refresh(content);
    if (outcome.kind !== 'renewed') return outcome;
    return { ...outcome, content: Object.assign(outcome.content, { padding }) };
  };
  const app = createMemoryApp({ clock, provider, source: { refresh } });
  const [own, ...others] = ['ada', ...Array<string>(300).fill('eve')].map((user) => provider.issue(user));
  clock.advance(tokenLifetimeMs);
  const header = createMemoryBrowser(own).header();
  await visit(app, header);
  for (const other of others) await visit(app, createMemoryBrowser(other).header());
  expect((await visit(app, header)).session?.user.id).toBe('ada');
});
