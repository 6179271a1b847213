import type { CallOptions, ClientResult, PostCall, Routes } from '../../client/send.ts';
import type { RedirectBody } from '../../types.ts';
import type { ChallengeBody, CredentialFields } from '../webauthn/client.ts';

export type VerifyCall = PostCall<
  | {
      /** Six digits. */
      readonly code: string;
      /** Which factor; default: the authenticator app, or the phone to which a code was sent. */
      readonly factorId?: string;
    }
  /** The answer of `getPasskey`, for a security key. */
  | (CredentialFields & { readonly factorId: string })
  /** Sends a code to the phone with this factor id. */
  | { readonly send: string }
>;

/** Asks for a challenge of the security key with this factor id. */
export type StartKeyCall = PostCall<{ readonly challenge: string }>;

export type EnrollCall = PostCall<
  /** Starts with an authenticator app. */
  | { readonly code?: undefined; readonly remove?: undefined; readonly type?: undefined }
  /** The answer of `createPasskey`, for a security key. */
  | (CredentialFields & { readonly factorId: string })
  /** The first code that the app shows. */
  | { readonly factorId: string; readonly code: string }
  /** The id of a factor that is no longer wanted. */
  | { readonly remove: string }
>;

/** An authenticator app that must be confirmed by its first code. */
export interface EnrollmentBody {
  readonly factorId: string;
  /** For typing. */
  readonly secret: string;
  /** `otpauth://totp/…`, for a QR code. */
  readonly uri: string;
}

/** Starts with a security key. */
export type EnrollKeyCall = PostCall<{ readonly type: 'webauthn'; readonly credential?: undefined }>;

/** A challenge of a security key as second factor. */
export interface KeyChallengeBody extends ChallengeBody {
  readonly factorId: string;
}

/** A text message was sent. */
export interface CodeSentBody {
  readonly factorId: string;
  readonly message: string;
}

export interface FactorsBody {
  /** `type` as Supabase calls it: `totp`, `phone`, `webauthn`, or a later one. */
  readonly factors: readonly { readonly id: string; readonly type: string }[];
}

export interface FactorsCalls {
  /** Gives the second factor, or sends a code to a phone (`'message' in data`). The error of a wrong code is `code_wrong`. */
  verify(call: VerifyCall): Promise<ClientResult<RedirectBody | CodeSentBody>>;
  /** Starts with a security key: pass `data.options` to `getPasskey`. */
  verify(call: StartKeyCall): Promise<ClientResult<KeyChallengeBody>>;
  /** The factors that can verify the session, the best first. */
  verify(call?: CallOptions): Promise<ClientResult<FactorsBody>>;
  /** Starts with an authenticator app (`'uri' in data`), confirms it by its first code, or removes a factor. */
  enroll(call: EnrollCall): Promise<ClientResult<RedirectBody | EnrollmentBody>>;
  /** Starts with a security key: pass `data.options` to `createPasskey`. */
  enroll(call: EnrollKeyCall): Promise<ClientResult<KeyChallengeBody>>;
  /** The second factors of the signed-in user. */
  enroll(call?: CallOptions): Promise<ClientResult<FactorsBody>>;
}

export interface FactorsPaths {
  /** Default `/auth/verify`. */
  readonly verify: string;
  /** Default `/auth/enroll`. */
  readonly enroll: string;
}

const factors = { get: 'factors', post: ['redirectTo', 'factorId'] } as const;

export const factorsRoutes = {
  verify: { path: '/auth/verify', ...factors },
  enroll: { path: '/auth/enroll', ...factors },
} satisfies Routes<FactorsCalls>;
