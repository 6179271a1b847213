import { AuthError } from '../../lib/errors.ts';
import { createClock } from '../support/clock.ts';
import { createShared } from '../support/shared-memory.ts';
import {
  createMemoryApp,
  createMemoryBrowser,
  createMemoryProvider,
  createMemorySource,
  toCookie,
  tokenLifetimeMs,
  visit,
} from '../support/memory-sessions.ts';
import type { MemoryAppSetup, MemoryContent, Pause } from '../support/memory-sessions.ts';
import { until } from '../support/until.ts';

const never = new Promise<never>(() => undefined);
const sent = (): boolean => true;
const unsent = (): boolean => false;

function setUp(setup: MemoryAppSetup = {}) {
  const app = createMemoryApp(setup);
  const content = app.provider.issue('ada');
  return { ...app, app, content, browser: createMemoryBrowser(content) };
}

/** Everything that is under way and needs no more than its turn. */
const settled = (): Promise<unknown> => new Promise((resolve) => setImmediate(resolve));

describe('the session of a request', () => {
  it('needs no call without a cookie', async () => {
    const { resolver, provider, eventTypes } = setUp();
    for (const header of [undefined, '', 'other=1']) {
      expect(await resolver.resolve(header, unsent)).toEqual({ session: null, cookies: [] });
    }
    expect(provider.calls).toEqual([]);
    expect(eventTypes()).toEqual([]);
  });

  it('is none if its cookie cannot be opened, and the cookie stays', async () => {
    const { resolver, events } = setUp();
    expect(await resolver.resolve('memory=rubbish', unsent)).toMatchObject({ session: null, cookies: [] });
    expect(events).toEqual([{ type: 'session_rejected', reason: 'unreadable' }]);
  });

  it('is the valid one among duplicates, without refreshing the others', async () => {
    const { resolver, provider, clock, content } = setUp();
    clock.advance(tokenLifetimeMs);
    const live = provider.issue('grace');
    const { session } = await resolver.resolve(`memory=${toCookie(content)}; memory=${toCookie(live)}`, unsent);
    expect(session?.user.id).toBe('grace');
    expect(provider.calls).toEqual([]);
  });

  it('is not verified by a duplicate that follows it', async () => {
    const { resolver, provider, clock, content } = setUp();
    const header = `memory=${toCookie(content)}; memory=${toCookie(provider.issue('grace'))}`;
    provider.revoke(content.sessionId);
    clock.advance(tokenLifetimeMs);
    expect(resolver.cachedSession(header)).toBeUndefined();
  });

  it('is the next, refreshed one if the first has ended', async () => {
    const { resolver, provider, clock, content } = setUp();
    const other = provider.issue('grace');
    provider.revoke(content.sessionId);
    clock.advance(tokenLifetimeMs);
    const { session } = await resolver.resolve(`memory=${toCookie(content)}; memory=${toCookie(other)}`, unsent);
    expect(session?.user.id).toBe('grace');
  });

  it('cannot be changed by a handler for others', async () => {
    const { app, browser } = setUp();
    const { session } = await visit(app, browser.header());
    expect(() => Object.assign(session!.user, { id: 'root' })).toThrow(TypeError);
    expect(() => Object.assign(session!.claims, { role: 'admin' })).toThrow(TypeError);
    expect((await visit(app, browser.header())).session).toBe(session);
  });
});

describe('the time limit', () => {
  it('covers all candidates together, and stops the calls when it is spent', async () => {
    const { resolver, provider, clock, eventTypes } = setUp({
      timeoutMs: 300,
      pause: (what) => (what === 'refresh' ? never : settled()),
    });
    const header = Array.from({ length: 8 }, (_, index) => `memory=${toCookie(provider.issue(`user-${index}`))}`).join(
      '; ',
    );
    clock.advance(tokenLifetimeMs);
    await expect(resolver.resolve(header, unsent)).rejects.toMatchObject({ status: 503, retryAfter: 5 });
    // The refresh that was under way has a budget of its own, which ends a moment later; then come the others' turns.
    await until(() => eventTypes().includes('refresh_failed'));
    for (let turn = 0; turn < 10; turn += 1) await settled();
    expect(provider.calls).toHaveLength(1);
  });

  it('covers verification, too', async () => {
    const { app, browser } = setUp({ timeoutMs: 20, pause: (what) => (what === 'verify' ? never : settled()) });
    await expect(visit(app, browser.header())).rejects.toMatchObject({ code: 'provider_unavailable' });
  });
});

