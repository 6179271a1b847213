import type { Endpoint } from '../../stand-ins/supabase/types.ts';

/**
 * All error codes of GoTrue 2.196 (`internal/api/apierrors/errorcode.go`), by the status that it mostly gives with them.
 *
 * @see https://supabase.com/docs/guides/auth/debugging/error-codes
 */
const byStatus: Readonly<Record<number, string>> = {
  400: `unknown validation_failed bad_json session_expired refresh_token_not_found refresh_token_already_used
    flow_state_already_used oauth_invalid_state bad_oauth_state bad_oauth_callback oauth_provider_not_supported captcha_failed
    email_not_confirmed phone_not_confirmed saml_assertion_no_user_id saml_assertion_no_email saml_metadata_fetch_failed
    sso_domain_already_exists saml_entity_id_mismatch provider_disabled reauthentication_needed current_password_invalid
    current_password_required bad_code_verifier invalid_credentials email_address_not_authorized email_address_invalid
    web3_unsupported_chain email_address_not_provided oauth_client_not_found webauthn_credential_not_found
    webauthn_challenge_not_found webauthn_challenge_expired webauthn_verification_failed user_banned`,
  401: 'insufficient_aal no_authorization',
  403: `bad_jwt not_admin session_not_found provider_email_needs_verification unexpected_audience mfa_verification_rejected
    otp_expired oauth_dynamic_client_registration_disabled`,
  404: `user_not_found flow_state_not_found invite_not_found mfa_factor_not_found saml_provider_disabled manual_linking_disabled
    saml_relay_state_not_found saml_idp_not_found sso_provider_not_found feature_disabled oauth_authorization_not_found
    oauth_consent_not_found custom_provider_not_found passkey_disabled`,
  408: 'request_timeout',
  409: 'conflict',
  413: 'request_entity_too_large',
  422: `email_exists phone_exists flow_state_expired oauth_client_state_not_found oauth_client_state_expired signup_disabled
    single_identity_not_deletable email_conflict_identity_not_deletable identity_already_exists email_provider_disabled
    phone_provider_disabled too_many_enrolled_mfa_factors mfa_factor_name_conflict mfa_ip_address_mismatch mfa_challenge_expired
    mfa_verification_failed sms_send_failed saml_relay_state_expired user_already_exists sso_provider_disabled
    saml_idp_already_exists user_sso_managed same_password reauthentication_not_valid otp_disabled identity_not_found weak_password
    anonymous_provider_disabled hook_timeout hook_timeout_after_retry hook_payload_over_size_limit
    hook_payload_invalid_content_type mfa_phone_enroll_not_enabled mfa_phone_verify_not_enabled mfa_totp_enroll_not_enabled
    mfa_totp_verify_not_enabled mfa_webauthn_enroll_not_enabled mfa_webauthn_verify_not_enabled mfa_verified_factor_exists
    web3_provider_disabled over_custom_provider_quota too_many_passkeys webauthn_credential_exists`,
  429: 'over_request_rate_limit over_email_send_rate_limit over_sms_send_rate_limit',
  500: 'unexpected_failure',
};

export interface GoTrueCode {
  readonly status: number;
  readonly code: string;
}

export const gotrueCodes: readonly GoTrueCode[] = Object.entries(byStatus).flatMap(([status, codes]) =>
  codes
    .trim()
    .split(/\s+/)
    .map((code) => ({ status: Number(status), code })),
);

/** What every call may meet: the code of a hook, of a limit, of an outage, of tomorrow. */
const anywhere = `unknown unexpected_failure over_request_rate_limit request_timeout conflict bad_json validation_failed hook_timeout
  hook_timeout_after_retry hook_payload_over_size_limit hook_payload_invalid_content_type a_code_of_tomorrow`;
const ofSession =
  'bad_jwt no_authorization session_not_found session_expired user_banned user_not_found insufficient_aal';
const ofMail = `over_email_send_rate_limit email_address_invalid email_address_not_authorized captcha_failed
  email_provider_disabled`;
const ofFactors = `${ofSession} mfa_challenge_expired mfa_factor_not_found mfa_ip_address_mismatch mfa_phone_verify_not_enabled
  mfa_totp_verify_not_enabled mfa_verification_failed mfa_verification_rejected mfa_webauthn_verify_not_enabled
  over_sms_send_rate_limit`;
const ofPasskeys =
  'passkey_disabled webauthn_challenge_expired webauthn_challenge_not_found webauthn_verification_failed';
const ofConsent = `${ofSession} oauth_authorization_not_found oauth_consent_not_found oauth_client_not_found feature_disabled`;

/** Which codes a call answers with, as its source says (`internal/api/*.go`). A callback's query may bring any. */
const answers: Partial<Readonly<Record<Endpoint, string>>> = {
  password:
    'invalid_credentials email_not_confirmed phone_not_confirmed email_provider_disabled user_banned captcha_failed',
  pkce: 'flow_state_not_found flow_state_expired flow_state_already_used bad_code_verifier user_banned',
  refresh: `refresh_token_not_found refresh_token_already_used session_expired session_not_found user_banned user_not_found`,
  signup: `${ofMail} signup_disabled user_already_exists email_exists weak_password anonymous_provider_disabled`,
  resend: ofMail,
  recover: `${ofMail} user_not_found`,
  otp: `${ofMail} otp_disabled signup_disabled`,
  verify: 'otp_expired user_banned signup_disabled flow_state_not_found',
  logout: ofSession,
  user: ofSession,
  'update-user': `${ofSession} current_password_invalid current_password_required email_exists reauthentication_needed
    reauthentication_not_valid same_password weak_password user_sso_managed over_email_send_rate_limit email_address_invalid
    email_address_not_authorized`,
  sso: 'sso_provider_disabled sso_provider_not_found saml_provider_disabled captcha_failed',
  enroll: `${ofSession} mfa_factor_name_conflict mfa_verified_factor_exists mfa_phone_enroll_not_enabled
    mfa_totp_enroll_not_enabled mfa_webauthn_enroll_not_enabled too_many_enrolled_mfa_factors`,
  'verify-factor': ofFactors,
  unenroll: `${ofSession} mfa_factor_not_found`,
  'passkey-options': 'passkey_disabled captcha_failed',
  'passkey-verify': `${ofPasskeys} email_not_confirmed phone_not_confirmed user_banned`,
  'add-passkey-options': `${ofSession} passkey_disabled too_many_passkeys user_sso_managed`,
  'add-passkey': `${ofSession} ${ofPasskeys} too_many_passkeys webauthn_credential_exists`,
  passkeys: `${ofSession} passkey_disabled`,
  'rename-passkey': `${ofSession} passkey_disabled`,
  'remove-passkey': `${ofSession} passkey_disabled`,
  authorization: ofConsent,
  consent: ofConsent,
  grants: ofConsent,
  'revoke-grant': ofConsent,
};

/** Whether the call can be answered with this code. */
export function canMeet(endpoint: Endpoint | undefined, code: string): boolean {
  if (endpoint === undefined) return true;
  return `${anywhere} ${answers[endpoint] ?? ''}`.split(/\s+/).includes(code);
}
