import type { AuthenticationResponse } from '@workos-inc/node';
import * as v from 'valibot';
import { tokenLifetimeMs } from '../core/access-token.ts';
import { readToken } from '../core/token.ts';
import { AuthError } from '../errors.ts';
import type { StoredSession } from '../session/session-source.ts';

const optionalText = v.nullish(v.string());

/** Exactly what WorkOS' SDKs keep in their session cookie; what others add is dropped. */
const schema = v.object({
  accessToken: v.pipe(v.string(), v.nonEmpty()),
  refreshToken: v.pipe(v.string(), v.nonEmpty()),
  user: v.looseObject({
    id: v.pipe(v.string(), v.nonEmpty()),
    email: v.string(),
    firstName: optionalText,
    lastName: optionalText,
    profilePictureUrl: optionalText,
  }),
  impersonator: v.optional(v.object({ email: v.string(), reason: v.nullish(v.string()) })),
  authenticationMethod: v.optional(v.string()),
  organizationId: v.optional(v.string()),
  /** Seconds since the epoch; our own, for `sessionMaxAge`. Lost where another SDK seals the session again. */
  signedInAt: v.optional(v.number()),
});

export type SealedContent = v.InferOutput<typeof schema>;

/** What an opened seal or a coordinator's message holds, if it is a session. */
export function parseContent(value: unknown): SealedContent | undefined {
  const parsed = v.safeParse(schema, value);
  return parsed.success ? parsed.output : undefined;
}

/** @throws {AuthError} `token_rejected` when the provider's answer lacks a token or a user */
export function contentOf(
  response: AuthenticationResponse,
  former?: SealedContent,
  signedInAt?: number,
): SealedContent {
  const content = parseContent({
    accessToken: response.accessToken,
    refreshToken: response.refreshToken,
    user: response.user,
    impersonator: response.impersonator ?? former?.impersonator,
    // Refreshing is no authentication: the method stays the one that the visitor used.
    authenticationMethod: former?.authenticationMethod ?? response.authenticationMethod,
    organizationId: response.organizationId,
    signedInAt: former?.signedInAt ?? signedInAt,
  });
  if (content === undefined) throw new AuthError('token_rejected');
  return content;
}

export function storedOf(content: SealedContent): StoredSession<SealedContent> {
  const token = readToken(content.accessToken);
  return {
    content,
    refreshToken: content.refreshToken,
    sessionId: sessionIdOf(token.claims),
    tokenLifetimeMs: tokenLifetimeMs(token.claims),
    token,
  };
}

export function sessionIdOf({ sid }: Readonly<Record<string, unknown>>): string | undefined {
  return typeof sid === 'string' && sid !== '' ? sid : undefined;
}
