import { routePath } from '../../options/shared.ts';

/** Its name in the option `signInMethods`. */
export const emailCodeMethod = 'code';

export const emailCodeEntries = {
  /** Signs in by a code or link sent by email, where `signInMethods` has `code`. Default `/auth/code`. */
  codePath: routePath('/auth/code'),
};
