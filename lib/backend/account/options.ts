import { routePath } from '../../options/shared.ts';

export const accountPaths = {
  /** What users can do with their account: address, ways to sign in, sign-out everywhere. Default `/auth/account`. */
  account: routePath('/auth/account'),
};
