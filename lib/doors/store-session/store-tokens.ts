import type { ServerResponse } from 'node:http';
import { AuthError, ConfigurationError } from '../../errors.ts';
import type { AuthRequest } from '../../http/request.ts';
import { isHeadOpen } from '../../http/message.ts';
import type { FindSuperseded } from '../../session/refresh/superseded.ts';

/**
 * An adapter's part: verifies tokens, signs in with them and writes the cookies.
 *
 * @param returnTo sanitized
 * @returns the next URL
 */
export type StoreTokens = (request: AuthRequest, tokens: unknown, returnTo: string) => Promise<string>;

/** How long after it was stored the same sign-in is a double submit, in milliseconds. */
export const repeatMs = 2_000;

/** Tokens that were issued just now may be signed with a new key, and their claims may be due for a renewal. */
export const brought = { takesStale: true, awaitsKeys: true } as const;

/**
 * For tokens that were verified: refuses those that a renewal has replaced.
 *
 * @throws {AuthError} `tokens_refused`, `provider_unavailable`
 */
export async function refuseSuperseded<Content>(
  { findSuperseded }: { readonly findSuperseded: FindSuperseded<Content> },
  { req, peer }: AuthRequest,
  content: Content,
): Promise<void> {
  const reason = await findSuperseded(content, { cookieHeader: req.headers.cookie, peer });
  if (reason !== undefined) throw refusedTokens(reason);
}

/** @param reason for operators */
export const refusedTokens = (reason: string): AuthError => new AuthError('tokens_refused', { reason });

/**
 * Refuses a response that can carry no cookie any more.
 *
 * @param res the one that the caller was given, where it was given one
 * @throws {ConfigurationError}
 */
export function refuseSent(request: AuthRequest, caller: string, res: ServerResponse = request.res): void {
  if (res !== request.res) throw new ConfigurationError(caller, ['res must be the response to req']);
  if (isHeadOpen(res)) return;
  throw new ConfigurationError(caller, [
    'the headers of the response are already sent, so its cookie would be lost; call it, with await, before you answer',
  ]);
}
