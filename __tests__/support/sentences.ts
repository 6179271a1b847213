/**
 * Every sentence of the built-in pages, and the facts under which a page may show it. A test fails for a text that is not listed here.
 *
 * After a refusal of Supabase Auth the facts are what its code means (`internal/api` of GoTrue 2.196) and where it came: `claims`. What only
 * this package, the application or WorkOS decides is never said then: `own`. The rest claims nothing: `labels`.
 */
import { englishText } from '../../lib/backend/pages/text.ts';
import type { PagesTextKey } from '../../lib/backend/pages/text.ts';
import type { Endpoint } from '../../stand-ins/supabase/types.ts';

/** What is known where a page is shown after a refusal. */
export interface Seen {
  readonly code: string;
  /** The call that was refused; none where the code came in a callback's query. */
  readonly endpoint?: Endpoint | undefined;
  readonly signsIn: boolean;
  readonly person: 'no one' | 'member' | 'guest' | 'first factor';
}

interface Claim {
  /** The fact, in words. */
  readonly fact: string;
  /** The codes that mean it. */
  readonly after?: string;
  /** Where the code alone does not mean it. */
  readonly when?: (seen: Seen) => boolean;
}

const outages =
  'request_timeout conflict sms_send_failed hook_timeout hook_timeout_after_retry unexpected_failure bad_jwt';
const faults = 'unexpected_audience hook_payload_over_size_limit hook_payload_invalid_content_type feature_disabled';
const limits = 'over_request_rate_limit over_email_send_rate_limit over_sms_send_rate_limit';
const spentFlows = 'flow_state_already_used bad_code_verifier flow_state_not_found flow_state_expired';
const lostStates =
  'oauth_invalid_state bad_oauth_state bad_oauth_callback oauth_client_state_not_found oauth_client_state_expired';
const spentLinks = 'otp_expired invite_not_found';
/** The session that a link's sign-in got, or the browser's, has ended. */
const ended = 'no_authorization session_not_found session_expired user_not_found user_banned';
const factorsOff = `mfa_totp_enroll_not_enabled mfa_totp_verify_not_enabled mfa_phone_enroll_not_enabled
  mfa_phone_verify_not_enabled mfa_webauthn_enroll_not_enabled mfa_webauthn_verify_not_enabled`;
const wrongCodes =
  'mfa_factor_not_found mfa_ip_address_mismatch mfa_challenge_expired mfa_verification_failed otp_expired user_banned';
const wrongKeys = `validation_failed bad_json webauthn_credential_not_found webauthn_verification_failed webauthn_credential_exists
  ${wrongCodes}`;

/** A renewal that is refused with a 404 was answered by a gateway, whatever the code. */
const unavailable = {
  after: `${outages} ${limits} ${faults} a_code_of_tomorrow`,
  when: ({ code, endpoint }: Seen) => code !== 'a_code_of_tomorrow' || endpoint === 'refresh',
} as const;

const at =
  (...endpoints: readonly Endpoint[]) =>
  ({ endpoint }: Seen): boolean =>
    endpoint !== undefined && endpoints.includes(endpoint);
/** With a password alone. A guest's sign-up is the same call, with an address. */
const setsPassword = ({ endpoint, person }: Seen): boolean => endpoint === 'update-user' && person !== 'guest';
const mails: readonly Endpoint[] = ['signup', 'resend', 'recover', 'otp', 'update-user', 'user', 'verify'];
const mayHaveMailed = { fact: 'the backend was asked for this email, or may have been', when: at(...mails) } as const;
const signedIn = { fact: 'someone is signed in', when: ({ person }: Seen) => person === 'member' } as const;

