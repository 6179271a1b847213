import { createHmac, generateKeyPair } from 'node:crypto';
import type { JsonWebKey, KeyObject } from 'node:crypto';
import { promisify } from 'node:util';
import { SignJWT } from 'jose';
import { newSecret } from './ids.ts';

export interface SignTokenOptions {
  /** Default: the current key's. */
  readonly kid?: string;
  /**
   * Default RS256. Other RS… and PS… algorithms sign with the same RSA key; `HS256` signs with the public key as a shared
   * secret and `none` not at all, the two classic forgeries (RFC 8725 §2.1).
   */
  readonly alg?: string;
}

export type Claims = Readonly<Record<string, unknown>>;

interface SigningKey {
  readonly kid: string;
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

export type GenerateKeyPair = () => Promise<Pick<SigningKey, 'privateKey' | 'publicKey'>>;

const generateRsaKeyPair: GenerateKeyPair = () => promisify(generateKeyPair)('rsa', { modulusLength: 2048 });

/** The environment's signing keys: one signs, all are published. @param generate a new pair each time */
export async function createKeyRing(generate: GenerateKeyPair = generateRsaKeyPair) {
  const generateKey = async (): Promise<SigningKey> => {
    return { kid: `sso_oidc_key_pair_${newSecret()}`, ...(await generate()) };
  };
  let current = await generateKey();
  let published = [current];

  return {
    get kid() {
      return current.kid;
    },

    jwks(): { keys: JsonWebKey[] } {
      return {
        keys: published.map(({ kid, publicKey }) => ({
          alg: 'RS256',
          use: 'sig',
          kid,
          ...publicKey.export({ format: 'jwk' }),
        })),
      };
    },

    /** Signs with a new key from now on; the old ones stay published unless `dropOld`. */
    async rotate({ dropOld = false }: { dropOld?: boolean } = {}): Promise<void> {
      current = await generateKey();
      published = dropOld ? [current] : [...published, current];
    },

    /** Signs exactly these claims, even invalid ones. */
    async sign(claims: Claims, { kid = current.kid, alg = 'RS256' }: SignTokenOptions = {}): Promise<string> {
      if (alg !== 'none' && alg !== 'HS256') {
        return new SignJWT({ ...claims }).setProtectedHeader({ alg, kid, typ: 'JWT' }).sign(current.privateKey);
      }
      const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
      const unsigned = `${part({ alg, kid, typ: 'JWT' })}.${part(claims)}`;
      if (alg === 'none') return `${unsigned}.`;
      const secret = current.publicKey.export({ format: 'pem', type: 'spki' });
      return `${unsigned}.${createHmac('sha256', secret).update(unsigned).digest('base64url')}`;
    },
  };
}

export type KeyRing = Awaited<ReturnType<typeof createKeyRing>>;
