import type { ClientResult, PostCall, Routes } from '../../client/send.ts';
import type { MailSentBody, RedirectBody } from '../../types.ts';

export type SendCodeCall = PostCall<{ readonly email: string }>;

export type EnterCodeCall = PostCall<{
  readonly email: string;
  /** The digits from the email. */
  readonly code: string;
}>;

export interface EmailCodeCalls {
  /** Signs in with the code of an email; then send the browser to `data.redirectTo`. */
  code(call: EnterCodeCall): Promise<ClientResult<RedirectBody>>;
  /** Has an email with a code and a link sent; the answer is the same for every address. */
  code(call: SendCodeCall): Promise<ClientResult<MailSentBody>>;
}

export interface EmailCodePaths {
  /** Default `/auth/code`. */
  readonly code: string;
}

export const emailCodeRoutes = {
  code: { path: '/auth/code', post: 'redirectTo' },
} satisfies Routes<EmailCodeCalls>;
