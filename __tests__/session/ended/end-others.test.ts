import { jest } from '@jest/globals';
import {
  createMemoryApp,
  createMemoryBrowser,
  createMemoryProvider,
  createMemorySource,
  storedOf,
  tokenLifetimeMs,
  visit,
  withoutSessionIds,
} from '../../support/memory-sessions.ts';
import type { MemoryApp, MemoryBrowser, MemoryContent, Pause } from '../../support/memory-sessions.ts';
import type { AuthError } from '../../../lib/errors.ts';
import type { Token } from '../../../lib/session/jwt.ts';
import type { B2bSession } from '../../../lib/types.ts';
import { createClock } from '../../support/clock.ts';
import { createShared } from '../../support/shared-memory.ts';
import type { SharedMemory } from '../../support/shared-memory.ts';
import { until } from '../../support/until.ts';

const unavailable = { code: 'provider_unavailable', reason: 'coordinator' };

/** Two processes of one application, in front of one provider and one coordinator. */
function createProcesses(pause?: Pause) {
  const clock = createClock();
  const provider = createMemoryProvider(clock);
  const shared = createShared();
  const create = (own?: Pause): MemoryApp => createMemoryApp({ shared, clock, provider, ...(own && { pause: own }) });
  return { one: create(pause), two: create(), clock, shared };
}

/** The same, where a user signed in a second ago. */
async function startSignedIn() {
  const processes = createProcesses();
  const signedIn = await signIn(processes.one);
  processes.clock.advance(1_000);
  return { ...processes, ...signedIn };
}

async function signIn({ resolver, provider }: MemoryApp) {
  const content = provider.issue('ada');
  const begun = { ...content, beganAt: await resolver.beginSession(storedOf(content)) };
  return { kept: storedOf(begun), browser: createMemoryBrowser(begun) };
}

async function sees(app: MemoryApp, browser: MemoryBrowser): Promise<string | undefined> {
  const resolution = await visit(app, browser.header());
  browser.receive(resolution);
  return resolution.session?.user.id;
}

const seesOrFails = (app: MemoryApp, browser: MemoryBrowser): Promise<string | undefined> =>
  sees(app, browser).catch((error: unknown) => (error as AuthError).code);

const lose = (): Promise<never> => Promise.reject(new Error('lost'));

/** Fails the coordinator's calls about these records until the returned function is called. */
function loseRecords(shared: SharedMemory, method: 'read' | 'merge', kind: ':session:' | ':user:'): () => void {
  const original = shared[method].bind(shared) as (...call: readonly any[]) => Promise<any>;
  const change = (call: typeof original) => Object.assign(shared, { [method]: call });
  change((subject, ...rest) => (subject.includes(kind) ? lose() : original(subject, ...rest)));
  return () => change(original);
}

const nextTurns = async (): Promise<void> => {
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
};

it('a watched session of the user ends at once in this process, and the one that continues does not', async () => {
  const { one, clock } = createProcesses();
  const [{ kept, browser }, other] = [await signIn(one), await signIn(one)];
  clock.advance(1_000);
  const ends: string[] = [];
  const stops = await Promise.all(
    [browser, other.browser].map(async (each, index) => {
      const { session } = await visit(one, each.header());
      return one.resolver.watchSession(session!, each.header(), (end) => ends.push(`${index} ${end}`));
    }),
  );
  await nextTurns();
  await one.resolver.endOthers(kept);
  await nextTurns();
  for (const stop of stops) stop();
  expect(ends).toEqual(['1 ended']);
});

