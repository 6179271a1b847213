import type { CookieWrite } from '../core/cookies.ts';
import { AuthError } from '../errors.ts';
import type { Session } from '../types.ts';

/** The session of a request's cookies, and the cookies for the response. */
export interface Resolution {
  readonly session: Session | null;
  readonly cookies: readonly CookieWrite[];
  /** Called when the response with the cookies was sent; until then the next request gets them, too. */
  readonly onDelivered?: () => void;
  /** Whether the cookies must still be sent; called when the head is sent, because a sign-out may have occurred meanwhile. */
  readonly isCurrent?: () => boolean;
  /** A refresh ahead of time that the request does not wait for. Never rejects. */
  readonly later?: Promise<Resolution | undefined>;
  /** Parameters of the link to the sign-in, where the ended session says what it has to name. */
  readonly signIn?: Readonly<Record<string, string>>;
}

export const signedOut: Resolution = { session: null, cookies: [] };

export function outOfTime(): AuthError {
  return new AuthError('provider_unavailable', { retryAfter: 5 });
}
