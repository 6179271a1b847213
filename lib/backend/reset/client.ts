import type { ClientResult, PostCall, Routes } from '../../client/send.ts';
import type { MailSentBody, RedirectBody } from '../../types.ts';

export type ForgotCall = PostCall<{ readonly email: string }>;

export type NewPasswordCall = PostCall<{
  /** The new password. */
  readonly password: string;
  /** Required with a session; omitted after an email's link. */
  readonly currentPassword?: string;
}>;

export interface ResetCalls {
  /** Has a link for a new password sent; the answer is the same for every address. */
  forgot(call: ForgotCall): Promise<ClientResult<MailSentBody>>;
  /** Sets a new password; then send the browser to `data.redirectTo`, which may ask for the second factor first. */
  password(call: NewPasswordCall): Promise<ClientResult<RedirectBody>>;
}

export interface ResetPaths {
  /** Default `/auth/forgot`. */
  readonly forgot: string;
  /** Default `/auth/password`. */
  readonly password: string;
}

export const resetRoutes = {
  forgot: { path: '/auth/forgot', post: 'message' },
  password: { path: '/auth/password', post: 'redirectTo' },
} satisfies Routes<ResetCalls>;