export const claims = {
  sign_in_failed: { fact: 'a sign-in was refused', when: ({ signsIn }) => signsIn },
  action_failed: { fact: 'something was refused' },
  errorHeading: { fact: 'something was refused' },
  code_rejected: { fact: 'the code or its flow is spent, over or unknown', after: spentFlows },
  invalid_state: { fact: 'the state is unknown, foreign or over', after: lostStates },
  expiredHeading: { fact: 'the sign-in’s code or state is of no use', after: `${spentFlows} ${lostStates}` },
  unknown_provider: {
    fact: 'the project has this way to sign in switched off, or does not know it',
    after: `oauth_provider_not_supported provider_disabled saml_provider_disabled sso_provider_not_found passkey_disabled
      manual_linking_disabled
      sso_provider_disabled`,
  },
  link_expired: { fact: 'the link is spent, over or unknown', after: spentLinks },
  usedLinkHeading: { fact: 'the link is spent, over or unknown', after: spentLinks },
  linkExpiredHeading: { fact: 'the link, or the sign-in that it gave, is over', after: `${spentLinks} ${ended}` },
  linkExpiredText: { fact: 'the link, or the sign-in that it gave, is over', after: `${spentLinks} ${ended}` },
  changeLinkExpiredText: { fact: 'the link is spent, over or unknown', after: spentLinks, when: at('verify') },
  pleaseSignInText: { fact: 'an email’s link came without a usable code', after: spentFlows, when: at('pkce') },
  authorization_expired: {
    fact: 'the authorization is over, answered, or another person’s',
    after: 'oauth_authorization_not_found oauth_consent_not_found oauth_client_not_found validation_failed',
  },
  startAgainHeading: {
    fact: 'the authorization is over, answered, or another person’s',
    after: 'oauth_authorization_not_found oauth_consent_not_found oauth_client_not_found validation_failed',
  },
  captcha_failed: { fact: 'the captcha’s answer was refused', after: 'captcha_failed' },
  invalid_credentials: { fact: 'address and password do not match', after: 'invalid_credentials' },
  provider_email_missing: { fact: 'the provider shared no address', after: 'email_address_not_provided' },
  provider_email_unverified: {
    fact: 'the provider has not verified the address; the backend may have sent an email now or a minute ago',
    after: 'provider_email_needs_verification email_not_confirmed over_email_send_rate_limit',
    when: ({ endpoint }) => endpoint === undefined,
  },
  managed_account: {
    fact: 'an identity provider manages the account',
    after: 'user_sso_managed validation_failed',
    when: ({ code, endpoint }) => code === 'user_sso_managed' || endpoint === 'add-passkey-options',
  },
  second_factor_required: { fact: 'the backend wants the second factor', after: 'insufficient_aal' },
  email_not_confirmed: { fact: 'the address is not confirmed', after: 'email_not_confirmed' },
  signup_disabled: {
    fact: 'the project takes no new accounts',
    after: 'signup_disabled anonymous_provider_disabled phone_provider_disabled',
  },
  email_disabled: { fact: 'the project does not sign in by email', after: 'email_provider_disabled otp_disabled' },
  signup_refused: {
    fact: 'a hook refuses the new account',
    after: 'unknown',
    when: (seen) => at('signup', 'update-user')(seen) && !setsPassword(seen),
  },
  user_banned: { fact: 'the account is banned', after: 'user_banned' },
  forbiddenHeading: { fact: 'this account may not come in', after: 'user_banned user_sso_managed' },
  sign_in_refused: { fact: 'a hook has ended the sign-in', after: 'mfa_verification_rejected' },
  factorRejectedHeading: { fact: 'a hook has ended the sign-in', after: 'mfa_verification_rejected' },
  factorRejectedText: { fact: 'a hook has ended the sign-in', after: 'mfa_verification_rejected' },
  email_in_use: { fact: 'the backend itself says so', after: 'email_exists user_already_exists' },
  identity_in_use: { fact: 'another account has this sign-in', after: 'identity_already_exists' },
  sign_in_not_fresh: { fact: 'the backend wants a newer sign-in', after: 'reauthentication_needed' },
  current_password_wrong: {
    fact: 'the current password is wrong or missing',
    after: 'current_password_invalid current_password_required invalid_credentials',
    when: ({ person }) => person === 'member',
  },
  same_password: { fact: 'it is the account’s password', after: 'same_password' },
  weak_password: { fact: 'the backend refuses the password', after: 'weak_password' },
  code_wrong: { fact: 'the code is wrong, spent or over; a ban is not told before a right code', after: wrongCodes },
  emailCodeWrong: { fact: 'the same of an email’s code, whose link tells more', after: wrongCodes, when: at('verify') },
  signUpMaybeDone: {
    fact: 'the answer to a sign-up was late or lost',
    after: 'request_timeout hook_timeout hook_timeout_after_retry',
    when: at('signup', 'update-user'),
  },
  factor_unavailable: { fact: 'the project has this factor switched off', after: factorsOff },
  factorsFull: { fact: 'the account has as many as it may have', after: 'too_many_enrolled_mfa_factors' },
  passkeysFull: { fact: 'the account has as many as it may have', after: 'too_many_passkeys' },
  challenge_expired: {
    fact: 'the challenge is over or answered',
    after: 'webauthn_challenge_not_found webauthn_challenge_expired',
  },
  sso_unavailable: {
    fact: 'no identity provider belongs to the domain',
    after: 'sso_provider_not_found sso_provider_disabled saml_provider_disabled',
    when: at('sso'),
  },
  last_sign_in_method: { fact: 'the account has no other identity', after: 'single_identity_not_deletable' },
  rate_limited: { fact: 'a limit of the backend applies', after: limits },
  waitHeading: { fact: 'a limit of the backend applies', after: limits },
  codeEmailsLimited: { fact: 'a limit of the backend applies', after: limits, when: at('resend', 'otp', 'recover') },
  provider_refused: { fact: 'only the project’s owner can mend it', after: faults },
  provider_unavailable: { fact: 'the backend did not do it, and may soon', ...unavailable },
  providerBusy: { fact: 'a limit of the backend applies to a renewal', after: limits, when: at('refresh') },
  unavailableHeading: { fact: 'the backend does not work now', ...unavailable },
  staySignedIn: { fact: 'the browser has a session, and an outage ends none', ...unavailable },
  passwordMaybeSaved: { fact: 'the answer to a change was lost', after: outages, when: at('update-user') },
  passkeyRefused: { fact: 'the answer of a passkey or key was refused', after: wrongKeys },
  passkeysOff: { fact: 'the project has passkeys switched off', after: 'passkey_disabled' },
  passkeyGone: { fact: 'the passkey is not this user’s', after: 'validation_failed' },
  emailRefused: {
    fact: 'the backend refuses the address',
    after: 'validation_failed email_address_invalid',
    when: (seen) => !setsPassword(seen),
  },
  confirmationSentText: mayHaveMailed,
  mailSentText: mayHaveMailed,
  forgotSentText: mayHaveMailed,
  emailCodeSentText: mayHaveMailed,
  guestText: { fact: 'the browser has an anonymous session', when: ({ person }) => person === 'guest' },
  noFactorText: { fact: 'the backend lists no factor', after: 'insufficient_aal' },
  signedInAs: signedIn,
  signedInHeading: signedIn,
  appsEmptyText: signedIn,
  factorsEmptyText: signedIn,
  factorsWithKeysEmptyText: signedIn,
  passkeysText: signedIn,
} as const satisfies Partial<Record<PagesTextKey, Claim>>;

