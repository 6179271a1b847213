import { sealData, unsealData } from 'iron-session';

/** Seals and opens values; the format is iron-session's `Fe26.2`, which WorkOS' own SDKs read and write. */
export interface Seal {
  /** @param ttl seconds until the seal expires; 0 for never */
  seal(value: unknown, ttl?: number): Promise<string>;
  /** `undefined` for whatever none of the passwords opens. Never throws. */
  unseal(sealed: string): Promise<unknown>;
}

/**
 * Always seals under password id 1: WorkOS' SDKs know no other, so a higher id after a rotation would sign their users out.
 *
 * @param passwords the first seals, all open
 */
export function createSeal(passwords: readonly [string, ...string[]]): Seal {
  const [newest] = passwords;
  return {
    seal: (value, ttl = 0) => sealData(value, { password: { 1: newest }, ttl }),
    async unseal(sealed) {
      const id = /^Fe26\.2\*(\d{1,4})\*/.exec(sealed)?.[1];
      if (id === undefined) return undefined;
      for (const password of passwords) {
        const opened = await open(sealed, { [id]: password });
        if (opened !== undefined) return opened;
      }
      return undefined;
    },
  };
}

async function open(sealed: string, password: Record<string, string>): Promise<unknown> {
  const failures: unknown[] = [];
  const onUnsealError = (reason: unknown): void => {
    failures.push(reason);
  };
  try {
    // The expiry is in the seal itself; a lifetime given here would only shorten it.
    const value: unknown = await unsealData<Record<string, unknown>>(sealed, { password, ttl: 0, onUnsealError });
    return failures.length > 0 ? undefined : value;
  } catch {
    return undefined;
  }
}
