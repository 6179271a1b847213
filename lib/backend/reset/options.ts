import { routePath } from '../../options/shared.ts';

export const resetEntries = {
  /** Sends a link to choose a new password. Default `/auth/forgot`. */
  forgotPath: routePath('/auth/forgot'),
  /** Sets a new password, after such a link or signed in. Default `/auth/password`. */
  passwordPath: routePath('/auth/password'),
};
