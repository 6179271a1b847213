import { createDecipheriv, createHmac, createSecretKey, pbkdf2Sync, timingSafeEqual } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import type { AuthenticationResponse } from '@workos-inc/node';
import * as v from 'valibot';
import { AuthError } from '../errors.ts';

/** Seals and opens values; the format is iron-session's `Fe26.2`, which WorkOS' own SDKs read and write. */
export interface Seal {
  /** @param ttl seconds until the seal expires; 0 for never */
  seal(value: unknown, ttl?: number): Promise<string>;
  /** `undefined` where none of the passwords opens the seal. Never throws. */
  unseal(sealed: string): Promise<unknown>;
}

/**
 * Every part in the form that iron gives it: salts of 256 bits in hex, an IV of 16 bytes, at least one cipher block, a MAC of 32 bytes. Of the
 * values of one cookie name a limited number is tried, and text that only begins like a seal must not take their places. iron-session's
 * version suffix is outside the seal's MAC. Without a limit anyone could append text there.
 */
const sealForm =
  /^Fe26\.2\*\d{1,4}\*[\da-f]{64}\*[\w-]{22}\*[\w-]{22,}\*(?:[1-9]\d*)?\*[\da-f]{64}\*[\w-]{43}=?(?:~\d)?$/;

/** Whether a text has the parts of a seal, whatever its password. Linear: no part can match the `*` after it. */
export function isSealLike(text: string): boolean {
  return sealForm.test(text);
}

/**
 * Always seals with password id 1. WorkOS' SDKs know no other id, so a higher one would sign their users out.
 *
 * @param passwords the first one seals, all of them open
 */
export function createSeal(passwords: readonly [string, ...string[]]): Seal {
  const [newest] = passwords;
  return {
    async seal(value, ttl = 0) {
      // Loaded lazily: only sign-in and refresh seal, and opening does not need it.
      const { sealData } = await import('iron-session');
      return sealData(value, { password: { 1: newest }, ttl });
    },
    unseal(sealed) {
      if (!isSealLike(sealed)) return Promise.resolve(undefined);
      // Sealing uses the system clock, so opening uses it, too.
      const now = Date.now();
      for (const password of passwords) {
        const opened = openSeal(sealed, password, now);
        if (opened !== undefined) return Promise.resolve(opened);
      }
      return Promise.resolve(undefined);
    },
  };
}

/** Characters of a seal besides its ciphertext: version, password id, salts, IV, MAC, separators and iron-session's version. */
const sealOverhead = `Fe26.2*1*${'0'.repeat(64)}*${'0'.repeat(22)}***${'0'.repeat(64)}*${'0'.repeat(43)}~2`.length;
const cipherBlock = 16;

/** The length of a seal of `value` that never expires. */
export function sealedLength(value: unknown): number {
  const jsonBytes = Buffer.byteLength(JSON.stringify(value));
  // PKCS#7 always pads: whole blocks get a further one.
  const textBytes = (Math.floor(jsonBytes / cipherBlock) + 1) * cipherBlock;
  return sealOverhead + Math.ceil((textBytes * 4) / 3);
}

/** The MAC covers version, password id, salt, IV, ciphertext and the optional expiry in milliseconds. Its salt and the MAC follow. */
const sealParts =
  /^(?<sealed>Fe26\.2\*\d{1,4}\*(?<salt>[^*]+)\*(?<iv>[\w-]*)\*(?<text>[\w-]*)\*(?<expiry>(?:[1-9]\d*)?))\*(?<macSalt>[^*]+)\*(?<mac>[\w-]{43})=?$/;

/** Allowed clock difference between sealing and opening; iron's default. */
const clockSkewMs = 60_000;

/**
 * Opens seals of iron-session at a tenth of its cost. iron-session uses WebCrypto, whose hops to
 * the thread pool take 260 microseconds for 20 microseconds of work. Format, defaults (AES-256-CBC,
 * HMAC-SHA-256, keys by one round of PBKDF2) and results are the same. iron-session still seals.
 *
 * @param password 32 characters or more, whatever password id the seal names
 * @param now milliseconds since the epoch
 * @returns `undefined` where the password does not open the seal, or the seal has expired. Never throws.
 * @see https://github.com/hueniverse/iron
 */
export function openSeal(seal: string, password: string, now: number): unknown {
  // iron-session's version suffix is outside the MAC, so it is ignored.
  const [body = ''] = seal.split('~', 1);
  const parts = sealParts.exec(body)?.groups;
  if (parts === undefined) return undefined;
  const { sealed = '', salt = '', iv = '', text = '', expiry = '', macSalt = '', mac = '' } = parts;
  if (expiry !== '' && Number(expiry) <= now - clockSkewMs) return undefined;

  const expected = createHmac('sha256', deriveKey(password, macSalt)).update(sealed).digest();
  // The MAC is checked before decryption (encrypt-then-MAC), which prevents padding oracles.
  if (!timingSafeEqual(expected, Buffer.from(mac, 'base64url'))) return undefined;
  try {
    const decipher = createDecipheriv('aes-256-cbc', deriveKey(password, salt), Buffer.from(iv, 'base64url'));
    return JSON.parse(decipher.update(text, 'base64url', 'utf8') + decipher.final('utf8'));
  } catch {
    return undefined;
  }
}

/** Returns a key object: raw bytes cost `createHmac` and `createDecipheriv` 9 microseconds more per call. */
function deriveKey(password: string, salt: string): KeyObject {
  return createSecretKey(pbkdf2Sync(password, salt, 1, 32, 'sha1'));
}

const optionalText = v.nullish(v.string());
/** Null means absent: WorkOS returns `"organization_id": null`, and SDKs that seal the whole response keep it. */
const orAbsent = <Entry extends v.GenericSchema>(entry: Entry) => v.nullish(entry, () => undefined);

/** The fields that WorkOS' SDKs keep in their session cookie, and `signedInAt`; other top-level fields are dropped. */
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
  /** Seconds since the epoch, with milliseconds; for `sessionMaxAge` and `endSession`. Lost where another SDK reseals the session. */
  signedInAt: orAbsent(v.number()),
});

/** The content of the session cookie's seal. */
export type SealedSession = v.InferOutput<typeof schema>;

/** The session in an opened seal or a coordinator's message, if it holds one. */
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
 * The session after a refresh. The old refresh token is spent, so the new tokens are kept even if
 * the response is incomplete. Other unusable fields keep their former values.
 *
 * @throws {AuthError} `token_rejected` when the response carries no token at all
 */
export function renewedSession(response: AuthenticationResponse, former: SealedSession): SealedSession {
  const { accessToken, refreshToken, user, organizationId } = response;
  const impersonator = response.impersonator ?? former.impersonator;
  // A refresh is not an authentication: the method of the sign-in is kept.
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
