import { openSeal } from './open-seal.ts';

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
