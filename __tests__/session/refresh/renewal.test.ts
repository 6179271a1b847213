import { jest } from '@jest/globals';
import { createClock } from '../../support/clock.ts';
import {
  createMemoryApp,
  createMemoryBrowser,
  createMemoryProvider,
  createMemorySource,
  fromCookie,
  storedOf,
  toCookie,
  tokenLifetimeMs,
  visit,
  withoutSessionIds,
} from '../../support/memory-sessions.ts';
import type { MemoryAppSetup, MemoryContent } from '../../support/memory-sessions.ts';
import type { Session } from '../../../lib/types.ts';
import type { SharedCoordinator } from '../../../lib/session/coordinator.ts';
import { forever, hash } from '../../../lib/session/ended/record.ts';
import { VariantRefused } from '../../../lib/session/refresh/exchange.ts';
import { createShared } from '../../support/shared-memory.ts';

afterEach(() => jest.restoreAllMocks());

const settled = (): Promise<unknown> => new Promise((resolve) => setImmediate(resolve));

function setUp(change: (source: ReturnType<typeof createMemorySource>) => MemoryAppSetup = () => ({})) {
  const clock = createClock();
  const provider = createMemoryProvider(clock);
  const source = createMemorySource(provider, clock);
  const app = createMemoryApp({ clock, provider, ...change(source) });
  const content = provider.issue('ada');
  const browser = createMemoryBrowser(content);
  clock.advance(tokenLifetimeMs);
  return { app, clock, provider, content, browser, visitNow: () => visit(app, browser.header()) };
}

/** An app whose refresh answers only when the gate is opened. */
function withGate() {
  const gate = Promise.withResolvers<unknown>();
  const clock = createClock();
  const app = createMemoryApp({ clock, pause: (what) => (what === 'answer' ? gate.promise : settled()) });
  const content = app.provider.issue('ada');
  const browser = createMemoryBrowser(content);
  clock.advance(tokenLifetimeMs);
  return { app, clock, content, browser, open: () => gate.resolve(undefined) };
}

