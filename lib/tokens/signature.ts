import { KeyObject, verify } from 'node:crypto';
import type { CryptoKey } from 'jose';
import type { SignedText, Token } from './token.ts';

/** Whether a signature is good; `undefined` where it has a form that is left to jose. */
export type SignatureCheck = (signed: SignedText) => boolean | undefined;

/** RFC 7518 §3.3: a key of 2048 bits or larger must be used. */
const leastRsaBits = 2048;
/** Bytes of each half of an ES256 signature (RFC 7518 §3.4). */
const es256Half = 32;
/** Of a SEQUENCE of two INTEGERs, each with a zero in front. */
const longestDer = 2 + 2 * (2 + 1 + es256Half);

/** Whether a token is signed as WorkOS (RS256) and Supabase (ES256) sign: of every other form, jose is the judge. */
export function isPlainlySigned(header: Token['header']): boolean {
  const { alg, kid } = header;
  return (
    (alg === 'RS256' || alg === 'ES256') &&
    (kid === undefined || typeof kid === 'string') &&
    !('crit' in header || 'b64' in header)
  );
}

/**
 * Checks signatures on this thread, with a key at hand as OpenSSL wants it. WebCrypto, and so jose, hands each one to the thread
 * pool and prepares the key anew, which costs as much again as the check itself.
 *
 * @param key published for the `alg` of the tokens
 */
export function createSignatureCheck(key: CryptoKey): SignatureCheck {
  const publicKey = KeyObject.from(key);
  const { modulusLength = leastRsaBits } = publicKey.asymmetricKeyDetails ?? {};
  if (modulusLength < leastRsaBits) return () => undefined;
  const isEs256 = publicKey.asymmetricKeyType === 'ec';
  return ({ text, signature }) => {
    if (isEs256 && signature.length !== 2 * es256Half) return false;
    return verify('sha256', Buffer.from(text), publicKey, isEs256 ? toDer(signature) : signature);
  };
}

/**
 * The two halves of an ES256 signature as the SEQUENCE of two INTEGERs that OpenSSL reads (RFC 3279 §2.2.3). Node converts, too, but
 * only beside a key in an options object, which costs it 40 microseconds.
 */
function toDer(signature: Buffer): Buffer {
  const der = Buffer.alloc(longestDer);
  const middle = writeInteger(der, 2, signature.subarray(0, es256Half));
  const end = writeInteger(der, middle, signature.subarray(es256Half));
  der.writeUInt8(0x30, 0);
  der.writeUInt8(end - 2, 1);
  return der.subarray(0, end);
}

/** Unsigned, so with a zero in front where the first bit is set, and with no other zeros but the last. */
function writeInteger(der: Buffer, at: number, half: Buffer): number {
  let first = 0;
  while (first < half.length - 1 && half.readUInt8(first) === 0) first += 1;
  const padding = half.readUInt8(first) >= 0x80 ? 1 : 0;
  const length = padding + half.length - first;
  der.writeUInt8(0x02, at);
  der.writeUInt8(length, at + 1);
  half.copy(der, at + 2 + padding, first);
  return at + 2 + length;
}
