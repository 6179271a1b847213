/**
 * Every error code of the package, in one closed table. Only this table sets `status`. `message` is
 * the default; a provider's own message is never shown to a visitor.
 */

interface ErrorRow {
  readonly status: number;
  /** Safe to show to anyone: what happened, and what to do. */
  readonly message: string;
  /** When this code is used; read by the documentation's table. */
  readonly when: string;
}

export const errorTable = {
  invalid_request: {
    status: 400,
    message: 'Something in this request is missing or wrong. Go back and try again, or open the link again.',
    when: 'A parameter or body is malformed.',
  },
  invalid_host: {
    status: 400,
    message: 'This address can’t be used here. Open the app under its own address.',
    when: 'The request names no usable host, so no absolute URL can be built.',
  },
  sign_in_failed: {
    status: 400,
    message: 'Sign-in didn’t work. Try again, or choose another way to sign in.',
    when: 'The provider refuses a sign-in and says no more: an error in the callback’s query, a hook of the project, a code of tomorrow.',
  },
  action_failed: {
    status: 400,
    message: 'That didn’t work. Try again, or contact support.',
    when: 'The backend refuses a form that signs no one in, or fails at a link of a changed address, and says no more.',
  },
  invalid_state: {
    status: 400,
    message: 'Your sign-in expired. Please try again.',
    when: 'The callback’s state is missing, foreign, expired or already used.',
  },
  code_rejected: {
    status: 400,
    message: 'This sign-in was used already or has expired. Please sign in again.',
    when: 'The provider refuses the authorization code.',
  },
  unknown_provider: {
    status: 400,
    message: 'This way to sign in isn’t available here. Choose another one.',
    when: 'An OAuth start names a provider that is malformed or not in the configured list.',
  },
  link_expired: {
    status: 400,
    message:
      'This link has been used or has expired, or a newer email replaced it. Open the newest email, or request a new link.',
    when: 'The token of an email’s link was used or is too old, or the ten minutes for a new password are over.',
  },
  authorization_expired: {
    status: 400,
    message: 'This request has expired, was answered before, or belongs to another account. Start again in the app.',
    when: 'The consent page is asked for an authorization that the project does not know, or no longer for this user.',
  },
  redirect_refused: {
    status: 400,
    message: 'This app can’t be connected, because its own address isn’t safe. Contact its makers.',
    when: 'An OAuth client wants to be sent to an address such as `javascript:`, or to plain http on another device.',
  },
  captcha_failed: {
    status: 400,
    message: 'We couldn’t verify the captcha. Reload the page and try again, or contact support.',
    when: 'The backend demands a captcha and refuses the answer.',
  },
  unauthenticated: {
    status: 401,
    message: 'You’re not signed in. Sign in to continue.',
    when: 'A guarded resource or the session route is asked for without a session.',
  },
  fresh_sign_in_required: {
    status: 401,
    message: 'Please sign in again to continue.',
    when: 'A guard’s `maxAge` asks for a sign-in that is not so long ago.',
  },
  invalid_token: {
    status: 401,
    message: 'Your access isn’t valid here, or it has expired. Sign in again.',
    when: 'A bearer token is malformed, expired, revoked, or issued to a client that the guard does not list.',
  },
  invalid_credentials: {
    status: 401,
    message: 'Incorrect email or password.',
    when: 'Email and password do not match; the same for an unknown address.',
  },
  access_denied: {
    status: 403,
    message: 'Sign-in was canceled.',
    when: 'The provider reports that the person canceled.',
  },
  provider_email_missing: {
    status: 403,
    message: 'Your sign-in provider didn’t share your email address. Allow it there, or choose another way to sign in.',
    when: 'An OAuth provider answers without the address that the project asks for.',
  },
  provider_email_unverified: {
    status: 403,
    message:
      'If we sent you an email, open its link. Otherwise verify your address at your sign-in provider, or sign in another way.',
    when: 'An OAuth provider has not verified the address. Supabase then sends an email for a new account, and none where the address has one.',
  },
  managed_account: {
    status: 403,
    message: 'This account signs in through its organization. Use the sign-in that your organization gave you.',
    when: 'An account of a SAML identity provider is to get a password, a passkey or another address.',
  },
  forbidden: {
    status: 403,
    message: 'Your account doesn’t have permission to view this page. Ask an admin for access, or use another account.',
    when: 'A guard’s organization or check is not satisfied, or `withUser` or `sqlSession` meets a token of another role.',
  },
  insufficient_scope: {
    status: 403,
    message: 'This app wasn’t given the permission that this needs. Connect it again and allow it.',
    when: 'An OAuth client’s token lacks a scope of `protectResource`.',
  },
  not_accepted: {
    status: 403,
    message: 'This account can’t be used here. Use another account, or ask an admin for access.',
    when: 'The option `accept` refuses a sign-in or a session.',
  },
  second_factor_required: {
    status: 403,
    message: 'This page needs two-step sign-in. Confirm it’s you to continue.',
    when: 'A guard asks for `aal2`, and the session was signed in without a second factor.',
  },
  sign_in_not_fresh: {
    status: 403,
    message: 'This needs a new sign-in, but you were signed in with an earlier one. Sign in again.',
    when: 'The sign-in that a guard’s `maxAge` asked for was not a new one.',
  },
  cross_site_request: {
    status: 403,
    message: 'This request came from another site. Open this site yourself and try again.',
    when: 'Sec-Fetch-Site or Origin names another site that is not in trustedOrigins.',
  },
  prefetch_refused: {
    status: 403,
    message: 'This page can’t be loaded in the background. Open it directly.',
    when: 'A browser prefetches a route with side effects, or loads it as an image, script or the like.',
  },
  email_not_confirmed: {
    status: 403,
    message: 'Please confirm your email address first, with the link in an email from us.',
    when: 'The password is right but the address is not confirmed yet.',
  },
  signup_disabled: {
    status: 403,
    message: 'New accounts can’t be created here. Sign in, or contact support.',
    when: 'Sign-up is switched off in the project.',
  },
  email_disabled: {
    status: 403,
    message: 'This way to sign in by email is switched off. Choose another one.',
    when: 'The project does not sign in by email.',
  },
  signup_refused: {
    status: 403,
    message: 'This account can’t be created. Use another email address, or contact support.',
    when: 'A hook of the project refuses the new account.',
  },
  user_banned: {
    status: 403,
    message: 'This account can’t sign in. Please contact support.',
    when: 'The backend reports the user as banned.',
  },
  organization_required: {
    status: 403,
    message: 'This app is for members of one organization. Sign in with an account that belongs to it.',
    when: 'A sign-in ended outside of the organization that the option `organizationId` names.',
  },
  not_a_member: {
    status: 403,
    message: 'Your account isn’t a member of this organization. Use another account.',
    when: 'WorkOS refuses a sign-in, because the organization does not exist or the user is not its member.',
  },
  invitation_invalid: {
    status: 403,
    message: 'This invitation has been used, has expired or was withdrawn. Ask for a new one.',
    when: 'WorkOS refuses the invitation that a sign-in was started with.',
  },
  invitation_for_another_address: {
    status: 403,
    message: 'This invitation is for another email address. Sign in with the address that was invited.',
    when: 'A sign-in was started with an invitation that belongs to another address.',
  },
  sign_in_method_refused: {
    status: 403,
    message: 'This way to sign in isn’t allowed for your account. Sign in again and choose another one.',
    when: 'The organization, or the WorkOS environment, does not allow the method that the person signed in with.',
  },
  sign_in_refused: {
    status: 403,
    message: 'Your sign-in was refused. Sign in again, or contact support.',
    when: 'WorkOS, or the project’s hook for second factors, refuses a sign-in; `reason` of the event names the code.',
  },
  phone_number_required: {
    status: 403,
    message: 'Sign-in needs a phone number. Sign in again and enter yours.',
    when: 'WorkOS wants the person’s phone number, or a code that it sends to one.',
  },
  identity_check_required: {
    status: 403,
    message: 'We have to check that it’s you. Sign in again and follow the instructions.',
    when: 'WorkOS’ Radar takes a sign-in for a risk and wants a challenge to be met.',
  },
  sign_in_incomplete: {
    status: 403,
    message: 'Sign-in needs one more step. Please sign in again and follow the instructions.',
    when: 'WorkOS asks for a step of its own (email verification, MFA, SSO) that only its hosted pages can do.',
  },
  not_found: {
    status: 404,
    message: 'There is nothing here.',
    when: 'Metadata is asked for without a path in an app with several protected resources, or `forwardAuth` below its path or in another spelling.',
  },
  method_not_allowed: {
    status: 405,
    message: 'This page can’t be opened directly.',
    when: 'An auth route is asked with a method it does not know.',
  },
  email_in_use: {
    status: 409,
    message: 'An account with this email already exists. Sign in instead.',
    when: 'Sign-up for a known address, where the backend itself says so, or by a guest who has completed the account in another browser.',
  },
  identity_in_use: {
    status: 409,
    message: 'This sign-in belongs to another account. Sign in with that account, or choose another way to sign in.',
    when: 'A sign-in method is to be connected to an account, and belongs to another one.',
  },
  payload_too_large: {
    status: 413,
    message: 'The request is larger than 16 KB. Send only the fields of the form.',
    when: 'A form or JSON body exceeds the limit.',
  },
  unsupported_media_type: {
    status: 415,
    message: 'Send application/json or application/x-www-form-urlencoded.',
    when: 'A body of another content type arrives.',
  },
  current_password_wrong: {
    status: 422,
    message: 'The current password isn’t correct.',
    when: 'A new password is to be set by someone who is signed in, and the current one is wrong or missing.',
  },
  form_refused: {
    status: 422,
    message: 'Something in the form isn’t right. Check it and try again.',
    when: 'The option `signUp.check` refuses fields of a sign-up, which `error.fields` names, `signUp.data` returns more than 4 KB, or a new password needs an email’s link or an address first.',
  },
  same_password: {
    status: 422,
    message: 'This is your current password. Choose a different one.',
    when: 'The new password is the one that the account has already.',
  },
  weak_password: {
    status: 422,
    message: 'This password is too weak. Use a longer one.',
    when: 'The backend refuses the password.',
  },
  code_wrong: {
    status: 422,
    message: 'That code isn’t right or has expired. Enter the newest one.',
    when: 'A code from an authenticator app, a text message or an email is wrong, used or too old, or the backend refuses the answer of a passkey or security key.',
  },
  factor_unavailable: {
    status: 422,
    message: 'This way of two-step sign-in can’t be used here. Please contact support.',
    when: 'The project has second factors switched off, the account has as many as it may have or has no email address, or its second factors cannot be asked for here.',
  },
  challenge_expired: {
    status: 422,
    message: 'That took too long. Try again.',
    when: 'A passkey or security key answers a challenge that is older than five minutes, was answered before, or was not asked for in this browser.',
  },
  sso_unavailable: {
    status: 422,
    message: 'Single sign-on isn’t set up for this email. Check it, or sign in another way.',
    when: 'No SAML identity provider of the project belongs to the email’s domain.',
  },
  last_sign_in_method: {
    status: 422,
    message: 'This is your last way to sign in. Add another one first.',
    when: 'A linked sign-in is to be unlinked, and no other one of the account can be used here, or its email is another account’s.',
  },
  tokens_refused: {
    status: 422,
    message: 'We couldn’t verify your sign-in. Please sign in again.',
    when: 'Tokens that `storeSession` gets are malformed, expired, over, or of another user or application.',
  },
  session_too_large: {
    status: 422,
    message: 'Your account has more data than a session can hold. Please contact support.',
    when: 'The session would take more than 12 KB of cookies, or WorkOS cannot issue a token of its size.',
  },
  rate_limited: {
    status: 429,
    message: 'Too many attempts. Wait a moment, then try again.',
    when: 'The throttle or the backend’s own rate limit applies; Retry-After and the message say how long.',
  },
  provider_refused: {
    status: 502,
    message: 'Sign-in isn’t working right now. Please contact support.',
    when: 'The provider refuses the application’s own key, or answers something unusable.',
  },
  token_rejected: {
    status: 502,
    message: 'We couldn’t verify your sign-in. Please try again later.',
    when: 'A token fresh from the provider fails verification.',
  },
  provider_unavailable: {
    status: 503,
    message: 'We can’t reach the sign-in service right now. Please try again in a moment.',
    when: 'The provider does not answer in time, or answers with an outage; the session is kept.',
  },
} satisfies Record<string, ErrorRow>;
