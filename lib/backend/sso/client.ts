import type { ClientResult, PostCall, Routes } from '../../client/send.ts';
import type { RedirectBody } from '../../types.ts';

export type SsoCall = PostCall<{ readonly email: string } | { readonly domain: string }>;

export interface SsoCalls {
  /** Starts single sign-on by the email's domain: send the browser to `data.redirectTo`. */
  sso(call: SsoCall): Promise<ClientResult<RedirectBody>>;
}

export interface SsoPaths {
  /** Default `/auth/sso`. */
  readonly sso: string;
}

export const ssoRoutes = {
  sso: { path: '/auth/sso', post: 'redirectTo' },
} satisfies Routes<SsoCalls>;