describe('a verified session', () => {
  it('is found by its cookie for as long as its source says, while its token is fresh', async () => {
    const clock = createClock();
    const provider = createMemoryProvider(clock);
    const source = createMemorySource(provider, clock);
    const visitFor = async (validForMs: number) => {
      const app = createMemoryApp({
        clock,
        provider,
        source: {
          verify: async (content) => {
            const verdict = await source.verify(content, 'provider');
            return verdict.kind === 'live' ? { ...verdict, validUntil: clock.now() + validForMs } : verdict;
          },
        },
      });
      const header = createMemoryBrowser(provider.issue('ada')).header();
      await visit(app, header);
      return (atMs: number) => {
        clock.advance(atMs);
        return app.resolver.cachedSession(header) !== undefined;
      };
    };
    const isKnownBriefly = await visitFor(1_000);
    expect([isKnownBriefly(999), isKnownBriefly(1)]).toEqual([true, false]);
    const isKnownLong = await visitFor(2 * tokenLifetimeMs);
    expect([isKnownLong(tokenLifetimeMs - 10_001), isKnownLong(1)]).toEqual([true, false]);
  });

  it('is found by its cookie until it is due for a renewal ahead of time', async () => {
    const { app, resolver, clock, browser } = setUp({ refreshWindow: 20 });
    await visit(app, browser.header());
    clock.advance(tokenLifetimeMs - 20_001);
    expect(resolver.cachedSession(browser.header())).toBeDefined();
    clock.advance(1);
    expect(resolver.cachedSession(browser.header())).toBeUndefined();
  });

  it('stays in the cache, however many later duplicates were verified since', async () => {
    const { app, resolver, provider, browser } = setUp({ maxCachedSessions: 2 });
    await visit(app, browser.header());
    for (const user of ['grace', 'joan', 'mary']) {
      await visit(app, `memory=rubbish; memory=${toCookie(provider.issue(user))}`);
    }
    expect(resolver.cachedSession(browser.header())?.user.id).toBe('ada');
  });

  it('needs no second look-up if no other process can end it', async () => {
    const { app, resolver, clock, browser } = setUp();
    await visit(app, browser.header());
    clock.advance(tokenLifetimeMs - 10_001);
    expect(resolver.cachedSession(browser.header())).toBeDefined();
    expect(resolver.cachedSession(undefined)).toBeUndefined();
  });
});

describe('an outage', () => {
  it('of the signing keys signs no one out', async () => {
    const outage = new AuthError('provider_unavailable');
    const { app, browser, eventTypes } = setUp({ source: { verify: () => Promise.reject(outage) } });
    await expect(visit(app, browser.header())).rejects.toBe(outage);
    expect(eventTypes()).toEqual([]);
  });

  it('differs from a sign-out, clears no cookie, and ends by itself', async () => {
    const { app, provider, clock, browser, eventTypes } = setUp();
    clock.advance(tokenLifetimeMs);
    provider.fault = 'outage';
    await expect(visit(app, browser.header())).rejects.toMatchObject({ code: 'provider_unavailable', retryAfter: 5 });
    expect(eventTypes()).toEqual(['refresh_failed']);
    provider.fault = undefined;
    expect((await visit(app, browser.header())).session?.user.id).toBe('ada');
  });

  it('repeats a call whose answer may have been lost, and only once', async () => {
    const { app, provider, clock, browser, content } = setUp();
    clock.advance(tokenLifetimeMs);
    provider.fault = 'outage';
    await expect(visit(app, browser.header())).rejects.toThrow(AuthError);
    expect(provider.calls).toEqual([content.refreshToken, content.refreshToken]);
  });

  it('of the signing keys keeps the renewed tokens until they can be verified', async () => {
    const clock = createClock();
    const provider = createMemoryProvider(clock);
    const source = createMemorySource(provider, clock);
    let isDown = false;
    const app = createMemoryApp({
      clock,
      provider,
      source: {
        verify: (content) =>
          isDown && content.issuedAt === clock.now()
            ? Promise.reject(new AuthError('provider_unavailable'))
            : source.verify(content, 'provider'),
      },
    });
    const browser = createMemoryBrowser(provider.issue('ada'));
    clock.advance(tokenLifetimeMs);
    isDown = true;
    await expect(visit(app, browser.header())).rejects.toThrow(AuthError);
    isDown = false;
    clock.advance(200_000);
    expect((await visit(app, browser.header())).session?.user.id).toBe('ada');
    expect(provider.calls).toHaveLength(1);
  });

  it('clears no cookie while one candidate cannot be verified', async () => {
    const { resolver, provider, clock, content } = setUp();
    const other = provider.issue('grace');
    provider.revoke(content.sessionId);
    clock.advance(tokenLifetimeMs);
    await resolver.resolve(`memory=${toCookie(content)}`, unsent);
    provider.fault = 'outage';
    await expect(
      resolver.resolve(`memory=${toCookie(other)}; memory=${toCookie(content)}`, unsent),
    ).rejects.toMatchObject({ status: 503 });
  });
});

