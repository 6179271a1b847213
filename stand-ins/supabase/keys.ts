import { randomBytes, randomUUID } from 'node:crypto';
import { SignJWT, UnsecuredJWT, errors, exportJWK, generateKeyPair, jwtVerify } from 'jose';
import type { CryptoKey, JWK, JWTPayload } from 'jose';
import { GoTrueError } from './errors.ts';

export interface TokenForgery {
  readonly kid?: string | undefined;
  /** `none` leaves the token unsigned. */
  readonly alg?: string;
  readonly key?: CryptoKey | Uint8Array;
}

interface SigningKey {
  readonly kid: string;
  readonly alg: string;
  readonly sign: CryptoKey | Uint8Array;
  readonly verify: CryptoKey | Uint8Array;
  readonly jwk: JWK | undefined;
}

const wrongSignature = {
  ES256: 'token signature is invalid: crypto/ecdsa: verification error',
  HS256: 'token signature is invalid: signature is invalid',
};

/** The project's signing keys: ES256 with a JWKS, or one shared secret (HS256), which the JWKS does not contain. */
export async function createSigningKeys(algorithm: 'ES256' | 'HS256', now: () => number) {
  const generate = async (): Promise<SigningKey> => {
    const kid = randomUUID();
    if (algorithm === 'HS256') {
      const secret = new Uint8Array(randomBytes(32));
      return { kid, alg: algorithm, sign: secret, verify: secret, jwk: undefined };
    }
    const { privateKey, publicKey } = await generateKeyPair('ES256');
    const jwk = { ...(await exportJWK(publicKey)), kid, alg: 'ES256', use: 'sig', key_ops: ['verify'] };
    return { kid, alg: algorithm, sign: privateKey, verify: publicKey, jwk };
  };
  let current = await generate();
  let accepted = [current];

  return {
    jwks: () => ({ keys: accepted.flatMap(({ jwk }) => jwk ?? []) }),

    /** Signs with a new key from now on; `keepOld: false` also forgets the old ones, as a revocation does. */
    async rotate({ keepOld = true } = {}) {
      current = await generate();
      accepted = keepOld ? [current, ...accepted] : [current];
    },

    sign(claims: JWTPayload, forgery: TokenForgery = {}): Promise<string> {
      const alg = forgery.alg ?? current.alg;
      if (alg === 'none') return Promise.resolve(new UnsecuredJWT(claims).encode());
      const kid = 'kid' in forgery ? forgery.kid : current.kid;
      return new SignJWT(claims)
        .setProtectedHeader({ alg, typ: 'JWT', ...(kid === undefined ? {} : { kid }) })
        .sign(forgery.key ?? current.sign);
    },

    /**
     * The claims of an unexpired token of this project.
     *
     * @param clockTolerance seconds: GoTrue allows none, PostgREST 30
     * @throws GoTrueError `bad_jwt`
     */
    async verify(token: string, clockTolerance = 0): Promise<JWTPayload> {
      let reason = wrongSignature[algorithm];
      if (token.split('.').length !== 3) reason = 'token is malformed: token contains an invalid number of segments';
      for (const { verify, alg } of accepted) {
        try {
          const options = { algorithms: [alg], currentDate: new Date(now()), clockTolerance };
          return (await jwtVerify(token, verify, options)).payload;
        } catch (error) {
          // Another key may match.
          if (error instanceof errors.JWTExpired) reason = 'token has invalid claims: token is expired';
        }
      }
      throw new GoTrueError(403, 'bad_jwt', `invalid JWT: unable to parse or verify signature, ${reason}`);
    },
  };
}

export type SigningKeys = Awaited<ReturnType<typeof createSigningKeys>>;
