import { routePath } from '../../options/shared.ts';

export const webauthnEntries = {
  /** Where the script of the pages that ask for a passkey is served. Default `/auth/passkey.js`. */
  passkeyScriptPath: routePath('/auth/passkey.js'),
};