describe('an answer that did not reach the browser', () => {
  it('is given to a later request, even long after', async () => {
    const { app, provider, clock, browser } = setUp();
    clock.advance(tokenLifetimeMs);
    await visit(app, browser.header());
    clock.advance(tokenLifetimeMs - 11_000);
    browser.receive(await visit(app, browser.header()));
    expect(provider.calls).toHaveLength(1);
    expect((await visit(app, browser.header())).session?.user.id).toBe('ada');
  });

  it('is renewed if it has expired itself', async () => {
    const { app, provider, clock, browser } = setUp();
    clock.advance(tokenLifetimeMs);
    await visit(app, browser.header());
    clock.advance(60 * 60_000);
    browser.receive(await visit(app, browser.header()));
    expect(new Set(provider.calls).size).toBe(2);
    // Stragglers with the oldest cookie find the newest tokens, as long as they may come.
    clock.advance(25_000);
    expect((await visit(app, browser.header())).session?.user.id).toBe('ada');
    expect(provider.calls).toHaveLength(2);
  });
});

describe('an answer that expires within seconds', () => {
  /** The answer that did not reach the browser has 5 seconds left. */
  async function withOldAnswer() {
    const world = setUp();
    world.clock.advance(tokenLifetimeMs);
    const { session } = await visit(world.app, world.browser.header());
    world.clock.advance(tokenLifetimeMs - 5_000);
    return { ...world, session };
  }

  it('is renewed itself', async () => {
    const { app, provider, browser, session } = await withOldAnswer();
    const { session: next } = await visit(app, browser.header());
    expect([session?.accessToken, next?.accessToken]).toEqual(['access for refresh-2', 'access for refresh-3']);
    expect(provider.calls).toHaveLength(2);
  });

  it('is given all the same while the provider is down, or where it is too late for a cookie', async () => {
    const { app, provider, browser, session } = await withOldAnswer();
    expect((await app.resolver.resolve(browser.header(), sent)).session).toEqual(session);
    provider.fault = 'outage';
    expect((await visit(app, browser.header())).session).toEqual(session);
  });

  it('is not renewed again where the provider has just issued it', async () => {
    const clock = createClock();
    const provider = createMemoryProvider(clock);
    const { app, browser } = setUp({
      clock,
      provider,
      source: {
        async refresh(content) {
          const outcome = await provider.refresh(content);
          if (outcome.kind !== 'renewed') return outcome;
          return {
            ...outcome,
            content: {
              ...outcome.content,
              issuedAt: clock.now() - tokenLifetimeMs + 5_000,
              expiresAt: clock.now() + 5_000,
            },
          };
        },
      },
    });
    clock.advance(tokenLifetimeMs);
    expect((await visit(app, browser.header())).session?.accessToken).toBe('access for refresh-2');
    expect(provider.calls).toHaveLength(1);
  });
});

describe('a token that expires within seconds', () => {
  function withSecondsLeft(setup: MemoryAppSetup = {}) {
    const world = setUp(setup);
    world.clock.advance(tokenLifetimeMs - 5_000);
    return { ...world, visitNow: () => visit(world.app, world.browser.header()) };
  }

  it('is renewed before it is used', async () => {
    const { visitNow } = withSecondsLeft();
    expect((await visitNow()).session?.accessToken).toBe('access for refresh-2');
  });

  it('is used while the provider is down, which is asked once in five seconds, and until it expires', async () => {
    const { provider, clock, visitNow } = withSecondsLeft();
    provider.fault = 'outage';
    for (let request = 0; request < 3; request += 1) {
      expect(await visitNow()).toEqual({
        session: expect.objectContaining({ expiresAt: clock.now() + 5_000 }),
        cookies: [],
      });
    }
    // A call and its repetition.
    expect(provider.calls).toHaveLength(2);
    clock.advance(5_000);
    await expect(visitNow()).rejects.toMatchObject({ code: 'provider_unavailable' });
  });

  it('is used where it is too late for a cookie, and no longer once it has expired meanwhile', async () => {
    const { app, browser, clock } = withSecondsLeft();
    const visitLate = () => visit(app, browser.header(), sent);
    expect((await visitLate()).session?.user.id).toBe('ada');
    clock.advance(5_000);
    expect(await visitLate()).toEqual({ session: null, cookies: [] });
  });

  it('is not used if its session ended while it was renewed', async () => {
    const { app, provider, content, visitNow } = withSecondsLeft({
      pause: async (what) => {
        if (what === 'refresh') await app.resolver.endSession({ sessionId: content.sessionId });
      },
    });
    provider.fault = 'outage';
    await expect(visitNow()).rejects.toMatchObject({ code: 'provider_unavailable' });
  });
});

