import { routePath } from '../../options/shared.ts';

/** Its name in the option `signInMethods`. */
export const passkeyMethod = 'passkey';

export const passkeysPaths = {
  /** Signs in with a passkey, where `signInMethods` has `passkey`. Default `/auth/passkey`. */
  passkey: routePath('/auth/passkey'),
  /** Lists, adds, renames and removes passkeys, where `signInMethods` has `passkey`. Default `/auth/passkeys`. */
  passkeys: routePath('/auth/passkeys'),
};
