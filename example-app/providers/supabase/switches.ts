import type { Switches } from './types.ts';

/** The settings of a fresh hosted project, overridden by the test's own. */
export function readSwitches(options: Partial<Switches>): Switches {
  return {
    autoconfirm: options.autoconfirm ?? false,
    signupDisabled: options.signupDisabled ?? false,
    emailProviderDisabled: options.emailProviderDisabled ?? false,
    captchaToken: options.captchaToken,
    minimumPasswordLength: options.minimumPasswordLength ?? 6,
    requireLettersAndDigits: options.requireLettersAndDigits ?? false,
    pwnedPasswords: options.pwnedPasswords ?? new Set(),
    invalidEmailDomains: options.invalidEmailDomains ?? new Set(),
    providers: options.providers ?? new Set(['github', 'google']),
    oauthEmail: options.oauthEmail ?? 'octavia@example.com',
    oauthSessions: options.oauthSessions ?? false,
    mailFrequency: options.mailFrequency ?? 60,
    mailFailure: options.mailFailure,
    newUsersRefused: options.newUsersRefused ?? false,
    extraMs: options.extraMs ?? (() => 0),
    mailMs: options.mailMs ?? 0,
    anonymousUsers: options.anonymousUsers ?? false,
    requireReauthentication: options.requireReauthentication ?? false,
    requireCurrentPassword: options.requireCurrentPassword ?? false,
    secureEmailChange: options.secureEmailChange ?? true,
    totpFactors: options.totpFactors ?? true,
    phoneFactors: options.phoneFactors ?? false,
    factorCodesRejected: options.factorCodesRejected ?? false,
    maximumFactors: options.maximumFactors ?? 10,
    textFrequency: options.textFrequency ?? 60,
    ssoDomains: options.ssoDomains,
    oauthServer: options.oauthServer ?? false,
    accessTokenTtl: options.accessTokenTtl ?? 3600,
    tokenClaims: options.tokenClaims ?? {},
    reuse: options.reuse ?? 'strict',
  };
}