describe('cookies', () => {
  it('of a session that has ended are kept where not all of them were read', async () => {
    const clock = createClock();
    const provider = createMemoryProvider(clock);
    const source = createMemorySource(provider, clock);
    const { resolver, browser, content } = setUp({
      clock,
      provider,
      source: {
        read: async (cookies) => {
          const read = await source.read(cookies);
          return read.kind === 'stored' ? { ...read, isKept: true } : read;
        },
      },
    });
    await resolver.endSession({ sessionId: content.sessionId });
    expect(await resolver.resolve(browser.header(), unsent)).toMatchObject({ session: null, cookies: [] });
  });

  it('with forged tokens have four of them checked, keep the rest, and hide no session that was verified before', async () => {
    const clock = createClock();
    const provider = createMemoryProvider(clock);
    const source = createMemorySource(provider, clock);
    const checked: string[] = [];
    const { app, resolver, browser, events } = setUp({
      clock,
      provider,
      source: {
        isSealed: false,
        verify(content, origin) {
          checked.push(content.userId);
          return content.userId === 'eve'
            ? Promise.resolve({ kind: 'invalid', reason: 'signature' })
            : source.verify(content, origin);
        },
      },
    });
    const forged = Array.from({ length: 6 }, () => createMemoryBrowser(provider.issue('eve')).header());
    const header = [...forged, browser.header()].join('; ');
    expect(await resolver.resolve(header, unsent)).toMatchObject({ session: null, cookies: [] });
    expect(checked).toEqual(['eve', 'eve', 'eve', 'eve']);
    expect(events).toEqual([{ type: 'session_rejected', reason: 'signature' }]);
    await visit(app, browser.header());
    expect((await resolver.resolve(header, unsent)).session?.user.id).toBe('ada');
  });
});

it('the end of a session says what the next sign-in has to name, where its source knows', async () => {
  const { app, provider, clock, browser, content } = setUp({
    source: { signInAfter: ({ userId }, reason) => ({ hint: `${userId} after ${reason}` }) },
  });
  provider.revoke(content.sessionId);
  clock.advance(tokenLifetimeMs);
  expect((await visit(app, browser.header())).signIn).toEqual({ hint: 'ada after invalid_grant' });
  const other = setUp();
  await other.resolver.signOut(other.browser.header());
  expect(await visit(other.app, other.browser.header())).not.toHaveProperty('signIn');
});

describe('invalid tokens', () => {
  async function withVerdict(kind: 'invalid' | 'unverifiable', onlyRenewed: boolean, isSealed = true, isOver = false) {
    const clock = createClock();
    const provider = createMemoryProvider(clock);
    const source = createMemorySource(provider, clock);
    const app = createMemoryApp({
      clock,
      provider,
      source: {
        isSealed,
        async verify(content) {
          const isRenewed = content.refreshToken !== 'refresh-1';
          if (isRenewed !== onlyRenewed) return source.verify(content, 'provider');
          return kind === 'invalid' ? { kind, reason: 'subject', isOver } : { kind };
        },
      },
    });
    return { app, provider, clock, events: app.events, browser: createMemoryBrowser(provider.issue('ada')) };
  }

  it.each(['invalid', 'unverifiable'] as const)('fresh from the provider are reported once: %s', async (kind) => {
    const { app, provider, clock, browser, events } = await withVerdict(kind, true);
    clock.advance(tokenLifetimeMs);
    for (let time = 0; time < 3; time += 1) {
      await expect(visit(app, browser.header())).rejects.toMatchObject({ code: 'token_rejected' });
    }
    expect(provider.calls).toHaveLength(1);
    const reason = kind === 'invalid' ? 'subject' : kind;
    expect(events).toEqual([{ type: 'refresh_failed', code: 'token_rejected', reason, sessionId: 'session-ada-0' }]);
  });

  it.each([true, false])('in the cookie are no session, and end one that is over: %s', async (isOver) => {
    const { app, provider, browser, events } = await withVerdict('invalid', false, true, isOver);
    browser.receive(await visit(app, browser.header()));
    expect(browser.cookie === undefined).toBe(isOver);
    expect(events).toEqual([{ type: 'session_rejected', reason: 'subject' }]);
    expect(provider.calls).toEqual([]);
  });

  it('due to a withdrawn key are renewed, as only we can have sealed them', async () => {
    const { app, provider, browser } = await withVerdict('unverifiable', false);
    expect((await visit(app, browser.header())).session?.user.id).toBe('ada');
    expect(provider.calls).toHaveLength(1);
  });

  it('due to a withdrawn key are renewed within the allowance, if anyone can make the cookie', async () => {
    const { app, provider, browser } = await withVerdict('unverifiable', false, false);
    expect((await visit(app, browser.header())).session?.user.id).toBe('ada');
    expect(provider.calls).toHaveLength(1);
  });
});