describe('a renewal', () => {
  it('is reported once, with its user, however many requests waited for it', async () => {
    const { app, content, visitNow } = setUp();
    await Promise.all([visitNow(), visitNow(), visitNow()]);
    await visitNow();
    expect(app.events).toEqual([{ type: 'session_refreshed', userId: 'ada', sessionId: content.sessionId }]);
  });

  it('is reported without a session id if the provider returned none', async () => {
    const { app, visitNow } = setUp((source) => ({
      source: { toStored: (content) => ({ ...source.toStored(content), sessionId: undefined }) },
    }));
    await visitNow();
    expect(app.events).toStrictEqual([{ type: 'session_refreshed', userId: 'ada' }]);
  });

  it('in the second of the sign-in is kept for late requests, too', async () => {
    const app = createMemoryApp();
    const browser = createMemoryBrowser(app.provider.issue('ada'));
    const straggler = browser.header();
    await app.resolver.renewSession({ userId: 'ada' });
    browser.receive(await visit(app, browser.header()));
    expect((await visit(app, straggler)).session?.user.id).toBe('ada');
    expect(app.provider.calls).toHaveLength(1);
  });

  it('that reached the browser is kept for late requests, for 25 seconds', async () => {
    const { app, clock, content, provider, browser, visitNow } = setUp();
    browser.receive(await visitNow());
    const straggler = createMemoryBrowser(content).header();
    clock.advance(25_000);
    expect((await visit(app, straggler)).session?.user.id).toBe('ada');
    clock.advance(1);
    expect((await visit(app, straggler)).session).toBeNull();
    expect(provider.calls).toEqual([content.refreshToken, content.refreshToken]);
  });

  it('leaves the newer cookie to the browser where the provider’s clock goes back', async () => {
    const clock = createClock();
    const provider = createMemoryProvider(clock);
    const app = createMemoryApp({ clock, provider });
    const browser = createMemoryBrowser(provider.issue('ada'));
    const stragglers: (string | undefined)[] = [];
    const refresh = provider.refresh.bind(provider);
    for (const backMs of [0, 3_000]) {
      stragglers.push(browser.header());
      provider.refresh = async (held) => {
        const outcome = await refresh(held);
        if (outcome.kind !== 'renewed') return outcome;
        return { ...outcome, content: { ...outcome.content, issuedAt: outcome.content.issuedAt - backMs } };
      };
      clock.advance(1_000);
      await app.resolver.renewSession({ userId: 'ada' });
      browser.receive(await visit(app, browser.header()));
    }
    clock.advance(tokenLifetimeMs);
    for (const straggler of stragglers) expect(await visit(app, straggler)).toEqual({ session: null, cookies: [] });
  });

  it('that reached the browser without our knowledge counts as received once it sends the new token', async () => {
    const { app, clock, content, browser, visitNow } = setUp();
    const { cookies } = await visitNow();
    browser.receive({ cookies });
    expect((await visitNow()).session?.user.id).toBe('ada');
    clock.advance(25_001);
    expect((await visit(app, createMemoryBrowser(content).header())).session).toBeNull();
  });

  it('that a renewSession concerns each time before its answer arrives is an error after four calls', async () => {
    const { app, provider, browser, visitNow } = setUp((source) => ({
      source: {
        async refresh(...asked) {
          clock.advance(1_000);
          await app.resolver.renewSession({ userId: 'ada' });
          clock.advance(1_000);
          return source.refresh(...asked);
        },
      },
    }));
    const { clock } = app;
    await expect(visitNow()).rejects.toMatchObject({ code: 'provider_unavailable', retryAfter: 1 });
    expect(provider.calls).toHaveLength(4);
    expect(browser.cookie).toBeDefined();
  });

  it('that has expired unused is renewed while the coordinator is down', async () => {
    const shared = createShared();
    const { clock, visitNow } = setUp(() => ({ shared }));
    await visitNow();
    clock.advance(tokenLifetimeMs);
    shared.isDown = true;
    expect((await visitNow()).session?.accessToken).toBe('access for refresh-3');
  });

  it('brings no tokens back by a slow response that were exchanged meanwhile', async () => {
    const { app, browser, clock, visitNow } = setUp();
    const [first, slow] = [await visitNow(), await visitNow()];
    browser.receive(first);
    clock.advance(1_000);
    await app.resolver.renewSession({ userId: 'ada' });
    browser.receive(await visitNow());
    await visitNow();
    browser.receive(slow);
    // A spent token would be sent by now.
    clock.advance(30_000);
    expect((await visitNow()).session?.accessToken).toBe('access for refresh-3');
    clock.advance(tokenLifetimeMs);
    expect((await visitNow()).session?.accessToken).toBe('access for refresh-4');
  });

  it('brings no exchanged tokens back by a slow response, also where tokens name no session', async () => {
    const { browser, clock, visitNow } = setUp((source) => ({ source: withoutSessionIds(source) }));
    const [first, slow] = [await visitNow(), await visitNow()];
    browser.receive(first);
    clock.advance(tokenLifetimeMs);
    browser.receive(await visitNow());
    browser.receive(slow);
    clock.advance(30_000);
    expect((await visitNow()).session?.accessToken).toBe('access for refresh-3');
    expect(browser.cookie).toBeDefined();
    clock.advance(tokenLifetimeMs);
    expect((await visitNow()).session?.accessToken).toBe('access for refresh-4');
  });

  it('keeps every token that led to it known as used', async () => {
    const { app, clock, content, provider, browser, visitNow } = setUp();
    await visitNow();
    clock.advance(tokenLifetimeMs);
    // It has not reached the browser either; both tokens are known as used.
    browser.receive(await visitNow());
    const oldest = createMemoryBrowser(content).header();
    clock.advance(25_001);
    expect((await visit(app, oldest)).session).toBeNull();
    expect(provider.calls).toHaveLength(3);
  });

  it('is one step away, however often the session was renewed without reaching the browser', async () => {
    const { clock, provider, visitNow } = setUp();
    for (let times = 0; times < 8; times += 1) {
      expect((await visitNow()).session?.user.id).toBe('ada');
      clock.advance(tokenLifetimeMs);
    }
    expect(new Set(provider.calls).size).toBe(8);
  });

  it('waits for eight days after the new tokens have expired, because until then no request exchanges any', async () => {
    const { clock, provider, visitNow } = setUp();
    await visitNow();
    clock.advance(tokenLifetimeMs - 60_000);
    await visitNow();
    clock.advance(8 * 24 * 60 * 60_000);
    expect((await visitNow()).session?.user.id).toBe('ada');
    expect(new Set(provider.calls).size).toBe(provider.calls.length);
  });

  it('waits for eight days from the last one, however long ago the browser’s own token was exchanged', async () => {
    const { clock, provider, visitNow } = setUp();
    for (let times = 0; times < 4; times += 1) {
      expect((await visitNow()).session?.user.id).toBe('ada');
      clock.advance(5 * 24 * 60 * 60_000);
    }
    expect(new Set(provider.calls).size).toBe(4);
  });

  it('from before renewSession is renewed once more for the next request, because its claims may be outdated', async () => {
    const { app, clock, provider, visitNow } = setUp();
    expect((await visitNow()).session?.accessToken).toBe('access for refresh-2');
    clock.advance(1);
    await app.resolver.renewSession({ userId: 'ada' });
    expect((await visitNow()).session?.accessToken).toBe('access for refresh-3');
    expect(provider.calls).toEqual(['refresh-1', 'refresh-2']);
  });

  it('is ignored if its answer is not in our format', async () => {
    const { app, browser, visitNow } = setUp(() => ({ source: { deserialize: () => undefined } }));
    await expect(visitNow()).rejects.toMatchObject({ code: 'token_rejected' });
    expect(app.events).toEqual([]);
    expect(browser.cookie).toBeDefined();
  });

  it('that the provider did not answer is explained in the debug log, and not to the visitor', async () => {
    const { app, provider, visitNow } = setUp();
    provider.fault = 'outage';
    await expect(visitNow()).rejects.toMatchObject({
      code: 'provider_unavailable',
      retryAfter: 5,
      cause: expect.objectContaining({ message: 'down' }),
    });
    expect(app.events).toEqual([{ type: 'refresh_failed', code: 'provider_unavailable', reason: 'unanswered' }]);
  });

  it('whose tokens cannot be accepted keeps them, and renews them once they have expired', async () => {
    const { clock, provider, visitNow } = setUp((source) => ({
      source: {
        async verify(content) {
          const verdict = await source.verify(content, 'provider');
          const isRefused = content.refreshToken === 'refresh-2' && verdict.kind === 'live';
          return isRefused ? { kind: 'invalid', reason: 'audience' } : verdict;
        },
      },
    }));
    await expect(visitNow()).rejects.toMatchObject({ code: 'token_rejected' });
    clock.advance(tokenLifetimeMs - 1);
    await expect(visitNow()).rejects.toMatchObject({ code: 'token_rejected' });
    expect(provider.calls).toEqual(['refresh-1']);
    clock.advance(1);
    expect((await visitNow()).session?.user.id).toBe('ada');
    expect(provider.calls).toEqual(['refresh-1', 'refresh-2']);
  });

  it('is one step away for every token that led to it, however often the session was renewed', async () => {
    const { app, clock, content, provider } = setUp();
    const holders = [content];
    for (let times = 0; times < 6; times += 1) {
      const { cookies } = await visit(app, createMemoryBrowser(holders.at(-1)).header());
      const browser = createMemoryBrowser();
      browser.receive({ cookies });
      holders.push(fromCookie(browser.cookie ?? '')!);
      clock.advance(tokenLifetimeMs);
    }
    const callsSoFar = provider.calls.length;
    for (const holder of holders) {
      expect((await visit(app, `memory=${toCookie(holder)}`)).session?.accessToken).toBe('access for refresh-8');
    }
    expect(provider.calls).toHaveLength(callsSoFar + 1);
  });
});

