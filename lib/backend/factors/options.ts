import { routePath } from '../../options/shared.ts';

export const factorsEntries = {
  /** Asks for the second factor. Default `/auth/verify`. */
  verifyPath: routePath('/auth/verify'),
  /** Lists, adds and removes authenticator apps, and security keys where `signInMethods` has `passkey`. Default `/auth/enroll`. */
  enrollPath: routePath('/auth/enroll'),
};