describe('a rejected cookie', () => {
  it.each([
    ['a session that has ended', (content: MemoryContent) => `memory=${toCookie(content)}`],
    ['rubbish', () => 'memory=rubbish'],
  ])('with %s is reported once in ten minutes, whatever cookies lie beside it', async (_, cookieOf) => {
    const { resolver, clock, content, eventTypes } = setUp();
    const cookie = cookieOf(content);
    await resolver.endSession({ sessionId: content.sessionId });
    for (const other of ['', 'other=1; ', 'other=2; ']) await resolver.resolve(`${other}${cookie}`, unsent);
    expect(eventTypes()).toEqual(['session_rejected']);
    clock.advance(10 * 60_000 + 1);
    await resolver.resolve(cookie, unsent);
    expect(eventTypes()).toEqual(['session_rejected', 'session_rejected']);
  });

  it('is reported again with another session behind it', async () => {
    const { resolver, provider, content, eventTypes } = setUp();
    const [first, ...others] = [content, provider.issue('grace'), provider.issue('joan')].map(
      (one) => `memory=${toCookie(one)}`,
    );
    for (const cookie of [first, ...others]) await resolver.signOut(cookie);
    for (const other of others) await resolver.resolve(`${first}; ${other}`, unsent);
    expect(eventTypes()).toEqual(['session_rejected', 'session_rejected']);
  });
});

describe('a session that ended in another process', () => {
  it.each([true, false])('is cleared with its cookie, sealed or not: %j', async (isSealed) => {
    const clock = createClock();
    const provider = createMemoryProvider(clock);
    const setup = { clock, provider, shared: createShared(), source: { isSealed } };
    const [one, two] = [createMemoryApp(setup), createMemoryApp(setup)];
    const content = provider.issue('ada');
    await one.resolver.endSession({ userId: 'ada' });
    const header = createMemoryBrowser(content).header();
    expect(await visit(two, header)).toMatchObject({ session: null, cookies: [{ name: 'memory', value: undefined }] });
    expect(two.events).toEqual([{ type: 'session_rejected', reason: 'ended' }]);
  });

  it('causes no call of the provider for a token that cannot be verified', async () => {
    const clock = createClock();
    const provider = createMemoryProvider(clock);
    const source = { isSealed: false, verify: () => Promise.resolve({ kind: 'unverifiable' as const }) };
    const setup = { clock, provider, shared: createShared(), source };
    const [one, two] = [createMemoryApp(setup), createMemoryApp(setup)];
    const header = createMemoryBrowser(provider.issue('ada')).header();
    await one.resolver.endSession({ userId: 'ada' });
    expect((await visit(two, header)).session).toBeNull();
    expect(provider.calls).toEqual([]);
  });
});

