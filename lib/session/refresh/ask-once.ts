import type { AdapterName } from '../../types.ts';
import type { Ended } from './answers.ts';
import { hash } from '../ended/record.ts';
import { createRefresh } from './refresh.ts';
import type { Refresh } from './refresh.ts';

/** The provider's answer to a question that it answers once; `ended`: its refusal. */
export type OnceAnswer = { readonly kind: 'renewed'; readonly text: string } | Ended;

/**
 * Asks the provider what it answers only once, such as for an authorization of its OAuth server. The question is a token that works
 * once: over all processes one asks, and all get the first answer for ten minutes. A slow call goes on after its caller stopped waiting.
 * A failure is not kept.
 *
 * @param secrets what makes two questions the same; only their hash is stored
 * @throws {AuthError} `provider_unavailable` after 25 seconds, or the longer `timeoutMs`, or what `ask` throws
 */
export type AskOnce = (secrets: readonly string[], ask: () => Promise<OnceAnswer>) => Promise<OnceAnswer>;

/** Milliseconds: as long as Supabase keeps an authorization. A refusal is kept as long. */
const answerMs = 10 * 60_000;

export function createAskOnce(
  adapter: AdapterName,
  settings: Omit<Parameters<typeof createRefresh>[0], 'emit'>,
): AskOnce {
  let refresh: Refresh | undefined;
  // Made by the first question, because few applications ask any. Callers report their failures themselves.
  const open = (): Refresh => (refresh ??= createRefresh({ ...settings, emit: () => undefined }));
  return async (secrets, ask) => {
    const token = `${adapter}:once:${hash(JSON.stringify(secrets))}`;
    const holder = { token, pair: token, isNewer: () => true };
    const { answer } = await open().run(holder, {
      former: [],
      run: async () => {
        const answered = await ask();
        if (answered.kind === 'ended') return answered;
        return { ...answered, token: `${token}:answer`, issuedAt: 0, lifeMs: answerMs };
      },
    });
    return answer;
  };
}