/** Two processes. The second one cannot tell whether an expired token is the provider's, as without a key. */
function createUnsureTwo() {
  const clock = createClock();
  const provider = createMemoryProvider(clock);
  const shared = createShared(clock.now);
  const source = createMemorySource(provider, clock);
  const unsure: typeof source.verify = async (...asked) => {
    const verdict = await source.verify(...asked);
    return verdict.kind === 'expired' ? { kind: 'unverifiable' } : verdict;
  };
  const one = createMemoryApp({ clock, provider, shared, source: { isSealed: false } });
  const two = createMemoryApp({ clock, provider, shared, source: { isSealed: false, verify: unsure } });
  const header = createMemoryBrowser(provider.issue('ada')).header();
  return { clock, provider, shared, one, two, header };
}

it('costs one call over processes of which one cannot verify the token', async () => {
  const { clock, provider, one, two, header } = createUnsureTwo();
  clock.advance(tokenLifetimeMs);
  for (const app of [one, two, one]) expect((await visit(app, header)).session?.user.id).toBe('ada');
  expect(provider.calls).toEqual(['refresh-1']);
});

it('renews an answer that no browser has, also in a process that cannot tell whether it is the provider’s', async () => {
  const { clock, provider, one, two, header } = createUnsureTwo();
  clock.advance(tokenLifetimeMs);
  // Its response is lost.
  await visit(one, header);
  clock.advance(tokenLifetimeMs);
  expect((await visit(two, header)).session?.accessToken).toBe('access for refresh-3');
  expect(provider.calls).toEqual(['refresh-1', 'refresh-2']);
});