describe('unverified tokens', () => {
  /** A source whose cookies anyone can make, and which can judge no token that does not come from the provider. */
  function strangers() {
    const clock = createClock();
    const provider = createMemoryProvider(clock);
    const source = createMemorySource(provider, clock);
    const app = createMemoryApp({
      clock,
      provider,
      source: {
        isSealed: false,
        verify: async (content, origin) =>
          origin === 'provider' || content.userId === 'ada' ? source.verify(content, origin) : { kind: 'unverifiable' },
      },
    });
    const made = (name: string) => ({
      ...provider.issue('eve'),
      refreshToken: `made-up-${name}`,
      sessionId: `of-${name}`,
    });
    const ask = (contents: readonly MemoryContent[], peer?: string) =>
      app.resolver.resolve(
        contents.map((content) => `memory=${toCookie(content)}`).join('; '),
        unsent,
        peer === undefined ? {} : { ipAddress: peer },
      );
    return { ...app, made, ask };
  }

  it('cause one provider call per request, and nothing is cleared while others were not verified', async () => {
    const { provider, made, ask } = strangers();
    const four = ['a', 'b', 'c', 'd'].map(made);
    for (let request = 1; request <= 3; request += 1) {
      await expect(ask(four)).rejects.toMatchObject({ code: 'provider_unavailable' });
      expect(provider.calls).toHaveLength(request);
    }
    // The fourth request has the last of them judged; the others are remembered.
    expect(await ask(four)).toMatchObject({ session: null, cookies: [{ name: 'memory', value: undefined }] });
    await ask(four);
    expect(provider.calls).toHaveLength(4);
  });

  it('cause ten provider calls a minute for each peer, identified by its network', async () => {
    const { provider, clock, events, made, ask } = strangers();
    const flood = async (peer: string, name: string): Promise<void> => {
      for (let index = 0; index < 20; index += 1) await ask([made(`${name}-${index}`)], peer).catch(() => undefined);
    };
    await flood('2001:db8:0:1::1', 'first');
    await flood('2001:db8:0:1::2', 'same');
    expect(provider.calls).toHaveLength(10);
    expect(events.filter(({ type }) => type === 'throttled')).toEqual([{ type: 'throttled', scope: 'network' }]);
    await flood('2001:db8:0:2::1', 'other');
    expect(provider.calls).toHaveLength(20);
    await expect(ask([made('late')], '2001:db8:0:1::1')).rejects.toMatchObject({ status: 503, retryAfter: 60 });
    clock.advance(60_001);
    await ask([made('later')], '2001:db8:0:1::1');
    expect(provider.calls).toHaveLength(21);
  });

  it('do not count if the provider confirms them', async () => {
    const { provider, ask } = strangers();
    for (let index = 0; index < 30; index += 1) {
      expect((await ask([provider.issue(`user-${index}`)], '192.0.2.1')).session?.user.id).toBe(`user-${index}`);
    }
  });

  it('cause no event with a session id', async () => {
    const { events, made, ask } = strangers();
    await ask([made('another-user')]);
    expect(JSON.stringify(events)).not.toContain('another-user');
    expect(events.map(({ type }) => type)).toEqual(['session_ended', 'session_rejected']);
  });

  it('are tried after those with a genuine token', async () => {
    const { clock, provider, made, ask } = strangers();
    const own = provider.issue('ada');
    clock.advance(tokenLifetimeMs);
    expect((await ask([made('a'), own])).session?.user.id).toBe('ada');
    expect(provider.calls).toEqual([own.refreshToken]);
  });

  it('evict no answer for real sessions', async () => {
    const { app, clock, provider, browser } = setUp();
    clock.advance(tokenLifetimeMs);
    const old = browser.header();
    browser.receive(await visit(app, old));
    provider.fault = undefined;
    for (let index = 0; index < 21_000; index += 1) {
      await app.resolver.resolve(
        `memory=${toCookie({ ...provider.issue('eve'), refreshToken: `made-up-${index}`, expiresAt: 0 })}`,
        unsent,
      );
    }
    expect((await visit(app, old)).session?.user.id).toBe('ada');
  }, 30_000);
});

describe('after the head is sent', () => {
  it('uses no token, clears nothing, and reports it', async () => {
    const { resolver, provider, clock, browser, events } = setUp();
    clock.advance(tokenLifetimeMs);
    expect(await resolver.resolve(browser.header(), sent)).toEqual({ session: null, cookies: [] });
    expect(provider.calls).toEqual([]);
    expect(events).toEqual([{ type: 'refresh_skipped', reason: 'headers_sent' }]);
  });

  it('still returns a valid session, and one whose refresh is cached or in progress', async () => {
    const gate = Promise.withResolvers<unknown>();
    const { resolver, provider, clock, browser } = setUp({
      pause: (what) => (what === 'answer' ? gate.promise : settled()),
    });
    expect((await resolver.resolve(browser.header(), sent)).session?.user.id).toBe('ada');
    clock.advance(tokenLifetimeMs);
    const first = resolver.resolve(browser.header(), unsent);
    while (provider.calls.length === 0) await settled();
    const second = resolver.resolve(browser.header(), sent);
    await settled();
    gate.resolve(undefined);
    expect((await first).session?.user.id).toBe('ada');
    expect((await second).session?.user.id).toBe('ada');
    expect((await resolver.resolve(browser.header(), sent)).session?.user.id).toBe('ada');
    expect(provider.calls).toHaveLength(1);
  });
});

