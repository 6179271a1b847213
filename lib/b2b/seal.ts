import { createDecipheriv, createHmac, createSecretKey, pbkdf2Sync, timingSafeEqual } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import type { AuthenticationResponse } from '@workos-inc/node';
import * as v from 'valibot';
import { AuthError } from '../errors.ts';

/** Seals and opens values; the format is iron-session's `Fe26.2`, which WorkOS' own SDKs read and write. */
export interface Seal {
  /** @param ttl seconds until the seal expires; 0 for never */
  seal(value: unknown, ttl?: number): Promise<string>;
  /** `undefined` for whatever none of the passwords opens. Never throws. */
  unseal(sealed: string): Promise<unknown>;
}

/** iron-session's own version stands behind the seal and outside of its MAC, so that anything longer could be put there. */
const sealForm = /^Fe26\.2\*[^~]*(?:~\d)?$/;

/** Whether a text may be a seal at all, whatever its password. */
export function isSealLike(text: string): boolean {
  return sealForm.test(text);
}

/**
 * Always seals under password id 1: WorkOS' SDKs know no other, so a higher id after a rotation would sign their users out.
 *
 * @param passwords the first seals, all open
 */
export function createSeal(passwords: readonly [string, ...string[]]): Seal {
  const [newest] = passwords;
  return {
    async seal(value, ttl = 0) {
      // Only who signs in or is renewed needs it; seals are opened without.
      const { sealData } = await import('iron-session');
      return sealData(value, { password: { 1: newest }, ttl });
    },
    unseal(sealed) {
      if (!isSealLike(sealed)) return Promise.resolve(undefined);
      // Sealing reads the system's clock, so opening does, too.
      const now = Date.now();
      for (const password of passwords) {
        const opened = openSeal(sealed, password, now);
        if (opened !== undefined) return Promise.resolve(opened);
      }
      return Promise.resolve(undefined);
    },
  };
}

/** Characters of everything in a seal but its text: version, password id, salts, IV, MAC, separators and iron-session's version. */
const sealOverhead = `Fe26.2*1*${'0'.repeat(64)}*${'0'.repeat(22)}***${'0'.repeat(64)}*${'0'.repeat(43)}~2`.length;
const cipherBlock = 16;

/** The length of a seal of `value` that never expires. */
export function sealedLength(value: unknown): number {
  const jsonBytes = Buffer.byteLength(JSON.stringify(value));
  // PKCS#7 always pads: whole blocks get a further one.
  const textBytes = (Math.floor(jsonBytes / cipherBlock) + 1) * cipherBlock;
  return sealOverhead + Math.ceil((textBytes * 4) / 3);
}

/** Version, password id, salt, IV, ciphertext, expiry in milliseconds or nothing: all that the MAC covers. Then its salt and itself. */
const sealParts =
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
  const parts = sealParts.exec(body)?.groups;
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