it('costs no second call where a process cannot tell whether the valid answer of another one is the provider’s', async () => {
  const { clock, provider, one, header, shared } = createUnsureTwo();
  const verify = () => Promise.resolve({ kind: 'unverifiable' } as const);
  const two = createMemoryApp({ clock, provider, shared, source: { verify } });
  clock.advance(tokenLifetimeMs);
  await visit(one, header);
  await expect(visit(two, header)).rejects.toMatchObject({ code: 'token_rejected' });
  expect([provider.calls, two.events]).toEqual([['refresh-1'], []]);
});

it('does not send a token that a switch has spent, where only the record of that is left', async () => {
  const clock = createClock();
  const provider = createMemoryProvider(clock);
  const shared = createShared(clock.now);
  const recordsOnly: SharedCoordinator = {
    ...createShared(clock.now),
    read: (subject) => shared.read(subject),
    merge: (...call) => shared.merge(...call),
  };
  const one = createMemoryApp({ clock, provider, shared });
  const two = createMemoryApp({ clock, provider, shared: recordsOnly });
  const header = createMemoryBrowser(provider.issue('ada')).header();
  const variant = {
    name: 'south',
    isReached: () => false,
    refresh: (content: MemoryContent) => provider.refresh(content),
  };
  const { session } = await one.resolver.switchSession(header, variant, {});
  expect([session?.accessToken, provider.calls.length]).toEqual(['access for refresh-2', 1]);
  // Its own token is still valid; once it has expired, the browser may hold the next one, so nothing has ended.
  expect((await visit(two, header)).session?.accessToken).toBe('access for refresh-1');
  clock.advance(tokenLifetimeMs);
  expect(await visit(two, header)).toEqual({ session: null, cookies: [] });
  expect([provider.calls.length, two.events]).toEqual([1, []]);
});

describe('a renewed session is confirmed, except where other processes may know more', () => {
  const [before, next, user] = ['session-ada-0', 'its next id', 'ada'];

  it.each([
    ['about nothing', [], true],
    ['about its user', [`b2b:user:${hash(user)}`], false],
    ['under the id of its former token', [`b2b:session:${hash(before)}`], false],
    ['under the id that its new token has', [`b2b:session:${hash(next)}`], false],
  ])('%s', async (_what, unknown, isConfirmed) => {
    const shared = createShared();
    const { app, visitNow } = setUp((source) => ({
      shared: {
        ...shared,
        read: (subject) => (unknown.includes(subject) ? Promise.reject(new Error('away')) : shared.read(subject)),
      },
      source: {
        async refresh(...asked) {
          const outcome = await source.refresh(...asked);
          return outcome.kind === 'renewed'
            ? { ...outcome, content: { ...outcome.content, sessionId: next } }
            : outcome;
        },
      },
    }));
    const { session } = await visitNow();
    expect(app.resolver.isConfirmed(session!)).toBe(isConfirmed);
  });
});

it('a request whose headers are sent uses an answer that is due, and spends no token', async () => {
  const { app, clock, provider, browser, visitNow } = setUp();
  await visitNow();
  clock.advance(tokenLifetimeMs - 10_000);
  expect((await visit(app, browser.header(), () => true)).session?.accessToken).toBe('access for refresh-2');
  expect([provider.calls, app.eventTypes()]).toEqual([['refresh-1'], ['session_refreshed']]);
});

