import type { ClientResult, PostCall, Routes } from '../../client/send.ts';
import type { EmailConfirmationBody, RedirectBody } from '../../types.ts';

/** Email, password, and what the option `signUp` checks and stores. */
export type SignUpCall = PostCall<{
  readonly email: string;
  readonly password: string;
  readonly [field: string]: unknown;
}>;

export type ResendCall = PostCall<{ readonly email: string }>;

export interface SignUpCalls {
  /** Creates an account. `'emailConfirmationRequired' in data` tells that a mail comes first. */
  signup(call: SignUpCall): Promise<ClientResult<RedirectBody | EmailConfirmationBody>>;
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
