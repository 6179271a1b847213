import type { ClientResult, PasswordCall, Routes } from '../../client/send.ts';
import type { RedirectBody } from '../../types.ts';

export interface PasswordCalls {
  /** Signs in with email and password; then send the browser to `data.redirectTo`. */
  login(call: PasswordCall): Promise<ClientResult<RedirectBody>>;
}

export const passwordRoutes = {
  login: { path: '/auth/login', post: 'redirectTo' },
} satisfies Routes<PasswordCalls>;
