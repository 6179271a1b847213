import type { AuthenticationResponse } from '@workos-inc/node';
import * as v from 'valibot';
import { tokenLifetimeMs } from '../tokens/access-token.ts';
import { readSessionId, readToken } from '../tokens/token.ts';
import { AuthError } from '../errors.ts';
import type { StoredSession } from '../session/source.ts';

const optionalText = v.nullish(v.string());
/** Null means absent: WorkOS answers `"organization_id": null`, and SDKs that seal the whole answer seal it, too. */
const orAbsent = <Entry extends v.GenericSchema>(entry: Entry) => v.nullish(entry, () => undefined);

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
  impersonator: orAbsent(v.object({ email: v.string(), reason: optionalText })),
  authenticationMethod: orAbsent(v.string()),
  organizationId: orAbsent(v.string()),
  /** Seconds since the epoch; our own, for `sessionMaxAge`. Lost where another SDK seals the session again. */
  signedInAt: orAbsent(v.number()),
});

export type SealedContent = v.InferOutput<typeof schema>;

/** What an opened seal or a coordinator's message holds, if it is a session. */
export function parseContent(value: unknown): SealedContent | undefined {
  const parsed = v.safeParse(schema, value);
  return parsed.success ? parsed.output : undefined;
}

/** @throws {AuthError} `token_rejected` when the answer to a sign-in lacks a token or a user */
export function contentOf(response: AuthenticationResponse, signedInAt: number): SealedContent {
  const content = parseContent({ ...response, signedInAt });
  if (content === undefined) throw new AuthError('token_rejected');
  return content;
}

/**
 * The session after a refresh. The old refresh token is spent, so whatever the answer lacks, its tokens are kept; what cannot be
 * used of the rest stays as it was.
 *
 * @throws {AuthError} `token_rejected` when the answer carries no token at all
 */
export function renewedContent(response: AuthenticationResponse, former: SealedContent): SealedContent {
  const { accessToken, refreshToken, user, organizationId } = response;
  const impersonator = response.impersonator ?? former.impersonator;
  // Refreshing is no authentication: the method stays the one that the visitor used.
  const authenticationMethod = former.authenticationMethod ?? response.authenticationMethod;
  const tokens = [accessToken, refreshToken].filter((token) => typeof token === 'string' && token !== '');
  const content =
    parseContent({ ...former, accessToken, refreshToken, user, organizationId, impersonator, authenticationMethod }) ??
    parseContent({
      ...former,
      accessToken: accessToken || former.accessToken,
      refreshToken: refreshToken || former.refreshToken,
    });
  if (tokens.length === 0 || content === undefined) throw new AuthError('token_rejected');
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
  return readSessionId(sid);
}
