import type { CallOptions, ClientResult, PostCall, ReturnTo, Routes } from '../../client/send.ts';
import type { MailSentBody, RedirectBody } from '../../types.ts';

/** Each field but the address is there where the options switch it on. */
export interface AccountBody {
  /** Null for an account without one. */
  readonly email: string | null;
  /** The address that waits for its confirmation. */
  readonly newEmail?: string;
  /** Whether the account has a password, or can choose one by an email's link. */
  readonly password?: boolean;
  /** How many second factors it has. */
  readonly factors?: number;
  readonly passkeys?: number;
  /** How many apps act for the user. */
  readonly apps?: number;
  /** The ways to sign in that Supabase knows; `email` is the address itself. */
  readonly identities?: readonly { readonly id: string; readonly provider: string; readonly email?: string }[];
}

export type ChangeEmailCall = PostCall<ReturnTo & { readonly email: string }>;

export type AccountCall = PostCall<
  ReturnTo &
    (
      | {
          /** A provider, whose account signs in here from then on: send the browser to `data.redirectTo`. */ readonly link: string;
        }
      | { /** The id of an identity. */ readonly unlink: string }
      | { /** `others` keeps this session; `global` ends it, too. */ readonly signOut: 'others' | 'global' }
    )
>;

export interface AccountCalls {
  /** Sends the emails that change the address. */
  account(call: ChangeEmailCall): Promise<ClientResult<MailSentBody>>;
  /** Links or unlinks an account of a provider, or signs out elsewhere. */
  account(call: AccountCall): Promise<ClientResult<RedirectBody>>;
  /** What the account has. */
  account(call?: CallOptions): Promise<ClientResult<AccountBody>>;
}

export interface AccountPaths {
  /** Default `/auth/account`. */
  readonly account: string;
}

export const accountRoutes = {
  account: { path: '/auth/account', get: 'email', post: 'redirectTo' },
} satisfies Routes<AccountCalls>;
