import type { Request } from 'express';
import * as v from 'valibot';
import { callback, group, routePath } from '../../options/shared.ts';
import type { OptionsOf } from '../../options/shared.ts';

const signUpParts = {
  /**
   * The new user's metadata (`user_metadata` of Supabase, in every access token), at most 4 KB of JSON. `req.body` holds the fields
   * of the form or JSON. Return only what you need: it is no place for secrets.
   */
  data: v.optional(callback<(req: Request) => SignUpData | Promise<SignUpData>>('(req) => object')),
  /**
   * Returns a message for each field that it refuses, or `null`. Runs before `data`, and before Supabase is asked. The throttle allows
   * a hundred runs for a network in 15 minutes.
   */
  check: v.optional(
    callback<(req: Request) => FieldMessages | Promise<FieldMessages>>('(req) => { field: message } | null'),
  ),
};

/** What `signUp.data` returns: the user's metadata, or nothing. */
export type SignUpData = object | null | undefined;
/** What `signUp.check` returns: a message for each refused field, or nothing. */
export type FieldMessages = Readonly<Record<string, string | undefined>> | null | undefined;

/** What a sign-up stores beside address and password. */
export interface SignUpOptions extends OptionsOf<typeof signUpParts> {}

export const signUpEntries = {
  /**
   * Whether users can create accounts here; false removes the sign-up route and its links, and codes create no account. An object
   * (`{ data, check }`) says which further fields of the sign-up form are stored, and checks them. Default true.
   */
  signUp: v.optional(
    v.union([v.boolean(), group<SignUpOptions>(signUpParts)], 'must be true, false or an object with data or check'),
    true,
  ),
  /** Creates an account; GET shows the form. Default `/auth/signup`. */
  signupPath: routePath('/auth/signup'),
};

export const signUpPaths = {
  /** Resends the confirmation email. Default `/auth/resend`. */
  resend: routePath('/auth/resend'),
};
