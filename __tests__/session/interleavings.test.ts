import fc from 'fast-check';
import type { Resolution } from '../../lib/session/source.ts';
import { createMemoryApp, createMemoryBrowser, tokenLifetimeMs, visit } from '../support/memory-sessions.ts';
import type { MemoryApp, MemoryBrowser } from '../support/memory-sessions.ts';

type Scheduler = fc.Scheduler;

interface User {
  readonly id: string;
  readonly sessionId: string;
  readonly browser: MemoryBrowser;
}

/** An app in which the scheduler decides at every await which request continues. */
function createWorld(s: Scheduler): { readonly app: MemoryApp; readonly users: readonly User[] } {
  const app = createMemoryApp({ pause: (what) => s.schedule(Promise.resolve(), what) });
  const users = ['ada', 'grace'].map((id) => {
    const content = app.provider.issue(id);
    return { id, sessionId: content.sessionId, browser: createMemoryBrowser(content) };
  });
  return { app, users };
}

/** A request as the scheduler sends and answers it. `isLost`: the browser goes away before the answer. */
async function request(s: Scheduler, app: MemoryApp, { browser }: User, isLost = false): Promise<Resolution> {
  await s.schedule(Promise.resolve(), 'send');
  const resolution = await visit(app, browser.header());
  await s.schedule(Promise.resolve(), 'handler');
  if (!isLost) browser.receive(resolution);
  return resolution;
}

async function signOut(s: Scheduler, app: MemoryApp, { browser }: User): Promise<void> {
  await s.schedule(Promise.resolve(), 'send sign-out');
  const { cookies } = await app.resolver.signOut(browser.header());
  await s.schedule(Promise.resolve(), 'sign-out answered');
  browser.receive({ cookies });
}

const runs = { numRuns: 60 };
const requestCount = fc.integer({ min: 1, max: 8 });
const requests = fc.array(fc.record({ user: fc.nat(1), isLost: fc.boolean() }), { minLength: 1, maxLength: 10 });

async function settle<Result>(s: Scheduler, work: readonly Promise<Result>[]): Promise<Result[]> {
  return s.waitFor(Promise.all(work));
}

describe('in every interleaving', () => {
  it('uses each token once, and shows each user their own session only', async () => {
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), requests, async (s, asked) => {
        const { app, users } = createWorld(s);
        app.clock.advance(tokenLifetimeMs);
        const answers = await settle(
          s,
          asked.map(({ user }) => request(s, app, users[user]!)),
        );
        expect(answers.map(({ session }) => session?.user.id)).toEqual(asked.map(({ user }) => users[user]!.id));
        expect(app.provider.calls).toHaveLength(new Set(asked.map(({ user }) => user)).size);
      }),
      runs,
    );
  });

  it('leaves a cookie that works in every browser that received one, in each round', async () => {
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), fc.array(requests, { minLength: 2, maxLength: 4 }), async (s, rounds) => {
        const { app, users } = createWorld(s);
        for (const asked of rounds) {
          app.clock.advance(tokenLifetimeMs);
          const answers = await settle(
            s,
            asked.map(({ user, isLost }) => request(s, app, users[user]!, isLost)),
          );
          expect(answers.map(({ session }) => session?.user.id)).toEqual(asked.map(({ user }) => users[user]!.id));
        }
        expect(new Set(app.provider.calls).size).toBe(app.provider.calls.length);
        expect(app.eventTypes()).not.toContain('session_rejected');
      }),
      runs,
    );
  });

  it('calls the provider once about a revoked session, and signs out every request with it', async () => {
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), requestCount, async (s, count) => {
        const { app, users } = createWorld(s);
        const [ada, grace] = users as [User, User];
        app.provider.revoke(ada.sessionId);
        app.clock.advance(tokenLifetimeMs);
        const header = ada.browser.header();
        const answers = await settle(s, [
          request(s, app, grace),
          ...Array.from({ length: count }, () => request(s, app, ada)),
        ]);
        const [others, ...own] = answers;
        expect(others?.session?.user.id).toBe('grace');
        for (const { session } of own) expect(session).toBeNull();
        expect(ada.browser.cookie).toBeUndefined();
        // A client that keeps the cookie anyway.
        const again = await settle(s, [app.resolver.resolve(header, () => false)]);
        expect(again[0]).toMatchObject({ session: null, cookies: [{ value: undefined }] });
        expect(app.provider.calls).toHaveLength(2);
        expect(app.eventTypes().filter((type) => type === 'session_ended')).toHaveLength(1);
      }),
      runs,
    );
  });

  it('lets a sign-out win over everything that runs at the same time', async () => {
    const ageMs = fc.constantFrom(0, tokenLifetimeMs - 1, tokenLifetimeMs);
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), requestCount, ageMs, async (s, count, age) => {
        const { app, users } = createWorld(s);
        const [ada, grace] = users as [User, User];
        app.clock.advance(age);
        await settle<unknown>(s, [
          ...Array.from({ length: count }, () => request(s, app, ada)),
          signOut(s, app, ada),
          request(s, app, grace),
        ]);
        // A late answer may have brought a cookie back; neither it nor the old one opens anything, now or later.
        const late = ada.browser.header();
        for (const wait of [0, 20_000, tokenLifetimeMs - 20_000, 20_000]) {
          app.clock.advance(wait);
          const [answer] = await settle(s, [visit(app, late)]);
          expect(answer?.session).toBeNull();
        }
        const [others] = await settle(s, [request(s, app, grace)]);
        expect(others?.session?.user.id).toBe('grace');
      }),
      runs,
    );
  });

  it('sends no cookie of a session whose sign-out was already answered', async () => {
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), requestCount, async (s, count) => {
        const { app, users } = createWorld(s);
        const [ada] = users as [User, User];
        app.clock.advance(tokenLifetimeMs);
        const page = async (): Promise<void> => {
          const resolution = await visit(app, ada.browser.header());
          await s.schedule(Promise.resolve(), 'handler');
          ada.browser.receive(resolution);
        };
        await settle(s, [...Array.from({ length: count }, page), signOut(s, app, ada)]);
        expect(ada.browser.cookie).toBeUndefined();
      }),
      runs,
    );
  });

  it('behaves the same with and without the cache of verified sessions', async () => {
    const steps = fc.array(
      fc.record({ user: fc.nat(1), advanceMs: fc.nat({ max: tokenLifetimeMs }), isSignOut: fc.boolean() }),
      { maxLength: 20 },
    );
    await fc.assert(
      fc.asyncProperty(steps, async (all) => {
        const transcripts = [];
        for (const maxCachedSessions of [0, 1, 2, 100]) {
          const app = createMemoryApp({ maxCachedSessions });
          const browsers = ['ada', 'grace'].map((id) => createMemoryBrowser(app.provider.issue(id)));
          const transcript: unknown[] = [];
          const start = app.clock.now();
          for (const { user, advanceMs, isSignOut } of all) {
            app.clock.advance(advanceMs);
            const browser = browsers[user]!;
            if (isSignOut) browser.receive(await app.resolver.signOut(browser.header()));
            const answer = await visit(app, browser.header());
            browser.receive(answer);
            const { session } = answer;
            transcript.push([session && { ...session, expiresAt: session.expiresAt - start, claims: null }]);
          }
          transcripts.push(transcript);
        }
        for (const transcript of transcripts) expect(transcript).toEqual(transcripts[0]);
      }),
      { numRuns: 50 },
    );
  });
});
