import { createDecipheriv, createHmac, createSecretKey, pbkdf2Sync, timingSafeEqual } from 'node:crypto';
import type { KeyObject } from 'node:crypto';

/** Version, password id, salt, IV, ciphertext, expiry in milliseconds or nothing: all that the MAC covers. Then its salt and itself. */
const sealForm =
  /^(?<sealed>Fe26\.2\*\d{1,4}\*(?<salt>[^*]+)\*(?<iv>[\w-]*)\*(?<text>[\w-]*)\*(?<expiry>(?:[1-9]\d*)?))\*(?<macSalt>[^*]+)\*(?<mac>[\w-]{43})=?$/;

/** By which the clocks of those who seal and those who open may differ; iron's default. */
const clockSkewMs = 60_000;

/**
 * Opens what iron-session seals, at a tenth of its cost: iron-session goes through WebCrypto, whose hops to the thread
 * pool take 260 microseconds where the work takes 20. Same format, same defaults (AES-256-CBC, HMAC-SHA-256, keys by one round
 * of PBKDF2), same answers; sealing stays iron-session's.
 *
 * @param password 32 characters or more, whatever password id the seal names
 * @param now milliseconds since the epoch
 * @returns `undefined` for whatever the password does not open, or no longer. Never throws.
 * @see https://github.com/hueniverse/iron
 */
export function openSeal(seal: string, password: string, now: number): unknown {
  // iron-session's own version stands behind the seal and outside of its MAC, so it says nothing.
  const [body = ''] = seal.split('~', 1);
  const parts = sealForm.exec(body)?.groups;
  if (parts === undefined) return undefined;
  const { sealed = '', salt = '', iv = '', text = '', expiry = '', macSalt = '', mac = '' } = parts;
  if (expiry !== '' && Number(expiry) <= now - clockSkewMs) return undefined;

  const expected = createHmac('sha256', deriveKey(password, macSalt)).update(sealed).digest();
  // Before anything is decrypted: encrypt-then-MAC leaves no padding to ask about.
  if (!timingSafeEqual(expected, Buffer.from(mac, 'base64url'))) return undefined;
  try {
    const decipher = createDecipheriv('aes-256-cbc', deriveKey(password, salt), Buffer.from(iv, 'base64url'));
    return JSON.parse(decipher.update(text, 'base64url', 'utf8') + decipher.final('utf8'));
  } catch {
    return undefined;
  }
}

/** A key object: raw bytes cost `createHmac` and `createDecipheriv` 9 microseconds more each. */
function deriveKey(password: string, salt: string): KeyObject {
  return createSecretKey(pbkdf2Sync(password, salt, 1, 32, 'sha1'));
}
