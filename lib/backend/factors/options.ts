import { routePath } from '../../options/shared.ts';

export const factorsPaths = {
  /** Asks for the second factor. Default `/auth/verify`. */
  verify: routePath('/auth/verify'),
  /** Lists, adds and removes authenticator apps, and security keys where `signInMethods` has `passkey`. Default `/auth/enroll`. */
  enroll: routePath('/auth/enroll'),
};