describe('the session that continues when the others end', () => {
  it('is valid here and in another process', async () => {
    const { one, two, kept, browser } = await startSignedIn();
    await one.resolver.endOthers(kept);
    expect([await sees(one, browser), await sees(two, browser)]).toEqual(['ada', 'ada']);
  });

  it('is valid in a process that learns of the call, but cannot read the record of the session', async () => {
    const { one, two, kept, browser, shared } = await startSignedIn();
    await one.resolver.endOthers(kept);
    loseRecords(shared, 'read', ':session:');
    expect([await sees(two, browser), await sees(two, browser)]).toEqual(['ada', 'ada']);
  });

  it('is not reported as ended because an answer of the coordinator is lost', async () => {
    const { one, two, kept, browser, shared } = await startSignedIn();
    await one.resolver.endOthers(kept);
    const { session } = await visit(one, browser.header());
    shared.read = lose;
    const ends: string[] = [];
    const stop = await two.resolver.watchSession(session!, browser.header(), (end) => ends.push(end));
    await until(() => two.eventTypes().includes('coordinator_unavailable'));
    await nextTurns();
    stop();
    expect(ends).toEqual([]);
  });

  it('continues in every process if the coordinator did not store the call', async () => {
    const { one, two, kept, browser, shared, clock } = await startSignedIn();
    const heal = loseRecords(shared, 'merge', ':user:');
    await expect(one.resolver.endOthers(kept)).rejects.toMatchObject(unavailable);
    heal();
    clock.advance(6_000);
    expect([await sees(one, browser), await sees(two, browser)]).toEqual(['ada', 'ada']);
  });

  it('is kept again by a call of a process that cannot read the record of the session', async () => {
    const { one, two, kept, browser, shared, clock } = await startSignedIn();
    await two.resolver.endOthers(kept);
    loseRecords(shared, 'read', ':session:');
    await one.resolver.endOthers(kept);
    clock.advance(6_000);
    expect([await sees(one, browser), await sees(two, browser)]).toEqual(['ada', 'ada']);
  });

  it('is among the sessions to end at the provider when a sign-in replaces it in a process that has learned of the call', async () => {
    const { one, two, kept, browser, clock } = await startSignedIn();
    const other = await signIn(one);
    clock.advance(1_000);
    await one.resolver.endOthers(kept);
    expect(await sees(two, other.browser)).toBeUndefined();
    const { sessions } = await two.resolver.replace(browser.header(), 'another');
    expect(sessions.map(({ candidate }) => candidate.sessionId)).toEqual([kept.sessionId]);
  });

  it('ends by an endSession during the call of the coordinator', async () => {
    const { one, two, kept, browser, shared, clock } = await startSignedIn();
    await one.resolver.renewSession({ userId: 'ada' });
    const held = Promise.withResolvers<undefined>();
    shared.heldBy = held.promise;
    const ending = one.resolver.endOthers(kept);
    await nextTurns();
    shared.heldBy = undefined;
    clock.advance(500);
    await one.resolver.endSession({ userId: 'ada' });
    held.resolve(undefined);
    await ending;
    expect([await sees(one, browser), await sees(two, browser)]).toEqual([undefined, undefined]);
  });
});

it.each<[string, (app: MemoryApp, kept: ReturnType<typeof storedOf>) => Promise<unknown>]>([
  ['endSession by user', ({ resolver }) => resolver.endSession({ userId: 'ada' })],
  ['endSession by session', ({ resolver }, { sessionId = '' }) => resolver.endSession({ sessionId })],
  ['renewSession', ({ resolver }) => resolver.renewSession({ userId: 'ada' })],
  ['endOthers', ({ resolver }, kept) => resolver.endOthers(kept)],
  ['renewOthers', ({ resolver }, kept) => resolver.renewOthers('ada', kept, kept)],
])('%s rejects where nothing tells whether an earlier call is later by its clock', async (_, call) => {
  const { one, kept, shared } = await startSignedIn();
  shared.read = lose;
  await expect(call(one, kept)).rejects.toMatchObject(unavailable);
});

