import { routePath } from '../../options/shared.ts';

export const resetPaths = {
  /** Sends a link to choose a new password. Default `/auth/forgot`. */
  forgot: routePath('/auth/forgot'),
  /** Sets a new password, after such a link or signed in. Default `/auth/password`. */
  password: routePath('/auth/password'),
};