/** The same after a refusal of WorkOS' token endpoint (its OpenAPI file 0.61.0, its SDKs and its documentation). */
export const workosClaims: Partial<Readonly<Record<PagesTextKey, string>>> = {
  code_rejected: `invalid_grant invalid_pending_authentication_token code_challenge_not_found expired_token invalid_one_time_code
    one_time_code_previously_used one_time_code_expired one_time_code_too_many_attempts invalid_credentials
    invalid_link_authorization_code user_mismatch session_revoked`,
  not_a_member: 'invalid_organization_id organization_not_found organization_membership_not_found',
  sign_in_incomplete: `sso_required mfa_enrollment mfa_challenge mfa_verification organization_authentication_methods_required
    email_verification_required organization_selection_required passkey_progressive_enrollment application_consent_required
    extra_attributes_required`,
  sign_in_method_refused: 'authentication_method_not_allowed email_password_auth_disabled',
  sign_in_refused: 'access_denied invalid_request invalid_request_parameters a_code_of_tomorrow',
  invitation_invalid: 'invitation_invalid',
  invitation_for_another_address: 'invitation_cannot_be_used_for_email',
  signup_disabled: 'sign_up_not_allowed',
  phone_number_required: 'phone_number_required verification_id_required radar_sms_sign_in_challenge',
  identity_check_required: 'radar_challenge radar_sign_up_challenge',
  session_too_large: 'token_too_big',
  provider_refused: `invalid_connection invalid_profile pkce_not_supported invalid_client unauthorized_client
    unsupported_grant_type`,
  providerBusy: 'too_many_requests daily_quota_exceeded rate_limit_exceeded rate_limited slow_down',
  provider_unavailable: 'authorization_pending timeout request_timeout server_error temporarily_unavailable',
};