describe('a call of a process that cannot read the coordinator', () => {
  it.each([
    ['for', ['read']],
    ['at', ['read', 'merge']],
  ] as const)(
    'lifts no endSession of another process, there or here, also if it is repeated: the record of the user %s %j',
    async (_, methods) => {
      const { one, two, kept, browser, shared, clock } = await startSignedIn();
      const see = () => Promise.all([one, two].map((app) => sees(app, { ...browser, receive: () => undefined })));
      await two.resolver.endSession({ userId: 'ada' });
      clock.advance(1_000);
      const heals = methods.map((method) => loseRecords(shared, method, ':user:'));
      await expect(one.resolver.endOthers(kept)).rejects.toMatchObject(unavailable);
      for (const heal of heals) heal();
      clock.advance(6_000);
      expect(await see()).toEqual([undefined, undefined]);
      await one.resolver.endOthers(kept);
      clock.advance(6_000);
      expect(await see()).toEqual([undefined, undefined]);
    },
  );

  it('ends the others in every process where the coordinator stores it', async () => {
    const { one, two, kept, browser, shared, clock } = await startSignedIn();
    const other = await signIn(one);
    clock.advance(1_000);
    const heal = loseRecords(shared, 'read', ':user:');
    await expect(one.resolver.endOthers(kept)).rejects.toMatchObject(unavailable);
    heal();
    clock.advance(6_000);
    expect([await sees(two, other.browser), await sees(two, browser)]).toEqual([undefined, 'ada']);
  });

  it.each(['read', 'merge'] as const)(
    'outbids no later endSession of a process whose clock is slower: %s',
    async (method) => {
      const { one, ahead, kept, browser, shared } = await startAhead();
      const heal = loseRecords(shared, method, ':user:');
      await expect(ahead.resolver.endOthers(kept)).rejects.toMatchObject(unavailable);
      heal();
      one.clock.advance(2_000);
      await one.resolver.endSession({ userId: 'ada' });
      one.clock.advance(6_000);
      ahead.clock.advance(8_000);
      const copy = createMemoryBrowser();
      copy.cookie = browser.cookie;
      expect([await sees(one, browser), await sees(ahead, copy)]).toEqual([undefined, undefined]);
    },
  );

  it('keeps no token for which renewSession was called in another process', async () => {
    const { one, two, kept, browser, shared, clock } = await startSignedIn();
    await two.resolver.renewSession({ userId: 'ada' });
    const read = shared.read.bind(shared);
    shared.read = lose;
    await expect(one.resolver.renewOthers('ada', kept, kept)).rejects.toMatchObject(unavailable);
    shared.read = read;
    clock.advance(6_000);
    expect([await sees(two, browser), one.provider.calls]).toEqual(['ada', [kept.refreshToken]]);
  });
});

describe('what a process learned from the coordinator', () => {
  it.each([
    [{ userId: 'ada' }, false],
    [{ userId: 'ada' }, true],
    [{ sessionId: 'session-ada-0' }, false],
    [{ sessionId: 'session-ada-0' }, true],
  ])(
    'of endSession by %j, and of a sign-in that it spares (%j), applies for as long as a cookie',
    async (target, isSpared) => {
      const { one, two, clock, shared } = createProcesses();
      const content = one.provider.issue('ada');
      await one.resolver.endSession(target);
      if (isSpared) await one.resolver.beginSession(storedOf(content), { beganAt: content.beganAt });
      const header = createMemoryBrowser(content).header();
      expect((await visit(two, header)).session?.user.id).toBe(isSpared ? 'ada' : undefined);
      clock.advance(9 * 24 * 60 * 60_000);
      shared.isDown = true;
      const later = visit(two, header).then(({ session }) => session?.user.id);
      if (isSpared) expect(await later).toBe('ada');
      else await expect(later).rejects.toMatchObject(unavailable);
    },
  );
});

