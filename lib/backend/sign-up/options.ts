import type { Request } from 'express';
import * as v from 'valibot';
import { callback } from '../../options/shared.ts';
import type { OptionsOf } from '../../options/shared.ts';
import type { SignOutOf } from '../../http/sign-out-hook.ts';
import type { BackendSession } from '../../types.ts';

export const signUpEntries = {
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
export interface SignUpOptions extends OptionsOf<typeof signUpEntries> {}

export interface BackendSignOut extends SignOutOf<BackendSession> {}

export type OnBackendSignOut = (signOut: BackendSignOut) => unknown;
