import type { AuthenticationResponse } from '@workos-inc/node';
import * as v from 'valibot';
import { isRecord } from '../core/json.ts';
import { AuthError } from '../errors.ts';
import type { StoredSession } from '../session/source.ts';
import { tokenLifetimeMs } from '../tokens/access-token.ts';
import { readSessionId, readToken } from '../tokens/token.ts';
import type { AccessTokenClaims, B2bSession } from '../types.ts';
import { factsOf } from './bearer.ts';

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
  /** Seconds since the epoch, to the millisecond; our own, for `sessionMaxAge` and `endSession`. Lost where another SDK seals the session again. */
  signedInAt: orAbsent(v.number()),
});

/** What the session cookie's seal holds. */
export type SealedSession = v.InferOutput<typeof schema>;

/** What an opened seal or a coordinator's message holds, if it is a session. */
export function parseStoredSession(value: unknown): SealedSession | undefined {
  const parsed = v.safeParse(schema, value);
  return parsed.success ? parsed.output : undefined;
}

/**
 * @param signedInAt seconds since the epoch
 * @throws {AuthError} `token_rejected` when the response to a sign-in lacks a token or a user
 */
export function newSession(response: AuthenticationResponse, signedInAt: number): SealedSession {
  const session = parseStoredSession({ ...response, signedInAt });
  if (session === undefined) throw new AuthError('token_rejected');
  return session;
}

/**
 * The session after a refresh. The old refresh token is spent, so the tokens of the response are kept whatever it lacks; what cannot
 * be used of the rest stays as it was.
 *
 * @throws {AuthError} `token_rejected` when the response carries no token at all
 */
export function renewedSession(response: AuthenticationResponse, former: SealedSession): SealedSession {
  const { accessToken, refreshToken, user, organizationId } = response;
  const impersonator = response.impersonator ?? former.impersonator;
  // A refresh is no authentication: the method stays the one that the person used.
  const authenticationMethod = former.authenticationMethod ?? response.authenticationMethod;
  const update = { accessToken, refreshToken, user, organizationId, impersonator, authenticationMethod };
  const tokens = [accessToken, refreshToken].filter((token) => typeof token === 'string' && token !== '');
  const session =
    parseStoredSession({ ...former, ...update }) ??
    parseStoredSession({
      ...former,
      accessToken: accessToken || former.accessToken,
      refreshToken: refreshToken || former.refreshToken,
    });
  if (tokens.length === 0 || session === undefined) throw new AuthError('token_rejected');
  return session;
}

export function storedSession(content: SealedSession): StoredSession<SealedSession> {
  const token = readToken(content.accessToken);
  const { signedInAt } = content;
  return {
    ...factsOf(token.claims),
    ...(signedInAt === undefined ? {} : { beganAt: Math.round(signedInAt * 1000) }),
    content,
    refreshToken: content.refreshToken,
    tokenLifetimeMs: tokenLifetimeMs(token.claims),
    token,
  };
}

/** The session as the application sees it; `claims` are those of its verified access token. */
export function publicSession(content: SealedSession, claims: AccessTokenClaims): B2bSession {
  const { id, email, firstName = null, lastName = null, profilePictureUrl = null } = content.user;
  const { emailVerified, externalId, metadata, locale } = content.user;
  const { impersonator } = content;
  const sessionId = readSessionId(claims['sid']);
  const { org_id: organizationId } = claims;
  return {
    adapter: 'b2b',
    credential: 'cookie',
    user: {
      id,
      email,
      firstName,
      lastName,
      profilePictureUrl,
      emailVerified: emailVerified === true,
      externalId: textOrNull(externalId),
      metadata: textsIn(metadata),
      locale: textOrNull(locale),
    },
    ...(sessionId === undefined ? {} : { sessionId }),
    ...(typeof organizationId === 'string' && organizationId !== '' ? { organizationId } : {}),
    ...(impersonator === undefined
      ? {}
      : { impersonator: { email: impersonator.email, reason: impersonator.reason ?? null } }),
    accessToken: content.accessToken,
    claims,
    expiresAt: claims.exp * 1000,
  };
}

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

function textsIn(metadata: unknown): Record<string, string> {
  const entries = isRecord(metadata) ? Object.entries(metadata) : [];
  return Object.fromEntries(entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string'));
}
