import { routePath } from '../../options/shared.ts';

/** Its name in the option `signInMethods`. */
export const passkeyMethod = 'passkey';

export const passkeysEntries = {
  /** Signs in with a passkey, where `signInMethods` has `passkey`. Default `/auth/passkey`. */
  passkeyPath: routePath('/auth/passkey'),
  /** Lists, adds, renames and removes passkeys, where `signInMethods` has `passkey`. Default `/auth/passkeys`. */
  passkeysPath: routePath('/auth/passkeys'),
};
