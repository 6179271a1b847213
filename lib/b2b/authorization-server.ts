import type { AuthorizationServer } from '../http/adapter.ts';
import { measureVerify } from '../session/events.ts';
import type { Verdict } from '../session/source.ts';
import { verifyAccessToken } from '../session/jwt.ts';
import type { Token } from '../session/jwt.ts';
import { createKeySet } from '../session/keys.ts';
import type { KeySetOptions } from '../session/keys.ts';
import type { AccessTokenClaims, B2bSession } from '../types.ts';
import type { B2bOptions } from './options.ts';
import { bearerSession } from './session.ts';

/**
 * Verifies access tokens that AuthKit issues as an authorization server, to OAuth clients and machines. Their issuer and keys are not
 * those of sessions. WorkOS documents the claims `iss`, `aud`, `sub`, `org_id`, `sid`, `jti`, `exp` and `iat`; a machine's token has `scope`.
 *
 * @see https://workos.com/docs/reference/workos-connect/token
 */
export function createVerifyForResource(
  { authkitDomain: issuer, clientId, now }: Pick<B2bOptions, 'authkitDomain' | 'clientId' | 'now'>,
  keys: Omit<KeySetOptions, 'url'>,
): (token: Token) => Promise<Verdict<B2bSession>> {
  if (issuer === undefined) return () => Promise.resolve(foreign);
  const keySet = createKeySet({ ...keys, url: `${issuer}/oauth2/jwks` });

  async function verify(token: Token): Promise<Verdict<B2bSession>> {
    // Another issuer's token needs no keys.
    if (token.claims['iss'] !== issuer) return foreign;
    const verdict = await verifyAccessToken(token, keySet, now);
    if (verdict.kind !== 'valid') return verdict;
    return { kind: 'live', session: bearerSession(token.text, verdict.claims, clientId) };
  }

  return (token) => measureVerify('b2b', () => verify(token));
}

const foreign = { kind: 'invalid', reason: 'issuer' } as const;

/** @param issuer the option `authkitDomain` */
export function authkitServer(
  issuer: string | undefined,
  resolve: AuthorizationServer['resolve'],
): AuthorizationServer | undefined {
  if (issuer === undefined) return undefined;
  return { issuer, resolve, bindsResource: true, hasFirstParty: false, clientOf, isUser };
}

/** A machine's token has its client id as `sub`. */
function clientOf({ client_id: client, sub }: AccessTokenClaims): string | undefined {
  if (client === undefined || client === null) return sub.startsWith('client_') ? sub : undefined;
  return typeof client === 'string' ? client : '';
}

/** The subject of other tokens is a client's or an agent's id. */
function isUser({ sub }: AccessTokenClaims): boolean {
  return sub.startsWith('user_');
}