it.each<[string, (app: MemoryApp, kept: Awaited<ReturnType<typeof signIn>>['kept']) => Promise<unknown>]>([
  ['endSession', ({ resolver }, { content: { sessionId } }) => resolver.endSession({ sessionId })],
  ['a sign-out', ({ resolver }, kept) => resolver.revokeSession(kept)],
])('a watched session ends at once by %s in this process', async (_, call) => {
  const { one, kept, browser } = await startSignedIn();
  const { session } = await visit(one, browser.header());
  const ends: string[] = [];
  await one.resolver.watchSession(session!, browser.header(), (end) => ends.push(end));
  await nextTurns();
  await call(one, kept);
  expect(ends).toHaveLength(1);
});

it('a session that has ended stays so by a call that keeps it, and a token that is due stays due', async () => {
  const { one, two, kept, browser } = await startSignedIn();
  await one.resolver.renewSession({ userId: 'ada' });
  await one.resolver.renewOthers('ada', kept, kept);
  expect([await sees(two, browser), one.provider.calls]).toEqual(['ada', [kept.refreshToken]]);
  await one.resolver.endSession({ userId: 'ada' });
  await one.resolver.endOthers(kept);
  expect([await sees(one, browser), await sees(two, browser)]).toEqual([undefined, undefined]);
});

describe('a call that keeps the tokens of one session', () => {
  it('renews the others’ in every process', async () => {
    const { one, two, kept, browser } = await startSignedIn();
    const other = await signIn(one);
    await one.resolver.renewOthers('ada', kept, kept);
    expect([await sees(two, browser), await sees(two, other.browser)]).toEqual(['ada', 'ada']);
    expect(one.provider.calls).toEqual([other.kept.refreshToken]);
  });

  it('gives a request with the tokens that it replaced the newer ones, and clears no cookie once a browser has them', async () => {
    const { clock, provider, resolver } = createMemoryApp();
    const spent = provider.issue('ada');
    clock.advance(tokenLifetimeMs - 20_000);
    const outcome = await provider.refresh(spent);
    if (outcome.kind !== 'renewed') throw new Error('The provider did not renew the tokens');
    await resolver.renewOthers('ada', storedOf(spent), storedOf(outcome.content));
    clock.advance(26_000);
    const ask = (content: MemoryContent) => resolver.resolve(createMemoryBrowser(content).header(), () => false);
    expect((await ask(spent)).session?.accessToken).toBe(`access for ${outcome.content.refreshToken}`);
    await ask(outcome.content);
    clock.advance(26_000);
    const late = await ask(spent);
    expect(late).toEqual({ session: null, cookies: [] });
  });

  it('leaves no session of the user in the cache of this process while the coordinator is told', async () => {
    const { one, kept, shared } = await startSignedIn();
    const other = await signIn(one);
    await sees(one, other.browser);
    const held = Promise.withResolvers<undefined>();
    shared.merge = () => held.promise;
    const renewing = one.resolver.renewOthers('ada', kept, kept);
    await nextTurns();
    expect(one.resolver.cachedSession(other.browser.header())).toBeUndefined();
    held.resolve(undefined);
    await renewing;
  });

  it.each(['endOthers', 'renewOthers'] as const)(
    'rejects where the coordinator does not store it: %s',
    async (name) => {
      const { one, kept, shared } = await startSignedIn();
      shared.isDown = true;
      const calling = name === 'endOthers' ? one.resolver.endOthers(kept) : one.resolver.renewOthers('ada', kept, kept);
      await expect(calling).rejects.toMatchObject(unavailable);
    },
  );
});

it('sessions without an id end with the others, as none can be told from them', async () => {
  const clock = createClock();
  const provider = createMemoryProvider(clock);
  const source = withoutSessionIds(createMemorySource(provider, clock));
  const one = createMemoryApp({ clock, provider, source });
  const [own, other] = [provider.issue('ada'), provider.issue('ada')];
  const browsers = [own, other].map(createMemoryBrowser);
  expect(await Promise.all(browsers.map((browser) => sees(one, browser)))).toEqual(['ada', 'ada']);
  await one.resolver.endOthers({ ...storedOf(own), sessionId: undefined });
  expect(await Promise.all(browsers.map((browser) => sees(one, browser)))).toEqual([undefined, undefined]);
});

