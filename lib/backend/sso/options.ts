import * as v from 'valibot';
import { routePath } from '../../options/shared.ts';

export const ssoEntries = {
  /** Whether the sign-in page offers SAML single sign-on by the email's domain. Default false. */
  sso: v.optional(v.boolean('must be true or false'), false),
};

export const ssoPaths = {
  /** Starts single sign-on by the email's domain, with `sso: true`. Default `/auth/sso`. */
  sso: routePath('/auth/sso'),
};

/** The option that is a way in by itself, and when it is set. */
export const ssoWaysIn = { sso: (value: unknown): boolean => value === true };
