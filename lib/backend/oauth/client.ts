import type { CallOptions, ClientResult, ReturnTo, Routes } from '../../client/send.ts';
import type { RedirectBody } from '../../types.ts';

export interface OAuthCall extends CallOptions {
  readonly query: ReturnTo & {
    /** A provider's name as Supabase spells it, such as `github`; without it the adapter's `defaultProvider`. */
    readonly provider?: string;
  };
}

export interface OAuthCalls {
  /** Starts sign-in at an OAuth provider: send the browser to `data.redirectTo`. */
  oauth(call: OAuthCall): Promise<ClientResult<RedirectBody>>;
}

export const oauthRoutes = {
  oauth: { path: '/auth/login', pathName: 'login', get: 'redirectTo' },
} satisfies Routes<OAuthCalls>;
