import type { Session as SdkSession } from '@supabase/supabase-js';
import type { Token } from '../../session/jwt.ts';

/** An OAuth provider's own tokens, which Supabase hands out once, with the callback's code. */
export interface IssuedProviderTokens {
  /** `undefined` where it is not certain which of the account's providers they are from. */
  readonly provider?: string | undefined;
  readonly accessToken: string;
  readonly refreshToken?: string | undefined;
}

/** What a sign-in asks about the provider's tokens that came with it. It never rejects. */
export interface HeldProviderTokens {
  /**
   * What the exchange of a code issued beside the session.
   *
   * @param asked the provider that the sign-in was started with, from an unsealed cookie
   */
  issued(session: SdkSession, asked: string | undefined): IssuedProviderTokens | undefined;
  /** Those that the session's cookie keeps. */
  inCookie(tokens: IssuedProviderTokens | undefined): IssuedProviderTokens | undefined;
  /** Holds them for a sign-in that waits for its second factor. */
  keep(sessionId: string | undefined, tokens: IssuedProviderTokens): Promise<void>;
  /** @param claims of the verified token: only a sign-in by OAuth can have some */
  find(sessionId: string | undefined, claims: Token['claims']): Promise<IssuedProviderTokens | undefined>;
  drop(sessionId: string | undefined): Promise<void>;
}

/** Drops them. */
export const noProviderTokens: HeldProviderTokens = {
  issued: () => undefined,
  inCookie: () => undefined,
  keep: () => Promise.resolve(),
  find: () => Promise.resolve(undefined),
  drop: () => Promise.resolve(),
};
