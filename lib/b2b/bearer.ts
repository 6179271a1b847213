import { isRecord } from '../core/json.ts';
import type { Verdict } from '../session/source.ts';
import { verifyAccessToken } from '../tokens/access-token.ts';
import type { KeySet } from '../tokens/key-set.ts';
import { readSessionId } from '../tokens/token.ts';
import type { Token } from '../tokens/token.ts';
import type { AccessTokenClaims, B2bSession, B2bUser } from '../types.ts';
import type { B2bOptions } from './options.ts';

/**
 * Verifies an access token that a request carries itself. Whether its OAuth client may call is for the guard to say.
 *
 * @throws {AuthError} `provider_unavailable` when the keys are needed and out of reach
 */
export async function verifyBearer(
  { issuer, now }: Pick<B2bOptions, 'issuer' | 'now'>,
  token: Token,
  keys: Omit<KeySet, 'ofIssued'>,
): Promise<Verdict<B2bSession>> {
  const verdict = await verifyAccessToken(token, keys, now);
  if (verdict.kind !== 'valid') return verdict;
  const { iss } = verdict.claims;
  if (issuer !== undefined && !(typeof iss === 'string' && issuer.includes(iss))) {
    return { kind: 'invalid', reason: 'issuer' };
  }
  return { kind: 'live', session: bearerSession(token.text, verdict.claims) };
}

/** The application that a token was issued to, where it is not this one. A machine's token names its client as the subject. */
export function foreignClient(claims: AccessTokenClaims, clientId: string): string | undefined {
  const { sub, client_id: client } = claims;
  if (client === undefined || client === null) return sub.startsWith('client_') ? sub : undefined;
  if (client === clientId) return undefined;
  return typeof client === 'string' ? client : '';
}

/** WorkOS' access tokens carry no profile: the user is what the claims say. */
function bearerSession(accessToken: string, claims: AccessTokenClaims): B2bSession {
  const { sub: id, email, org_id: organizationId, act } = claims;
  const sessionId = readSessionId(claims['sid']);
  const user = { id, ...(typeof email === 'string' ? { email } : {}) };
  return {
    adapter: 'b2b',
    credential: 'bearer',
    user: user as B2bUser,
    ...(sessionId === undefined ? {} : { sessionId }),
    ...(typeof organizationId === 'string' && organizationId !== '' ? { organizationId } : {}),
    ...(isRecord(act) && typeof act['sub'] === 'string' ? { impersonator: { email: act['sub'], reason: null } } : {}),
    accessToken,
    claims,
    expiresAt: claims.exp * 1000,
  };
}
