import { randomBytes } from 'node:crypto';

const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/** An id as WorkOS writes them: a prefix and 26 characters of Crockford's base 32, time first (a ULID). */
export function newId(prefix: string, nowMs: number): string {
  let time = '';
  for (let rest = Math.max(0, Math.floor(nowMs)), digit = 0; digit < 10; digit += 1) {
    time = alphabet.charAt(rest % 32) + time;
    rest = Math.floor(rest / 32);
  }
  const random = Array.from(randomBytes(16), (byte) => alphabet.charAt(byte % 32)).join('');
  return `${prefix}_${time}${random}`;
}

/** An opaque secret: a code or a refresh token. */
export function newSecret(): string {
  return randomBytes(24).toString('base64url');
}