describe('renewal ahead of time', () => {
  const refreshWindow = 20;
  const justInside = tokenLifetimeMs - refreshWindow * 1000;

  it('starts within the window and not earlier', async () => {
    const { app, provider, clock, browser } = setUp({ refreshWindow });
    clock.advance(justInside - 1);
    expect((await visit(app, browser.header())).later).toBeUndefined();
    clock.advance(1);
    const { session, cookies, later } = await visit(app, browser.header());
    expect([session?.user.id, cookies]).toEqual(['ada', []]);
    expect((await later)?.cookies).toHaveLength(1);
    expect(provider.calls).toHaveLength(1);
  });

  it('starts at most a tenth of the lifetime before the end', async () => {
    const { app, clock, browser } = setUp({ refreshWindow: 3_600 });
    clock.advance(0.9 * tokenLifetimeMs - 1);
    expect((await visit(app, browser.header())).later).toBeUndefined();
    clock.advance(1);
    expect((await visit(app, browser.header())).later).toBeDefined();
  });

  it('gives the next request an answer that came too late for the one that started it', async () => {
    const { app, provider, clock, browser } = setUp({ refreshWindow });
    clock.advance(justInside);
    const { session: former, later } = await visit(app, browser.header());
    await later;
    const next = await visit(app, browser.header());
    browser.receive(next);
    expect(next.session?.expiresAt).toBeGreaterThan(former!.expiresAt);
    expect((await visit(app, browser.header())).session?.expiresAt).toBe(next.session?.expiresAt);
    expect(provider.calls).toHaveLength(1);
  });

  it('never delays a request', async () => {
    const { app, clock, browser, provider } = setUp({
      refreshWindow,
      pause: (what) => (what === 'refresh' ? never : settled()),
    });
    clock.advance(justInside);
    for (let time = 0; time < 3; time += 1) {
      expect((await visit(app, browser.header())).session?.user.id).toBe('ada');
    }
    expect(provider.calls).toHaveLength(1);
  });

  it('never ends a session, whatever the provider answers, and pauses during an outage', async () => {
    const { app, provider, clock, browser, content, events } = setUp({ refreshWindow });
    clock.advance(justInside);
    provider.fault = 'outage';
    for (let time = 0; time < 5; time += 1) {
      const { session, later } = await visit(app, browser.header());
      expect(session?.user.id).toBe('ada');
      expect(await later).toBeUndefined();
    }
    expect(provider.calls).toHaveLength(2);
    provider.fault = undefined;
    provider.revoke(content.sessionId);
    clock.advance(5_001);
    for (let time = 0; time < 3; time += 1) {
      const { session, later } = await visit(app, browser.header());
      expect(session?.user.id).toBe('ada');
      expect(await later).toBeUndefined();
    }
    expect(provider.calls).toHaveLength(3);
    expect(events.at(-1)).toEqual({ type: 'session_ended', reason: 'invalid_grant', sessionId: content.sessionId });
    clock.advance(refreshWindow * 1000);
    expect((await visit(app, browser.header())).session).toBeNull();
  });
});

describe('the shared records', () => {
  function sharing() {
    const shared = createShared();
    return { shared, setDown: (value: boolean) => void (shared.isDown = value) };
  }

  it('end a session in every process, including caches, within five seconds', async () => {
    const { shared } = sharing();
    const clock = createClock();
    const one = createMemoryApp({ shared, clock });
    const two = createMemoryApp({ shared, clock, provider: one.provider });
    const browser = createMemoryBrowser(one.provider.issue('ada'));
    expect((await visit(one, browser.header())).session?.user.id).toBe('ada');
    await two.resolver.signOut(browser.header());
    clock.advance(5_000);
    expect(one.resolver.cachedSession(browser.header())).toBeDefined();
    clock.advance(1);
    expect(one.resolver.cachedSession(browser.header())).toBeUndefined();
    expect((await visit(one, browser.header())).session).toBeNull();
    clock.advance(tokenLifetimeMs);
    expect((await visit(one, browser.header())).session).toBeNull();
    expect(one.provider.calls).toEqual([]);
  });

  it('that are unreachable end no session and prevent no sign-in', async () => {
    const { shared, setDown } = sharing();
    const { app, resolver, browser, eventTypes } = setUp({ shared });
    setDown(true);
    expect((await visit(app, browser.header())).session?.user.id).toBe('ada');
    await resolver.signOut(browser.header());
    expect((await visit(app, browser.header())).session).toBeNull();
    expect(eventTypes()).toContain('coordinator_unavailable');
  });

  it('protect a new sign-in’s cookie from a refresh in progress in another process', async () => {
    const { shared } = sharing();
    const clock = createClock();
    const asked = Promise.withResolvers();
    const answer = Promise.withResolvers();
    const pause: Pause = async (where) => {
      if (where !== 'answer') return;
      asked.resolve(undefined);
      await answer.promise;
    };
    const here = createMemoryApp({ shared, clock, pause });
    const elsewhere = createMemoryApp({ shared, clock, provider: here.provider });
    const old = createMemoryBrowser(here.provider.issue('ada')).header();
    clock.advance(tokenLifetimeMs);
    const late = visit(here, old);
    await asked.promise;
    const next = here.provider.issue('grace');
    await elsewhere.resolver.replace(old, next.sessionId);
    answer.resolve(undefined);
    expect(await late).toEqual({ session: null, cookies: [] });
    expect(await visit(here, old)).toEqual({ session: null, cookies: [] });
    expect((await visit(here, createMemoryBrowser(next).header())).session?.user.id).toBe('grace');
    expect((await visit(elsewhere, createMemoryBrowser(next).header())).session?.user.id).toBe('grace');
  });
});

