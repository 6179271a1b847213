import type { AdapterName } from '../types.ts';
import type { OutageReport } from './outages.ts';
import { hash } from './record.ts';
import type { SharedCoordinator } from './coordinator.ts';
import { createTokenLines } from './token-lines.ts';
import type { SettledRefresh, TokenLines } from './token-lines.ts';

/** The provider's answer to a question that it answers once; `ended`: its refusal. */
export type OnceAnswer = SettledRefresh;

/**
 * Asks the provider what it answers only once, such as for an authorization of its OAuth server. What is asked is a token that works
 * once, and its line has the answer: over all processes one asks, and all get the first answer for ten minutes. A slow call goes on
 * after its caller stopped waiting. A failure is not kept.
 *
 * @param secrets what makes two questions the same; only their hash is stored
 * @throws {AuthError} `provider_unavailable` after 25 seconds, or the longer `timeoutMs`, or what `ask` throws
 */
export type AskOnce = (secrets: readonly string[], ask: () => Promise<OnceAnswer>) => Promise<OnceAnswer>;

/** Milliseconds: as long as Supabase keeps an authorization. A refusal is kept as long. */
const answerMs = 10 * 60_000;

export function createAskOnce(
  adapter: AdapterName,
  parts: {
    readonly now: () => number;
    readonly timeoutMs: number;
    readonly shared: SharedCoordinator | undefined;
    readonly outages: OutageReport;
  },
): AskOnce {
  let lines: TokenLines | undefined;
  // Made by the first question, because few applications ask any. Callers report their failures themselves.
  const open = (): TokenLines => (lines ??= createTokenLines({ ...parts, emit: () => undefined }));

  /** A question stands in a line of its own. */
  function placeOf(secrets: readonly string[]) {
    const token = `${adapter}:once:${hash(JSON.stringify(secrets))}`;
    return { line: token, token, pair: token };
  }

  return async (secrets, ask) => {
    const place = placeOf(secrets);
    const { settled } = await open().run(place, {
      run: async () => {
        const answer = await ask();
        if (answer.kind === 'ended') return answer;
        return { ...answer, place: { ...place, pair: `${place.pair}:answer` }, lifeMs: answerMs };
      },
    });
    return settled;
  };
}
