import { noBackground } from '../../lib/tools/background.ts';
import type { Background } from '../../lib/tools/background.ts';
import type { SharedCoordinator } from '../../lib/session/coordinator.ts';
import { createOutageReport } from '../../lib/session/outages.ts';
import type { Ended, Holder, Renewed } from '../../lib/session/refresh/answers.ts';
import type { Exchanged, ExchangedFor, Refreshed } from '../../lib/session/refresh/exchange.ts';
import { createRefresh } from '../../lib/session/refresh/refresh.ts';
import { createClock } from './clock.ts';
import { createShared } from './shared-memory.ts';

export const ended: Ended = { kind: 'ended', reason: 'invalid_grant' };
export const to = (token: string): ExchangedFor => ({ kind: 'renewed', token, text: `of ${token}`, issuedAt: 0 });
export const holding = (token: string, isNewer = true): Holder => ({ token, pair: token, isNewer: () => isNewer });
/** The answer, as the provider gave it. */
export const given = (answer: Renewed | Ended): Exchanged => {
  if (answer.kind === 'ended') return answer;
  const { kind, token, text } = answer;
  return { kind, token, text, issuedAt: 0 };
};
export const seen = ({ answer, isNew }: Refreshed) => ({ answer: given(answer), isNew });
export const day = 24 * 60 * 60_000;
/** What is told to the coordinator without waiting. */
export const told = (): Promise<unknown> => new Promise((resolve) => setImmediate(resolve));
/** What a provider must not be asked for. */
export const never = new Error('a second exchange');

interface SetUp {
  readonly shared?: SharedCoordinator;
  readonly timeoutMs?: number;
  readonly callLifeMs?: number | undefined;
  readonly background?: Background;
  readonly clock?: ReturnType<typeof createClock>;
}

/** One process. */
export function setUp({
  shared,
  timeoutMs = 5_000,
  callLifeMs,
  background = noBackground,
  clock = createClock(),
}: SetUp = {}) {
  const events: string[] = [];
  /** The events, with all that they say. */
  const reports: object[] = [];
  const emit = (event: { readonly type: string }): void => {
    events.push(event.type);
    reports.push(event);
  };
  const outages = createOutageReport(shared, emit);
  const refresh = createRefresh({
    now: clock.now,
    emit,
    timeoutMs,
    shared,
    outages,
    background,
    ...(callLifeMs !== undefined && { callLifeMs }),
  });
  const calls: string[] = [];
  /** Exchanges a token; the provider answers as given. */
  const exchange = async (
    token: string,
    answer: Exchanged | Promise<Exchanged> | Error,
    former: readonly string[] = [],
  ) => {
    const run = (): Promise<Exchanged> => {
      calls.push(token);
      return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
    };
    return seen(await refresh.run(holding(token), { former, run }));
  };
  const settled = (token: string) => {
    const answer = refresh.settled(holding(token));
    return answer && given(answer);
  };
  return {
    clock,
    events,
    reports,
    refresh,
    calls,
    exchange,
    outages,
    settled,
  };
}

/** Processes that share a coordinator. */
export function setUpTwo() {
  const clock = createClock();
  const shared = createShared(clock.now);
  return { clock, shared, one: setUp({ shared, clock }), two: setUp({ shared, clock }) };
}
