import type { CallOptions, ClientResult, PostCall, Routes } from '../../client/send.ts';
import type { RedirectBody } from '../../types.ts';
import type { ChallengeBody, CredentialFields } from '../webauthn/client.ts';

export type StartPasskeyCall = PostCall<{
  readonly credential?: undefined;
  /** For a project that asks for a captcha. */
  readonly captchaToken?: string;
}>;
export type PasskeyCall = PostCall<CredentialFields>;
export type StartPasskeysCall = PostCall<{
  readonly credential?: undefined;
  readonly rename?: undefined;
  readonly remove?: undefined;
}>;

export type PasskeysCall = PostCall<
  /** A new passkey. */
  | CredentialFields
  /** The id of a passkey, and its new name of at most 120 bytes. */
  | { readonly rename: string; readonly name: string }
  /** The id of a passkey that is no longer wanted. */
  | { readonly remove: string }
>;

export interface PasskeysBody {
  /** The newest first. Times are ISO 8601, or null where unknown. */
  readonly passkeys: readonly {
    readonly id: string;
    readonly name: string;
    readonly createdAt: string | null;
    readonly lastUsedAt: string | null;
  }[];
}

export interface PasskeysCalls {
  /** Signs in with the answer of `getPasskey`; then send the browser to `data.redirectTo`. After `challenge_expired`, start again. */
  passkey(call: PasskeyCall): Promise<ClientResult<RedirectBody>>;
  /** Starts a sign-in with a passkey: pass `data.options` to `getPasskey`. */
  passkey(call: StartPasskeyCall): Promise<ClientResult<ChallengeBody>>;
  /** Adds the answer of `createPasskey`, renames or removes a passkey. */
  passkeys(call: PasskeysCall): Promise<ClientResult<RedirectBody>>;
  /** Starts to add a passkey: pass `data.options` to `createPasskey`. */
  passkeys(call: StartPasskeysCall): Promise<ClientResult<ChallengeBody>>;
  /** The passkeys of the signed-in user. */
  passkeys(call?: CallOptions): Promise<ClientResult<PasskeysBody>>;
}

export interface PasskeysPaths {
  /** Default `/auth/passkey`. */
  readonly passkey: string;
  /** Default `/auth/passkeys`. */
  readonly passkeys: string;
}

export const passkeysRoutes = {
  passkey: { path: '/auth/passkey', post: ['redirectTo', 'challengeId'] },
  passkeys: { path: '/auth/passkeys', get: 'passkeys', post: ['redirectTo', 'challengeId'] },
} satisfies Routes<PasskeysCalls>;