it.each([
  ['alone', undefined],
  ['beside other processes', createShared()],
])(
  'a request whose headers are sent spends no token after a switch that it waited for was refused, %s',
  async (_where, shared) => {
    const gate = Promise.withResolvers<undefined>();
    const { app, provider, browser } = setUp(() => (shared === undefined ? {} : { shared }));
    const refresh = async (): Promise<never> => {
      await gate.promise;
      throw new VariantRefused('south', new Error('refused'));
    };
    const switching = app.resolver.switchSession(
      browser.header(),
      { name: 'south', isReached: () => false, refresh },
      {},
    );
    await settled();
    const late = visit(app, browser.header(), () => true);
    await settled();
    gate.resolve(undefined);
    await expect(switching).rejects.toThrow(VariantRefused);
    expect(await late).toMatchObject({ session: null, cookies: [] });
    expect([provider.calls, app.eventTypes()]).toEqual([[], ['refresh_skipped']]);
  },
);

it('an answer that is due is used while the provider is down', async () => {
  const { app, clock, provider, visitNow } = setUp();
  await visitNow();
  clock.advance(tokenLifetimeMs - 5_000);
  provider.fault = 'outage';
  expect((await visitNow()).session?.accessToken).toBe('access for refresh-2');
  expect([new Set(provider.calls).size, app.eventTypes()]).toEqual([2, ['session_refreshed', 'refresh_failed']]);
});

it('a token is not sent again once no request waits for its answer', async () => {
  const over = new AbortController();
  jest.spyOn(AbortSignal, 'timeout').mockReturnValue(over.signal);
  let calls = 0;
  const { visitNow } = setUp(() => ({
    source: {
      async refresh() {
        calls += 1;
        over.abort();
        return { kind: 'unanswered', cause: new Error('too late') };
      },
    },
  }));
  await expect(visitNow()).rejects.toMatchObject({ code: 'provider_unavailable' });
  for (let turn = 0; turn < 5; turn += 1) await settled();
  expect(calls).toBe(1);
});

it('the end of a session is reported once, however many requests wait for the renewal', async () => {
  const { app, content, provider, visitNow } = setUp();
  provider.revoke(content.sessionId);
  await Promise.all([visitNow(), visitNow(), visitNow()]);
  expect(app.eventTypes()).toEqual(['session_ended', 'session_rejected']);
});

it('a switch for which the provider says that the session has ended spends no token', async () => {
  const shared = createShared();
  const merge = jest.spyOn(shared, 'merge');
  const { app, content, provider, browser } = setUp(() => ({ shared }));
  provider.revoke(content.sessionId);
  const variant = { name: 'south', isReached: () => false, refresh: (held: MemoryContent) => provider.refresh(held) };
  expect((await app.resolver.switchSession(browser.header(), variant, {})).session).toBeNull();
  expect([provider.calls.length, merge.mock.calls]).toEqual([1, []]);
});

it.each([
  ['uses the answer of a renewal that was under way, if that has what it asks for', 'refresh-2'],
  ['switches from the answer of a renewal that was under way', 'refresh-3'],
])('a switch %s', async (_what, reached) => {
  const { app, browser, open } = withGate();
  const renewing = visit(app, browser.header());
  while (app.provider.calls.length === 0) await settled();
  const switching = app.resolver.switchSession(
    browser.header(),
    {
      name: 'south',
      isReached: ({ accessToken }) => accessToken === `access for ${reached}`,
      refresh: (content: MemoryContent) => app.provider.refresh(content),
    },
    {},
  );
  open();
  expect((await renewing).session?.accessToken).toBe('access for refresh-2');
  expect((await switching).session?.accessToken).toBe(`access for ${reached}`);
});

