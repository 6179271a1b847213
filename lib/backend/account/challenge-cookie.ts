import type { CookieAttributes } from '../../core/cookies.ts';
import type { AuthRequest } from '../../http/auth-request.ts';
import { flowAttributes } from '../sign-in/flow-cookies.ts';

/** The text message that was sent last: its code answers this challenge and no other. */
export interface SentChallenge {
  readonly factorId: string;
  readonly challengeId: string;
}

/** Keeps a phone's challenge between two requests, for ten minutes. It is no secret, and grants nothing without its code. */
export interface ChallengeCookie {
  read(request: AuthRequest): SentChallenge | undefined;
  write(request: AuthRequest, challenge: SentChallenge): void;
  clear(request: AuthRequest): void;
}

const form = /^([\da-f-]{36})\.([\da-f-]{36})$/;

export function createChallengeCookie(
  cookieName: string,
  sameSite: CookieAttributes['sameSite'] | undefined,
): ChallengeCookie {
  const name = `${cookieName}-challenge`;
  const attributes = { ...flowAttributes(sameSite), httpOnly: true };
  return {
    read({ cookies }) {
      const match = form.exec(cookies.get(name)?.[0] ?? '');
      return match === null ? undefined : { factorId: String(match[1]), challengeId: String(match[2]) };
    },
    write(request, { factorId, challengeId }) {
      const value = `${factorId}.${challengeId}`;
      if (form.test(value)) request.writeCookies([{ name, value, attributes }]);
    },
    clear(request) {
      if (request.cookies.has(name)) request.writeCookies([{ name, value: undefined, attributes }]);
    },
  };
}