describe('the coordinator is told nothing', () => {
  it.each<[string, (app: MemoryApp, content: MemoryContent) => Promise<unknown>]>([
    ['of a sign-in that no call concerns', ({ resolver }, content) => resolver.beginSession(storedOf(content))],
    [
      'of one that does not say when it began',
      ({ resolver }, content) => resolver.beginSession(storedOf(content), { beganAt: 0 }),
    ],
    [
      'of the other sessions of a session without a user',
      ({ resolver }, content) => resolver.endOthers({ ...content, userId: undefined }),
    ],
    [
      'of the end of a session without an id',
      ({ resolver }) => resolver.revokeSession({ sessionId: undefined, tokenLifetimeMs }),
    ],
  ])('%s', async (_, call) => {
    const { one, shared } = createProcesses();
    const merge = jest.spyOn(shared, 'merge');
    await call(one, one.provider.issue('ada'));
    expect(merge).not.toHaveBeenCalled();
  });
});

/** A process whose clock is 30 seconds ahead, which ended the others half a minute ago, and one whose clock is right. */
async function startAhead() {
  const clock = createClock();
  const provider = createMemoryProvider(clock);
  const shared = createShared();
  const one = createMemoryApp({ shared, clock, provider });
  const ahead = createMemoryApp({ shared, clock: createClock(clock.now() + 30_000), provider });
  const { kept, browser } = await signIn(one);
  clock.advance(1_000);
  await ahead.resolver.endOthers(kept);
  return { one, ahead, kept, browser, shared };
}

describe('a call after one of a process whose clock is 30 seconds fast', () => {
  it.each([0, 30_000])('ends the session that the earlier call spared, %d ms later', async (laterMs) => {
    const { one, ahead, browser } = await startAhead();
    one.clock.advance(laterMs);
    await one.resolver.endSession({ userId: 'ada' });
    const copy = createMemoryBrowser();
    copy.cookie = browser.cookie;
    expect([await sees(one, browser), await sees(ahead, copy)]).toEqual([undefined, undefined]);
  });

  it('ends the others that began in between, and spares its own session', async () => {
    const { one, ahead, kept, browser } = await startAhead();
    const other = await signIn(one);
    expect(await sees(one, other.browser)).toBe('ada');
    await one.resolver.endOthers(kept);
    expect([await sees(one, other.browser), await sees(ahead, other.browser)]).toEqual([undefined, undefined]);
    expect([await sees(one, browser), await sees(ahead, browser)]).toEqual(['ada', 'ada']);
  });

  it('renews the tokens of the others that the earlier call did not concern', async () => {
    const { one, ahead, kept, browser } = await startAhead();
    await ahead.resolver.renewSession({ userId: 'ada' });
    await sees(one, browser);
    const other = await signIn(one);
    const own = { ...other.kept, content: other.kept.content };
    await one.resolver.renewOthers('ada', own, own);
    await sees(one, browser);
    expect(one.provider.calls).toEqual([kept.refreshToken, 'refresh-2']);
  });
});

it('a bearer token of the session that continues passes in a process that has learned of the call', async () => {
  const verifyBearer = ({ text, claims }: Token) => {
    const user = { id: claims['sub'] ?? '', email: '' };
    const expiresAt = Number(claims['exp']) * 1_000;
    const session = { adapter: 'b2b', credential: 'bearer', user, accessToken: text, claims, expiresAt } as B2bSession;
    return Promise.resolve({ kind: 'live' as const, session });
  };
  const clock = createClock();
  const provider = createMemoryProvider(clock);
  const setup = { shared: createShared(), clock, provider, source: { verifyBearer } };
  const [one, two] = [createMemoryApp(setup), createMemoryApp(setup)];
  const [{ kept }, other] = [await signIn(one), await signIn(one)];
  const iat = Math.floor(clock.now() / 1_000);
  const claims = Buffer.from(JSON.stringify({ sub: 'ada', sid: kept.sessionId, iat, exp: iat + 300 }));
  const bearer = `e30.${claims.toString('base64url')}.AA`;
  const seesBearer = async () => (await two.resolver.resolveBearer(bearer, {}))?.user.id;
  expect(await seesBearer()).toBe('ada');
  clock.advance(1_000);
  await one.resolver.endOthers({ ...kept, beganAt: 0 });
  expect([await sees(two, other.browser), await seesBearer()]).toEqual([undefined, 'ada']);
});