describe('a sign-out during a renewal', () => {
  it('wins, and keeps nothing of the renewal for later requests', async () => {
    const { app, clock, browser, content, open } = withGate();
    const waiting = visit(app, browser.header());
    while (app.provider.calls.length === 0) await settled();
    await app.resolver.signOut(browser.header());
    open();
    expect((await waiting).session).toBeNull();
    expect(app.events).toEqual([{ type: 'session_rejected', reason: 'signed_out' }]);
    clock.advance(2 * tokenLifetimeMs);
    expect((await visit(app, browser.header())).session).toBeNull();
    expect(new Set(app.provider.calls)).toEqual(new Set([content.refreshToken]));
  });

  it('is checked with the other processes once before the token is used, and once after', async () => {
    const asked: string[] = [];
    const { content, visitNow } = setUp(() => ({
      shared: {
        ...createShared(),
        read: async (subject) => {
          asked.push(subject);
          return asked.length > 4 ? { signedOut: forever } : undefined;
        },
      },
    }));
    expect((await visitNow()).session?.user.id).toBe('ada');
    const [session, user] = [`b2b:session:${hash(content.sessionId)}`, `b2b:user:${hash('ada')}`];
    expect(asked).toEqual([session, user, session, user]);
  });

  it('also wins where the renewed session has another id', async () => {
    const { app, visitNow, content } = setUp((source) => ({
      source: {
        refresh: async (held) => {
          const outcome = await source.refresh(held, new AbortController().signal, {});
          await app.resolver.signOut(`memory=${toCookie(content)}`);
          return outcome.kind === 'renewed'
            ? { kind: 'renewed', content: { ...outcome.content, sessionId: 'its next id' } }
            : outcome;
        },
      },
    }));
    expect((await visitNow()).session).toBeNull();
  });

  it('also wins under the id that the renewed session has', async () => {
    const { app, visitNow, provider } = setUp((source) => ({
      source: {
        refresh: async (content) => {
          const outcome = await source.refresh(content, new AbortController().signal, {});
          return outcome.kind === 'renewed'
            ? { kind: 'renewed', content: { ...outcome.content, sessionId: 'its next id' } }
            : outcome;
        },
      },
    }));
    const next = { ...provider.issue('ada'), sessionId: 'its next id' };
    await app.resolver.signOut(`memory=${toCookie(next)}`);
    expect((await visitNow()).session).toBeNull();
    expect(app.events).toEqual([{ type: 'session_rejected', reason: 'signed_out' }]);
  });
});

describe('where the provider does not rotate refresh tokens', () => {
  /** A browser whose session has just been renewed. */
  async function renewedApp(app: MemoryAppSetup = {}) {
    const world = setUp(() => app);
    const { provider, clock, browser } = world;
    provider.refresh = async (content) => {
      provider.calls.push(content.refreshToken);
      const issuedAt = clock.now();
      return { kind: 'renewed', content: { ...content, issuedAt, expiresAt: issuedAt + tokenLifetimeMs } };
    };
    browser.receive(await world.visitNow());
    clock.advance(5_000);
    return world;
  }

  it('renewSession is followed by one refresh, however soon after the last one', async () => {
    for (const app of [{}, { shared: createShared(createClock().now) }]) {
      const { app: world, provider, visitNow, browser } = await renewedApp(app);
      await world.resolver.renewSession({ userId: 'ada' });
      const answers = await Promise.all([visitNow(), visitNow()]);
      expect(answers.map(({ session }) => session?.user.id)).toEqual(['ada', 'ada']);
      browser.receive(answers[0]);
      expect((await visitNow()).session?.user.id).toBe('ada');
      expect(provider.calls).toHaveLength(2);
    }
  });

  it.each([[1], [8]])(
    'renewSession is followed by one refresh for %d requests, also where the coordinator answers late',
    async (count) => {
      const shared = createShared(createClock().now);
      const { app, provider, visitNow } = await renewedApp({ shared });
      await app.resolver.renewSession({ userId: 'ada' });
      const settle = shared.settle.bind(shared);
      shared.settle = async (...asked) => {
        for (let turn = 0; turn < 20; turn += 1) await settled();
        return settle(...asked);
      };
      const answers = await Promise.all(Array.from({ length: count }, () => visitNow()));
      expect(answers.map(({ session }) => session?.user.id)).toEqual(Array(count).fill('ada'));
      expect(provider.calls).toHaveLength(2);
    },
  );

  it.each([[{}], [{ shared: createShared(createClock().now) }]])(
    'claims that have just changed are fetched once for all who ask, however soon after a refresh',
    async (setup) => {
      const { app, clock, browser, provider } = await renewedApp(setup);
      const changedAt = clock.now();
      const isChanged = ({ claims }: Session): boolean => Number(claims.iat) * 1_000 >= changedAt;
      const renewals = await Promise.all(
        [1, 2, 3].map(() => app.resolver.renewChanged(fromCookie(browser.cookie!)!, isChanged, {})),
      );
      expect(renewals.map((each) => each.kind === 'renewed' && isChanged(each.session))).toEqual([true, true, true]);
      expect(provider.calls).toHaveLength(2);
    },
  );

  it('no token is used once the head is sent', async () => {
    const { app, browser, provider } = await renewedApp();
    await app.resolver.renewSession({ userId: 'ada' });
    expect((await visit(app, browser.header(), () => true)).session).toBeNull();
    expect([provider.calls.length, app.eventTypes().at(-1)]).toEqual([1, 'refresh_skipped']);
  });

  it('a request under way gets the answer that another one had to ask beyond, also while the provider is down', async () => {
    const { app, browser, provider, content } = await renewedApp();
    provider.refresh = () => Promise.resolve({ kind: 'unanswered', cause: new Error('down') });
    const { resolver } = app;
    await expect(resolver.renewChanged(fromCookie(browser.cookie!)!, () => false, {})).rejects.toThrow();
    expect((await visit(app, createMemoryBrowser(content).header())).session?.user.id).toBe('ada');
  });

  it('an organization is switched to, however soon after a refresh', async () => {
    const { app, browser, provider } = await renewedApp();
    const refresh = (content: MemoryContent) => provider.refresh(content);
    const variant = { name: 'org', isReached: () => false, refresh };
    const { session } = await app.resolver.switchSession(browser.header(), variant, {});
    expect(session?.user.id).toBe('ada');
    expect(provider.calls).toHaveLength(2);
  });

  it('a session is renewed after a switch of the organization', async () => {
    const { app, clock, browser, provider, visitNow } = await renewedApp();
    const refresh = (content: MemoryContent) => provider.refresh(content);
    browser.receive(
      await app.resolver.switchSession(browser.header(), { name: 'org', isReached: () => false, refresh }, {}),
    );
    clock.advance(tokenLifetimeMs);
    expect((await visitNow()).session?.user.id).toBe('ada');
    expect(provider.calls).toHaveLength(3);
  });
});

