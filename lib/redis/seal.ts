import { sealData, unsealData } from 'iron-session';
import type { SettledRefresh } from '../session/refresh-coordinator.ts';

/** Answers hold tokens, so they rest in Redis only encrypted and authenticated. */
export interface AnswerSeal {
  /** @param ttlMs after which no process opens the seal any more, even if Redis still has it */
  seal(key: string, answer: SettledRefresh, ttlMs: number): Promise<string>;
  /** `undefined` for what was not sealed for this very `key` with one of the passwords. */
  open(key: string, sealed: string): Promise<SettledRefresh | undefined>;
}

/** @param passwords the first one seals, all of them open; each 32 characters or longer */
export function createAnswerSeal(passwords: readonly [string, ...string[]]): AnswerSeal {
  return {
    seal: async (key, answer, ttlMs) => {
      // The first letter tells Redis' scripts which answer stands; what counts for us is inside. The key is inside, too, so
      // that a writer to Redis cannot hand one visitor another one's tokens.
      const sealed = await sealData({ key, answer }, { password: passwords[0], ttl: ttlMs / 1000 });
      return `${answer.kind === 'ended' ? 'e' : 'r'}${sealed}`;
    },
    open: async (key, sealed) => {
      for (const password of passwords) {
        const content = await unsealData<{ key?: unknown; answer?: unknown }>(sealed.slice(1), { password });
        if (content.key === key && isAnswer(content.answer)) return content.answer;
      }
      return undefined;
    },
  };
}

function isAnswer(value: unknown): value is SettledRefresh {
  if (typeof value !== 'object' || value === null || !('kind' in value)) return false;
  if (value.kind === 'renewed') return 'text' in value && typeof value.text === 'string';
  return value.kind === 'ended' && 'reason' in value && typeof value.reason === 'string';
}
