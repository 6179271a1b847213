import type { AuthErrorCode } from '../errors.ts';

/** What a refusal of WorkOS' token endpoint means here. */
export interface Refusal {
  /**
   * `left`: the organization, or its member, is gone; the session may go on without it. `sign_in`: the organization asks
   * for a sign-in of its own kind, which a sign-in that names it can satisfy.
   */
  readonly organization?: 'left' | 'sign_in';
  /** What the person reads where a sign-in ends with it. */
  readonly signIn: AuthErrorCode;
}

const moreSteps = { signIn: 'sign_in_incomplete' } as const;
const phone = { signIn: 'phone_number_required' } as const;
const identityCheck = { signIn: 'identity_check_required' } as const;
const organizationSignIn = { organization: 'sign_in', signIn: 'sign_in_incomplete' } as const;
const rejectedCode = { signIn: 'code_rejected' } as const;
const left = { organization: 'left', signIn: 'not_a_member' } as const;
const notSetUp = { signIn: 'provider_refused' } as const;

/**
 * The codes of `POST /user_management/authenticate` in WorkOS' OpenAPI file, version 0.61.0, besides those of `ownFaults`
 * and `passing`. The last group is not in that file: WorkOS' SDKs, its documentation or its emulator name them.
 * Each ends the session at a refresh, and so does a code of their form that is not listed, except with a 401, which may be
 * about the API key.
 *
 * @see https://github.com/workos/openapi-spec
 */
export const refusals: ReadonlyMap<string, Refusal> = new Map<string, Refusal>(
  Object.entries({
    invalid_grant: rejectedCode,
    invalid_pending_authentication_token: rejectedCode,
    code_challenge_not_found: rejectedCode,
    expired_token: rejectedCode,
    invalid_one_time_code: rejectedCode,
    one_time_code_previously_used: rejectedCode,
    one_time_code_expired: rejectedCode,
    one_time_code_too_many_attempts: rejectedCode,
    invalid_credentials: rejectedCode,
    invalid_link_authorization_code: rejectedCode,
    user_mismatch: rejectedCode,

    invalid_organization_id: left,
    organization_not_found: left,
    organization_membership_not_found: left,

    sso_required: organizationSignIn,
    mfa_enrollment: organizationSignIn,
    mfa_challenge: organizationSignIn,
    organization_authentication_methods_required: organizationSignIn,
    authentication_method_not_allowed: { organization: 'sign_in', signIn: 'sign_in_method_refused' },
    email_password_auth_disabled: { signIn: 'sign_in_method_refused' },

    // Only the callback's query tells of a person who canceled.
    access_denied: { signIn: 'sign_in_refused' },
    invitation_invalid: { signIn: 'invitation_invalid' },
    invitation_cannot_be_used_for_email: { signIn: 'invitation_for_another_address' },
    sign_up_not_allowed: { signIn: 'signup_disabled' },

    email_verification_required: organizationSignIn,
    organization_selection_required: moreSteps,
    phone_number_required: phone,
    verification_id_required: phone,
    passkey_progressive_enrollment: moreSteps,
    radar_challenge: identityCheck,
    radar_sign_up_challenge: identityCheck,
    radar_sms_sign_in_challenge: phone,
    application_consent_required: moreSteps,
    extra_attributes_required: moreSteps,

    invalid_connection: notSetUp,
    invalid_profile: notSetUp,
    pkce_not_supported: notSetUp,
    // The code in a callback's query can cause these two, so they are no sign of a refused key.
    invalid_request: { signIn: 'sign_in_refused' },
    invalid_request_parameters: { signIn: 'sign_in_refused' },
    token_too_big: { signIn: 'session_too_large' },

    mfa_verification: organizationSignIn,
    session_revoked: rejectedCode,
  } satisfies Record<string, Refusal>),
);

/** Errors that concern the application (RFC 6749 §5.2): no answer about a session. */
export const ownFaults: ReadonlySet<string> = new Set([
  'invalid_client',
  'unauthorized_client',
  'unsupported_grant_type',
]);

/** Codes of a limit or an outage, whatever their status. */
export const passing: ReadonlyMap<string, 'rate_limited' | 'server_error'> = new Map([
  ['too_many_requests', 'rate_limited'],
  ['daily_quota_exceeded', 'rate_limited'],
  ['rate_limit_exceeded', 'rate_limited'],
  ['rate_limited', 'rate_limited'],
  ['slow_down', 'rate_limited'],
  ['authorization_pending', 'server_error'],
  ['timeout', 'server_error'],
  ['request_timeout', 'server_error'],
  ['server_error', 'server_error'],
  ['temporarily_unavailable', 'server_error'],
]);

/** Statuses with which the token endpoint itself refuses. A JSON 404 comes from a wrong host, unless it is about the organization. */
export const refusalStatuses: readonly number[] = [400, 401, 403, 422];

/** Form of WorkOS' codes. A gateway between us and WorkOS refuses in words. */
export const codeForm = /^[a-z][a-z0-9]*(?:_[a-z0-9]+)*$/;

/** Names of the statuses themselves, as gateways and frameworks send them: they say nothing about a session. */
export const statusNames: ReadonlySet<string> = new Set([
  'bad_request',
  'unauthorized',
  'forbidden',
  'unprocessable_entity',
  'unprocessable_content',
]);

/** One of the two refusals of the OpenAPI file that have a message and no code. */
export const ssoMessage = 'Must use SSO for selected organization';

/** The other one, a 404: "Organization not found: 'org_01EHQ…'.". The emulator leaves out the id. */
export const organizationMessage = /^Organization not found(?:[:.]|$)/;
