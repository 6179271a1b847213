import type { ClientResult, PasswordCall, PostCall, Routes } from '../../client/send.ts';
import type { EmailConfirmationBody, RedirectBody } from '../../types.ts';

export type ResendCall = PostCall<{ readonly email: string }>;

export interface SignUpCalls {
  /** Creates an account. `'emailConfirmationRequired' in data` tells that a mail comes first. */
  signup(call: PasswordCall): Promise<ClientResult<RedirectBody | EmailConfirmationBody>>;
  /** Resends the confirmation email; the answer is the same for every address. */
  resend(call: ResendCall): Promise<ClientResult<EmailConfirmationBody>>;
}

export interface SignUpPaths {
  /** Default `/auth/signup`. */
  readonly signup: string;
  /** Default `/auth/resend`. */
  readonly resend: string;
}

export const signUpRoutes = {
  signup: { path: '/auth/signup', post: 'redirectTo' },
  resend: { path: '/auth/resend', post: 'message' },
} satisfies Routes<SignUpCalls>;
