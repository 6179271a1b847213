import fc from 'fast-check';
import type { Resolution } from '../../../lib/session/source.ts';
import type { Session } from '../../../lib/types.ts';
import { createClock } from '../../support/clock.ts';
import { checkInputs } from '../../support/inputs.ts';
import {
  createMemoryApp,
  createMemoryBrowser,
  createMemoryProvider,
  createMemorySource,
  fromCookie,
  tokenLifetimeMs,
  visit,
} from '../../support/memory-sessions.ts';
import type { MemoryContent } from '../../support/memory-sessions.ts';
import { createShared } from '../../support/shared-memory.ts';

interface Content extends MemoryContent {
  readonly role: number;
  readonly padding: string;
}

const has = (role: number) => (session: Session | null) => session?.claims.role === role;
const nextTurn = (): Promise<unknown> => new Promise((resolve) => setImmediate(resolve));
const turns = async (count: number): Promise<void> => {
  for (let turn = 0; turn < count; turn += 1) await nextTurn();
};
const hourMs = 60 * 60_000;
/** Less than requests with the old cookie are answered. */
const lateMs = 20_000;

interface Step {
  readonly does: string;
  readonly process: number;
  readonly afterMs: number;
  readonly isRotated: boolean;
}

/** Processes before a provider that gives the same refresh token again; the user's role is in the claims. */
async function setUp(count: number) {
  const clock = createClock(1_700_000_000_000);
  const answer: { role: number; padding: string; isRotated?: boolean; held?: Promise<unknown> | undefined } = {
    role: 0,
    padding: '',
  };
  const spent = new Set<string>();
  const provider = createMemoryProvider(clock);
  provider.refresh = async (content) => {
    provider.calls.push(content.refreshToken);
    const [{ role, padding, isRotated = false, held }, issuedAt] = [answer, Math.floor(clock.now() / 1_000) * 1_000];
    const { refreshToken: sent } = content;
    const isSpent = spent.has(sent);
    if (isRotated) spent.add(sent);
    await held;
    if (isSpent) return { kind: 'ended', reason: 'invalid_grant' };
    const refreshToken = isRotated ? `after ${spent.size}` : sent;
    const next: Content = { ...content, refreshToken, role, padding, issuedAt, expiresAt: issuedAt + tokenLifetimeMs };
    return { kind: 'renewed', content: next };
  };
  const shared = createShared(clock.now);
  const source = createMemorySource(provider, clock);
  const verify: typeof source.verify = async (content, ...asked) => {
    const verdict = await source.verify(content, ...asked);
    if (verdict.kind !== 'live') return verdict;
    Object.assign(verdict.session.claims, { role: (content as Content).role });
    return verdict;
  };
  const apps = Array.from({ length: count }, () =>
    createMemoryApp({ clock, provider, source: { verify }, ...(count > 1 && { shared }) }),
  );
  const browser = createMemoryBrowser(provider.issue('ada'));
  clock.advance(tokenLifetimeMs);
  const visitTo = async (process: number): Promise<Session | null> => {
    const resolution = await visit(apps[process]!, browser.header());
    browser.receive(resolution);
    return resolution.session;
  };
  const held = (): MemoryContent => fromCookie(browser.cookie!)!;
  /** As after a changed profile. */
  const renewChanged = async (process: number, role: number) => {
    answer.role = role;
    const renewal = await apps[process]!.resolver.renewChanged(held(), has(role), {});
    if (renewal.kind !== 'renewed') throw new Error(renewal.kind);
    browser.receive({ cookies: await source.write(renewal.stored.content, new Map()) });
    return renewal.session;
  };
  await visitTo(0);
  clock.advance(2_000);
  const { resolver } = apps[0]!;
  return { answer, apps, browser, clock, provider, renewChanged, resolver, shared, visitTo };
}

type World = Awaited<ReturnType<typeof setUp>>;