/** What this package, the application or WorkOS decides. After a refusal of Supabase Auth none of it is known. */
export const own =
  `access_denied canceledHeading invalid_request invalid_host redirect_refused unauthenticated signInFirstHeading
  fresh_sign_in_required invalid_token forbidden insufficient_scope not_accepted cross_site_request prefetch_refused
  organization_required not_a_member invitation_invalid invitation_for_another_address sign_in_method_refused
  phone_number_required identity_check_required sign_in_incomplete not_found method_not_allowed payload_too_large
  unsupported_media_type form_refused tokens_refused session_too_large token_rejected retrySoon chooserText chooserLast chooserNone
  signOutText signingOutText passwordTooShort passwordTooLong passwordInBreach passwordTooSimple emailMissing emailInvalid
  passwordMissing accountExists noAddressSignInText addressChangedHeading addressChangedText otherLinkHeading otherLinkText
  switchText switchAloneText noAddressHeading noAddressText passwordOtherAccount codesLimited emailCodeMissing codeSentText
  codeMissing codeClosed factorUnavailableHeading factorUnavailableText factorNeedsEmail factorStillNeeded factorsOnText removeText removeLastText
  passkeyNameInvalid removePasskeyText consentUnverified startAgainAllowed goBackHeading toAppHeading appsText appStays disconnectText
  linkText unlinkText sameEmail changeEmailText changeEmailSentText changeEmailBothText signedOutOthersHeading` as const;

