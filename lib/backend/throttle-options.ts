import * as v from 'valibot';
export interface ThrottleOptions {
  readonly x?: never;
}
export const throttleEntry = v.optional(v.union([v.literal(false), v.strictObject({})]));