describe('where the provider does not rotate refresh tokens', () => {
  it('processes in turn fetch each change, whatever each of them knew before', async () => {
    const { clock, renewChanged } = await setUp(2);
    for (let role = 1; role <= 6; role += 1) {
      expect(has(role)(await renewChanged(role % 2, role))).toBe(true);
      clock.advance(3_000);
    }
  });

  it('a switch of the organization leads to no tokens of an earlier one', async () => {
    const { answer, apps, browser, clock, provider } = await setUp(2);
    for (const [process, role] of [
      [0, 1],
      [1, 2],
      [0, 1],
      [1, 3],
      [0, 2],
    ] as const) {
      answer.role = role;
      const refresh = (content: MemoryContent) => provider.refresh(content);
      const variant = { name: `organization ${role}`, isReached: has(role), refresh };
      const resolution = await apps[process]!.resolver.switchSession(browser.header(), variant, {});
      browser.receive(resolution);
      expect(has(role)(resolution.session)).toBe(true);
      clock.advance(3_000);
    }
    expect(provider.calls).toHaveLength(6);
  });

  it.each([[1], [2]])('an answer that no line can hold reaches those who asked, in %d processes', async (count) => {
    const { answer, provider, resolver, visitTo } = await setUp(count);
    answer.padding = 'x'.repeat(70_000);
    await resolver.renewSession({ userId: 'ada' });
    answer.role = 1;
    expect(has(1)(await visitTo(0))).toBe(true);
    expect(provider.calls).toHaveLength(2);
  });

  it.each([[1], [2]])('a change that no line can hold reaches those who asked, in %d processes', async (count) => {
    const { answer, provider, renewChanged } = await setUp(count);
    answer.padding = 'x'.repeat(70_000);
    expect(has(1)(await renewChanged(0, 1))).toBe(true);
    expect(provider.calls).toHaveLength(2);
  });

  it.each([[1], [2]])('requests under way have 25 seconds from the last refresh, in %d processes', async (count) => {
    const { apps, browser, clock, provider, resolver, visitTo } = await setUp(count);
    const former = browser.header();
    clock.advance(18_000);
    await resolver.renewSession({ userId: 'ada' });
    await visitTo(0);
    clock.advance(24_000);
    expect((await visit(apps[0]!, former)).session?.user.id).toBe('ada');
    expect(provider.calls).toHaveLength(2);
  });

  it('renewSession counts within the second of the issue, also for a late request with the token of before', async () => {
    const { answer, apps, browser, clock, provider, resolver, visitTo } = await setUp(1);
    await resolver.renewSession({ userId: 'ada' });
    await visitTo(0);
    const former = browser.header();
    clock.advance(400);
    await resolver.renewSession({ userId: 'ada' });
    answer.role = 1;
    expect(has(1)(await visitTo(0))).toBe(true);
    expect(has(1)((await visit(apps[0]!, former)).session)).toBe(true);
    expect(provider.calls).toHaveLength(3);
  });

  describe('after a switch of the organization', () => {
    const switchTo = async ({ answer, apps, browser, provider }: World, process: number, role: number) => {
      answer.role = role;
      const refresh = (content: MemoryContent) => provider.refresh(content);
      const variant = { name: `organization ${role}`, isReached: has(role), refresh };
      return apps[process]!.resolver.switchSession(browser.header(), variant, {});
    };

    it.each([[1], [2]])(
      'no slow response and no late request leads back to the earlier one, in %d processes',
      async (count) => {
        const world = await setUp(count);
        const { apps, browser, clock, resolver } = world;
        await resolver.renewSession({ userId: 'ada' });
        const former = browser.header();
        const [first, slow] = [await visit(apps[0]!, former), await visit(apps[0]!, former)];
        browser.receive(first);
        const left = browser.header();
        clock.advance(1_000);
        browser.receive(await switchTo(world, count - 1, 1));
        clock.advance(6_000);
        await visit(apps[0]!, browser.header());
        browser.receive(slow);
        browser.receive(await visit(apps[0]!, former));
        expect((fromCookie(browser.cookie!) as Content).role).toBe(1);
        // What asks with the earlier tokens much later ends nothing, because their refresh token is the newest one.
        clock.advance(tokenLifetimeMs - 20_000);
        expect((await visit(apps[count - 1]!, left)).session?.user.id).toBe('ada');
        clock.advance(60_000);
        expect((await visit(apps[count - 1]!, browser.header())).session?.user.id).toBe('ada');
      },
    );

    it('whose response was lost, requests with the old cookie get its result', async () => {
      const world = await setUp(1);
      await switchTo(world, 0, 1);
      world.clock.advance(1_000);
      expect(has(1)(await world.visitTo(0))).toBe(true);
      expect(world.provider.calls).toHaveLength(2);
    });

    it('that rotated the refresh token, no holder of an earlier pair sends it again', async () => {
      const world = await setUp(2);
      const { answer, apps, browser, clock, provider, renewChanged, visitTo } = world;
      const former = browser.header();
      await renewChanged(0, 1);
      clock.advance(1_000);
      await visitTo(0);
      answer.isRotated = true;
      browser.receive(await switchTo(world, 0, 2));
      await visitTo(0);
      clock.advance(30_000);
      const given = fromCookie(former!.replace('memory=', ''))!;
      for (const { resolver } of apps)
        expect(await resolver.findSuperseded(given, { cookieHeader: undefined, peer: undefined })).toBe('superseded');
      clock.advance(tokenLifetimeMs);
      await visit(apps[1]!, former);
      expect(provider.calls.filter((token) => token === given.refreshToken)).toHaveLength(3);
    });
  });

  it('a process that lost its turn uses no expired answer of another one', async () => {
    const { answer, apps, browser, clock, provider, visitTo } = await setUp(2);
    const former = browser.header();
    clock.advance(tokenLifetimeMs - 5_000);
    await visit(apps[0]!, former);
    clock.advance(tokenLifetimeMs);
    await visitTo(1);
    clock.advance(tokenLifetimeMs - 5_000);
    const gate = Promise.withResolvers<unknown>();
    answer.held = gate.promise;
    const calls = provider.calls.length;
    const late = visit(apps[1]!, former);
    while (provider.calls.length === calls) await nextTurn();
    answer.held = undefined;
    // Longer than its turn.
    clock.advance(3_000);
    await visitTo(0);
    gate.resolve(undefined);
    expect((await late).session?.user.id).toBe('ada');
  });

  it('one process asks about tokens that the provider refuses, and each hears of it', async () => {
    const { apps, browser, clock, provider } = await setUp(3);
    clock.advance(tokenLifetimeMs);
    provider.refresh = ({ refreshToken }) => {
      provider.calls.push(refreshToken);
      return Promise.resolve({ kind: 'ended', reason: 'invalid_grant' });
    };
    const header = browser.header();
    for (const app of apps) expect((await visit(app, header)).session).toBeNull();
    expect(provider.calls).toHaveLength(2);
    expect(apps.flatMap(({ eventTypes }) => eventTypes()).filter((type) => type === 'session_ended')).toHaveLength(1);
    const given = fromCookie(browser.cookie!)!;
    for (const { resolver } of apps) {
      const request = { cookieHeader: undefined, peer: undefined };
      expect(await resolver.findSuperseded(given, request)).toBe('invalid_grant');
    }
  });

  it('tokens of before have the reason for which the provider refused their refresh token since', async () => {
    const { apps, browser, clock, provider, visitTo } = await setUp(1);
    const former = fromCookie(browser.cookie!)!;
    clock.advance(tokenLifetimeMs);
    await visitTo(0);
    const { held, header } = { held: fromCookie(browser.cookie!)!, header: browser.header() };
    clock.advance(1_000);
    provider.refresh = () => Promise.resolve({ kind: 'ended', reason: 'invalid_grant' });
    await apps[0]!.resolver.renewSession({ userId: 'ada' });
    await visit(apps[0]!, header);
    for (const given of [former, held]) {
      const request = { cookieHeader: undefined, peer: undefined };
      expect(await apps[0]!.resolver.findSuperseded(given, request)).toBe('invalid_grant');
    }
  });

  it('an answer that arrives after a later one, from a process that lost its turn, replaces nothing', async () => {
    const { answer, apps, browser, clock, provider, resolver } = await setUp(2);
    await resolver.renewSession({ userId: 'ada' });
    const header = browser.header();
    const gate = Promise.withResolvers<unknown>();
    answer.held = gate.promise;
    const late = visit(apps[0]!, header);
    while (provider.calls.length < 2) await nextTurn();
    // Longer than its turn.
    clock.advance(3_000);
    answer.held = undefined;
    browser.receive(await visit(apps[1]!, header));
    clock.advance(1_000);
    answer.role = 1;
    const refresh = (content: MemoryContent) => provider.refresh(content);
    const variant = { name: 'organization 1', isReached: has(1), refresh };
    browser.receive(await apps[1]!.resolver.switchSession(browser.header(), variant, {}));
    gate.resolve(undefined);
    browser.receive(await late);
    expect((fromCookie(browser.cookie!) as Content).role).toBe(1);
    expect(provider.calls).toHaveLength(4);
  });

  /** What happens next to a session, with the time since the last step. */
  const step = fc.record({
    does: fc.constantFrom('visit', 'visit', 'visit', 'lose', 'late', 'slow', 'arrive', 'promote', 'change', 'fail'),
    process: fc.nat(2),
    afterMs: fc.oneof(fc.integer({ min: 1_000, max: 4_000 }), fc.constantFrom(26_000, tokenLifetimeMs, hourMs)),
    isRotated: fc.boolean(),
  });

  it.each([
    ['never', false],
    ['now and then', true],
  ])(
    'no one gets tokens older than their own where tokens rotate %s, with slow and late requests and outages',
    async (_, rotates) => {
      const walk = async (steps: readonly Step[], count: number): Promise<void> => {
        const { answer, apps, browser, clock, provider, renewChanged, resolver, shared } = await setUp(count);
        const former: { readonly header: string; readonly at: number }[] = [];
        const slow: { arrive: () => void; done: Promise<unknown>; at: number }[] = [];
        /** The role at the last `renewSession`, of which a process may not hear in an outage. */
        let wanted = 0;
        let wasDown = false;
        const ask = async (process: number, header: string, isWanted = true): Promise<Resolution> => {
          const least = isWanted && !wasDown ? wanted : 0;
          const resolution = await visit(apps[process % count]!, header);
          expect(resolution.session?.user.id).toBe('ada');
          const { role } = fromCookie(header.replace('memory=', '')) as Content;
          expect(resolution.session?.claims.role).toBeGreaterThanOrEqual(Math.max(role, least));
          return resolution;
        };
        const arrive = async (): Promise<void> => {
          const [first] = slow.splice(0);
          first?.arrive();
          await first?.done;
        };
        for (const { does, process, afterMs, isRotated } of steps) {
          // A slow call ends within the replay window of a provider.
          if (afterMs > lateMs) await arrive();
          clock.advance(afterMs);
          answer.isRotated = rotates && isRotated && !shared.isDown && slow.length === 0;
          const header = browser.header()!;
          const late = former.findLast(({ at }) => clock.now() - at < lateMs);
          if (does === 'visit' || does === 'lose') {
            const asked = ask(process, header);
            // It may wait for the slow call.
            await Promise.race([asked, turns(40)]);
            await arrive();
            const resolution = await asked;
            if (does === 'lose' || resolution.cookies.length === 0) continue;
            former.push({ header, at: clock.now() });
            browser.receive(resolution);
          } else if (does === 'late' && late !== undefined && slow.length === 0) await ask(process, late.header, false);
          else if (does === 'slow' && slow.length === 0 && !answer.isRotated) {
            const gate = Promise.withResolvers<unknown>();
            answer.held = gate.promise;
            slow.push({ arrive: () => gate.resolve(undefined), done: ask(process, header, false), at: clock.now() });
            await turns(20);
            answer.held = undefined;
          } else if (does === 'arrive') await arrive();
          else if (does === 'promote' && !shared.isDown && slow.length === 0) {
            answer.role += 1;
            await resolver.renewSession({ userId: 'ada' });
            wanted = answer.role;
            // Longer than another process trusts what it knows.
            clock.advance(6_000);
          } else if (does === 'change' && slow.length === 0) await renewChanged(process % count, answer.role + 1);
          else if (does === 'fail' && !rotates) {
            // Alone, a process may send a token that another one has spent.

            shared.isDown = !shared.isDown;
            wasDown = true;
          }
        }
        await arrive();
        expect(provider.calls.length).toBeLessThan(3 * steps.length + 3);
      };
      const steps = fc.array(step, { minLength: 3, maxLength: 16, size: 'max' });
      const check = fc.asyncProperty(steps, fc.integer({ min: 1, max: 3 }), walk);
      await checkInputs(check, { least: 60, variable: 'NO_ROTATION_WALKS' });
    },
  );

  describe('a process that waits for another one', () => {
    /** Both need newer tokens; the first has sent its call. */
    async function waiting() {
      const world = await setUp(2);
      const { answer, apps, browser, provider, resolver, visitTo } = world;
      await resolver.renewSession({ userId: 'ada' });
      const gate = Promise.withResolvers<unknown>();
      answer.held = gate.promise;
      const header = browser.header();
      const first = visitTo(0);
      while (provider.calls.length < 2) await nextTurn();
      const second = () => visit(apps[1]!, header);
      return { ...world, first, second, open: () => gate.resolve(undefined) };
    }

    it('gets its answer, also where that arrives just before its turn', async () => {
      const { first, open, provider, second, shared } = await waiting();
      const take = shared.take.bind(shared);
      shared.take = async (token, turn) => {
        // Not the first one, which keeps its turn.
        if (turn?.awaited !== undefined) {
          open();
          await first;
        }
        return take(token, turn);
      };
      expect((await second()).session?.user.id).toBe('ada');
      expect(provider.calls).toHaveLength(2);
    });

    it('sends one command each time that it looks', async () => {
      const { first, open, provider, second, shared } = await waiting();
      const take = shared.take.bind(shared);
      const asked: (string | undefined)[] = [];
      shared.take = (token, turn) => {
        asked.push(turn?.awaited);
        if (asked.length === 5) open();
        return take(token, turn);
      };
      expect((await second()).session?.user.id).toBe('ada');
      await first;
      expect([asked.slice(1, 5).every((awaited) => awaited !== undefined), provider.calls.length]).toEqual([true, 2]);
    });
  });
});
