import * as v from 'valibot';
import { routePath, wholeNumber } from '../../options/shared.ts';

/** Its name in the option `signInMethods`. */
export const emailCodeMethod = 'code';

export const emailCodeEntries = {
  /**
   * How many digits emailed codes have, as the project configures it (**Email OTP Length**): the field then has a place for each. Default: not
   * known, and the field has no places.
   */
  codeLength: v.optional(wholeNumber('the digits of an emailed code', 6, 10)),
};

export const emailCodePaths = {
  /** Signs in by a code or link sent by email, where `signInMethods` has `code`. Default `/auth/code`. */
  code: routePath('/auth/code'),
};
