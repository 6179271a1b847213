import { createHash } from 'node:crypto';
import { createLocalJWKSet, jwtVerify } from 'jose';
import type { JWTPayload } from 'jose';
import { GoTrueError } from '../errors.ts';
import { json, textField } from '../http.ts';
import type { Reply, StandInRequest } from '../http.ts';
import type { Project } from '../project.ts';
import type { IdTokenIssuer } from '../types.ts';

/** `POST /token?grant_type=id_token`: Google's or Apple's id token, whose nonce is the SHA-256 of the given one. */
export async function idTokenGrant(
  { switches, users, sessions, now }: Project,
  { body }: StandInRequest,
): Promise<Reply> {
  const provider = textField(body, 'provider');
  const issuer = switches.idTokenIssuers.get(provider);
  if (!issuer) {
    throw new GoTrueError(400, 'provider_disabled', `Provider (issuer "${provider}") is not enabled`);
  }
  const claims = await verify(issuer, textField(body, 'id_token'), now());
  const nonce = textField(body, 'nonce');
  if ((claims['nonce'] === undefined) !== (nonce === '')) {
    const message = 'Passed nonce and nonce in id_token should either both exist or not.';
    throw new GoTrueError(400, 'validation_failed', message);
  }
  if (nonce !== '' && createHash('sha256').update(nonce).digest('hex') !== claims['nonce']) {
    throw new GoTrueError(400, 'validation_failed', 'Nonces mismatch');
  }
  const email = String(claims['email']);
  const user = users.find(email) ?? users.add({ email }, provider);
  if (!user.providers.includes(provider)) user.providers.push(provider);
  return json(200, await sessions.issue(user, { method: 'oauth' }));
}

async function verify({ issuer, audience, jwks }: IdTokenIssuer, idToken: string, now: number): Promise<JWTPayload> {
  try {
    const options = { issuer, audience, currentDate: new Date(now) };
    return (await jwtVerify(idToken, createLocalJWKSet(jwks), options)).payload;
  } catch {
    throw new GoTrueError(400, 'validation_failed', 'Bad ID token');
  }
}
