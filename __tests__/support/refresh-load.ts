import { setTimeout as pass } from 'node:timers/promises';
import { slotOf } from '../../lib/tools/redis-slot.ts';
import { createRedisCoordinator } from '../../lib/redis/index.ts';
import type { RedisClient } from '../../lib/redis/index.ts';
import { hash, refreshTokenName } from '../../lib/session/ended/record.ts';
import { createMemoryApp, createMemoryBrowser, createMemoryProvider, visit } from './memory-sessions.ts';
import type { MemoryApp, MemoryContent, MemoryProvider } from './memory-sessions.ts';

/** What became of one session whose token had expired, asked for in two processes at once. */
export interface LoadedSession {
  /** Milliseconds, from the start of the load. */
  readonly startedAt: number;
  /** Which third of a cluster's slots coordinates its token. */
  readonly third: number;
  /** Of its two requests; the rest were answered as signed out, or with an error. */
  readonly signedIn: number;
  /** Calls to the provider for its token: two where the processes did not coordinate. */
  readonly calls: number;
  /** Of its slower request, in milliseconds. */
  readonly tookMs: number;
}

export interface RefreshLoad {
  readonly apps: readonly MemoryApp[];
  /** Milliseconds since the start. */
  now(): number;
  /** Until the last 20 sessions, all of them begun from now on, met one call each. */
  untilCoordinated(): Promise<void>;
  /** Ends the load when all of its requests are answered. */
  stop(): Promise<readonly LoadedSession[]>;
}

const everyMs = 40;
const callMs = 30;
const day = 24 * 60 * 60_000;

/** Answers a token that was spent within the last 30 seconds as it did before, as WorkOS does. */
function createForgivingProvider() {
  const clock = { now: Date.now, advance: () => undefined };
  const provider = createMemoryProvider(clock);
  const answers = new Map<string, ReturnType<MemoryProvider['refresh']>>();
  const calls = new Map<string, number>();
  const refresh: MemoryProvider['refresh'] = async (content) => {
    const { refreshToken } = content;
    calls.set(refreshToken, (calls.get(refreshToken) ?? 0) + 1);
    const answer = answers.get(refreshToken) ?? provider.refresh(content);
    answers.set(refreshToken, answer);
    await pass(callMs);
    return answer;
  };
  /** An expired session whose token is coordinated in the given third of a cluster's slots. */
  const issue = (third: number): MemoryContent => {
    for (;;) {
      const content = { ...provider.issue('ada'), expiresAt: Date.now() - day };
      const slot = slotOf(hash(refreshTokenName('b2b', content.refreshToken)));
      if (Math.floor((slot * 3) / 16_384) === third) return content;
    }
  };
  return { clock, provider: { ...provider, refresh }, issue, callsFor: (token: string) => calls.get(token) ?? 0 };
}

/**
 * Sessions that have expired, 25 a second, each asked for in two of the processes at once, spread evenly over the three masters of a
 * cluster.
 *
 * @param clients one for each process
 */
export function startRefreshLoad(clients: readonly RedisClient[]): RefreshLoad {
  const { clock, provider, issue, callsFor } = createForgivingProvider();
  const apps = clients.map((client) =>
    createMemoryApp({
      clock,
      provider,
      shared: createRedisCoordinator({ client, password: 'p'.repeat(32), keyPrefix: 'load' }),
    }),
  );
  const started = performance.now();
  const now = (): number => performance.now() - started;

  async function load(index: number): Promise<LoadedSession> {
    const third = index % 3;
    const content = issue(third);
    const header = createMemoryBrowser(content).header();
    const startedAt = now();
    const pair = [apps[index % apps.length]!, apps[(index + 1 + (index % (apps.length - 1))) % apps.length]!];
    const answers = await Promise.all(
      pair.map(async (app) => {
        try {
          const { session, onDelivered } = await visit(app, header);
          onDelivered?.();
          return session !== null;
        } catch {
          return false;
        }
      }),
    );
    const signedIn = answers.filter(Boolean).length;
    return { startedAt, third, signedIn, calls: callsFor(content.refreshToken), tookMs: now() - startedAt };
  }

  const sessions: Promise<LoadedSession>[] = [];
  const answered: LoadedSession[] = [];
  const timer = setInterval(() => {
    const session = load(sessions.length);
    sessions.push(session);
    void session.then((met) => answered.push(met));
  }, everyMs);
  return {
    apps,
    now,
    async untilCoordinated() {
      const from = now();
      const isCoordinated = ({ startedAt, calls }: LoadedSession): boolean => startedAt >= from && calls === 1;
      while (answered.length < 20 || !answered.slice(-20).every(isCoordinated)) await pass(50);
    },
    async stop() {
      clearInterval(timer);
      return Promise.all(sessions);
    },
  };
}