it('a sign-out in another process applies to a session that was replaced here', async () => {
  const { one, two, kept, browser } = await startSignedIn();
  await one.resolver.markReplaced(kept);
  expect(await one.resolver.signOutOf(kept.sessionId)).toBe('replaced');
  await two.resolver.signOut(browser.header());
  expect(await one.resolver.signOutOf(kept.sessionId)).toBe('signed_out');
});

it('the five seconds start with the call of the coordinator, however late the verification ends', async () => {
  const held = Promise.withResolvers<undefined>();
  const { one, two, clock } = createProcesses((what) => (what === 'verify' ? held.promise : Promise.resolve()));
  const { browser } = await signIn(two);
  clock.advance(1_000);
  const first = visit(one, browser.header());
  await nextTurns();
  await two.resolver.endSession({ userId: 'ada' });
  clock.advance(4_000);
  held.resolve(undefined);
  await first;
  clock.advance(1_001);
  expect(await sees(one, browser)).toBeUndefined();
});

it.each([
  ['an empty record', {}, undefined],
  ['times that are no numbers', { ended: 'now', stale: null }, 'provider_unavailable'],
  ['times as a database may give them', { ended: -1n, stale: '-1' }, undefined],
  ['a text', 'ended', 'provider_unavailable'],
])('a coordinator that answers with %s cancels no endSession, and ends no session', async (_what, odd, expected) => {
  const { one, clock, shared } = createProcesses();
  shared.read = () => Promise.resolve(odd as never);
  const { browser } = await signIn(one);
  expect(await sees(one, browser)).toBe('ada');
  clock.advance(1_000);
  const ending = one.resolver.endSession({ userId: 'ada' });
  if (expected === undefined) await ending;
  else await expect(ending).rejects.toMatchObject(unavailable);
  for (const laterMs of [0, 10_000]) {
    clock.advance(laterMs);
    // What cannot be read may spare the session, so its cookie stays.
    expect(await seesOrFails(one, browser)).toBe(expected);
  }
  expect(one.events).not.toContainEqual(expect.objectContaining({ type: 'coordinator_unavailable' }));
});

it('a sign-out stands if its session is replaced at the same time, without a coordinator', async () => {
  const { one, kept, browser, shared } = await startSignedIn();
  const held = Promise.withResolvers<undefined>();
  shared.read = () => held.promise;
  shared.isDown = true;
  const waiting = one.resolver.markReplaced(kept);
  await one.resolver.signOut(browser.header());
  held.resolve(undefined);
  await waiting;
  expect(await one.resolver.signOutOf(kept.sessionId)).toBe('signed_out');
});

it.each([
  [undefined, undefined],
  [null, undefined],
  [0, 'provider_unavailable'],
  ['maybe', 'provider_unavailable'],
  [{ spared: 'yes' }, 'provider_unavailable'],
])('a coordinator that answers with %p spares no session', async (odd, expected) => {
  const { one, two, browser, shared } = await startSignedIn();
  const read = shared.read.bind(shared);
  await one.resolver.endSession({ userId: 'ada' });
  shared.read = (subject) => (subject.includes(':user:') ? read(subject) : Promise.resolve(odd as never));
  expect(await seesOrFails(two, browser)).toBe(expected);
});