describe('replacing a session', () => {
  it('ends the old one and keeps the cookie, which now holds the new one', async () => {
    const { app, resolver, provider, browser } = setUp();
    const old = browser.header();
    const next = provider.issue('grace');
    await resolver.replace(old, next.sessionId);
    expect(await visit(app, old)).toEqual({ session: null, cookies: [] });
    expect((await visit(app, createMemoryBrowser(next).header())).session?.user.id).toBe('grace');
  });

  it('keeps a session that continues under its own id', async () => {
    const { app, resolver, browser, content } = setUp();
    await resolver.replace(browser.header(), content.sessionId);
    expect((await visit(app, browser.header())).session?.user.id).toBe('ada');
  });
});

describe('tokens that a route exchanged', () => {
  it('reach the requests that still carry the former ones, without another exchange', async () => {
    const { app, resolver, provider, clock, browser, content } = setUp();
    clock.advance(tokenLifetimeMs - 5_000);
    const outcome = await provider.refresh(content);
    if (outcome.kind !== 'renewed') throw new Error(outcome.kind);
    const source = createMemorySource(provider, clock);
    await resolver.renewOthers('ada', source.toStored(content), source.toStored(outcome.content));
    expect((await visit(app, browser.header())).session?.accessToken).toBe('access for refresh-2');
    expect(provider.calls).toEqual([content.refreshToken]);
  });

  it('reach them in another process, too', async () => {
    const shared = createShared();
    let isTold = false;
    const settle = shared.settle.bind(shared);
    shared.settle = async (...call) => {
      const standing = await settle(...call);
      isTold ||= standing === undefined;
      return standing;
    };
    const clock = createClock();
    const provider = createMemoryProvider(clock);
    const [here, elsewhere] = [
      createMemoryApp({ shared, clock, provider }),
      createMemoryApp({ shared, clock, provider }),
    ];
    const content = provider.issue('ada');
    clock.advance(tokenLifetimeMs - 5_000);
    const outcome = await provider.refresh(content);
    if (outcome.kind !== 'renewed') throw new Error(outcome.kind);
    const source = createMemorySource(provider, clock);
    await here.resolver.renewOthers('ada', source.toStored(content), source.toStored(outcome.content));
    await until(() => isTold);
    const { session } = await visit(elsewhere, createMemoryBrowser(content).header());
    expect([session?.accessToken, provider.calls]).toEqual(['access for refresh-2', [content.refreshToken]]);
  });
});

describe('signing out', () => {
  it('with an invented cookie ends no session that its token does not prove', async () => {
    const clock = createClock();
    const provider = createMemoryProvider(clock);
    const content = provider.issue('ada');
    const source = createMemorySource(provider, clock);
    const app = createMemoryApp({
      clock,
      provider,
      source: {
        isSealed: false,
        verify: (given) =>
          given.refreshToken === 'forged'
            ? Promise.resolve({ kind: 'invalid', reason: 'signature' })
            : source.verify(given, 'provider'),
      },
    });
    await app.resolver.signOut(createMemoryBrowser({ ...content, refreshToken: 'forged' }).header());
    expect((await visit(app, createMemoryBrowser(content).header())).session?.user.id).toBe('ada');
    await app.resolver.signOut(createMemoryBrowser(content).header());
    expect((await visit(app, createMemoryBrowser(content).header())).session).toBeNull();
  });

  it('drops renewed tokens that are still waiting for their browser', async () => {
    const { app, resolver, provider, clock, browser, content } = setUp();
    clock.advance(tokenLifetimeMs);
    await visit(app, browser.header());
    await resolver.signOut(browser.header());
    clock.advance(2 * tokenLifetimeMs);
    expect((await visit(app, browser.header())).session).toBeNull();
    // The provider was called for the used token, and for no other.
    expect(new Set(provider.calls)).toEqual(new Set([content.refreshToken]));
  });
});