/** Names of fields, buttons and pages, questions and instructions. Those of a page’s script stay hidden until the browser says so. */
export const labels =
  `nextStepHeading errorTitle retryIn tryAgainButton signInButton continueButton contactSupport forSupport terminalSays backHome
  otherAccount continueTo chooserHeading chooserLetters chooserSearch searchButton chooserAll signOutHeading signOutButton stayButton signingOutHeading terms privacy
  help signInHeading signInToHeading signInText email password showPassword newPasswordHint or toForgotLink codeResendIn newLinkButton
  openMail termsLine privacyPolicy lastUsed addAnotherText passkeyOfferHeading notNowLink mailHint resendButton backToSignIn pleaseSignInHeading code removeButton removeHeading doneLink cancelLink reloadLink signUpHeading
  signUpButton toSignUp toSignUpLink toSignIn toSignInLink confirmationSentHeading mailSentHeading continueWith confirmHeading
  confirmText confirmButton magicLinkHeading magicLinkText magicLinkButton inviteHeading inviteText inviteButton recoveryHeading
  recoveryText recoveryButton emailChangeHeading emailChangeText emailChangeButton switchHeading switchButton stayAsButton
  forgotHeading forgotText forgotButton forgotSentHeading passwordHeading passwordFor currentPassword newPassword passwordButton
  codeHeading codeText codeSendButton toCodeButton codeSentHeading codeResendButton codeOtherAddress ssoHeading ssoText ssoHint
  ssoButton toSsoLink verifyHeading verifyAppText verifyKeyText verifyKeyOrAppText verifyKeyOrPhoneText keyButton verifyPhoneText
  sendCodeButton sendCodeAgainButton verifyHelp factorApp factorPhone factorKey factorRecovery factorOther factorsHeading factorsText
  factorsWithKeysText addAppButton addKeyButton enrollHeading enrollAppText enrollScanText enrollCodeText qrCodeLabel
  enrollSecretText enrollButton passkeyButton passkeysHeading passkeyName passkeyAdded passkeyUsed addPasskeyButton renameLink
  renameHeading passkeyNameLabel renameButton passkeyUnavailable passkeyCanceled passkeyFailed passkeyKnown consentHeading
  unnamedApp consentWeb consentDevice consentApp consentScopes consentActIn consentAct scopeOpenid scopeProfile scopeEmail
  scopePhone scopeOfflineAccess allowButton denyButton appsHeading appSince disconnectButton disconnectHeading
  factorsOn factorsOff factorAdded passwordNone accountHeading accountNewEmail linksHeading linkButton unlinkButton unlinkHeading
  signOutOthersButton signOutAllButton changeEmailHeading newEmail startAgainButton` as const;

export const wordsIn = (list: string): readonly string[] => list.trim().split(/\s+/);

/** Whether a claim holds; what is none of `claims` is never said after a refusal. */
export function holds(key: string, seen: Seen): boolean {
  const claim: Claim | undefined = Object.hasOwn(claims, key) ? claims[key as keyof typeof claims] : undefined;
  if (claim === undefined) return false;
  const isAfter = claim.after === undefined || wordsIn(claim.after).includes(seen.code);
  return isAfter && (claim.when?.(seen) ?? true);
}

/** Whether a claim names this cause, and not only that something failed. */
export function names(key: string, code: string): boolean {
  const claim: Claim | undefined = Object.hasOwn(claims, key) ? claims[key as keyof typeof claims] : undefined;
  return claim?.after !== undefined && wordsIn(claim.after).includes(code);
}

const escaped = (text: string): string => text.replaceAll(/[.*+?^$()|[\]\\]/g, String.raw`\$&`);
const patterns = Object.entries(englishText).map(([key, text]) => {
  const parts = text.split(/\{\w+\}/).map(escaped);
  return { key, pattern: new RegExp(parts.join('.+?')) };
});
const isLabel = new Set(wordsIn(labels));

/** The claims among the words of a page. Of two texts where one contains the other, only the longer one is there. */
export function claimsIn(words: string): readonly string[] {
  const found = patterns.flatMap(({ key, pattern }) => {
    const match = pattern.exec(words);
    return match === null ? [] : [{ key, from: match.index, to: match.index + match[0].length }];
  });
  const isHidden = (one: (typeof found)[number], other: (typeof found)[number]): boolean => {
    const isWithin = other.from <= one.from && one.to <= other.to;
    return isWithin && (other.to - other.from > one.to - one.from || (isLabel.has(other.key) && other.key !== one.key));
  };
  return found
    .filter((one) => !isLabel.has(one.key) && !found.some((other) => isHidden(one, other)))
    .map(({ key }) => key);
}

/** Of several texts with the same words, one whose facts hold is enough. */
export function untrueOf(keys: readonly string[], seen: Seen): readonly string[] {
  const textOf = (key: string): string => englishText[key as PagesTextKey];
  const isTrue = (key: string): boolean => keys.some((other) => textOf(other) === textOf(key) && holds(other, seen));
  return keys.filter((key) => !isTrue(key));
}
