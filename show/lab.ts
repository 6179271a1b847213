import type { EventLog } from './event-log.ts';
import type { Providers } from '../stand-ins/providers.ts';

/** Provider failures, triggered by buttons. */
export interface Lab {
  /** When the stand-ins respond again, by the computer's clock; `undefined` while they respond. */
  readonly downUntil: number | undefined;
  expire(): void;
  takeDown(): void;
  rotateKeys(): Promise<void>;
  /** @returns the `Set-Cookie` lines that the visitor's browser needs */
  askAtOnce(visitor: Visitor): Promise<readonly string[]>;
}

export interface Visitor {
  /** The tour's own port. */
  readonly port: number;
  /** The visitor's `Cookie` header. */
  readonly cookie: string;
}

/** Longer than the lifetime of any stand-in's access token, and a multiple of an authenticator code's 30 seconds. */
const laterMs = 61 * 60_000;
const outageMs = 20_000;
const requests = 50;
/** Identifies an experiment's requests in the log, where they would displace all other entries. */
export const experimentAgent = 'express-auth-adapters experiment';

/** Experiments with the local stand-ins; `undefined` with a real provider, which must not be changed. */
export function createLab({ workos, supabase, clock }: Providers, log: EventLog): Lab | undefined {
  if (workos === undefined || supabase === undefined) return undefined;
  let recovery: NodeJS.Timeout | undefined;
  let downUntil: number | undefined;

  function heal(): void {
    downUntil = undefined;
    workos?.heal();
    supabase?.standIn.heal();
  }

  const refreshes = (): number => workos.tokenCalls + supabase.standIn.calls('refresh');

  return {
    get downUntil() {
      return downUntil;
    },
    expire() {
      clock.advance(laterMs);
      log.addExperiment({
        title: 'Your access token has expired',
        outcome:
          downUntil === undefined
            ? 'The clock of this app and of its providers is an hour ahead. The next page that needs your session renews it first, as this one did.'
            : 'The providers are down, so it cannot be renewed now. Your session is kept: pages that need it answer 503, and it goes on when they are back.',
        figures: [],
      });
    },
    takeDown() {
      clearTimeout(recovery);
      heal();
      downUntil = Date.now() + outageMs;
      workos.switches.outage = { all: 'html502' };
      supabase.standIn.fail('all', 'html502');
      recovery = setTimeout(heal, outageMs).unref();
      log.addExperiment({
        title: 'Both providers are down for 20 seconds',
        outcome:
          'Each of their answers is a 502. You are still signed in: a session that was verified needs no provider. Expire your token now, and pages answer 503 until the providers are back; no one is signed out.',
        figures: [],
      });
    },
    async rotateKeys() {
      const before = workos.kid;
      await Promise.all([workos.rotateKeys(), supabase.standIn.rotateKeys()]);
      clock.advance(laterMs);
      log.addExperiment({
        title: 'The providers sign with new keys',
        outcome:
          downUntil === undefined
            ? 'Your token has expired as well, so the next one carries a key that this app had never seen. It is fetched, and you stay signed in.'
            : 'Your token has expired as well. When the providers are back, it is renewed and the new key is fetched.',
        figures: [
          { value: before.slice(-6), label: 'old key of WorkOS' },
          { value: workos.kid.slice(-6), label: 'new key of WorkOS' },
        ],
      });
    },
    async askAtOnce({ port, cookie }) {
      const paths = [
        ...(/(?:^|; )b2b-session(?:\.0)?=/.test(cookie) ? ['/api/me'] : []),
        ...(/(?:^|; )sb-[^=]+-auth-token(?:\.0)?=/.test(cookie) ? ['/api/notes'] : []),
      ];
      if (paths.length === 0) {
        const outcome = 'Sign in first: without a session there is nothing to renew.';
        log.addExperiment({ title: 'Nothing to ask for', outcome, figures: [] });
        return [];
      }
      clock.advance(laterMs);
      const before = refreshes();
      const startedAt = performance.now();
      const asked = Array.from({ length: requests }, (_, index) => paths[index % paths.length] ?? '/');
      const answers = await Promise.all(asked.map((path) => ask(`http://127.0.0.1:${port}${path}`, cookie)));
      const ms = Math.round(performance.now() - startedAt);
      const good = answers.filter(({ status }) => status === 200).length;
      const calls = refreshes() - before;
      log.addExperiment({
        title: 'Fifty requests met an expired token at once',
        outcome:
          good === requests
            ? 'One request renewed the session for all of them. A refresh token works once: without this, a busy page signs its users out.'
            : 'The providers did not answer, so neither could these; the session is kept.',
        figures: [
          { value: String(requests), label: 'requests at once' },
          { value: String(good), label: 'answered with 200' },
          {
            value: String(calls),
            label: paths.length === 1 ? 'refresh at the provider' : 'refreshes, one for each session',
          },
          { value: `${ms} ms`, label: 'for all of them' },
        ],
      });
      // One response per session; the others repeat it.
      return paths.flatMap(
        (path) => answers.find((answer, index) => asked[index] === path && answer.cookies.length > 0)?.cookies ?? [],
      );
    },
  };
}

async function ask(
  url: string,
  cookie: string,
): Promise<{ readonly status: number; readonly cookies: readonly string[] }> {
  const headers = { accept: 'application/json', cookie, 'user-agent': experimentAgent };
  const response = await fetch(url, { headers, redirect: 'manual' });
  await response.arrayBuffer();
  return { status: response.status, cookies: response.headers.getSetCookie() };
}