describe('tokens that a sign-in places', () => {
  /** A request that has renewed its session, and a newer sign-in that the provider continues under the same id. */
  async function setUpSlow() {
    const world = setUp();
    const { app, provider, content, browser, clock } = world;
    const slow = await app.resolver.resolve(browser.header(), () => false);
    clock.advance(1_000);
    const placed = { ...provider.issue('ada'), sessionId: content.sessionId };
    return { ...world, slow, placed };
  }

  it('are not undone by a slow response with older ones of the same session', async () => {
    const { app, slow, placed } = await setUpSlow();
    expect(slow.isCurrent?.()).toBe(true);
    app.resolver.notePlaced(storedOf(placed));
    expect(slow.isCurrent?.()).toBe(false);
  });

  it('keep no renewed token from another browser that holds older ones', async () => {
    const { app, browser, placed } = await setUpSlow();
    app.resolver.notePlaced(storedOf(placed));
    expect((await app.resolver.resolve(browser.header(), () => false)).isCurrent?.()).toBe(true);
  });
});

describe('tokens that the application has exchanged by itself', () => {
  type Stored = ReturnType<typeof storedOf>;

  async function callsAfter(change: (one: Stored) => Partial<Stored>, changeBoth: Partial<Stored> = {}) {
    const { app, content, provider, browser } = setUp();
    const spent = { ...storedOf(content), ...changeBoth };
    const next = { ...storedOf(provider.issue('ada')), sessionId: content.sessionId, ...changeBoth };
    app.resolver.noteExchanged(spent, { ...next, ...change(spent) });
    await visit(app, browser.header());
    return provider.calls;
  }

  it('are those of requests with the spent token', async () => {
    expect(await callsAfter(() => ({}))).toEqual([]);
  });

  it.each<[string, (spent: Stored) => Partial<Stored>, Partial<Stored>?]>([
    ['of another session', () => ({ sessionId: 'other' })],
    ['of unknown sessions', () => ({}), { sessionId: undefined }],
    ['older', ({ issuedAt }) => ({ issuedAt: issuedAt - 1 })],
  ])('are none where they are %s', async (_title, ...changes) => {
    expect(await callsAfter(...changes)).toHaveLength(1);
  });
});
